package registry

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
)

// Parse reads a row from a JSON object. Remarks are about members whose value was not understood and is kept as it is. The error
// is an *InvalidError; the row then holds what could be read, for messages.
func Parse(raw []byte) (r Row, remarks []string, err error) {
	if !canonjson.IsObject(raw) || !canonjson.Valid(raw) {
		return r, nil, &InvalidError{Reason: "it is no mapping"}
	}
	remarks, pane := r.read(valueOf(canonjson.Compact(raw)))
	if len(r.order) > maxMembers || len(r.Pane.order) > maxMembers {
		return r, remarks, &InvalidError{Name: r.Name, Reason: fmt.Sprintf("it has more than %d members", maxMembers)}
	}
	if !pane {
		return r, remarks, &InvalidError{Name: r.Name, Reason: "it has no pane"}
	}
	return r, remarks, r.Check()
}

// read takes the members of an object. It reports whether there is a pane among them.
func (r *Row) read(v value) (remarks []string, pane bool) {
	var seen uint64 // places in the table that came up
	near := 0
	v.members(func(name string, val value) {
		if len(r.order) > maxMembers {
			return // see Parse
		}
		i := indexOf(name, near)
		if i < 0 {
			r.readOther(name, val)
			return
		}
		near = i + 1
		f := &fields[i]
		if seen&(1<<i) == 0 {
			seen |= 1 << i
			r.order = append(r.order, f.name)
		}
		if understood := f.set(r, val); !understood {
			r.blank = append(r.blank, Member{name, val.b})
			if !val.null() {
				remarks = append(remarks, name+" cannot be understood")
			}
		} else if f.empty(r) {
			r.blank = append(r.blank, Member{name, val.b})
		}
	})
	return remarks, seen&(1<<atPane) != 0
}

// empty reports whether the row would be written without the member.
func (f *field) empty(r *Row) bool {
	switch {
	case f.str != nil:
		return *f.str(r) == ""
	case f.at != nil:
		return f.at(r).IsZero()
	}
	return f.none(r)
}

// readOther takes a member that is not in the table. Of two of one name the last counts, whatever the first one was.
func (r *Row) readOther(name string, v value) {
	own := slices.IndexFunc(r.Own, func(o Own) bool { return o.Field == name })
	first := own < 0 && r.Get(name) == nil
	if first {
		r.order = append(r.order, name)
	}
	id, ok := v.text()
	switch known := ownField(name) && (ok || v.null()); {
	case known && own >= 0:
		r.Own[own].ID = id
	case known:
		r.Own = append(r.Own, Own{name, id})
		r.Extra = setMember(r.Extra, name, nil)
	case first:
		r.Extra = append(r.Extra, Member{name, v.b})
	default:
		if own >= 0 {
			r.Own = slices.Delete(r.Own, own, own+1)
		}
		r.Extra = setMember(r.Extra, name, v.b)
	}
}

// Append appends the row as a compact JSON object: what was read in its order, then what is new in the order of new rows.
func (r *Row) Append(dst []byte) []byte {
	w := writer{dst: append(dst, '{')}
	var done uint64
	for _, name := range r.order {
		if i := indexOf(name, 0); i >= 0 {
			done |= 1 << i
			w.field(r, i)
			continue
		}
		w.other(r, name)
	}
	for i := range fields {
		if done&(1<<i) == 0 {
			w.field(r, i)
		}
		if i == atAgent {
			for _, o := range r.Own {
				if !slices.Contains(r.order, o.Field) {
					w.other(r, o.Field)
				}
			}
		}
	}
	for _, m := range r.Extra {
		if !slices.Contains(r.order, m.Name) {
			w.other(r, m.Name)
		}
	}
	return append(w.dst, '}')
}

// JSON returns the row as a compact JSON object.
func (r *Row) JSON() []byte { return r.Append(nil) }

// A writer appends members.
type writer struct {
	dst []byte
	any bool
}

