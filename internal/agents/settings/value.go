package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type kind uint8

const (
	scalar kind = iota
	object
	list
)

// The tags of scalars that JSON has. Formats have more of them.
const (
	tagString = "string"
	tagNumber = "number"
	tagBool   = "bool"
	tagNull   = "null"
)

// A value is what a text says at one place, whatever its format. Values are never changed once they are made.
type value struct {
	kind  kind
	names []string // of the members of an object
	kids  []*value // members or entries
	tag   string   // of a scalar: tells a number from a string
	text  string   // of a scalar: JSON
	plain string   // of a string: what it says
}

func stringValue(s string) *value {
	return &value{tag: tagString, text: quote(s), plain: s}
}

// quote writes a string as JSON, and leaves every character as it is that may be.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string can always be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// what names a kind for people.
func (v *value) what() string {
	switch {
	case v.kind == object:
		return "a table"
	case v.kind == list:
		return "a list"
	case v.tag == tagNull:
		return "empty (null)"
	}
	return "a single value"
}

// member returns a member of an object, or nil.
func (v *value) member(name string) *value {
	if i := slices.Index(v.names, name); v.kind == object && i >= 0 {
		return v.kids[i]
	}
	return nil
}

// at returns what a path leads to; nil: nothing. It is an error when the path leads through what has no members.
func (v *value) at(path []string) (*value, error) {
	for i, n := range path {
		if v.kind != object && v.tag != tagNullTable {
			return nil, fmt.Errorf("%s is %s, and no table: %w", name(path[:i]), v.what(), ErrUnsafe)
		}
		if v = v.member(n); v == nil {
			return nil, nil
		}
	}
	return v, nil
}

// tagNullTable is the tag of a nothing that stands for an empty table, as people write it in YAML.
const tagNullTable = "null table"

// with returns the value with another one at a path; nil removes.
func (v *value) with(path []string, to *value) *value {
	if len(path) == 0 {
		return to
	}
	old := v.member(path[0])
	if old == nil {
		if to == nil {
			return v
		}
		old = &value{kind: object}
	}
	kid := old.with(path[1:], to)
	out := &value{kind: object}
	done := false
	for i, n := range v.names {
		if n == path[0] {
			done = true
			if kid == nil {
				continue
			}
			out.names, out.kids = append(out.names, n), append(out.kids, kid)
			continue
		}
		out.names, out.kids = append(out.names, n), append(out.kids, v.kids[i])
	}
	if !done && kid != nil {
		out.names, out.kids = append(out.names, path[0]), append(out.kids, kid)
	}
	return out
}

// merged returns the value with another one merged into what is at a path.
func (v *value) merged(path []string, to *value) *value {
	old, err := v.at(path)
	if err != nil || old == nil || old.kind != object || to.kind != object {
		return v.with(path, to)
	}
	for i, n := range to.names {
		v = v.merged(join(path, n), to.kids[i])
	}
	return v
}

// equal compares what two values say. The order of members says nothing.
func (v *value) equal(w *value) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v == w {
		return true
	}
	if v.kind != w.kind || v.tag != w.tag || v.text != w.text || len(v.kids) != len(w.kids) {
		return false
	}
	var index map[string]*value
	for i, k := range v.kids {
		other := w.kids[i]
		if v.kind == object && v.names[i] != w.names[i] {
			if index == nil {
				index = make(map[string]*value, len(w.kids))
				for j, n := range w.names {
					index[n] = w.kids[j]
				}
			}
			other = index[v.names[i]]
		}
		if !k.equal(other) {
			return false
		}
	}
	return true
}

// deeper says whether tables and lists stand in each other more than n levels deep.
func (v *value) deeper(n int) bool {
	if v.kind == scalar {
		return false
	}
	if n == 0 {
		return true
	}
	return slices.ContainsFunc(v.kids, func(k *value) bool { return k.deeper(n - 1) })
}

// json appends the value as compact JSON.
func (v *value) json(dst []byte) []byte {
	switch v.kind {
	case scalar:
		return append(dst, v.text...)
	case list:
		dst = append(dst, '[')
	default:
		dst = append(dst, '{')
	}
	for i, k := range v.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.kind == object {
			dst = append(append(dst, quote(v.names[i])...), ':')
		}
		dst = k.json(dst)
	}
	if v.kind == list {
		return append(dst, ']')
	}
	return append(dst, '}')
}

// wrap puts a value into objects, one for each name.
func (v *value) wrap(names []string) *value {
	for _, n := range slices.Backward(names) {
		v = &value{kind: object, names: []string{n}, kids: []*value{v}}
	}
	return v
}

// simple says whether a value has nothing with members or entries in it.
func (v *value) simple() bool {
	return !slices.ContainsFunc(v.kids, func(k *value) bool { return k.kind != scalar })
}

// edited returns a list after entries were replaced, removed (a nil new one) and appended (an old index of -1).
func (v *value) edited(olds []int, news []*value) *value {
	out := &value{kind: list}
	for i, k := range v.kids {
		if j := slices.Index(olds, i); j >= 0 {
			k = news[j]
		}
		if k != nil {
			out.kids = append(out.kids, k)
		}
	}
	for j, old := range olds {
		if old < 0 {
			out.kids = append(out.kids, news[j])
		}
	}
	return out
}
