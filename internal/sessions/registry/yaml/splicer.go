package yaml

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
)

// A splicer collects the changes of text that carry out ops on one mapping. The first refusal ends it.
type splicer struct {
	manner
	d    *document
	name string // of the session, for messages
	out  []text.Splice
	err  error
}

func (s *splicer) refuse(line int, format string, args ...any) {
	if s.err == nil {
		s.err = unsafeError(s.name, line, format, args...)
	}
}

// mapping carries out ops on a mapping that ends before limit. said is what it says.
func (s *splicer) mapping(n *yaml.Node, said *tree, limit int, ops []op) {
	if n.Kind != yaml.MappingNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		s.refuse(n.Line, "it has an anchor or a tag")
		return
	}
	if n.Style&yaml.FlowStyle != 0 {
		s.flowMapping(n, said, ops)
		return
	}
	var added []byte
	indent := n.Column - 1
	if len(n.Content) > 0 {
		indent = n.Content[0].Column - 1
	}
	done := map[string]bool{}
	left := len(n.Content) / 2
	for _, o := range ops {
		name := o.path[0]
		i := member(n, name)
		switch {
		case done[name]:
		case i < 0 && o.v == nil && len(o.path) == 1:
			s.refuse(n.Line, "%s comes from another place, by <<", name)
		case i < 0:
			v := applied(said, opsOn(ops, name)).at(name)
			added = s.block(added, name, v, indent)
		case len(o.path) > 1 && n.Content[i+1].Kind == yaml.MappingNode:
			var inner []op
			for _, p := range opsOn(ops, name) {
				inner = append(inner, op{p.path[1:], p.v})
			}
			s.mapping(n.Content[i+1], said.at(name), s.memberEnd(n, i, limit), inner)
		case o.v == nil && len(o.path) == 1:
			if left--; left == 0 {
				s.refuse(n.Line, "nothing would be left of it")
			}
			s.removeMember(n, i, limit)
		default:
			s.replace(n, i, limit, applied(said, opsOn(ops, name)).at(name))
		}
		done[name] = true
	}
	if len(added) > 0 {
		s.insert(text.ContentEnd(s.d.text, 0, limit, indent), string(added))
	}
}

func opsOn(ops []op, name string) (out []op) {
	for _, o := range ops {
		if o.path[0] == name {
			out = append(out, o)
		}
	}
	return out
}

// member finds the key of a member, -1: it is not written there.
func member(n *yaml.Node, name string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name && !isMerge(k) {
			return i
		}
	}
	return -1
}

// memberEnd returns where a member of a mapping in block style must have ended.
func (s *splicer) memberEnd(n *yaml.Node, i, limit int) int {
	if i+2 < len(n.Content) {
		return text.LineStart(s.d.text, s.d.offset(n.Content[i+2]))
	}
	return limit
}

// insert puts whole lines before an offset.
func (s *splicer) insert(at int, lines string) {
	s.out = append(s.out, s.d.insertAt(at, lines)...)
}

// keyPlace returns where a key begins, and whether there is nothing before it on its line; a dash may be.
func (s *splicer) keyPlace(k *yaml.Node) (at int, alone bool) {
	at = s.d.offset(k)
	before := s.d.text[text.LineStart(s.d.text, at):at]
	if text.Blank(before) {
		return at, true
	}
	if strings.Trim(string(before), " -") != "" || k.Style&yaml.TaggedStyle != 0 || k.Anchor != "" {
		s.refuse(k.Line, "something stands before %s on its line", k.Value)
	}
	return at, false
}

// valueEnd goes back from the end of a member over blank lines and comments: they stay. In a text over several lines only what does
// not stand deeper than the key is a comment.
func (s *splicer) valueEnd(k, v *yaml.Node, limit int) int {
	first := text.LineEnd(s.d.text, s.d.offset(k))
	if v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return text.ContentEnd(s.d.text, first, limit, 1<<30)
	}
	return text.ContentEnd(s.d.text, first, limit, k.Column)
}

func (s *splicer) removeMember(n *yaml.Node, i, limit int) {
	k, v := n.Content[i], n.Content[i+1]
	if anchored(v) {
		s.refuse(v.Line, "%s has an anchor, others may refer to it", k.Value)
		return
	}
	at, alone := s.keyPlace(k)
	end := s.valueEnd(k, v, s.memberEnd(n, i, limit))
	if alone {
		s.out = append(s.out, text.Put(text.LineStart(s.d.text, at), end, ""))
		return
	}
	if i+2 >= len(n.Content) {
		s.refuse(k.Line, "nothing would be left of it")
		return
	}
	next := s.d.offset(n.Content[i+2])
	if !text.Blank(s.d.text[end:next]) { // a comment: the dash stays before it, alone
		for s.d.text[at-1] == ' ' {
			at--
		}
		s.out = append(s.out, text.Put(at, end, s.eol))
		return
	}
	s.out = append(s.out, text.Put(at, next, ""))
}

