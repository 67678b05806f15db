// Package text reads and writes YAML as text: what stands in a file that has one document, where its parts begin and end, and how a word is
// spelt so that every reader takes it for a string.
//
// It is for callers that change another program's file by ranges of bytes (see textedit). A parser reports where a part begins
// and not where it ends; the ends found here are right for text that the parser has accepted, and a caller reads its result
// again before using it.
package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"tutti/internal/core/canonjson"
)

// OddBreak finds what the parser takes for the end of a line and editors do not: lines would be counted wrong. -1: there is none.
func OddBreak(src []byte) int {
	for i, c := range src {
		switch {
		case c == '\r' && (i+1 == len(src) || src[i+1] != '\n'),
			c == 0xc2 && bytes.HasPrefix(src[i:], []byte("\u0085")),
			c == 0xe2 && (bytes.HasPrefix(src[i:], []byte("\u2028")) || bytes.HasPrefix(src[i:], []byte("\u2029"))):
			return i
		}
	}
	return -1
}

// SkipFlow returns where a part in flow style ends that begins at an offset.
func SkipFlow(src []byte, at int) int {
	depth := 0
	for i := at; i < len(src); {
		switch c := src[i]; {
		case c == '"' || c == '\'':
			i = SkipQuoted(src, i)
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			if depth == 0 {
				return len(bytes.TrimRight(src[:i], " \t\r\n"))
			}
			depth--
			i++
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", src[i-1]) >= 0:
			if depth == 0 {
				return len(bytes.TrimRight(src[:i], " \t\r\n"))
			}
			i = LineEnd(src, i)
			continue
		case depth == 0 && (c == ',' || c == '\n' || c == ':' && (i+1 == len(src) || strings.IndexByte(" \r\n,[]{}\"'", src[i+1]) >= 0)):
			return len(bytes.TrimRight(src[:i], " \t\r\n"))
		default:
			// A quote inside a plain word is a letter.
			for i++; i < len(src) && (src[i] == '"' || src[i] == '\'') && strings.IndexByte(" \t\r\n,[]{}:", src[i-1]) < 0; i++ {
			}
			continue
		}
		if depth == 0 && i > at {
			return i
		}
	}
	return len(src)
}

// SkipQuoted returns where a quoted string ends.
func SkipQuoted(src []byte, at int) int {
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\' && src[at] == '"':
			i++
		case src[i] == src[at]:
			if src[at] == '\'' && i+1 < len(src) && src[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(src)
}

// PlainEnd returns where a plain word in block style ends on its line.
func PlainEnd(src []byte, at int) int {
	end := LineEnd(src, at)
	for i := at; i < end; i++ {
		if src[i] == '#' && i > at && (src[i-1] == ' ' || src[i-1] == '\t') {
			end = i
			break
		}
	}
	return len(bytes.TrimRight(src[:end], " \t\r\n"))
}

// plain reports whether a string needs no quotes for any reader in any style: letters, digits and _./-, begun by a letter, _ or /, and
// none of the words that some reader takes for something else.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_', c == '/':
		case i > 0 && ('0' <= c && c <= '9' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan":
		return false
	}
	return true
}

// Spell writes a string, in double quotes where quoted says so. A word that some reader might take for something else is quoted.
func Spell(s string, quoted bool) string {
	if !quoted && plain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range string(canonjson.AppendString(nil, s)) {
		switch {
		case r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfff0 && r <= 0xffff && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
