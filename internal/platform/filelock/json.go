package filelock

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The reader of lock records: strict JSON, one object, members of any kind but only strings and numbers kept. It is our own because a
// lock is on the way of every write, and programs that start for one write feel what a general decoder costs them.

type kind uint8

const (
	other kind = iota
	text
	number
)

// A value is a member's value. Objects, lists and literals are checked and forgotten.
type value struct {
	kind kind
	text string
	num  float64
}

// maxDepth bounds lists and objects in each other; a record has none.
const maxDepth = 32

type scanner struct {
	b []byte
	i int
}

// eachMember calls visit for the members of the object that b is, in their order; of two with one name the later counts, as for
// the foreign programs. Anything else is errNoRecord, possibly after some calls.
func eachMember(b []byte, visit func(string, value)) error {
	s := &scanner{b: b}
	if s.peek() != '{' || !s.object(0, visit) {
		return errNoRecord
	}
	if s.peek() != 0 || s.i != len(b) {
		return errNoRecord
	}
	return nil
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c || s.i == len(s.b) {
		return false
	}
	s.i++
	return true
}

func (s *scanner) object(depth int, visit func(string, value)) bool {
	s.i++
	if s.take('}') {
		return true
	}
	for {
		if s.peek() != '"' {
			return false
		}
		name, ok := s.str()
		if !ok || !s.take(':') {
			return false
		}
		v, ok := s.value(depth + 1)
		if !ok {
			return false
		}
		if visit != nil {
			visit(name, v)
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

func (s *scanner) list(depth int) bool {
	s.i++
	if s.take(']') {
		return true
	}
	for {
		if _, ok := s.value(depth + 1); !ok {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

func (s *scanner) value(depth int) (value, bool) {
	if depth > maxDepth {
		return value{}, false
	}
	switch c := s.peek(); {
	case c == '{':
		return value{}, s.object(depth, nil)
	case c == '[':
		return value{}, s.list(depth)
	case c == '"':
		t, ok := s.str()
		return value{kind: text, text: t}, ok
	case c == 't':
		return value{}, s.literal("true")
	case c == 'f':
		return value{}, s.literal("false")
	case c == 'n':
		return value{}, s.literal("null")
	default:
		n, ok := s.number()
		return value{kind: number, num: n}, ok
	}
}

func (s *scanner) literal(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

func (s *scanner) next(set string) bool {
	for j := 0; s.i < len(s.b) && j < len(set); j++ {
		if s.b[s.i] == set[j] {
			s.i++
			return true
		}
	}
	return false
}

func (s *scanner) number() (float64, bool) {
	from := s.i
	s.next("-")
	if !s.next("0") && !s.digits() {
		return 0, false
	}
	if s.next(".") && !s.digits() {
		return 0, false
	}
	if s.next("eE") {
		s.next("+-")
		if !s.digits() {
			return 0, false
		}
	}
	n, _ := strconv.ParseFloat(string(s.b[from:s.i]), 64) // out of range is infinite, as it is for the foreign programs
	return n, true
}

// str reads a string whose opening quote is next.
func (s *scanner) str() (string, bool) {
	s.i++
	var out []byte
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return string(out), true
		case c < 0x20:
			return "", false
		case c != '\\':
			out = append(out, c)
		default:
			var ok bool
			if out, ok = s.escape(out); !ok {
				return "", false
			}
		}
	}
	return "", false
}

func (s *scanner) escape(out []byte) ([]byte, bool) {
	if s.i == len(s.b) {
		return out, false
	}
	c := s.b[s.i]
	s.i++
	switch c {
	case '"', '\\', '/':
		return append(out, c), true
	case 'b':
		return append(out, '\b'), true
	case 'f':
		return append(out, '\f'), true
	case 'n':
		return append(out, '\n'), true
	case 'r':
		return append(out, '\r'), true
	case 't':
		return append(out, '\t'), true
	case 'u':
		r, ok := s.hex()
		if ok && utf16.IsSurrogate(r) {
			at := s.i
			if s.literal(`\u`) {
				low, valid := s.hex()
				if r = utf16.DecodeRune(r, low); !valid {
					return out, false
				} else if r == utf8.RuneError {
					s.i = at // half a pair, then something of its own
				}
			}
		}
		return utf8.AppendRune(out, r), ok // half a pair becomes the replacement character
	}
	return out, false
}

func (s *scanner) hex() (rune, bool) {
	if len(s.b)-s.i < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 16)
	s.i += 4
	return rune(n), err == nil
}

// appendQuoted writes a JSON string; a host name may be anything that an administrator has typed.
func appendQuoted(b []byte, v string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range v { // bytes that are no UTF-8 become the replacement character
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
