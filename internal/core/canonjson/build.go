package canonjson

import (
	"math"
	"slices"
	"strconv"
)

// An Object builds a compact object, members in the order of the calls. The zero Object is empty and ready. It does not
// look for two members of one name.
type Object struct{ buf []byte }

// objectRoom is where an Object begins: a usual envelope.
const objectRoom = 512

func (o *Object) key(key string) {
	switch n := len(o.buf); {
	case n == 0:
		// As large as most objects become: growing to it byte by byte takes a block of each size, and in a process that has
		// just begun the first block of a size takes two pages.
		o.buf = append(slices.Grow(o.buf, objectRoom), '{')
	case o.buf[n-1] != '{': // which no value ends in: the member is the first one Within another
		o.buf = append(o.buf, ',')
	}
	o.buf = AppendString(o.buf, key)
	o.buf = append(o.buf, ':')
}

// Str adds a string.
func (o *Object) Str(key, value string) {
	o.key(key)
	o.buf = AppendString(o.buf, value)
}

// Opt adds a string unless it is empty.
func (o *Object) Opt(key, value string) {
	if value != "" {
		o.Str(key, value)
	}
}

// Strs adds an array of strings; nil is the empty array.
func (o *Object) Strs(key string, values []string) {
	o.key(key)
	o.buf = append(o.buf, '[')
	for n, v := range values {
		if n > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = AppendString(o.buf, v)
	}
	o.buf = append(o.buf, ']')
}

// Int adds a number.
func (o *Object) Int(key string, value int64) {
	o.key(key)
	o.buf = strconv.AppendInt(o.buf, value, 10)
}

// Float adds a number as ECMAScript writes it; what no JSON number can hold (NaN, infinities) becomes null, as there.
func (o *Object) Float(key string, value float64) {
	o.key(key)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		o.buf = append(o.buf, "null"...)
		return
	}
	o.buf = appendFloat(o.buf, value)
}

// Bool adds true or false.
func (o *Object) Bool(key string, value bool) {
	o.key(key)
	o.buf = strconv.AppendBool(o.buf, value)
}

// Null adds null.
func (o *Object) Null(key string) {
	o.key(key)
	o.buf = append(o.buf, "null"...)
}

// OrNull appends a string, null for the empty one.
func (o *Object) OrNull(key, value string) {
	if value == "" {
		o.Null(key)
		return
	}
	o.Str(key, value)
}

// Each appends an array of n values, which are JSON already.
func (o *Object) Each(key string, n int, value func(i int) []byte) {
	o.key(key)
	o.buf = append(o.buf, '[')
	for i := range n {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = appendCompact(o.buf, value(i))
	}
	o.buf = append(o.buf, ']')
}

// Objects adds an array with an object for each element of a list, whose members are those that fill adds.
func Objects[T any](o *Object, key string, list []T, fill func(o *Object, one T)) {
	o.key(key)
	o.buf = append(o.buf, '[')
	for i, one := range list {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = append(o.buf, '{')
		fill(o, one)
		o.buf = append(o.buf, '}')
	}
	o.buf = append(o.buf, ']')
}

// Raw adds a value that is valid JSON already, without the white space in it, so that the object stays one line. An
// empty raw adds no member: what Get did not find stays absent.
func (o *Object) Raw(key string, raw []byte) {
	if len(raw) == 0 {
		return
	}
	o.key(key)
	o.buf = appendCompact(o.buf, raw)
}

// Room makes room for so many bytes. Use it when the object becomes larger than usual.
func (o *Object) Room(n int) { o.buf = slices.Grow(o.buf, n) }

// Within adds an object whose members are those that fill adds to o.
func (o *Object) Within(key string, fill func(o *Object)) {
	o.key(key)
	o.buf = append(o.buf, '{')
	fill(o)
	o.buf = append(o.buf, '}')
}

// End returns the object. Unlike with Bytes the result is not a copy, and o is empty again.
func (o *Object) End() []byte {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	}
	out := append(o.buf, '}')
	o.buf = nil
	return out
}

// Bytes returns the object as it is now, as a copy of its own.
func (o *Object) Bytes() []byte {
	if len(o.buf) == 0 {
		return []byte("{}")
	}
	return append(append(make([]byte, 0, len(o.buf)+1), o.buf...), '}')
}

