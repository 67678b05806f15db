package termsafe

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tutti/internal/core/canonjson"
)

// EscapeJSON appends valid JSON in which each character that [Clean] removes is spelt with its number. Its readers get what was written, and a
// terminal that it is printed on obeys nothing. The line feeds between values stay.
func EscapeJSON(dst, raw []byte) []byte {
	if bytes.IndexFunc(raw, escaped) < 0 {
		return append(dst, raw...)
	}
	before := rune(0)
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case !escaped(r), r == emojiSelector && pictograph(before):
			dst = append(dst, raw[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		before, raw = r, raw[n:]
	}
	return dst
}

func escaped(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && Unsafe(r) }

// SanitiseJSON applies [Sanitise] to every text and every name in a JSON value. An object of which something was changed, in one of its texts or
// in a list of them, gets the member "altered". Numbers, order and all else stay as they are spelt.
func SanitiseJSON(raw []byte) []byte {
	if !suspect(raw) {
		return raw
	}
	out, _ := sanitised(raw)
	return out
}

// suspect tells whether there can be anything to change in a value.
func suspect(raw []byte) bool {
	for i, c := range raw {
		switch {
		case c == '<' || c >= 0x7f:
			return true
		case c == '\\' && i+1 < len(raw) && strings.IndexByte("ubfr", raw[i+1]) >= 0:
			return true
		}
	}
	return false
}

// sanitised returns a value, and whether one of its own texts was changed, which the object around it says.
func sanitised(raw []byte) (out []byte, altered bool) {
	switch canonjson.Kind(raw) {
	case canonjson.TypeString:
		s, _ := canonjson.String(raw)
		if clean, altered := Sanitise(s); clean != s {
			return canonjson.AppendString(nil, clean), altered
		}
	case canonjson.TypeArray:
		out = append(out, '[')
		for one := range canonjson.Elements(raw) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			clean, changed := sanitised(one)
			out, altered = append(out, clean...), altered || changed
		}
		return append(out, ']'), altered
	case canonjson.TypeObject:
		return sanitisedObject(raw), false
	}
	return raw, false
}

func sanitisedObject(raw []byte) []byte {
	var o canonjson.Object
	altered := false
	for name, value := range canonjson.Members(raw) {
		name, renamed := SanitiseLine(name)
		value, changed := sanitised(value)
		o.Raw(name, value)
		altered = altered || renamed || changed
	}
	out := o.Bytes()
	if altered {
		out = canonjson.Set(out, "altered", []byte("true"))
	}
	return out
}
