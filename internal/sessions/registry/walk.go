package registry

import (
	"bytes"

	"tutti/internal/core/canonjson"
)

// A value is a part of a text of valid, compact JSON, as bytes and as a string: what is read out of it is cut out of the string and
// not copied.
type value struct {
	b []byte
	s string
}

// valueOf copies a text.
func valueOf(raw []byte) value {
	s := string(raw)
	return value{[]byte(s), s}
}

func (v value) cut(from, to int) value { return value{v.b[from:to:to], v.s[from:to]} }

func (v value) null() bool   { return canonjson.IsNull(v.b) }
func (v value) object() bool { return canonjson.IsObject(v.b) }

// text returns what a string says.
func (v value) text() (string, bool) {
	if len(v.b) < 2 || v.b[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(v.b, '\\') < 0 {
		return v.s[1 : len(v.s)-1], true
	}
	return canonjson.String(v.b)
}

// members hands out the members of an object. It ends where the text is no object.
func (v value) members(yield func(name string, val value)) {
	b := v.b
	for i := 1; i < len(b) && b[i] == '"'; i++ { // behind the brace or a comma
		end, escaped := skipString(b, i)
		name := v.s[i+1 : max(end-1, i+1)]
		if escaped {
			name, _ = v.cut(i, end).text()
		}
		i = end + 1 // behind the colon
		end = skip(b, i)
		if end <= i {
			return
		}
		yield(name, v.cut(i, end))
		i = end
	}
}

// skip returns where the value ends that begins at i.
func skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i, _ = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth // a number or a word ends before the bracket
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}

// skipString returns where the string ends that begins at i, and whether there are escapes in it. Most strings are shorter than a
// call of IndexByte is worth.
func skipString(b []byte, i int) (end int, escaped bool) {
	i++
	for near := min(i+24, len(b)); i < near && b[i] != '\\'; i++ {
		if b[i] == '"' {
			return i + 1, false
		}
	}
	for ; i < len(b); i += 2 {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b), escaped
		}
		slash := bytes.IndexByte(b[i:i+n], '\\')
		if slash < 0 {
			return i + n + 1, escaped
		}
		i, escaped = i+slash, true
	}
	return len(b), escaped
}