// key begins a member and returns where to cut when it has no value after all.
func (w *writer) key(name string) (mark int) {
	mark = len(w.dst)
	if w.any {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(canonjson.AppendString(w.dst, name), ':')
	return mark
}

func (w *writer) raw(name string, raw []byte) {
	if len(raw) > 0 {
		w.key(name)
		w.dst = append(w.dst, raw...)
		w.any = true
	}
}

func (w *writer) field(r *Row, i int) {
	f := &fields[i]
	mark := w.key(f.name)
	begin := len(w.dst)
	w.dst = f.append(w.dst, r)
	if len(w.dst) > begin {
		w.any = true
		return
	}
	w.dst = w.dst[:mark]
	w.raw(f.name, find(r.blank, f.name))
}

func (w *writer) other(r *Row, name string) {
	for _, o := range r.Own {
		switch {
		case o.Field != name:
		case o.ID == "":
			w.raw(name, []byte("null"))
			return
		default:
			w.raw(name, canonjson.AppendString(nil, o.ID))
			return
		}
	}
	w.raw(name, find(r.Extra, name))
}

func find(list []Member, name string) []byte {
	for _, m := range list {
		if m.Name == name {
			return m.Raw
		}
	}
	return nil
}

func readPane(r *Row, v value) bool {
	if !v.object() {
		return false
	}
	p := &r.Pane
	*p = Pane{order: p.order[:0]}
	v.members(func(name string, val value) {
		if len(p.order) > maxMembers || slices.Contains(p.order, name) {
			return // what stands twice in an object is refused where the object is read
		}
		p.order = append(p.order, name)
		known, understood, empty := p.set(name, val)
		switch {
		case !known:
			p.Extra = append(p.Extra, Member{name, val.b})
		case !understood || empty:
			p.blank = append(p.blank, Member{name, val.b})
		}
	})
	return true
}

func (p *Pane) set(name string, v value) (known, understood, empty bool) {
	switch name {
	case "pid":
		n, ok := canonjson.Int(v.b)
		ok = ok && n >= 0 && n < 1<<31
		if ok {
			p.PID = int(n)
		}
		return true, ok, p.PID == 0
	case "start_ticks":
		n, ok := canonjson.Int(v.b)
		ok = ok && n >= 0
		if ok {
			p.StartTicks = uint64(n)
		}
		return true, ok, p.StartTicks == 0
	case "cmd":
		ok := readString(&p.Cmd, v)
		return true, ok, p.Cmd == ""
	case "cwd":
		ok := readString(&p.Cwd, v)
		return true, ok, p.Cwd == ""
	case "id":
		ok := readString(&p.ID, v)
		return true, ok, p.ID == ""
	}
	return false, false, false
}

// paneNames are the members of a new pane, in their order.
var paneNames = [...]string{"pid", "cmd", "cwd", "id", "start_ticks"}

func (p *Pane) value(name string) []byte {
	switch name {
	case "pid":
		return writeInt(nil, int64(p.PID))
	case "start_ticks":
		return writeInt(nil, int64(p.StartTicks)) //nolint:gosec // fits for 292 million years of uptime
	case "cmd":
		return writeString(nil, p.Cmd)
	case "cwd":
		return writeString(nil, p.Cwd)
	case "id":
		return writeString(nil, p.ID)
	}
	return find(p.Extra, name)
}

func writePane(r *Row, dst []byte) []byte {
	p := &r.Pane
	w := writer{dst: append(dst, '{')}
	put := func(name string) {
		raw := p.value(name)
		if raw == nil {
			raw = find(p.blank, name)
		}
		w.raw(name, raw)
	}
	for _, name := range p.order {
		put(name)
	}
	for _, name := range paneNames {
		if !slices.Contains(p.order, name) {
			put(name)
		}
	}
	for _, m := range p.Extra {
		if !slices.Contains(p.order, m.Name) {
			put(m.Name)
		}
	}
	return append(w.dst, '}')
}

func readIntent(r *Row, v value) bool {
	if !v.object() {
		return false
	}
	in := &Intent{}
	v.members(func(name string, val value) {
		switch name {
		case "verb":
			readString(&in.Verb, val)
		case "step":
			readString(&in.Step, val)
		case "at", "at" + epochSuffix:
			readTime(&in.At, val, name != "at")
		case "pid":
			n, _ := canonjson.Int(val.b)
			in.PID = int(n)
		case "start_ticks":
			n, _ := canonjson.Int(val.b)
			in.Start = uint64(max(n, 0))
		case "boot_id":
			readString(&in.Boot, val)
		}
	})
	if in.Verb == "" {
		return false
	}
	r.Intent = in
	return true
}

func writeIntent(r *Row, dst []byte) []byte {
	in := r.Intent
	if in == nil {
		return dst
	}
	w := writer{dst: append(dst, '{')}
	w.raw("verb", writeString(nil, in.Verb))
	w.raw("step", writeString(nil, in.Step))
	w.raw("at", writeTime(nil, in.At, false))
	w.raw("at"+epochSuffix, writeTime(nil, in.At, true))
	w.raw("pid", writeInt(nil, int64(in.PID)))
	if in.Start > 0 {
		w.raw("start_ticks", strconv.AppendUint(nil, in.Start, 10))
	}
	w.raw("boot_id", writeString(nil, in.Boot))
	return append(w.dst, '}')
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
