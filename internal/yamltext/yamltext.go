// Package yamltext reads and writes YAML as text: what stands in a file that has one document, where its parts begin and end, and how a word is
// spelt so that every reader takes it for a string.
//
// It is for those who change a file of somebody else by ranges of bytes (see textedit). A parser tells where a part begins and not where it
// ends; what is found here is right for text that the parser has accepted, and a caller reads its result again before it counts.
package yamltext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"tutti/internal/canonjson"
	"tutti/internal/textedit"
)

// OddBreak finds what the parser takes for the end of a line and editors do not: lines would be counted wrong. -1: there is none.
func OddBreak(text []byte) int {
	for i, c := range text {
		switch {
		case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'),
			c == 0xc2 && bytes.HasPrefix(text[i:], []byte("\u0085")),
			c == 0xe2 && (bytes.HasPrefix(text[i:], []byte("\u2028")) || bytes.HasPrefix(text[i:], []byte("\u2029"))):
			return i
		}
	}
	return -1
}

// SkipFlow returns where a part in flow style ends that begins at an offset.
func SkipFlow(text []byte, at int) int {
	depth := 0
	for i := at; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = SkipQuoted(text, i)
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			if depth == 0 {
				return len(bytes.TrimRight(text[:i], " \t\r\n"))
			}
			depth--
			i++
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", text[i-1]) >= 0:
			if depth == 0 {
				return len(bytes.TrimRight(text[:i], " \t\r\n"))
			}
			i = textedit.LineEnd(text, i)
			continue
		case depth == 0 && (c == ',' || c == '\n' || c == ':' && (i+1 == len(text) || strings.IndexByte(" \r\n,[]{}\"'", text[i+1]) >= 0)):
			return len(bytes.TrimRight(text[:i], " \t\r\n"))
		default:
			// A quote inside a plain word is a letter.
			for i++; i < len(text) && (text[i] == '"' || text[i] == '\'') && strings.IndexByte(" \t\r\n,[]{}:", text[i-1]) < 0; i++ {
			}
			continue
		}
		if depth == 0 && i > at {
			return i
		}
	}
	return len(text)
}

// SkipQuoted returns where a quoted string ends.
func SkipQuoted(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[at] == '"':
			i++
		case text[i] == text[at]:
			if text[at] == '\'' && i+1 < len(text) && text[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(text)
}

// PlainEnd returns where a plain word in block style ends on its line.
func PlainEnd(text []byte, at int) int {
	end := textedit.LineEnd(text, at)
	for i := at; i < end; i++ {
		if text[i] == '#' && i > at && (text[i-1] == ' ' || text[i-1] == '\t') {
			end = i
			break
		}
	}
	return len(bytes.TrimRight(text[:end], " \t\r\n"))
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