// anchored reports whether a part has an anchor anywhere in it.
func anchored(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && (n.Anchor != "" || slices.ContainsFunc(n.Content, anchored))
}

// replace gives a member of a mapping in block style another value.
func (s *splicer) replace(n *yaml.Node, i, limit int, t *tree) {
	k, v := n.Content[i], n.Content[i+1]
	if anchored(v) {
		s.refuse(v.Line, "%s has an anchor, others may refer to it", k.Value)
		return
	}
	at, alone := s.keyPlace(k)
	end := s.valueEnd(k, v, s.memberEnd(n, i, limit))
	if inBrackets := v.Kind != yaml.ScalarNode && v.Style&yaml.FlowStyle != 0; inBrackets || t.kind < list || len(t.kids) == 0 {
		if from, to, ok := s.inline(k, v, end); ok {
			src := t.flow(s.d.quoted(v))
			if from == to {
				src = " " + src
			}
			s.out = append(s.out, text.Put(from, to, src))
			return
		}
	}
	if v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle == 0 && t.kind == list && len(t.kids) > 0 && s.items(v, end, t) {
		return
	}
	remark, ok := s.remark(k, v, end)
	if !ok {
		s.refuse(k.Line, "there may be comments in %s", k.Value)
		return
	}
	indent := k.Column - 1
	src := string(s.block(nil, k.Value, t, indent))
	src = strings.Replace(src, s.eol, remark+s.eol, 1)
	from := text.LineStart(s.d.text, at)
	if !alone {
		from, src = at, strings.TrimLeft(src, " ")
	}
	if end > 0 && s.d.text[end-1] != '\n' {
		src = strings.TrimSuffix(src, s.eol)
	}
	s.out = append(s.out, text.Put(from, end, src))
}

// remark returns the comment of a member, with the blanks before it: it has a place on the first line of any other value. Where there may be
// more than one, or none with a clear place, ok is false.
func (s *splicer) remark(k, v *yaml.Node, end int) (src string, ok bool) {
	whole, from := s.d.text[:end], s.d.offset(k)
	to := from
	switch {
	case v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		from = s.d.offset(v)
		to = text.PlainEnd(whole, from) // of the mark; what follows on other lines is text
	case v.Kind == yaml.ScalarNode || v.Kind == yaml.AliasNode:
		if at, behind, found := s.inline(k, v, end); found && bytes.IndexByte(whole[from:at], '#') < 0 {
			to = behind
		}
	}
	line := bytes.TrimRight(whole[to:text.LineEnd(whole, to)], "\r\n")
	switch {
	case to == from:
		return "", bytes.IndexByte(whole[from:], '#') < 0
	case bytes.IndexByte(line, '#') < 0:
		return "", true
	}
	return string(line), true
}

// inline finds the bytes of a value, where it can be replaced without its key: all but texts over several lines that have a mark, and
// parts in block style. An empty value has its place behind the colon. The member ends at end.
func (s *splicer) inline(k, v *yaml.Node, end int) (from, to int, ok bool) {
	src := s.d.text
	switch {
	case v.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0:
		return 0, 0, false
	case emptyWord(v):
		at := s.d.offset(k)
		if end > text.LineEnd(src, at) {
			return 0, 0, false
		}
		if k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			at = text.SkipQuoted(src, at)
		} else {
			at += len(k.Value)
		}
		at += indentOf(src[at:])
		return at + 1, at + 1, at < len(src) && src[at] == ':'
	}
	from = s.d.offset(v)
	switch {
	case v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return from, text.SkipQuoted(src, from), true
	case v.Style&yaml.FlowStyle != 0:
		to = text.SkipFlow(src, from)
		return from, to, !s.remarksWithin(from, to)
	case v.Kind == yaml.ScalarNode || v.Kind == yaml.AliasNode:
		// A comment ends a plain word: there is none but on its last line.
		return from, text.PlainEnd(src, max(from, text.LineStart(src, end-1))), true
	}
	return 0, 0, false
}

