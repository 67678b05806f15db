package settings

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
)

// A yamlPlace is a member of a mapping.
type yamlPlace struct {
	in    *yaml.Node
	pair  int // the member is Content[pair] with Content[pair+1]
	limit int // the member ends before this offset
	upper *yamlPlace
}

func (p *yamlPlace) key() *yaml.Node { return p.in.Content[p.pair] }
func (p *yamlPlace) val() *yaml.Node { return p.in.Content[p.pair+1] }
func (p *yamlPlace) only() bool      { return len(p.in.Content) == 2 }
func (p *yamlPlace) last() bool      { return p.pair+2 == len(p.in.Content) }

// find goes down a path as far as there are mappings, and returns the last member that it found and the names that it used.
func (d *yamlDoc) find(path []string) (*yamlPlace, int, error) {
	var place *yamlPlace
	at, limit := d.root, len(d.text)
	for i, n := range path {
		if at == nil || at.Kind != yaml.MappingNode {
			return place, i, nil
		}
		if at.Anchor != "" || at.Style&yaml.TaggedStyle != 0 {
			return nil, 0, fmt.Errorf("line %d: this table has an anchor or a tag: %w", at.Line, ErrUnsafe)
		}
		next := -1
		for j := 0; j+1 < len(at.Content); j += 2 {
			if k := at.Content[j]; k.Kind == yaml.ScalarNode && k.Value == n && k.ShortTag() == "!!str" {
				next = j
			}
		}
		if next < 0 {
			return place, i, nil
		}
		end := limit
		if next+2 < len(at.Content) && at.Style&yaml.FlowStyle == 0 {
			end = text.LineStart(d.text, d.offset(at.Content[next+2]))
		}
		place = &yamlPlace{in: at, pair: next, limit: end, upper: place}
		at, limit = place.val(), end
	}
	return place, len(path), nil
}

func (d *yamlDoc) offset(n *yaml.Node) int { return d.lines.Offset(d.text, n) }

// span returns the range of the lines of a member in block style.
func (d *yamlDoc) span(p *yamlPlace) (from, to int, err error) {
	at := d.offset(p.key())
	from = text.LineStart(d.text, at)
	if strings.Trim(string(d.text[from:at]), " ") != "" {
		return 0, 0, fmt.Errorf("line %d: the key does not begin its line: %w", p.key().Line, ErrUnsafe)
	}
	if err := d.checkEnd(); err != nil {
		return 0, 0, err
	}
	return from, text.ContentEnd(d.text, text.LineEnd(d.text, at), p.limit, p.key().Column), nil
}

// checkEnd refuses a text with a mark for its end: nothing may come behind it.
func (d *yamlDoc) checkEnd() error {
	if bytes.HasPrefix(d.text, []byte("...")) || bytes.Contains(d.text, []byte("\n...")) {
		return fmt.Errorf("the text has a mark for its end (...): %w", ErrUnsafe)
	}
	return nil
}

func (d *yamlDoc) rename(path []string, to string) ([]byte, error) {
	p, n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if n < len(path) {
		return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
	}
	at := d.offset(p.key())
	for _, written := range [...]string{p.key().Value, quote(p.key().Value), "'" + p.key().Value + "'"} {
		if bytes.HasPrefix(d.text[at:], []byte(written)) {
			return apply(d.text, text.Put(at, at+len(written), to))
		}
	}
	return nil, fmt.Errorf("line %d: the key %s is written in an odd way: %w", p.key().Line, name(path), ErrUnsafe)
}

func (d *yamlDoc) insert(path []string, v *value) ([]byte, error) {
	p, n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	v = v.wrap(path[n+1:])
	if n == 0 {
		if d.root == nil {
			return d.insertLines(len(bytes.TrimRight(d.text, " \t\r\n")), path[0], v, 0)
		}
		return d.insertIn(d.root, len(d.text), path[0], v)
	}
	at := p.val()
	switch {
	case at.Kind == yaml.MappingNode:
		return d.insertIn(at, p.limit, path[n], v)
	case at.Kind == yaml.ScalarNode && at.Value == "" && at.Anchor == "" && at.Style == 0 && p.in.Style&yaml.FlowStyle == 0:
		if _, _, err := d.span(p); err != nil {
			return nil, err
		}
		return d.insertLines(text.LineEnd(d.text, d.offset(p.key())), path[n], v, p.key().Column-1+d.unit)
	}
	return nil, fmt.Errorf("%s is not a table: %w", name(path[:n]), ErrUnsafe)
}

// insertIn puts a member into a mapping.
func (d *yamlDoc) insertIn(m *yaml.Node, limit int, key string, v *value) ([]byte, error) {
	if m.Anchor != "" || m.Style&yaml.TaggedStyle != 0 {
		return nil, fmt.Errorf("line %d: this table has an anchor or a tag: %w", m.Line, ErrUnsafe)
	}
	if m.Style&yaml.FlowStyle != 0 {
		src := text.Spell(key, false) + ": " + yamlFlow(v)
		if len(m.Content) > 0 {
			at := d.offset(m.Content[0])
			return apply(d.text, text.Put(at, at, src+", "))
		}
		at := d.offset(m)
		end := text.SkipFlow(d.text, at)
		if end < at+2 || d.text[at] != '{' || !text.Blank(d.text[at+1:end-1]) {
			return nil, fmt.Errorf("line %d: there are comments in this table: %w", m.Line, ErrUnsafe)
		}
		return apply(d.text, text.Put(at+1, end-1, src))
	}
	first := m.Content[0]
	if start := text.LineStart(d.text, d.offset(first)); strings.Trim(string(d.text[start:d.offset(first)]), " ") != "" {
		return nil, fmt.Errorf("line %d: the key does not begin its line: %w", first.Line, ErrUnsafe)
	}
	if err := d.checkEnd(); err != nil {
		return nil, err
	}
	last := m.Content[len(m.Content)-2]
	at := text.ContentEnd(d.text, text.LineEnd(d.text, d.offset(last)), limit, first.Column-1)
	return d.insertLines(at, key, v, first.Column-1)
}

