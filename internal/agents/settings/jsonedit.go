package settings

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"tutti/internal/core/text"
)

// look finds out how a text is written.
func (d *jsonDoc) look() jsonStyle {
	s := jsonStyle{eol: text.EOL(d.text), unit: "  ", lines: true}
	es := d.elems(&d.root)
	if len(es) == 0 {
		return s
	}
	s.lines = bytes.IndexByte(d.text[d.root.StartOffset:d.root.EndOffset], '\n') >= 0
	if len(es) > 0 {
		s.tight = d.text[es[0].val.StartOffset-1] == ':'
	}
	for _, e := range es {
		if in := indentOf(d.text, e.start); in != "" && text.LineStart(d.text, e.start)+len(in) == e.start {
			s.unit = in
			break
		}
	}
	// The indentation of the root itself, should it have one, is not part of the step.
	s.unit = strings.TrimPrefix(s.unit, indentOf(d.text, d.root.StartOffset))
	if s.unit == "" || len(s.unit) > 16 {
		s.unit = "  "
	}
	s.inline = d.inlineLists(&d.root)
	return s
}

// inlineLists says whether the first list of single values stands on one line.
func (d *jsonDoc) inlineLists(root *hujson.Value) bool {
	for v := range root.All() {
		if a, ok := v.Value.(*hujson.Array); ok && len(a.Elements) > 0 {
			simple := !slices.ContainsFunc(a.Elements, func(e hujson.Value) bool { _, lit := e.Value.(hujson.Literal); return !lit })
			if simple {
				return bytes.IndexByte(d.text[v.StartOffset:v.EndOffset], '\n') < 0
			}
		}
	}
	return false
}

// render appends a value on several lines. What follows the first line is indented.
func (d *jsonDoc) render(dst []byte, v *value, indent string) []byte {
	if v.kind == scalar || len(v.kids) == 0 || v.kind == list && d.style.inline && v.simple() {
		return d.line(dst, v)
	}
	marks := "{}"
	if v.kind == list {
		marks = "[]"
	}
	dst = append(dst, marks[0])
	for i, k := range v.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, d.style.eol...), indent...), d.style.unit...)
		if v.kind == object {
			dst = d.key(dst, v.names[i])
		}
		dst = d.render(dst, k, indent+d.style.unit)
	}
	return append(append(append(dst, d.style.eol...), indent...), marks[1])
}

// line appends a value on one line.
func (d *jsonDoc) line(dst []byte, v *value) []byte {
	if v.kind == scalar {
		return append(dst, v.text...)
	}
	marks := "{}"
	if v.kind == list {
		marks = "[]"
	}
	dst = append(dst, marks[0])
	for i, k := range v.kids {
		if i > 0 {
			dst = append(dst, ',')
			if !d.style.tight {
				dst = append(dst, ' ')
			}
		}
		if v.kind == object {
			dst = d.key(dst, v.names[i])
		}
		dst = d.line(dst, k)
	}
	return append(dst, marks[1])
}

func (d *jsonDoc) key(dst []byte, name string) []byte {
	dst = append(append(dst, quote(name)...), ':')
	if !d.style.tight {
		dst = append(dst, ' ')
	}
	return dst
}

// element is a member or an entry as text.
func (d *jsonDoc) element(c *hujson.Value, name string, v *value, lines bool, indent string) string {
	var b []byte
	if _, ok := c.Value.(*hujson.Object); ok {
		b = d.key(b, name)
	}
	if lines {
		return string(d.render(b, v, indent))
	}
	return string(d.line(b, v))
}

// add puts an element behind the last one of an object or a list.
func (d *jsonDoc) add(c *hujson.Value, name string, v *value) []text.Splice {
	es := d.elems(c)
	open, closing := c.StartOffset, c.EndOffset-1
	// Behind all that stands between the brackets, comments too.
	p := open + 1 + len(bytes.TrimRight(d.text[open+1:closing], " \t\r\n"))
	broken := bytes.IndexByte(d.text[p:closing], '\n') >= 0
	eol, outer := d.style.eol, indentOf(d.text, open)
	inner := outer + d.style.unit
	if len(es) == 0 {
		switch {
		case p > open+1 && broken: // there are comments
			return []text.Splice{text.Put(p, p, eol+inner+d.element(c, name, v, true, inner))}
		case p > open+1:
			return []text.Splice{text.Put(p, p, " "+d.element(c, name, v, false, ""))}
		case d.style.lines:
			return []text.Splice{text.Put(p, closing, eol+inner+d.element(c, name, v, true, inner)+eol+outer)}
		}
		return []text.Splice{text.Put(p, closing, d.element(c, name, v, false, ""))}
	}
	last := es[len(es)-1]
	var src string
	if bytes.IndexByte(d.text[open+1:es[0].start], '\n') >= 0 {
		if in := indentOf(d.text, last.start); text.LineStart(d.text, last.start)+len(in) == last.start {
			inner = in
		}
		src = eol + inner + d.element(c, name, v, true, inner)
	} else {
		src = d.element(c, name, v, false, "")
		switch {
		case endsInLineComment(d.text[last.end:p]):
			src = eol + inner + src
		case !d.style.tight:
			src = " " + src
		}
	}
	switch {
	case last.comma >= 0:
		return []text.Splice{text.Put(p, p, src+",")}
	case p == last.end:
		return []text.Splice{text.Put(p, p, ","+src)}
	}
	return []text.Splice{text.Put(last.end, last.end, ","), text.Put(p, p, src)}
}

// drop takes an element out of an object or a list.
func (d *jsonDoc) drop(c *hujson.Value, es []elem, i int) []text.Splice {
	e := es[i]
	if len(es) == 1 && d.onlyElem(c, e) {
		return []text.Splice{text.Put(c.StartOffset+1, c.EndOffset-1, "")}
	}
	var out []text.Splice
	last := i == len(es)-1
	if last && e.comma < 0 && i > 0 {
		out = append(out, text.Put(es[i-1].comma, es[i-1].comma+1, ""))
	}
	from, to := e.start, e.end
	if e.comma >= 0 {
		if text.Blank(d.text[e.end:e.comma]) {
			to = e.comma + 1
		} else { // a comment stands before the comma, and stays
			out = append(out, text.Put(e.comma, e.comma+1, ""))
		}
	}
	before := c.StartOffset + 1
	if i > 0 {
		before = es[i-1].end
	}
	back, on := backBlanks(d.text, from), skipBlanks(d.text, to)
	begins := back == text.LineStart(d.text, back)
	ends := on == len(d.text) || d.text[on] == '\n' || d.text[on] == '\r'
	switch {
	case begins && (ends || on == c.EndOffset-1 && !endsInLineComment(d.text[before:back])):
		from = backEOL(d.text, back)
	case begins:
		to = on
	case last:
		from = back
	default:
		to = on
	}
	return append(out, text.Put(from, to, ""))
}

// endsInLineComment says whether a text between two elements ends in a comment that only the end of its line ends.
func endsInLineComment(src []byte) bool {
	for i := 0; i < len(src); {
		end := skipJSON(src, i)
		if end == len(src) && bytes.HasPrefix(src[i:], []byte("//")) {
			return true
		}
		i = max(i+1, end)
	}
	return false
}
