package settings

import (
	"bytes"
	"fmt"
	"slices"

	"tutti/internal/core/text"
)

// find returns the key that has a path, and the inline table that contains it; nil for both: a table made by headers or by
// dotted keys, or nothing.
func (d *tomlDoc) find(path []string) (e, in *tomlExpr) {
	for i := range d.exprs {
		x := &d.exprs[i]
		if x.header || x.under || !hasPrefix(path, x.key) {
			continue
		}
		for rest := path[len(x.key):]; ; {
			if len(rest) == 0 {
				return x, in
			}
			k := slices.IndexFunc(x.kids, func(k tomlExpr) bool { return hasPrefix(rest, k.key) })
			if k < 0 {
				break
			}
			in, x = x, &x.kids[k]
			rest = rest[len(x.key):]
		}
		in = nil
	}
	return nil, nil
}

func (d *tomlDoc) replace(path []string, v *value) ([]byte, error) {
	e, _ := d.find(path)
	if e == nil { // a table of several expressions
		src, err := d.remove(path)
		if err != nil {
			return nil, err
		}
		next, err := parseTOML(src)
		if err != nil {
			return nil, err
		}
		return next.insert(path, v)
	}
	src, err := tomlInline(v)
	if err != nil {
		return nil, err
	}
	return apply(d.text, text.Put(e.valStart, e.end, src))
}

func (d *tomlDoc) list(path []string, olds []int, news []*value) ([]byte, error) {
	e, _ := d.find(path)
	v, err := d.val.at(path)
	if e == nil || err != nil {
		return nil, fmt.Errorf("%s is a list of tables: %w", name(path), ErrUnsafe)
	}
	if bytes.Contains(d.text[e.valStart:e.end], []byte("#")) {
		return nil, fmt.Errorf("there may be comments in the list %s: %w", name(path), ErrUnsafe)
	}
	return d.replace(path, v.edited(olds, news))
}

// insert: an inline table stays one, dotted keys get company of their kind, and else a table gets a header.
func (d *tomlDoc) insert(path []string, v *value) ([]byte, error) {
	for k := len(path) - 1; k > 0; k-- {
		if e, _ := d.find(path[:k]); e != nil {
			return d.insertInline(e, path[k], v.wrap(path[k+1:]))
		}
	}
	for k := len(path) - 1; k > 0; k-- {
		if i := d.headerOf(path[:k]); i >= 0 {
			// A table in a table of the first level is an entry, and has a header unless its siblings stand inline.
			if v.kind == object && k+1 == len(path) && k == 1 && !d.inlineIn(i) {
				return d.insertSection(path, v)
			}
			if k+1 == len(path) {
				return d.insertKey(i, path[k:], v)
			}
			break
		}
		if i := d.dottedOf(path[:k]); i >= 0 {
			x := d.exprs[i]
			var above []string
			if x.section >= 0 {
				above = d.exprs[x.section].key
			}
			return d.insertBehind(i, path[len(above):], v)
		}
	}
	switch {
	case v.kind == object && len(path) <= 2:
		return d.insertSection(path, v)
	case len(path) == 1:
		return d.insertKey(-1, path, v)
	}
	last := len(path) - 1
	return d.insertSection(path[:last], &value{kind: object, names: path[last:], kids: []*value{v}})
}

// headerOf returns the header of a table, as an index.
func (d *tomlDoc) headerOf(path []string) int {
	return slices.IndexFunc(d.exprs, func(e tomlExpr) bool { return e.header && !e.under && slices.Equal(e.key, path) })
}

// dottedOf returns the last key that makes a table by its dots.
func (d *tomlDoc) dottedOf(path []string) int {
	for i := len(d.exprs) - 1; i >= 0; i-- {
		e := d.exprs[i]
		if e.header || e.under || len(e.key) <= len(path) || !hasPrefix(e.key, path) {
			continue
		}
		if e.section < 0 || len(d.exprs[e.section].key) < len(path) {
			return i
		}
	}
	return -1
}

