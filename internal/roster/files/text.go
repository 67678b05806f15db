package files

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"tutti/internal/yamltext"
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

// flow writes a tree on one line.
func (t *tree) flow(quoted bool) string {
	switch t.kind {
	case null:
		return "null"
	case boolean, number:
		return t.text
	case word:
		return yamltext.Spell(t.text, quoted)
	}
	parts := make([]string, len(t.kids))
	for i, k := range t.kids {
		parts[i] = k.flow(quoted)
		if t.kind == object {
			parts[i] = yamltext.Spell(t.names[i], quoted) + ": " + parts[i]
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
	dst = append(append(dst, strings.Repeat(" ", indent)...), yamltext.Spell(name, false)...)
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
