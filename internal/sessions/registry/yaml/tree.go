package yaml

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/text"
)

// Limits of what is understood.
const (
	maxDepth  = 60      // mappings and lists in each other; people stay below ten
	maxCopies = 100_000 // parts that aliases add: a bomb of them has millions, and a registry with a few hundred rows less than this
)

// The kinds of a tree.
type kind uint8

const (
	null kind = iota
	boolean
	number
	word // a string
	list
	object
)

// A tree is what a part of a file says, whatever its spelling: JSON with an order of members.
type tree struct {
	kind  kind
	text  string // of a number its JSON, of a boolean true or false, of a string what it says
	names []string
	kids  []*tree
	index map[string]int // of names, once there are many and one is looked for
}

// manyNames is from where on a name is looked for in an index.
const manyNames = 32

// place returns where the member of a name stands, -1: nowhere.
func (t *tree) place(name string) int {
	if len(t.names) < manyNames {
		return slices.Index(t.names, name)
	}
	if t.index == nil {
		t.index = make(map[string]int, len(t.names))
		for i, n := range t.names {
			t.index[n] = i
		}
	}
	if i, ok := t.index[name]; ok {
		return i
	}
	return -1
}

func (t *tree) at(name string) *tree {
	if t == nil || t.kind != object {
		return nil
	}
	if i := t.place(name); i >= 0 {
		return t.kids[i]
	}
	return nil
}

// with returns a copy of an object in which one member is another, or new behind the others; nil removes it.
func (t *tree) with(name string, v *tree) *tree {
	c := &tree{kind: object, names: slices.Clone(t.names), kids: slices.Clone(t.kids)}
	i := t.place(name)
	switch {
	case i < 0 && v != nil:
		c.names, c.kids = append(c.names, name), append(c.kids, v)
	case i >= 0 && v == nil:
		c.names, c.kids = slices.Delete(c.names, i, i+1), slices.Delete(c.kids, i, i+1)
	case i >= 0:
		c.kids[i] = v
	}
	return c
}

// equal compares what two trees say: the order of members says nothing.
func (t *tree) equal(u *tree) bool {
	if t == nil || u == nil {
		return t == u
	}
	if t.kind != u.kind || t.text != u.text || len(t.kids) != len(u.kids) {
		return false
	}
	for i, k := range t.kids {
		other := u.kids[i]
		if t.kind == object && t.names[i] != u.names[i] {
			other = u.at(t.names[i])
		}
		if !k.equal(other) {
			return false
		}
	}
	return true
}