// inlineIn says whether a table has inline tables as members, and none with headers.
func (d *tomlDoc) inlineIn(header int) bool {
	inline := false
	for i, e := range d.exprs {
		if e.header && i != header && hasPrefix(e.key, d.exprs[header].key) {
			return false
		}
		inline = inline || e.section == header && e.inline
	}
	return inline
}

// insertInline puts a member into an inline table.
func (d *tomlDoc) insertInline(e *tomlExpr, key string, v *value) ([]byte, error) {
	if !e.inline {
		return nil, fmt.Errorf("%s is in a value that is not a table: %w", key, ErrUnsafe)
	}
	src, err := tomlInline(v)
	if err != nil {
		return nil, err
	}
	src = tomlKey(key) + " = " + src
	if n := len(e.kids); n > 0 {
		return apply(d.text, text.Put(e.kids[n-1].end, e.kids[n-1].end, ", "+src))
	}
	if !text.Blank(d.text[e.valStart+1 : e.end-1]) {
		return nil, fmt.Errorf("there are comments in the table that %s should stand in: %w", key, ErrUnsafe)
	}
	return apply(d.text, text.Put(e.valStart+1, e.end-1, " "+src+" "))
}

// insertKey puts a key behind the others below a header; -1: before every header.
func (d *tomlDoc) insertKey(header int, key []string, v *value) ([]byte, error) {
	at := header
	for i, e := range d.exprs {
		if !e.header && e.section == header {
			at = i
		}
	}
	if at >= 0 {
		return d.insertBehind(at, key, v)
	}
	src, err := tomlInline(v)
	if err != nil {
		return nil, err
	}
	return d.insertLine(d.contentEnd(-1), "", tomlKeys(key)+" = "+src)
}

// insertBehind puts a key on the line behind an expression.
func (d *tomlDoc) insertBehind(i int, key []string, v *value) ([]byte, error) {
	src, err := tomlInline(v)
	if err != nil {
		return nil, err
	}
	e := d.exprs[i]
	return d.insertLine(text.LineEnd(d.text, e.end), indentOf(d.text, e.start), tomlKeys(key)+" = "+src)
}

func (d *tomlDoc) insertLine(at int, indent, line string) ([]byte, error) {
	src := indent + line + d.eol
	if at > 0 && d.text[at-1] != '\n' {
		src = d.eol + indent + line
	}
	return apply(d.text, text.Put(at, at, src))
}

// insertSection puts a table with a header behind the last one of its family, else at the end.
func (d *tomlDoc) insertSection(path []string, v *value) ([]byte, error) {
	header := -1
	for k := len(path); k > 0 && header < 0; k-- {
		for i, e := range d.exprs {
			if e.header && hasPrefix(e.key, path[:k]) {
				header = i
			}
		}
	}
	family := header >= 0
	for i, e := range d.exprs {
		if e.header && !family {
			header = i // the last one there is
		}
	}
	p := d.contentEnd(header)
	var indent string
	if header >= 0 {
		indent = indentOf(d.text, d.exprs[header].start)
	}
	lines := []string{"[" + tomlKeys(path) + "]"}
	for i, k := range v.kids {
		src, err := tomlInline(k)
		if err != nil {
			return nil, err
		}
		lines = append(lines, tomlKey(v.names[i])+" = "+src)
	}
	var src []byte
	cut := p > 0 && d.text[p-1] != '\n' // the last line has no end, and the new last line gets none
	if cut {
		src = append(src, d.eol...)
	}
	if p > 0 {
		src = append(src, d.eol...)
	}
	for i, l := range lines {
		src = append(append(src, indent...), l...)
		if !cut || i < len(lines)-1 {
			src = append(src, d.eol...)
		}
	}
	return apply(d.text, text.Put(p, p, string(src)))
}

