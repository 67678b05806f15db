package yaml

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
	"tutti/internal/sessions/registry"
)

const rowsKey = "tmux_sessions"

// A document is the text of a registry that was understood.
type document struct {
	text  []byte
	lines text.Lines
	root  *yaml.Node        // a mapping; nil: the text says nothing
	pair  int               // root.Content[pair] is the key of the rows; -1: there is none
	rows  []*entry          // in the order of the file
	named map[string]*entry // the first row of each name
	rest  *tree             // everything but the rows
}

// An entry is a row with its place in the file.
type entry struct {
	node *yaml.Node
	said *tree // nil: it cannot be read
	row  registry.Row
	raw  []byte                 // what it says, as JSON; nil: it cannot be read
	bad  *registry.InvalidError // why it cannot be used
	odd  []string
	sum  string // see hash
}

// hash is that of what the row says. It is computed once.
func (e *entry) hash() string {
	if e.sum == "" {
		e.sum = hashOf(e.said)
	}
	return e.sum
}

func (d *document) list() *yaml.Node {
	if d.pair < 0 {
		return nil
	}
	return d.root.Content[d.pair+1]
}

// parse reads a text. Errors are of type *text.Fault and are about the whole of it; what is wrong with one row stands with the row.
func parse(src []byte) (*document, error) {
	if err := checkText(src); err != nil {
		return nil, err
	}
	d := &document{text: src, pair: -1, rest: &tree{kind: object}, lines: text.LinesOf(src)}
	root, err := text.One(src)
	switch {
	case err != nil:
		return nil, err
	case root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return d, nil
	case root.Kind != yaml.MappingNode:
		return nil, faultAt(root, "a registry is a mapping with the member %s", rowsKey)
	}
	d.root = root
	return d, d.read()
}

func checkText(src []byte) error {
	if len(src) > registry.MaxSize {
		return &text.Fault{Line: 1, Reason: fmt.Sprintf("the text has %d bytes, and %d are the limit", len(src), registry.MaxSize)}
	}
	if at, reason := text.Flaw(src); at >= 0 {
		return &text.Fault{Line: text.Line(src, at), Reason: reason}
	}
	return nil
}

// read takes the root apart.
func (d *document) read() error {
	r := &reader{}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: d.root.Line}
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		key := d.root.Content[i]
		if key.Kind == yaml.ScalarNode && key.Value == rowsKey {
			if d.pair >= 0 {
				return faultAt(key, "%s stands here a second time", rowsKey)
			}
			d.pair = i
			continue
		}
		rest.Content = append(rest.Content, key, d.root.Content[i+1])
	}
	var err error
	if d.rest, err = r.tree(rest, 0, false); err != nil {
		return err
	}
	seq := d.list()
	if seq == nil || seq.Kind == yaml.ScalarNode && seq.ShortTag() == "!!null" {
		return nil
	}
	if seq.Kind != yaml.SequenceNode {
		return faultAt(seq, "%s is not a list", rowsKey)
	}
	for _, n := range seq.Content {
		e := &entry{node: n}
		if err := e.read(r); errors.Is(err, errBomb) {
			return err
		}
		d.rows = append(d.rows, e)
	}
	d.findNames()
	return nil
}

// read understands one row. The error is returned for the caller that wants to know its cause, too.
func (e *entry) read(r *reader) error {
	said, err := r.tree(e.node, 0, false)
	if err != nil {
		fault := &text.Fault{}
		errors.As(err, &fault)
		e.bad = &registry.InvalidError{Name: nameOf(e.node), Line: fault.Line, Reason: fault.Reason}
		return err
	}
	e.said, e.raw = said, said.json(nil)
	e.row, e.odd, err = registry.Parse(e.raw)
	var invalid *registry.InvalidError
	if errors.As(err, &invalid) {
		invalid.Line = e.node.Line
		e.bad = invalid
	}
	return err
}

// nameOf finds the name in a row that cannot be read. One that says nothing is none.
func nameOf(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == "name" && v.Kind == yaml.ScalarNode && v.ShortTag() != "!!null" {
			return v.Value
		}
	}
	return ""
}

// name returns the key of a row, as far as it has one.
func (e *entry) name() string {
	if e.row.Name != "" {
		return e.row.Name
	}
	return nameOf(e.node)
}

// findNames makes the index of the rows, and rows unusable that have one name: it is unknown which of them is the session.
func (d *document) findNames() {
	d.named = make(map[string]*entry, len(d.rows))
	for _, e := range d.rows {
		name := e.name()
		other := d.named[name]
		switch {
		case name == "":
		case other == nil:
			d.named[name] = e
		default:
			for _, twin := range []*entry{other, e} {
				twin.bad = &registry.InvalidError{
					Name: name, Line: twin.node.Line,
					Reason: fmt.Sprintf("there are two rows of this name, in line %d and in line %d", other.node.Line, e.node.Line),
				}
			}
		}
	}
}

// find returns the row of a name, usable or not; of several the first.
func (d *document) find(name string) *entry { return d.named[name] }

func (d *document) offset(n *yaml.Node) int { return d.lines.Offset(d.text, n) }

// start returns where the lines of an entry of a list in block style begin: at the line of its dash.
func (d *document) start(n *yaml.Node) int {
	at := d.offset(n)
	from := text.LineStart(d.text, at)
	if !text.Blank(d.text[from:at]) {
		return from
	}
	for above := from; above > 0; {
		above = text.LineStart(d.text, above-1)
		line := bytes.TrimSpace(d.text[above:text.LineEnd(d.text, above)])
		if bytes.HasPrefix(line, []byte("-")) {
			return above
		}
		if len(line) > 0 && line[0] != '#' {
			break
		}
	}
	return from
}

// manner finds out how the file is written.
func (d *document) manner() manner {
	m := manner{eol: text.EOL(d.text), dash: 0, key: 2, unit: 2, list: -1}
	seq := d.list()
	if seq != nil && seq.Kind == yaml.SequenceNode && seq.Style&yaml.FlowStyle == 0 {
		for _, n := range seq.Content {
			d.look(n, &m)
		}
	} else if d.root != nil {
		m.dash = d.root.Column - 1
	}
	if m.list < 0 {
		m.list = 0
		if d.pair >= 0 {
			m.list = max(0, m.dash-(d.root.Content[d.pair].Column-1))
		}
	}
	return m
}

// look takes the manner of a row; that of the last row counts.
func (d *document) look(n *yaml.Node, m *manner) {
	at := d.offset(n)
	from := text.LineStart(d.text, at)
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 {
		if i := bytes.IndexByte(d.text[from:at], '-'); i >= 0 {
			m.dash = i
		}
		return
	}
	if i := bytes.IndexByte(d.text[from:at], '-'); i >= 0 && n.Anchor == "" && text.Blank(d.text[from+i+1:at]) {
		m.dash, m.key = i, at-from-i
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if v.Style&yaml.FlowStyle != 0 || v.Line <= k.Line || v.Column < k.Column || v.Column-k.Column > 16 {
			continue
		}
		switch {
		case v.Kind == yaml.MappingNode && v.Column > k.Column:
			m.unit = v.Column - k.Column
		case v.Kind == yaml.SequenceNode:
			m.list = v.Column - k.Column
		}
	}
}