func (t *tree) json(dst []byte) []byte {
	switch t.kind {
	case null:
		return append(dst, "null"...)
	case boolean, number:
		return append(dst, t.text...)
	case word:
		return canonjson.AppendString(dst, t.text)
	case list:
		dst = append(dst, '[')
		for i, k := range t.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.json(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, k := range t.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = k.json(append(canonjson.AppendString(dst, t.names[i]), ':'))
	}
	return append(dst, '}')
}

// fromJSON makes a tree of valid JSON. Of two members of one name the last counts.
func fromJSON(raw []byte) *tree {
	switch canonjson.Kind(raw) {
	case canonjson.TypeBool:
		return &tree{kind: boolean, text: strings.TrimSpace(string(raw))}
	case canonjson.TypeNumber:
		return &tree{kind: number, text: strings.TrimSpace(string(raw))}
	case canonjson.TypeString:
		s, _ := canonjson.String(raw)
		return &tree{kind: word, text: s}
	case canonjson.TypeArray:
		t := &tree{kind: list}
		for e := range canonjson.Elements(raw) {
			t.kids = append(t.kids, fromJSON(e))
		}
		return t
	case canonjson.TypeObject:
		t := &tree{kind: object}
		seen := map[string]int{}
		for name, v := range canonjson.Members(raw) {
			if i, ok := seen[name]; ok {
				t.kids[i] = fromJSON(v)
				continue
			}
			seen[name] = len(t.names)
			t.names, t.kids = append(t.names, name), append(t.kids, fromJSON(v))
		}
		return t
	}
	return &tree{kind: null}
}

// errBomb is in the chain of the error about aliases that multiply.
var errBomb = errors.New("aliases multiply it beyond what can be meant")

func faultAt(n *yaml.Node, format string, args ...any) error {
	return &text.Fault{Line: n.Line, Reason: fmt.Sprintf(format, args...)}
}

// A reader makes trees of the nodes of one file, with one allowance for copies.
type reader struct {
	copies int
}

// tree reads a node. Aliases are followed, and what is merged into a mapping stands behind its own members.
func (r *reader) tree(n *yaml.Node, depth int, copied bool) (*tree, error) {
	if depth > maxDepth {
		return nil, faultAt(n, "more than %d mappings and lists in each other", maxDepth)
	}
	if copied {
		if r.copies++; r.copies > maxCopies {
			return nil, &text.Fault{Line: n.Line, Reason: errBomb.Error(), Cause: errBomb}
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.tree(n.Alias, depth+1, true)
	case yaml.ScalarNode:
		return scalar(n), nil
	case yaml.SequenceNode:
		t := &tree{kind: list}
		for _, c := range n.Content {
			k, err := r.tree(c, depth+1, copied)
			if err != nil {
				return nil, err
			}
			t.kids = append(t.kids, k)
		}
		return t, nil
	case yaml.MappingNode:
		return r.mapping(n, depth, copied)
	}
	return nil, faultAt(n, "a part of unknown kind")
}

func (r *reader) mapping(n *yaml.Node, depth int, copied bool) (*tree, error) {
	t := &tree{kind: object}
	var merged []*tree
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, faultAt(key, "a key that is not a word")
		}
		if seen[key.Value] {
			return nil, faultAt(key, "%s stands there a second time", strconv.Quote(key.Value))
		}
		seen[key.Value] = true
		v, err := r.tree(n.Content[i+1], depth+1, copied)
		if err != nil {
			return nil, err
		}
		if isMerge(key) {
			merged = append(merged, v)
			continue
		}
		t.names, t.kids = append(t.names, key.Value), append(t.kids, v)
	}
	have := map[string]bool{}
	if len(merged) > 0 {
		for _, name := range t.names {
			have[name] = true
		}
	}
	for len(merged) > 0 {
		m := merged[0]
		merged = merged[1:]
		switch m.kind {
		case list:
			merged = append(slices.Clone(m.kids), merged...)
		case object:
			for i, name := range m.names {
				if !have[name] {
					have[name] = true
					t.names, t.kids = append(t.names, name), append(t.kids, m.kids[i])
				}
			}
		default:
			return nil, faultAt(n, "<< without a mapping")
		}
	}
	return t, nil
}

func isMerge(key *yaml.Node) bool {
	return key.ShortTag() == "!!merge"
}

// scalar reads a word. What JSON has no form for is a string of what stands there.
func scalar(n *yaml.Node) *tree {
	switch n.ShortTag() {
	case "!!null":
		return &tree{kind: null}
	case "!!bool":
		if is := strings.ToLower(n.Value); is == "true" || is == "false" {
			return &tree{kind: boolean, text: is}
		}
	case "!!int":
		if isNumber(n.Value) {
			return &tree{kind: number, text: strings.TrimSpace(n.Value)}
		}
		var i int64
		if n.Decode(&i) == nil {
			return &tree{kind: number, text: strconv.FormatInt(i, 10)}
		}
	case "!!float":
		if isNumber(n.Value) {
			return &tree{kind: number, text: strings.TrimSpace(n.Value)}
		}
	}
	return &tree{kind: word, text: n.Value}
}

// isNumber reports whether a word is a number in JSON. A tag can stand before any word.
func isNumber(word string) bool {
	raw := []byte(word)
	return canonjson.Kind(raw) == canonjson.TypeNumber && canonjson.Valid(raw)
}
