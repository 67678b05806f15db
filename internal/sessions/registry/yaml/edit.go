package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
	"tutti/internal/sessions/registry"
)

// An op makes a member another one; with nil it removes it. The path has the names that lead to it.
type op struct {
	path []string
	v    *tree
}

// diff returns what leads from one object to another. Where both have a mapping, and cur has one there, too, it goes into it: cur is
// what stands in the file.
func diff(cur, before, after *tree) []op {
	var ops []op
	for i, name := range after.names {
		was, is := before.at(name), after.kids[i]
		if was != nil && was.equal(is) {
			continue
		}
		here := cur.at(name)
		if was == nil || was.kind != object || is.kind != object || here == nil || here.kind != object || len(is.kids) == 0 {
			ops = append(ops, op{[]string{name}, is})
			continue
		}
		for _, o := range diff(here, was, is) {
			ops = append(ops, op{append([]string{name}, o.path...), o.v})
		}
	}
	for _, name := range before.names {
		if after.at(name) == nil && cur.at(name) != nil {
			ops = append(ops, op{[]string{name}, nil})
		}
	}
	return ops
}

// applied returns what an object says after the ops.
func applied(t *tree, ops []op) *tree {
	for _, o := range ops {
		v := o.v
		if len(o.path) > 1 {
			v = applied(t.at(o.path[0]), []op{{o.path[1:], o.v}})
		}
		t = t.with(o.path[0], v)
	}
	return t
}

// unsafeError is the refusal of a change for which the text has no safe place.
func unsafeError(name string, line int, format string, args ...any) error {
	return &registry.InvalidError{Name: name, Line: line, Reason: "it cannot be changed safely here (" + fmt.Sprintf(format, args...) + "); edit the file by hand"}
}

// change returns the document after ops on one row. Changes that touch each other in the text are made one after the other.
func (d *document) change(e *entry, ops []op) (*document, error) {
	is, err := d.changeAtOnce(e, ops)
	i := slices.Index(d.rows, e)
	if errors.Is(err, text.ErrOverlap) && len(ops) > 1 {
		is, err = d, nil
		for n := 0; n < len(ops) && err == nil; n++ {
			is, err = is.changeAtOnce(is.rows[i], ops[n:n+1])
		}
	}
	if errors.Is(err, text.ErrOverlap) {
		return nil, unsafeError(e.name(), e.node.Line, "%v", err)
	}
	return is, err
}

func (d *document) changeAtOnce(e *entry, ops []op) (*document, error) {
	changes, err := d.rowSplices(e, ops)
	if err != nil {
		return nil, err
	}
	i := slices.Index(d.rows, e)
	want := applied(e.said, ops)
	return d.verified(e.name(), e.node.Line, changes, func(is *document) bool {
		return len(is.rows) == len(d.rows) && is.rows[i].said.equal(want) && d.sameRows(is.rows, i) && d.rest.equal(is.rest)
	})
}

func (d *document) rowSplices(e *entry, ops []op) ([]text.Splice, error) {
	seq := d.list()
	switch {
	case e.node.Kind != yaml.MappingNode:
		return nil, unsafeError(e.name(), e.node.Line, "the row refers to another one")
	case seq.Anchor != "" || seq.Kind != yaml.SequenceNode:
		return nil, unsafeError(e.name(), seq.Line, "the list of rows has an anchor")
	}
	from, limit := d.rowRange(e)
	s := &splicer{d: d, name: e.name(), manner: d.manner()}
	s.mapping(e.node, e.said, limit, ops)
	for _, c := range s.out {
		if c.From < from || c.To > limit {
			return nil, unsafeError(e.name(), e.node.Line, "the row has no clear end")
		}
	}
	return s.out, s.err
}

// rowRange returns the lines of a row: to the next row, or to what comes behind the list.
func (d *document) rowRange(e *entry) (from, limit int) {
	seq := d.list()
	if seq.Style&yaml.FlowStyle != 0 {
		at := d.offset(e.node)
		return at, text.SkipFlow(d.text, at)
	}
	limit = d.listEnd()
	if i := slices.Index(d.rows, e); i+1 < len(d.rows) {
		limit = d.start(d.rows[i+1].node)
	}
	return d.start(e.node), limit
}

// listEnd returns where the member with the rows must have ended.
func (d *document) listEnd() int {
	if d.root.Style&yaml.FlowStyle == 0 && d.pair+2 < len(d.root.Content) {
		return text.LineStart(d.text, d.offset(d.root.Content[d.pair+2]))
	}
	return d.end()
}

// end returns where nothing can follow: at a mark for the end, else at the end.
func (d *document) end() int {
	if i := bytes.Index(d.text, []byte("\n...")); i >= 0 {
		return i + 1
	}
	return len(d.text)
}

// sameRows compares the rows with those of another document, all but one.
func (d *document) sameRows(rows []*entry, but int) bool {
	for i, e := range d.rows {
		if i == but {
			continue
		}
		if u := rows[i]; e.name() != u.name() || !e.said.equal(u.said) {
			return false
		}
	}
	return true
}

// verified makes changes and reads the text again. Unless it says what was intended, nothing is changed.
func (d *document) verified(name string, line int, changes []text.Splice, good func(is *document) bool) (*document, error) {
	if i := text.OddBreak(d.text); i >= 0 {
		return nil, unsafeError(name, text.Line(d.text, i), "the line has an unusual end in it")
	}
	src, err := text.Apply(d.text, changes...)
	if err != nil {
		return nil, err
	}
	is, err := parse(src)
	if err != nil {
		return nil, unsafeError(name, line, "afterwards the file could not be read: %v", err)
	}
	if !good(is) {
		return nil, unsafeError(name, line, "afterwards the file would say something else than meant")
	}
	return is, nil
}

