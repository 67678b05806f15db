package org

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tutti/internal/core/termsafe"
)

// The part of YAML that is read: block mappings with keys of letters, digits and _.-, block lists, lists of texts in brackets on
// one line, texts that are plain or in quotes, comments and blank lines. A value is always a text. Anchors, aliases, tags, several
// documents, texts of several lines, mappings in braces, and a tab before the first word of a line are refused, each with its line: what
// is not here cannot mean one thing to this reader and another to the next.

// A row is a line that says something.
type row struct {
	no     int // from 1
	indent int
	text   string // from the first character that is not a blank
}

// A reader goes through the rows.
type reader struct {
	rows []row
	at   int
}

func (r row) wrong(format string, args ...any) error {
	return refused("line %d: %s", r.no, fmt.Sprintf(format, args...))
}

func parseYAML(text string) (node, error) {
	rows, err := rowsOf(text)
	if err != nil {
		return node{}, err
	}
	if len(rows) == 0 {
		return node{}, nil
	}
	r := &reader{rows: rows}
	n, err := r.block(rows[0].indent, 1)
	if err == nil && r.at < len(rows) {
		err = rows[r.at].wrong("it belongs to nothing that stands above it")
	}
	return n, err
}

// rowsOf returns the lines that say something.
func rowsOf(text string) ([]row, error) {
	var rows []row
	no := 0
	for line := range strings.Lines(text) {
		no++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		r := row{no: no, text: strings.TrimLeft(line, " ")}
		r.indent = len(line) - len(r.text)
		if strings.ContainsFunc(line, func(c rune) bool { return c != '\t' && termsafe.Unsafe(c) }) {
			return nil, r.wrong("it holds a control character, or an invisible one")
		}
		switch said := strings.TrimLeft(r.text, " \t"); {
		case said == "" || said[0] == '#':
			continue
		case r.text[0] == '\t':
			return nil, r.wrong("it is indented with a tab; use blanks")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// block reads what is indented by so many columns: a mapping or a list.
func (r *reader) block(indent, depth int) (node, error) {
	first := r.rows[r.at]
	if depth > maxDepth {
		return node{}, first.wrong("it is nested deeper than %d levels", maxDepth)
	}
	n := node{kind: mapping}
	if isItem(first.text) {
		n.kind = list
	}
	for r.at < len(r.rows) {
		l := r.rows[r.at]
		switch {
		case l.indent < indent:
			return n, nil
		case l.indent > indent:
			return n, l.wrong("it is indented by %d columns instead of %d", l.indent, indent)
		case isItem(l.text) != (n.kind == list):
			if n.kind == mapping {
				return n, l.wrong("a list and keys stand in one block")
			}
			return n, nil // the list stood at the columns of its key
		}
		var err error
		if n.kind == list {
			err = r.item(&n, l, depth)
		} else {
			err = r.member(&n, l, depth)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// item reads one element of a list.
func (r *reader) item(n *node, l row, depth int) error {
	rest := strings.TrimPrefix(l.text, "-")
	said := strings.TrimLeft(rest, " \t")
	var kid node
	var err error
	switch key, _ := cutKey(said); {
	case said == "" || said[0] == '#':
		r.at++
		kid, err = r.below(l.indent+1, depth)
	case isItem(said):
		return l.wrong("a list in a list begins on a line of its own")
	case key != "":
		if len(rest)-len(said) != 1 {
			return l.wrong("one blank stands between the dash and a key")
		}
		// The keys that follow stand below the first one.
		r.rows[r.at] = row{no: l.no, indent: l.indent + 2, text: said}
		kid, err = r.block(l.indent+2, depth+1)
	default:
		r.at++
		kid, err = value(l, said)
	}
	if err != nil {
		return err
	}
	return n.append(kid)
}

// member reads one key with its value.
func (r *reader) member(n *node, l row, depth int) error {
	key, rest := cutKey(l.text)
	if key == "" {
		return l.wrong("neither a key with a colon and a blank behind it, nor an item of a list")
	}
	r.at++
	said := strings.TrimLeft(rest, " \t")
	var kid node
	var err error
	if said == "" || said[0] == '#' {
		// A list may stand at the columns of its key.
		if r.at < len(r.rows) && r.rows[r.at].indent == l.indent && isItem(r.rows[r.at].text) {
			kid, err = r.block(l.indent, depth+1)
		} else {
			kid, err = r.below(l.indent+1, depth)
		}
	} else {
		kid, err = value(l, said)
	}
	if err != nil {
		return err
	}
	if n.get(key) != nil {
		return l.wrong("the key %s stands twice in one mapping", key)
	}
	return n.add(key, kid)
}

// below reads a block that is indented by at least so many columns, or nothing.
func (r *reader) below(indent, depth int) (node, error) {
	if r.at == len(r.rows) || r.rows[r.at].indent < indent {
		return node{}, nil
	}
	return r.block(r.rows[r.at].indent, depth+1)
}

// cutKey splits a line behind its key and colon. There is no key where key is empty.
func cutKey(text string) (key, rest string) {
	end := 0
	for end < len(text) && keyByte(text[end]) {
		end++
	}
	if end == 0 || end == len(text) || text[end] != ':' {
		return "", ""
	}
	if rest = text[end+1:]; rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", ""
	}
	return text[:end], rest
}

func keyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
}

// value reads a value that stands on the line of its key or dash.
func value(l row, said string) (node, error) {
	var n node
	var rest string
	var err error
	if said[0] == '[' {
		n, rest, err = flow(l, said[1:])
	} else {
		n.kind = scalar
		n.text, rest, err = text(l, said, false)
	}
	if err != nil {
		return node{}, err
	}
	if tail := strings.TrimLeft(rest, " \t"); tail != "" && (tail[0] != '#' || len(tail) == len(rest)) {
		return node{}, l.wrong("something stands behind the end of the value")
	}
	return n, nil
}

// flow reads a list of texts behind its bracket.
func flow(l row, said string) (n node, rest string, err error) {
	n.kind = list
	for said = strings.TrimLeft(said, " \t"); !strings.HasPrefix(said, "]"); {
		if said == "" || said[0] == '#' {
			return n, "", l.wrong("a bracket is not closed on its line")
		}
		kid := node{kind: scalar}
		if kid.text, said, err = text(l, said, true); err == nil {
			err = n.append(kid)
		}
		if err != nil {
			return n, "", err
		}
		said = strings.TrimLeft(said, " \t")
		if strings.HasPrefix(said, ",") {
			if said = strings.TrimLeft(said[1:], " \t"); strings.HasPrefix(said, "]") {
				return n, "", l.wrong("a comma stands before the closing bracket")
			}
		} else if !strings.HasPrefix(said, "]") {
			return n, "", l.wrong("a comma or a closing bracket is missing")
		}
	}
	return n, said[1:], nil
}

// text reads a text, which may stand in brackets.
func text(l row, said string, inFlow bool) (s, rest string, err error) {
	switch said[0] {
	case '\'':
		return single(l, said[1:])
	case '"':
		return double(l, said[1:])
	case '&', '*', '!', '|', '>', '@', '%', '`', '{', '}', '[', ']', ',':
		return "", "", l.wrong("a value begins with %c, which is not read here; quotes make it a text", said[0])
	}
	if said == "---" || said == "..." || strings.HasPrefix(said, "? ") {
		return "", "", l.wrong("this form of YAML is not read here")
	}
	end := len(said)
	for i := range len(said) {
		c := said[i]
		blank := i > 0 && (said[i-1] == ' ' || said[i-1] == '\t')
		if c == '#' && blank || inFlow && (c == ',' || c == ']') {
			end = i
			break
		}
		if inFlow && (c == '[' || c == '{' || c == '}') {
			return "", "", l.wrong("brackets hold texts only")
		}
		if c == ':' && (i+1 == len(said) || said[i+1] == ' ' || said[i+1] == '\t') {
			return "", "", l.wrong("a value holds a colon before a blank or at its end; quotes make it a text")
		}
	}
	s = strings.TrimRight(said[:end], " \t")
	return s, said[len(s):], nil
}

func single(l row, said string) (s, rest string, err error) {
	var b strings.Builder
	for {
		end := strings.IndexByte(said, '\'')
		if end < 0 {
			return "", "", l.wrong("a quote is not closed on its line")
		}
		b.WriteString(said[:end])
		if said = said[end+1:]; !strings.HasPrefix(said, "'") {
			return b.String(), said, nil
		}
		b.WriteByte('\'')
		said = said[1:]
	}
}

// escapes are those of a text in double quotes that stand for one character.
var escapes = [...]string{`"`, `"`, `\`, `\`, `/`, `/`, `n`, "\n", `t`, "\t", `r`, "\r", `e`, "\x1b", `0`, "\x00"}

func double(l row, said string) (s, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(said); i++ {
		switch c := said[i]; {
		case c == '"':
			return b.String(), said[i+1:], nil
		case c != '\\':
			b.WriteByte(c)
		default:
			r, n := escape(said[i+1:])
			if n == 0 {
				return "", "", l.wrong("a backslash in double quotes begins nothing that is read here")
			}
			b.WriteString(r)
			i += n
		}
	}
	return "", "", l.wrong("a quote is not closed on its line")
}

// escape reads what stands behind a backslash, and returns how many bytes that is; none: it is unknown.
func escape(said string) (s string, n int) {
	for i := 0; i < len(escapes); i += 2 {
		if strings.HasPrefix(said, escapes[i]) {
			return escapes[i+1], len(escapes[i])
		}
	}
	digits := 0
	switch {
	case strings.HasPrefix(said, "x"):
		digits = 2
	case strings.HasPrefix(said, "u"):
		digits = 4
	}
	if digits == 0 || len(said) < 1+digits {
		return "", 0
	}
	c, err := strconv.ParseUint(said[1:1+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(c)) {
		return "", 0
	}
	return string(rune(c)), 1 + digits
}
