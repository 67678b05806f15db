package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// maxPlain is how deep values may be nested in what every client reads: the strictest reader takes 128 levels in all.
const maxPlain = 64

// plain tells whether every JSON reader can read an object unchanged. Valid JSON may hold what some cannot represent, and such a
// reader loses the whole line, or the connection: numbers beyond a float, escapes that are half of a surrogate pair, and deep
// nesting. A peer can write all of them. b is valid JSON.
func plain(b []byte) bool {
	depth := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			end, ok := plainText(b, i+1)
			if !ok {
				return false
			}
			i = end
		case c == '{' || c == '[':
			if depth++; depth > maxPlain {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(b) && strings.IndexByte("0123456789.eE+-", b[end]) >= 0 {
				end++
			}
			if end-i > 15 || bytes.ContainsAny(b[i:end], "eE") {
				if _, err := strconv.ParseFloat(string(b[i:end]), 64); err != nil {
					return false
				}
			}
			i = end
		default:
			i++
		}
	}
	return true
}

// plainText reads a string from behind its first quote. It returns where it goes on behind the last one.
func plainText(b []byte, i int) (end int, ok bool) {
	for i < len(b) {
		switch b[i] {
		case '"':
			return i + 1, true
		case '\\':
			high, low := surrogate(b, i)
			switch {
			case low:
				return 0, false
			case high:
				if _, low := surrogate(b, i+6); !low {
					return 0, false
				}
				i += 12
			default:
				i += 2
			}
		default:
			i++
		}
	}
	return i, true
}

// surrogate tells which half of a pair the escape at i is, if it is one.
func surrogate(b []byte, i int) (high, low bool) {
	if i+4 > len(b) || b[i] != '\\' || b[i+1] != 'u' || b[i+2]|0x20 != 'd' {
		return false, false
	}
	switch b[i+3] | 0x20 {
	case '8', '9', 'a', 'b':
		return true, false
	case 'c', 'd', 'e', 'f':
		return false, true
	}
	return false, false
}