// Set returns the object raw with one member replaced or, if there is none of that name, added behind the others. All other
// bytes are as they were, and raw is not changed. Of several members of that name the last is replaced, as it is the one that
// counts. value is valid JSON. When raw is empty the result is a new object; when it is not a whole object, nil.
func Set(raw []byte, key string, value []byte) []byte {
	if space(raw, 0) == len(raw) {
		raw = []byte("{}")
	}
	w := open(raw)
	var hit, last field
	for m, more := w.next(); more; m, more = w.next() {
		last = m
		if m.is(raw, key) {
			hit = m
		}
	}
	if w.f != fine {
		return nil
	}
	out := make([]byte, 0, len(raw)+len(key)+len(value)+4)
	if hit.valueEnd > 0 {
		out = append(out, raw[:hit.value]...)
		out = append(out, value...)
		return append(out, raw[hit.valueEnd:]...)
	}
	at := last.valueEnd // behind the last member, before the white space and the brace
	if at == 0 {
		at = space(raw, 0) + 1
	}
	out = append(out, raw[:at]...)
	if last.valueEnd > 0 {
		out = append(out, ',')
	}
	out = AppendString(out, key)
	out = append(out, ':')
	out = append(out, value...)
	return append(out, raw[at:]...)
}

// Delete returns the object raw without all members of that name: without the last one only, an earlier one would come to
// count. The bytes of the other members are as they were. When there is nothing to delete it returns raw itself; when raw is
// not a whole object, nil.
func Delete(raw []byte, key string) []byte {
	w := open(raw)
	var (
		out      []byte // grows from the first deleted member on
		deleted  bool
		kept     bool
		end      int // behind the member before
		firstAt  int
		anything bool
	)
	for m, more := w.next(); more; m, more = w.next() {
		if !anything {
			anything, firstAt, end = true, m.name, m.name
		}
		if m.is(raw, key) {
			if !deleted {
				deleted = true
				out = append(make([]byte, 0, len(raw)), raw[:end]...)
			}
		} else {
			if deleted && !kept {
				out = append(out[:firstAt], raw[m.name:m.valueEnd]...) // now the first: without a comma before it
			} else if deleted {
				out = append(out, raw[end:m.valueEnd]...)
			}
			kept = true
		}
		end = m.valueEnd
	}
	switch {
	case w.f != fine:
		return nil
	case !deleted:
		return raw
	}
	return append(out, raw[end:]...)
}

// Compact returns raw, which is valid JSON, without the white space between its parts. The spelling of strings and
// numbers stays.
func Compact(raw []byte) []byte { return appendCompact(make([]byte, 0, len(raw)), raw) }

func appendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			end, _, _ := str(raw, i+1)
			end = max(end, i+1)
			dst = append(dst, raw[i:end]...)
			i = end
		default:
			j := i + 1
			for j < len(raw) && raw[j] > ' ' && raw[j] != '"' {
				j++
			}
			dst = append(dst, raw[i:j]...)
			i = j
		}
	}
	return dst
}

// indentDepth is the level from which on Indent writes everything into one line. Each line begins with two spaces a
// level, so without an end 1 MB of hostile text would become 1 GB.
const indentDepth = 64

// Indent returns raw, which is valid JSON, as ECMAScript's JSON.stringify(v, null, 2) lays it out: a line each member
// and element, two spaces a level, empty objects and arrays as {} and []. The order of members and the spelling of
// strings and numbers stay. Deeper than 64 levels everything stands in one line. There is no line feed at the end.
func Indent(raw []byte) []byte {
	return AppendIndent(make([]byte, 0, len(raw)+len(raw)/2), raw, 0)
}

// AppendIndent appends a value in that layout, nested within depth others.
func AppendIndent(dst, raw []byte, depth int) []byte {
	base := depth
	line := func() {
		if depth > indentDepth {
			return
		}
		dst = append(dst, '\n')
		for range depth {
			dst = append(dst, ' ', ' ')
		}
	}
	for i := space(raw, 0); i < len(raw); i = space(raw, i) {
		switch c := raw[i]; c {
		case '"':
			end, _, _ := str(raw, i+1)
			dst = append(dst, raw[i:end]...)
			i = end
			continue
		case '{', '[':
			dst = append(dst, c)
			if j := space(raw, i+1); j < len(raw) && raw[j] == c+2 { // } is { + 2, ] is [ + 2
				dst = append(dst, c+2)
				i = j + 1
				continue
			}
			depth++
			line()
		case '}', ']':
			depth = max(depth-1, base)
			if depth < indentDepth {
				line()
			}
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			line()
		case ':':
			dst = append(dst, ':')
			if depth <= indentDepth {
				dst = append(dst, ' ')
			}
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}
