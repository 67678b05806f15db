package canonjson

import (
	"bytes"
	"iter"
	"math"
	"strconv"
)

// A Type says what a value is.
type Type uint8

// The types. TypeInvalid is what begins like none of the others.
const (
	TypeInvalid Type = iota
	TypeNull
	TypeBool
	TypeNumber
	TypeString
	TypeArray
	TypeObject
)

// Kind returns the type of a value by its first byte that is not white space. It checks nothing else.
func Kind(raw []byte) Type {
	i := space(raw, 0)
	if i == len(raw) {
		return TypeInvalid
	}
	switch c := raw[i]; {
	case c == '{':
		return TypeObject
	case c == '[':
		return TypeArray
	case c == '"':
		return TypeString
	case c == 'n':
		return TypeNull
	case c == 't' || c == 'f':
		return TypeBool
	case c == '-' || c-'0' <= 9:
		return TypeNumber
	}
	return TypeInvalid
}

// IsObject reports whether raw begins as an object.
func IsObject(raw []byte) bool { return Kind(raw) == TypeObject }

// A field is one member by its offsets: the name from its opening quote to behind its closing one, and the value.
type field struct {
	name, nameEnd   int
	value, valueEnd int
	escaped         bool // the name is spelled with escapes
}

// fields walks over the members of an object.
type fields struct {
	text []byte
	i    int   // behind the brace or the last member
	any  bool  // a member has been read
	f    fault // why the walk ended; fine at the closing brace
}

// open begins a walk. Text that is not an object is a walk that ends at once with a fault.
func open(raw []byte) fields {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return fields{text: raw, i: i, f: faultKind}
	}
	return fields{text: raw, i: i + 1}
}

// next reads one member. At the end i is at the closing brace, or the fault says that there is none.
func (w *fields) next() (m field, ok bool) {
	if w.f != fine {
		return m, false
	}
	b := w.text
	if w.i = space(b, w.i); w.i == len(b) {
		w.f = faultEnd
		return m, false
	}
	if b[w.i] == '}' {
		if space(b, w.i+1) != len(b) {
			w.f = faultTrailing
		}
		return m, false
	}
	if w.any {
		if b[w.i] != ',' {
			w.f = faultObject
			return m, false
		}
		w.i = space(b, w.i+1)
	}
	m.name = w.i
	var quote int
	if w.i, quote, m.escaped, w.f = name(b, w.i); w.f != fine {
		return m, false
	}
	m.nameEnd = quote + 1
	m.value = space(b, w.i)
	if w.i, w.f = scanIn(b, m.value, 1); w.f != fine {
		return m, false
	}
	m.valueEnd = w.i
	w.any = true
	return m, true
}

// is reports whether the member is called key.
func (m field) is(text []byte, key string) bool {
	body := text[m.name+1 : m.nameEnd-1]
	if !m.escaped {
		return string(body) == key
	}
	// An escape is never shorter than the text that it represents.
	return len(body) > len(key) && string(appendDecoded(nil, body)) == key
}

// Members yields the members of an object in the order of the text: the decoded name and the raw value. Of members with one
// name the last one counts; all are yielded. It ends early where the text is not an object or breaks off.
func Members(raw []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		w := open(raw)
		for {
			m, ok := w.next()
			if !ok || !yield(decode(raw[m.name+1:m.nameEnd-1]), raw[m.value:m.valueEnd:m.valueEnd]) {
				return
			}
		}
	}
}

func decode(body []byte) string {
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	return string(appendDecoded(make([]byte, 0, len(body)), body))
}

// Get returns the raw value of the last member of that name. It reports false when raw is not a whole object or has no such
// member. It allocates nothing.
func Get(raw []byte, key string) (value []byte, ok bool) {
	w := open(raw)
	for m, more := w.next(); more; m, more = w.next() {
		if m.is(raw, key) {
			value, ok = raw[m.value:m.valueEnd:m.valueEnd], true
		}
	}
	if w.f != fine {
		return nil, false
	}
	return value, ok
}

