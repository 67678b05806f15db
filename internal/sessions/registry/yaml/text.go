package yaml

import (
	"bytes"
	"strings"

	"tutti/internal/core/text"
)

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
		return text.Spell(t.text, quoted)
	}
	parts := make([]string, len(t.kids))
	for i, k := range t.kids {
		parts[i] = k.flow(quoted)
		if t.kind == object {
			parts[i] = text.Spell(t.names[i], quoted) + ": " + parts[i]
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
	dst = append(append(dst, strings.Repeat(" ", indent)...), text.Spell(name, false)...)
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

// lines returns the lines of new rows.
func (m manner) lines(rows []*tree) string {
	var dst []byte
	for _, t := range rows {
		dst = m.row(dst, t)
	}
	return string(dst)
}

// flows writes rows into a list in brackets.
func flows(rows []*tree, quoted bool) string {
	parts := make([]string, len(rows))
	for i, t := range rows {
		parts[i] = t.flow(quoted)
	}
	return strings.Join(parts, ", ")
}