// insertLines puts a member in block style behind a line.
func (d *yamlDoc) insertLines(at int, key string, v *value, indent int) ([]byte, error) {
	src := string(d.render(nil, key, v, indent))
	if at > 0 && d.text[at-1] != '\n' {
		if at < len(d.text) { // in the middle of white space: behind its line
			at = text.LineEnd(d.text, at)
		} else {
			src = d.eol + strings.TrimSuffix(src, d.eol)
		}
	}
	return apply(d.text, text.Put(at, at, src))
}

func (d *yamlDoc) replace(path []string, v *value) ([]byte, error) {
	p, n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if n < len(path) || p.val().Anchor != "" || p.val().Kind == yaml.AliasNode {
		return nil, fmt.Errorf("%s has an anchor or stands elsewhere: %w", name(path), ErrUnsafe)
	}
	old := p.val()
	at := d.offset(old)
	if p.in.Style&yaml.FlowStyle != 0 {
		return apply(d.text, text.Put(at, text.SkipFlow(d.text, at), yamlFlow(v)))
	}
	word := old.Kind == yaml.ScalarNode && old.Value != "" && old.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	if word && v.kind == scalar && old.Line == p.key().Line {
		end := text.SkipFlow(d.text, at)
		if old.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
			end = text.PlainEnd(d.text, at)
		}
		return apply(d.text, text.Put(at, end, yamlFlow(v)))
	}
	from, to, err := d.span(p)
	if err != nil {
		return nil, err
	}
	src := string(d.render(nil, path[len(path)-1], v, p.key().Column-1))
	if d.text[to-1] != '\n' {
		src = strings.TrimSuffix(src, d.eol)
	}
	return apply(d.text, text.Put(from, to, src))
}

func (d *yamlDoc) list(path []string, olds []int, news []*value) ([]byte, error) {
	p, n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	v, err := d.val.at(path)
	if err != nil || n < len(path) {
		return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
	}
	if bytes.Contains(d.text[d.offset(p.key()):p.limit], []byte("#")) {
		return nil, fmt.Errorf("there may be comments in the list %s: %w", name(path), ErrUnsafe)
	}
	return d.replace(path, v.edited(olds, news))
}

func (d *yamlDoc) remove(path []string) ([]byte, error) {
	p, n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if n < len(path) {
		return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
	}
	if p.in.Style&yaml.FlowStyle != 0 {
		// In a table in braces Set puts a new one first.
		up := p.upper
		if up != nil && p.only() && up.pair == 0 && up.in.Style&yaml.FlowStyle != 0 && !d.commented(up.val()) {
			return d.remove(path[:len(path)-1])
		}
		return d.removeFlow(p)
	}
	from, to, err := d.span(p)
	if err != nil {
		return nil, err
	}
	if up := p.upper; up != nil && p.only() {
		return d.removeOnly(path, up, from, to)
	}
	if to == len(d.text) && d.text[to-1] != '\n' {
		from = backEOL(d.text, from)
	}
	return apply(d.text, text.Put(from, to, ""))
}

// removeOnly takes the last member out of a table. The table goes too where Set makes one, as the last of its own table, unless a
// comment stands in it.
func (d *yamlDoc) removeOnly(path []string, up *yamlPlace, from, to int) ([]byte, error) {
	start, end, err := d.span(up)
	if err != nil {
		return nil, err
	}
	rest := append(bytes.Clone(d.text[start:from]), d.text[to:max(to, end)]...)
	if up.last() && !bytes.Contains(rest, []byte("#")) {
		return d.remove(path[:len(path)-1])
	}
	colon := d.offset(up.key())
	if colon = text.SkipFlow(d.text, colon); colon >= len(d.text) || d.text[colon] != ':' {
		return nil, fmt.Errorf("line %d: there is no room for an empty table: %w", up.key().Line, ErrUnsafe)
	}
	if to == len(d.text) && d.text[to-1] != '\n' {
		from = backEOL(d.text, from)
	}
	return apply(d.text, text.Put(colon+1, colon+1, " {}"), text.Put(from, to, ""))
}

// commented says whether there may be a comment in a table in braces.
func (d *yamlDoc) commented(n *yaml.Node) bool {
	at := d.offset(n)
	return bytes.Contains(d.text[at:text.SkipFlow(d.text, at)], []byte("#"))
}

// removeFlow takes a member out of a mapping in flow style.
func (d *yamlDoc) removeFlow(p *yamlPlace) ([]byte, error) {
	from, end := d.offset(p.key()), text.SkipFlow(d.text, d.offset(p.val()))
	to := end
	switch {
	case !p.last():
		to = d.offset(p.in.Content[p.pair+2])
	case p.only():
		from, to = d.offset(p.in)+1, text.SkipFlow(d.text, d.offset(p.in))-1
	default:
		from = text.SkipFlow(d.text, d.offset(p.in.Content[p.pair-1]))
	}
	if from > to || bytes.Contains(d.text[min(end, to):to], []byte("#")) {
		return nil, fmt.Errorf("line %d: there may be comments in this table: %w", p.key().Line, ErrUnsafe)
	}
	return apply(d.text, text.Put(from, to, ""))
}
