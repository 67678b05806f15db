package canonjson

import "unicode/utf8"

// space returns the offset of the first byte at or behind i that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scan passes over one value, with white space before it, and returns the offset behind it; with a fault the offset is
// that of the flaw.
func scan(b []byte, i int) (int, fault) { return scanIn(b, i, 0) }

// scanIn is scan for a value that lies within so many open objects and arrays. It is a loop with a bit a level instead of a
// recursion: it runs for every line of every log.
func scanIn(b []byte, i, within int) (int, fault) {
	if i < len(b) && b[i] == '"' { // most members are strings, and need no levels
		end, _, f := str(b, i+1)
		return end, f
	}
	var (
		objects [MaxDepth/64 + 1]uint64 // bit n is set when level n is an object
		depth   = within
		f       fault
	)
value:
	if i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	if i >= len(b) {
		return len(b), faultEnd
	}
	switch c := b[i]; c {
	case '"':
		if i, _, f = str(b, i+1); f != fine {
			return i, f
		}
	case '{':
		if depth == MaxDepth {
			return i, faultDepth
		}
		objects[depth>>6] |= 1 << (depth & 63)
		depth++
		if i = space(b, i+1); i < len(b) && b[i] == '}' {
			i++
			depth--
			goto next
		}
		goto key
	case '[':
		if depth == MaxDepth {
			return i, faultDepth
		}
		objects[depth>>6] &^= 1 << (depth & 63)
		depth++
		if i = space(b, i+1); i < len(b) && b[i] == ']' {
			i++
			depth--
			goto next
		}
		goto value
	default:
		if i, f = atom(b, i); f != fine {
			return i, f
		}
	}
next:
	if depth == within {
		return i, fine
	}
	if i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	if i >= len(b) {
		return len(b), faultEnd
	}
	if objects[(depth-1)>>6]>>((depth-1)&63)&1 == 0 {
		switch b[i] {
		case ',':
			i++
			goto value
		case ']':
			i++
			depth--
			goto next
		}
		return i, faultArray
	}
	switch b[i] {
	case ',':
		i++
	case '}':
		i++
		depth--
		goto next
	default:
		return i, faultObject
	}
key:
	if i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	if i, _, _, f = name(b, i); f != fine {
		return i, f
	}
	goto value
}

// name passes over a member name and its colon and returns the offset behind the colon, that of the closing quote, and
// whether there are escapes in the name.
func name(b []byte, i int) (end, quote int, escaped bool, f fault) {
	if i >= len(b) {
		return len(b), 0, false, faultEnd
	}
	if b[i] != '"' {
		return i, 0, false, faultKey
	}
	if i, escaped, f = str(b, i+1); f != fine {
		return i, 0, escaped, f
	}
	quote = i - 1
	if i < len(b) && b[i] != ':' {
		i = space(b, i)
	}
	if i >= len(b) {
		return len(b), 0, escaped, faultEnd
	}
	if b[i] != ':' {
		return i, 0, escaped, faultColon
	}
	return i + 1, quote, escaped, fine
}

// str passes over a string whose first byte behind the opening quote is at i. It returns the offset behind the closing
// quote and whether there are escapes in it.
func str(b []byte, i int) (end int, escaped bool, f fault) {
	for {
		for i < len(b) && plain(b[i]) {
			i++
		}
		if i >= len(b) {
			return len(b), escaped, faultEnd
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, fine
		case c == '\\':
			escaped = true
			if i, f = skipEscape(b, i+1); f != fine {
				return i, escaped, f
			}
		case c < ' ':
			return i, escaped, faultControl
		default:
			for i < len(b) && b[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(b[i:])
				if badRune(r, n) {
					return i, escaped, faultUTF8
				}
				i += n
			}
		}
	}
}

// plain reports whether c stands for itself in a string and is ASCII.
func plain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// skipEscape passes over what follows a backslash.
func skipEscape(b []byte, i int) (int, fault) {
	if i >= len(b) {
		return len(b), faultEnd
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, fine
	case 'u':
		for n := 1; n <= 4; n++ {
			if i+n >= len(b) {
				return len(b), faultEnd
			}
			if nibble(b[i+n]) > 15 {
				return i + n, faultEscape
			}
		}
		return i + 5, fine
	}
	return i, faultEscape
}

// nibble returns the value of a hexadecimal digit, and a number above 15 for anything else.
func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// atom passes over a number or one of the three words.
func atom(b []byte, i int) (int, fault) {
	switch b[i] {
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return number(b, i)
	}
	return i, faultValue
}

func word(b []byte, i int, w string) (int, fault) {
	if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
		return i + len(w), fine
	}
	return i, faultValue
}

func number(b []byte, i int) (int, fault) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if j := digits(b, i); j > i {
		i = j
	} else {
		return i, faultNumber
	}
	if i < len(b) && b[i] == '.' {
		j := digits(b, i+1)
		if j == i+1 {
			return j, faultNumber
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := digits(b, i)
		if j == i {
			return j, faultNumber
		}
		i = j
	}
	return i, fine
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