// Pick is Get for several names in one pass: values[n] becomes the raw value of keys[n], nil where there is none. It
// reports whether raw is an object, and valid as a whole (see Valid); where it is not, all values are nil. It panics when
// the lengths differ.
func Pick(raw []byte, keys []string, values [][]byte) bool {
	if len(keys) != len(values) {
		panic("canonjson: Pick with different numbers of keys and values")
	}
	clear(values)
	w := open(raw)
	for m, more := w.next(); more; m, more = w.next() {
		called := raw[m.name+1 : m.nameEnd-1]
		if m.escaped {
			called = appendDecoded(nil, called)
		}
		for n, key := range keys {
			if string(called) == key {
				values[n] = raw[m.value:m.valueEnd:m.valueEnd]
			}
		}
	}
	if w.f != fine {
		clear(values)
	}
	return w.f == fine
}

// Elements yields the raw elements of an array. It ends early where the text is not an array or breaks off.
func Elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := space(raw, 0)
		if i == len(raw) || raw[i] != '[' {
			return
		}
		if i = space(raw, i+1); i < len(raw) && raw[i] == ']' {
			return
		}
		for {
			i = space(raw, i)
			end, f := scan(raw, i)
			if f != fine || !yield(raw[i:end:end]) {
				return
			}
			if i = space(raw, end); i == len(raw) || raw[i] != ',' {
				return
			}
			i++
		}
	}
}

// single returns the one value that raw holds without the white space around it, or nil if it holds none or more.
func single(raw []byte, want Type) []byte {
	if Kind(raw) != want {
		return nil
	}
	i := space(raw, 0)
	end, f := scan(raw, i)
	if f != fine || space(raw, end) != len(raw) {
		return nil
	}
	return raw[i:end]
}

// body returns what lies between the quotes of the one string that raw is, and whether there are escapes in it.
func body(raw []byte) (text []byte, escaped, ok bool) {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '"' {
		return nil, false, false
	}
	end, escaped, f := str(raw, i+1)
	if f != fine || end < len(raw) && space(raw, end) != len(raw) {
		return nil, false, false
	}
	return raw[i+1 : end-1], escaped, true
}

// String decodes a string. It reports false for any other value.
func String(raw []byte) (string, bool) {
	text, escaped, ok := body(raw)
	if escaped {
		text = appendDecoded(make([]byte, 0, len(text)), text)
	}
	return string(text), ok
}

// AppendText is String for callers that decode many: it appends the text of a string. For any other value it appends
// nothing and reports false.
func AppendText(dst, raw []byte) ([]byte, bool) {
	text, escaped, ok := body(raw)
	if escaped {
		return appendDecoded(dst, text), ok
	}
	return append(dst, text...), ok
}

// Is reports whether raw is the string s, in whatever spelling. Without escapes it allocates nothing.
func Is(raw []byte, s string) bool {
	text, escaped, ok := body(raw)
	if escaped {
		text = appendDecoded(nil, text)
	}
	return ok && string(text) == s
}

// Strings decodes an array that holds strings only. It reports false for any other value.
func Strings(raw []byte) ([]string, bool) {
	if single(raw, TypeArray) == nil {
		return nil, false
	}
	list := []string{}
	for e := range Elements(raw) {
		s, ok := String(e)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// Float returns the double that a number stands for. It reports false for any other value and for a number beyond the
// range of doubles.
func Float(raw []byte) (float64, bool) {
	v := single(raw, TypeNumber)
	if v == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// maxInt is the largest integer up to which all integers are doubles (2^53-1). Behind it two programs that read one text
// may see two numbers.
const maxInt = 1<<53 - 1

// Int returns the integer that a number stands for, however it is spelled (5, 5.0, 50e-1). It reports false for any
// other value, for a number with a fraction, and beyond 2^53-1, where readers that calculate with doubles see another.
func Int(raw []byte) (int64, bool) {
	f, ok := Float(raw)
	if !ok || f != math.Trunc(f) || math.Abs(f) > maxInt {
		return 0, false
	}
	return int64(f), true
}

// Bool returns the truth value that raw is. ok is false for any other value.
func Bool(raw []byte) (value, ok bool) {
	v := string(single(raw, TypeBool))
	return v == "true", v != ""
}

// IsNull reports whether raw is null.
func IsNull(raw []byte) bool { return single(raw, TypeNull) != nil }