// add returns the document with more rows.
func (d *document) add(rows ...*tree) (*document, error) {
	var last error
	for _, at := range []func([]*tree) ([]text.Splice, error){d.addSplices, d.addBehind} {
		changes, err := at(rows)
		if err == nil {
			var is *document
			is, err = d.verified(nameIn(rows), 0, changes, func(is *document) bool {
				n := len(d.rows)
				return len(is.rows) == n+len(rows) && d.sameRows(is.rows[:n], -1) && d.rest.equal(is.rest) &&
					slices.EqualFunc(is.rows[n:], rows, func(e *entry, t *tree) bool { return e.said.equal(t) })
			})
			if err == nil {
				return is, nil
			}
		}
		if last == nil {
			last = err
		}
	}
	return nil, last
}

// nameIn returns the name of the first of some rows, for messages.
func nameIn(rows []*tree) string { return rows[0].at("name").text }

// addSplices puts rows behind the last one.
func (d *document) addSplices(rows []*tree) ([]text.Splice, error) {
	m, seq := d.manner(), d.list()
	switch {
	case d.root == nil:
		return d.insertAt(d.end(), rowsKey+":"+m.eol+m.lines(rows)), nil
	case seq == nil:
		s := &splicer{d: d, name: rowsKey, manner: m}
		if d.root.Style&yaml.FlowStyle != 0 {
			quoted := d.quoted(d.root)
			s.flowInsert(d.root, text.Spell(rowsKey, quoted)+": ["+flows(rows, quoted)+"]")
			return s.out, s.err
		}
		s.insert(text.ContentEnd(d.text, 0, d.end(), 0), rowsKey+":"+m.eol+m.lines(rows))
		return s.out, s.err
	case seq.Anchor != "" || seq.Kind == yaml.AliasNode:
		return nil, unsafeError(nameIn(rows), seq.Line, "the list of rows has an anchor")
	case seq.Style&yaml.FlowStyle != 0 && len(seq.Content) > 0:
		last := d.offset(seq.Content[len(seq.Content)-1])
		at := text.SkipFlow(d.text, last)
		return []text.Splice{text.Put(at, at, ", "+flows(rows, d.quoted(seq.Content[0])))}, nil
	case seq.Kind == yaml.ScalarNode || len(seq.Content) == 0:
		return d.addFirst(seq, rows, m)
	}
	return d.insertAt(text.ContentEnd(d.text, 0, d.listEnd(), m.dash+1), m.lines(rows)), nil
}

// addBehind puts rows behind blank lines and comments, too: they may belong to a text of the last row.
func (d *document) addBehind(rows []*tree) ([]text.Splice, error) {
	seq := d.list()
	if seq == nil || seq.Style&yaml.FlowStyle != 0 || len(d.rows) == 0 {
		return nil, text.ErrOverlap
	}
	return d.insertAt(d.listEnd(), d.manner().lines(rows)), nil
}

// addFirst puts rows into a list that is empty: null, nothing at all, or [].
func (d *document) addFirst(seq *yaml.Node, rows []*tree, m manner) ([]text.Splice, error) {
	key := d.root.Content[d.pair]
	at := d.offset(key)
	if d.root.Style&yaml.FlowStyle != 0 {
		from := d.offset(seq)
		return []text.Splice{text.Put(from, text.SkipFlow(d.text, from), "["+flows(rows, d.quoted(d.root))+"]")}, nil
	}
	line := text.LineEnd(d.text, at)
	if seq.Kind == yaml.ScalarNode && seq.Value == "" {
		return d.insertAt(line, m.lines(rows)), nil
	}
	from := d.offset(seq)
	end := text.SkipFlow(d.text, from)
	if seq.Kind == yaml.ScalarNode {
		end = text.PlainEnd(d.text, from)
	}
	if seq.Line != key.Line || end > line {
		return nil, unsafeError(nameIn(rows), key.Line, "the empty list stands on a line of its own")
	}
	for d.text[from-1] == ' ' {
		from--
	}
	return append([]text.Splice{text.Put(from, end, "")}, d.insertAt(line, m.lines(rows))...), nil
}

// amend returns the document after ops on what is beside the rows.
func (d *document) amend(ops []op) (*document, error) {
	s := &splicer{d: d, manner: d.manner()}
	want := applied(d.rest, ops)
	switch {
	case d.root == nil:
		var src []byte
		for i, name := range want.names {
			src = s.block(src, name, want.kids[i], 0)
		}
		s.out = d.insertAt(d.end(), string(src))
	default:
		s.mapping(d.root, d.rest, d.end(), ops)
	}
	if s.err != nil {
		return nil, s.err
	}
	return d.verified("", 1, s.out, func(is *document) bool {
		return len(is.rows) == len(d.rows) && d.sameRows(is.rows, -1) && is.rest.equal(want)
	})
}

// insertAt puts whole lines at the beginning of a line or at the end of the text.
func (d *document) insertAt(at int, lines string) []text.Splice {
	if at > 0 && d.text[at-1] != '\n' {
		eol := text.EOL(d.text)
		lines = eol + strings.TrimSuffix(lines, eol)
	}
	return []text.Splice{text.Put(at, at, lines)}
}

// quoted reports whether a mapping in flow style is written with quotes, as JSON is.
func (d *document) quoted(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Style&yaml.DoubleQuotedStyle != 0
}
