package canonjson

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unit returns the UTF-16 code unit that the four digits at i spell.
func unit(b []byte, i int) rune {
	return rune(nibble(b[i]))<<12 | rune(nibble(b[i+1]))<<8 | rune(nibble(b[i+2]))<<4 | rune(nibble(b[i+3]))
}

// escape decodes the escape whose backslash is at i, in text that str has passed, and returns the offset behind it. Two
// escapes that are a surrogate pair are one rune; a lone surrogate is returned as it is.
func escape(b []byte, i int) (rune, int) {
	switch c := b[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r := unit(b, i+2)
		if r >= 0xD800 && r < 0xDC00 && i+12 <= len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
			if pair := utf16.DecodeRune(r, unit(b, i+8)); pair != utf8.RuneError {
				return pair, i + 12
			}
		}
		return r, i + 6
	default:
		return rune(c), i + 2
	}
}

func surrogate(r rune) bool { return r >= 0xD800 && r < 0xE000 }

// appendDecoded appends the text that stands between the quotes of a string with its escapes resolved. Lone surrogates
// become their three-byte form.
func appendDecoded(dst, body []byte) []byte {
	for i := 0; i < len(body); {
		j := i
		for j < len(body) && body[j] != '\\' {
			j++
		}
		dst = append(dst, body[i:j]...)
		if i = j; i == len(body) {
			break
		}
		var r rune
		if r, i = escape(body, i); surrogate(r) {
			dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// appendRewritten appends a string, with its quotes, in canonical form. body is the text between the quotes.
func appendRewritten(dst, body []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(body); {
		j := i
		for j < len(body) && body[j] != '\\' {
			j++
		}
		dst = append(dst, body[i:j]...)
		if i = j; i == len(body) {
			break
		}
		var r rune
		r, i = escape(body, i)
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// appendRune appends one code point, or a lone surrogate, as written in a canonical string.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r >= ' ' && !surrogate(r):
		return utf8.AppendRune(dst, r)
	case r == '\b':
		return append(dst, '\\', 'b')
	case r == '\f':
		return append(dst, '\\', 'f')
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// AppendString appends s as a JSON string in canonical form. The three-byte form of a lone surrogate becomes \udxxx; any other
// byte that is not valid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(slices.Grow(dst, len(s)+2), '"')
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && plain(s[j]) {
			j++
		}
		dst = append(dst, s[i:j]...)
		if i = j; i == len(s) {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if badRune(r, n) && len(s)-i >= 3 && s[i] == 0xED && s[i+1]&0xE0 == 0xA0 && s[i+2]&0xC0 == 0x80 {
			r, n = 0xD000|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
		}
		dst = appendRune(dst, r)
		i += n
	}
	return append(dst, '"')
}

// appendNumber appends a number as ECMAScript writes its double. It reports false for one that is beyond the range of doubles.
func appendNumber(dst, text []byte) ([]byte, bool) {
	if exactInteger(text) {
		return append(dst, text...), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return dst, false
	}
	return appendFloat(dst, f), true
}

// exactInteger reports whether text is its own canonical form for a reason that is seen at a glance: an integer of at
// most 15 digits, which a double holds exactly.
func exactInteger(text []byte) bool {
	d := text
	if d[0] == '-' {
		d = d[1:]
		if d[0] == '0' {
			return false // -0, -0.5, -0e1
		}
	}
	if len(d) > 15 {
		return false
	}
	for _, c := range d {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// appendFloat appends f, which is finite, as ECMAScript's Number::toString does: the shortest digits that give f again,
// plain from 1e-6 up to below 1e21, with an exponent outside.
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // also for -0
	}
	if a := max(f, -f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // Go writes at least two digits: e-07
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
