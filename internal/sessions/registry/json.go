package registry

import (
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/canonjson"
)

// An object is what a mapping has beside the values that are known and understood.
type object struct {
	order []string // names of all members as they were read
	extra []Member // members that are not known here, raw
	blank []Member // known members whose value is null, empty or not understood, raw
}

// Parse reads a row from a JSON object. Remarks are about members whose value was not understood and is kept as it is. The error
// is an *InvalidError; the row then holds what could be read, for messages.
func Parse(raw []byte) (r Row, remarks []string, err error) {
	if !canonjson.IsObject(raw) || !canonjson.Valid(raw) {
		return r, nil, &InvalidError{Reason: "it is not a mapping"}
	}
	for _, name := range r.read(r.fields(), canonjson.Compact(raw)) {
		remarks = append(remarks, name+" cannot be understood")
	}
	if r.VisibleScreen == "" { // older programs put it there, and there it stays until the status is written
		r.VisibleScreen, _ = canonjson.String(find(r.blank, visibleStatus))
	}
	if len(r.order) > maxMembers || len(r.Pane.order) > maxMembers {
		return r, remarks, &InvalidError{Name: r.Name, Reason: fmt.Sprintf("it has more than %d members", maxMembers)}
	}
	if !slices.Contains(r.order, "pane") {
		return r, remarks, &InvalidError{Name: r.Name, Reason: "it has no pane"}
	}
	return r, remarks, r.Check()
}

// read takes the members of a JSON object, and returns the names of those whose value is not understood. Of two members of one
// name the last counts.
func (o *object) read(fields []field, raw []byte) (odd []string) {
	last := map[string][]byte{}
	for name, value := range canonjson.Members(raw) {
		if _, again := last[name]; !again {
			o.order = append(o.order, name)
		}
		last[name] = value
	}
	for _, name := range o.order {
		m := Member{name, last[name]}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			o.extra = append(o.extra, m)
			continue
		}
		understood := fields[i].parse(m.Raw)
		if !understood && !canonjson.IsNull(m.Raw) {
			odd = append(odd, name)
		}
		if !understood || fields[i].json() == nil {
			o.blank = append(o.blank, m)
		}
	}
	return odd
}

// json returns the object: what was read in its order, then what is new in the order of the fields.
func (o *object) json(fields []field) []byte {
	values := map[string][]byte{}
	names := slices.Clone(o.order)
	for _, f := range fields {
		names = append(names, f.name)
		if values[f.name] = f.json(); values[f.name] == nil {
			values[f.name] = find(o.blank, f.name)
		}
		for _, m := range o.extra {
			if f.name == "agent" && ownField(m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	for _, m := range o.extra {
		names = append(names, m.Name)
		values[m.Name] = m.Raw
	}
	dst := []byte{'{'}
	for _, name := range names {
		if raw := values[name]; raw != nil {
			if len(dst) > 1 {
				dst = append(dst, ',')
			}
			dst = append(append(canonjson.AppendString(dst, name), ':'), raw...)
		}
		delete(values, name)
	}
	return append(dst, '}')
}

func (o *object) clone() object {
	return object{slices.Clone(o.order), slices.Clone(o.extra), slices.Clone(o.blank)}
}

// JSON returns the row as a compact JSON object.
func (r *Row) JSON() []byte {
	fields := r.fields()
	if r.VisibleStatus == "" && canonjson.Is(find(r.blank, visibleStatus), r.VisibleScreen) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == visibleScreen })
		fields[i].value = new(string) // it is where an older program put it
	}
	return r.json(fields)
}

func find(list []Member, name string) []byte {
	for _, m := range list {
		if m.Name == name {
			return m.Raw
		}
	}
	return nil
}

// Stamp is a time as rows hold it: UTC, whole seconds.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// An InvalidError says why a row cannot be used.
type InvalidError struct {
	Name   string // of the session, "" when the row has none
	Line   int    // of the file, 0 when it is not known
	Reason string
}

func (e *InvalidError) Error() string {
	where := ""
	if e.Line > 0 {
		where = fmt.Sprintf("line %d: ", e.Line)
	}
	if e.Name == "" {
		return where + "the row cannot be used: " + e.Reason
	}
	return fmt.Sprintf("%sthe row %q cannot be used: %s", where, e.Name, e.Reason)
}
