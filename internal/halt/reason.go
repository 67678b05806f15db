package halt

import (
	"strings"
	"unicode/utf8"
)

// Clean returns the reason that [Raise] keeps of a text, so that another machine can be given the same one.
func Clean(text string) string {
	reason, _ := cleanReason(text)
	return reason
}

// cleanReason makes one harmless line of text: the first line, at most 4 KiB, without control
// characters. whole is false when more than white space at the ends was lost.
func cleanReason(text string) (reason string, whole bool) {
	line, rest, _ := strings.Cut(text, "\n")
	whole = strings.TrimSpace(rest) == ""
	if len(line) > maxReason {
		line, whole = cut(line, maxReason), false
	} else if len(text) >= maxReason { // read up to the limit: the last character may be half a one
		line = cut(line, len(line))
	}
	cleaned := clean(line)
	// Every invalid byte has become three, so there may again be too much.
	if len(cleaned) > maxReason {
		cleaned, whole = cut(cleaned, maxReason), false
	}
	if strings.TrimRight(line, "\r") != cleaned {
		whole = false
	}
	return strings.TrimSpace(cleaned), whole
}

// cut returns at most n bytes of s without an incomplete character at the end.
func cut(s string, n int) string {
	s = s[:n]
	for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
		if b := s[len(s)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// clean removes what could steer a terminal or turn text around, and replaces invalid UTF-8.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
			return -1
		case r == 0x061c, r == 0x200e, r == 0x200f, // marks of direction
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
			return -1
		case r == 0x2028, r == 0x2029: // line and paragraph separator: a reason is one line
			return -1
		}
		return r // strings.Map hands out U+FFFD for an invalid byte
	}, s)
}