// remarksWithin reports whether there may be a comment in a part in flow style: it has one only where it goes over several lines.
func (s *splicer) remarksWithin(from, to int) bool {
	part := s.d.text[from:to]
	return bytes.IndexByte(part, '\n') >= 0 && bytes.IndexByte(part, '#') >= 0
}

// items changes the entries of a list in block style: those at the beginning and at the end that stay are not touched. It reports
// false when it cannot.
func (s *splicer) items(v *yaml.Node, end int, t *tree) bool {
	r := &reader{}
	old := make([]*tree, len(v.Content))
	for i, c := range v.Content {
		var err error
		if old[i], err = r.tree(c, 0, false); err != nil {
			return false
		}
	}
	head, tail := 0, 0
	for head < len(old) && head < len(t.kids) && old[head].equal(t.kids[head]) {
		head++
	}
	for tail < len(old)-head && tail < len(t.kids)-head && old[len(old)-1-tail].equal(t.kids[len(t.kids)-1-tail]) {
		tail++
	}
	if head+tail == 0 {
		return false // a list of other things
	}
	starts := make([]int, len(v.Content)+1)
	for i, c := range v.Content {
		starts[i] = s.d.start(c)
	}
	starts[len(v.Content)] = end
	for i := head; i < len(old)-tail; i++ {
		s.out = append(s.out, text.Put(starts[i], text.ContentEnd(s.d.text, starts[i], starts[i+1], 1<<30), ""))
	}
	var src []byte
	for _, k := range t.kids[head : len(t.kids)-tail] {
		src = append(append(src, strings.Repeat(" ", v.Column-1)...), "- "+k.flow(false)+s.eol...)
	}
	if len(src) > 0 {
		s.insert(starts[head], string(src))
	}
	return true
}

// flowMapping carries out ops on a mapping in braces.
func (s *splicer) flowMapping(n *yaml.Node, said *tree, ops []op) {
	done, quoted := map[string]bool{}, s.d.quoted(n)
	removed, mark := false, len(s.out)
	var added []string
	for _, o := range ops {
		name := o.path[0]
		i := member(n, name)
		switch {
		case done[name]:
		case o.v == nil && len(o.path) == 1:
			removed = true
		case i < 0:
			added = append(added, text.Spell(name, quoted)+": "+applied(said, opsOn(ops, name)).at(name).flow(quoted))
		default:
			v := n.Content[i+1]
			from := s.d.offset(v)
			if anchored(v) || v.Style&yaml.TaggedStyle != 0 || emptyWord(v) {
				s.refuse(v.Line, "%s has an anchor, a tag or no value", name)
				return
			}
			to := text.SkipFlow(s.d.text, from)
			if s.remarksWithin(from, to) {
				s.refuse(v.Line, "there may be comments in %s", name)
				return
			}
			s.out = append(s.out, text.Put(from, to, applied(said, opsOn(ops, name)).at(name).flow(quoted)))
		}
		done[name] = true
	}
	switch {
	case removed:
		s.out = s.out[:mark]
		s.flowWhole(n, applied(said, ops), quoted)
	case len(added) > 0:
		s.flowInsert(n, strings.Join(added, ", "))
	}
}

// emptyWord reports whether there is nothing where a value could stand.
func emptyWord(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0
}

// flowInsert puts the text of members behind the last one of a mapping in braces.
func (s *splicer) flowInsert(n *yaml.Node, src string) {
	if len(n.Content) == 0 {
		at := s.d.offset(n) + 1
		s.out = append(s.out, text.Put(at, at, src))
		return
	}
	last := n.Content[len(n.Content)-1]
	if emptyWord(last) {
		s.refuse(last.Line, "the last member has no value")
		return
	}
	at := text.SkipFlow(s.d.text, s.d.offset(last))
	s.out = append(s.out, text.Put(at, at, ", "+src))
}

// flowWhole writes a mapping in braces anew.
func (s *splicer) flowWhole(n *yaml.Node, t *tree, quoted bool) {
	from := s.d.offset(n)
	to := text.SkipFlow(s.d.text, from)
	if bytes.ContainsRune(s.d.text[from:to], '#') || slices.ContainsFunc(n.Content, referring) {
		s.refuse(n.Line, "there may be comments or references in the braces")
		return
	}
	s.out = append(s.out, text.Put(from, to, t.flow(quoted)))
}

// referring reports whether a part has an anchor or an alias in it.
func referring(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || isMerge(n) || slices.ContainsFunc(n.Content, referring)
}
