package files

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tutti/internal/canonjson"
)

// A splice puts a text in the place of a range of bytes.
type splice struct {
	from, to int
	with     string
}

var errOverlap = errors.New("two changes meet")

// apply makes changes to a text. Every byte outside of their ranges is copied as it is.
func apply(text []byte, changes []splice) ([]byte, error) {
	slices.SortStableFunc(changes, func(a, b splice) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	out := make([]byte, 0, len(text)+1024)
	at := 0
	for _, c := range changes {
		if c.from < at || c.to < c.from || c.to > len(text) {
			return nil, errOverlap
		}
		out = append(append(out, text[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, text[at:]...), nil
}

// eolOf returns how lines of a text end: as the first one does.
func eolOf(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns where the line of an offset ends, behind its end mark.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

func blankLine(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

func commentLine(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) }

// indentOf returns by how many spaces a line is indented.
func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// oddBreak finds what the parser takes for the end of a line and editors do not: lines would be counted wrong. -1: there is none.
func oddBreak(text []byte) int {
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

// skipFlow returns where a part in flow style ends that begins at an offset.
func skipFlow(text []byte, at int) int {
	depth := 0
	for i := at; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = skipQuoted(text, i)
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
			i = lineEnd(text, i)
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

// skipQuoted returns where a quoted string ends.
func skipQuoted(text []byte, at int) int {
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

// plainEnd returns where a plain word in block style ends on its line.
func plainEnd(text []byte, at int) int {
	end := lineEnd(text, at)
	for i := at; i < end; i++ {
		if text[i] == '#' && i > at && (text[i-1] == ' ' || text[i-1] == '\t') {
			end = i
			break
		}
	}
	return len(bytes.TrimRight(text[:end], " \t\r\n"))
}

// plainWord is what needs no quotes for any reader in any style, but for the words in spell.
var plainWord = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// spell writes a string. A word that some reader might take for something else is quoted.
func spell(s string, quoted bool) string {
	if !quoted && plainWord.MatchString(s) {
		switch strings.ToLower(s) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan":
		default:
			return s
		}
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

// flow writes a tree on one line.
func (t *tree) flow(quoted bool) string {
	switch t.kind {
	case null:
		return "null"
	case boolean, number:
		return t.text
	case word:
		return spell(t.text, quoted)
	}
	parts := make([]string, len(t.kids))
	for i, k := range t.kids {
		parts[i] = k.flow(quoted)
		if t.kind == object {
			parts[i] = spell(t.names[i], quoted) + ": " + parts[i]
		}
	}
	if t.kind == object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// A manner is how a file is written.
type manner struct {
	eol  string
	dash int // columns by which the rows are indented
	key  int // columns from the dash of a row to its members
	unit int // columns by which a mapping in a mapping is indented
	list int // columns by which a list in a mapping is indented
}

// block appends the lines of a member.
func (m manner) block(dst []byte, name string, t *tree, indent int) []byte {
	dst = append(append(dst, strings.Repeat(" ", indent)...), spell(name, false)...)
	dst = append(dst, ':')
	if t.kind < list || len(t.kids) == 0 {
		return append(append(append(dst, ' '), t.flow(false)...), m.eol...)
	}
	dst = append(dst, m.eol...)
	for i, k := range t.kids {
		if t.kind == object {
			dst = m.block(dst, t.names[i], k, indent+m.unit)
			continue
		}
		dst = append(dst, strings.Repeat(" ", indent+m.list)...)
		dst = append(append(append(dst, "- "...), k.flow(false)...), m.eol...)
	}
	return dst
}

// row appends the lines of a new row.
func (m manner) row(dst []byte, t *tree) []byte {
	begin := len(dst)
	for i, k := range t.kids {
		dst = m.block(dst, t.names[i], k, m.dash+m.key)
	}
	dst[begin+m.dash] = '-'
	return dst
}