// contentEnd returns where a section ends: behind its last line, with the comments that belong to it. Those that stand directly
// above the next header belong to that one.
func (d *tomlDoc) contentEnd(header int) int {
	from, to := 0, len(d.text)
	if header >= 0 {
		from = text.LineEnd(d.text, d.exprs[header].end)
	}
	for i, e := range d.exprs {
		switch {
		case !e.header && e.section == header:
			from = max(from, text.LineEnd(d.text, e.end))
		case e.header && i > header:
			to = min(to, text.LineStart(d.text, e.start))
		}
	}
	if to < len(d.text) {
		for to > from {
			above := text.LineStart(d.text, to-1)
			if !text.Comment(d.text[above:to]) {
				break
			}
			to = above
		}
	}
	for to > from {
		above := text.LineStart(d.text, to-1)
		if !text.Blank(d.text[above:to]) {
			break
		}
		to = above
	}
	return max(from, to)
}

func (d *tomlDoc) remove(path []string) ([]byte, error) {
	if e, in := d.find(path); e != nil {
		if in != nil {
			return d.removeInline(in, e)
		}
		return apply(d.text, d.dropLine(*e))
	}
	var out []text.Splice
	for i, e := range d.exprs {
		switch {
		case !hasPrefix(e.key, path):
		case e.header:
			out = append(out, d.dropSection(i))
		case e.section < 0 || !hasPrefix(d.exprs[e.section].key, path):
			out = append(out, d.dropLine(e))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no lines of its own: %w", name(path), ErrUnsafe)
	}
	return apply(d.text, out...)
}

func (d *tomlDoc) rename(path []string, to string) ([]byte, error) {
	to = tomlKey(to)
	if e, _ := d.find(path); e != nil {
		at := e.parts[len(e.parts)-1]
		return apply(d.text, text.Put(at.From, at.To, to))
	}
	var out []text.Splice
	for _, e := range d.exprs { // a table by headers and dotted keys has its name in each of them
		if n := len(path) - 1 - (len(e.key) - len(e.parts)); n >= 0 && hasPrefix(e.key, path) {
			out = append(out, text.Put(e.parts[n].From, e.parts[n].To, to))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no lines of its own: %w", name(path), ErrUnsafe)
	}
	return apply(d.text, out...)
}

// dropLine takes away the lines of a key. A last line without an end takes that of the line above it.
func (d *tomlDoc) dropLine(e tomlExpr) text.Splice {
	from, to := text.LineStart(d.text, e.start), text.LineEnd(d.text, e.end)
	if to == len(d.text) && d.text[to-1] != '\n' {
		from = backEOL(d.text, from)
	}
	return text.Put(from, to, "")
}

// dropSection takes away a header and all below it, with one blank line above.
func (d *tomlDoc) dropSection(header int) text.Splice {
	h := d.exprs[header]
	from, to := text.LineStart(d.text, h.start), text.LineEnd(d.text, h.end)
	for _, e := range d.exprs {
		if !e.header && e.section == header {
			to = max(to, text.LineEnd(d.text, e.end))
		}
	}
	if from > 0 {
		if above := text.LineStart(d.text, from-1); text.Blank(d.text[above:from]) {
			from = above
		}
	}
	if to == len(d.text) && d.text[to-1] != '\n' {
		from = backEOL(d.text, from)
	}
	return text.Put(from, to, "")
}

// removeInline takes a member out of an inline table.
func (d *tomlDoc) removeInline(in, e *tomlExpr) ([]byte, error) {
	i := slices.IndexFunc(in.kids, func(k tomlExpr) bool { return k.start == e.start })
	cut := text.Put(e.start, e.end, "")
	switch {
	case len(in.kids) == 1:
		cut.From, cut.To = in.valStart+1, in.end-1
	case i == len(in.kids)-1:
		cut.From = in.kids[i-1].end
	default:
		cut.To = in.kids[i+1].start
	}
	beside := append(bytes.Clone(d.text[cut.From:e.start]), d.text[e.end:cut.To]...)
	if bytes.Contains(beside, []byte("#")) {
		return nil, fmt.Errorf("there are comments beside %s: %w", name(e.key), ErrUnsafe)
	}
	return apply(d.text, cut)
}
