package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
)

// A yamlDoc is a text of YAML with one document. Only mappings are changed, in block and in flow style.
type yamlDoc struct {
	text  []byte
	root  *yaml.Node // a mapping; nil: the text says nothing
	lines text.Lines
	val   *value
	eol   string
	unit  int // columns by which a mapping is indented
	dash  int // columns by which a list in a mapping is indented
}

func parseYAML(src []byte) (*yamlDoc, error) {
	if i := text.OddBreak(src); i >= 0 {
		return nil, fault(src, i, "an unusual end of a line")
	}
	d := &yamlDoc{text: src, val: &value{kind: object}, eol: text.EOL(src), unit: 2, dash: 2}
	root, err := text.One(src)
	if err != nil {
		return nil, yamlFault(err)
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && root.Value == "" {
		return d, nil
	}
	v, err := d.convert(root, 0)
	if err != nil {
		return nil, err
	}
	if v.kind != object {
		return nil, &SyntaxError{Line: root.Line, Column: root.Column, Reason: "the text is " + v.what() + ", and no table"}
	}
	d.root, d.val, d.lines = root, v, text.LinesOf(src)
	d.look(root)
	return d, nil
}

func (d *yamlDoc) value() *value { return d.val }

func yamlFault(err error) error {
	var fault *text.Fault
	switch {
	case errors.Is(err, text.ErrSecond):
		return fmt.Errorf("%w: %w", err, ErrUnsafe)
	case errors.As(err, &fault):
		return &SyntaxError{Line: fault.Line, Reason: fault.Reason}
	}
	return err
}

// convert reads a node. A value that JSON has no form for is marked by its tag. An alias is not followed: it is equal to
// itself.
func (d *yamlDoc) convert(n *yaml.Node, depth int) (*value, error) {
	if depth > MaxDepth {
		return nil, &SyntaxError{Line: n.Line, Column: n.Column, Reason: fmt.Sprintf("more than %d tables and lists in each other", MaxDepth)}
	}
	out := &value{}
	switch n.Kind {
	case yaml.AliasNode:
		return &value{tag: "alias", text: quote("*" + n.Value)}, nil
	case yaml.ScalarNode:
		out = yamlScalar(n)
	case yaml.SequenceNode:
		out.kind = list
		for _, c := range n.Content {
			k, err := d.convert(c, depth+1)
			if err != nil {
				return nil, err
			}
			out.kids = append(out.kids, k)
		}
	case yaml.MappingNode:
		out.kind = object
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, err := d.convert(n.Content[i], depth+1)
			if err != nil {
				return nil, err
			}
			word := key.plain
			if key.tag != tagString {
				word = string(key.json(nil))
			}
			if seen[word] {
				return nil, &SyntaxError{Line: n.Content[i].Line, Column: n.Content[i].Column, Reason: quote(word) + " stands here a second time"}
			}
			seen[word] = true
			k, err := d.convert(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			out.names, out.kids = append(out.names, word), append(out.kids, k)
		}
	default:
		return nil, &SyntaxError{Line: n.Line, Column: n.Column, Reason: "a node of unknown kind"}
	}
	if n.Anchor != "" {
		out.tag += " &" + n.Anchor
	}
	if n.Kind != yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 {
		out.tag += " " + n.Tag
	}
	return out, nil
}

func yamlScalar(n *yaml.Node) *value {
	switch tag := n.ShortTag(); {
	case tag == "!!str":
		return stringValue(n.Value)
	case tag == "!!null":
		return &value{tag: tagNullTable, text: "null"}
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(n.Value)):
		return &value{tag: tagNumber, text: n.Value}
	case tag == "!!bool":
		return &value{tag: tagBool, text: strings.ToLower(n.Value)}
	default:
		return &value{tag: tag, text: quote(n.Value)}
	}
}

// look finds out how a text is indented.
func (d *yamlDoc) look(root *yaml.Node) {
	unit, dash := 0, -1
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Style&yaml.FlowStyle != 0 {
			return
		}
		if n.Kind == yaml.SequenceNode {
			for _, c := range n.Content {
				walk(c)
			}
		}
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			block := v.Style&yaml.FlowStyle == 0 && v.Line > k.Line && v.Column >= k.Column
			if block && unit == 0 && v.Kind == yaml.MappingNode && v.Column > k.Column {
				unit = v.Column - k.Column
			}
			if block && dash < 0 && v.Kind == yaml.SequenceNode {
				dash = v.Column - k.Column
			}
			walk(v)
		}
	}
	walk(root)
	if unit > 0 && unit <= 16 {
		d.unit, d.dash = unit, unit
	}
	if dash >= 0 && dash <= 16 {
		d.dash = dash
	}
}

// render appends the lines of a member in block style.
func (d *yamlDoc) render(dst []byte, name string, v *value, indent int) []byte {
	dst = append(append(dst, strings.Repeat(" ", indent)...), text.Spell(name, false)...)
	dst = append(dst, ':')
	if v.kind == scalar || len(v.kids) == 0 {
		dst = append(append(append(dst, ' '), yamlFlow(v)...), d.eol...)
		return dst
	}
	dst = append(dst, d.eol...)
	for i, k := range v.kids {
		if v.kind == object {
			dst = d.render(dst, v.names[i], k, indent+d.unit)
			continue
		}
		dst = append(dst, strings.Repeat(" ", indent+d.dash)...)
		dst = append(append(append(dst, "- "...), yamlFlow(k)...), d.eol...)
	}
	return dst
}

// yamlFlow writes a value on one line.
func yamlFlow(v *value) string {
	switch {
	case v.kind == scalar && v.tag == tagString:
		return text.Spell(v.plain, false)
	case v.kind == scalar:
		return v.text
	}
	parts := make([]string, len(v.kids))
	for i, k := range v.kids {
		parts[i] = yamlFlow(k)
		if v.kind == object {
			parts[i] = text.Spell(v.names[i], false) + ": " + parts[i]
		}
	}
	if v.kind == object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
