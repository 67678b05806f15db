package org

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// Bounds of what is read. A manifest that people write stays far below all of them.
const (
	maxDepth    = 12   // levels of lists and mappings; a manifest has four
	maxMembers  = 64   // of one mapping; the largest has four
	maxItems    = 8192 // of one list; so many members do not fit a manifest
	maxText     = 1024 // bytes of a text
	maxReported = 50   // places that one refusal names
)

// A Refused says why a text is not a manifest: each of Problems begins with the line or the path that it is about.
type Refused struct{ Problems []string }

func (r *Refused) Error() string {
	s := "no manifest: " + r.Problems[0]
	if n := len(r.Problems) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Hint says what to type.
func (r *Refused) Hint() string {
	return "tutti org validate --file FILE   # names every place that is wrong"
}

func refused(format string, args ...any) error {
	return &Refused{Problems: []string{fmt.Sprintf(format, args...)}}
}

// A kind says what a node is.
type kind uint8

const (
	nothing kind = iota // a key without a value
	scalar              // a text
	number              // a JSON value that is not a text: number, true, false, null
	list
	mapping
)

// A node is a part of a text, whatever it was written in.
type node struct {
	kind kind
	text string
	keys []string // of a mapping
	kids []node
}

func (n *node) what() string {
	return [...]string{"nothing", "a text", "a number, true, false or null", "a list", "a mapping"}[n.kind]
}

// get returns a member of a mapping.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return &n.kids[i]
		}
	}
	return nil
}

// Parse reads a manifest: JSON where the text begins with a brace or a bracket, else YAML. The error is a *Refused.
func Parse(text []byte) (*Org, error) {
	if len(text) > MaxManifest {
		return nil, refused("the text has more than %d bytes, which is more than a manifest may have", MaxManifest)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, refused("the text is not valid UTF-8")
	}
	var root node
	var err error
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		root, err = parseJSON(text)
	} else {
		root, err = parseYAML(string(text))
	}
	if err != nil {
		return nil, err
	}
	s := shaper{}
	o := s.org(&root)
	if len(s.problems) > 0 {
		return nil, &Refused{Problems: s.problems}
	}
	return o, nil
}

func parseJSON(text []byte) (node, error) {
	if err := canonjson.Check(text); err != nil {
		return node{}, refused("the JSON: %s", err)
	}
	return fromJSON(bytes.TrimSpace(text), 1)
}

func fromJSON(raw []byte, depth int) (node, error) {
	switch canonjson.Kind(raw) {
	case canonjson.TypeString:
		s, _ := canonjson.String(raw)
		return node{kind: scalar, text: s}, nil
	case canonjson.TypeArray, canonjson.TypeObject:
		if depth > maxDepth {
			return node{}, refused("the JSON is nested deeper than %d levels", maxDepth)
		}
	default:
		return node{kind: number}, nil
	}
	if canonjson.Kind(raw) == canonjson.TypeArray {
		n := node{kind: list}
		for e := range canonjson.Elements(raw) {
			kid, err := fromJSON(e, depth+1)
			if err == nil {
				err = n.append(kid)
			}
			if err != nil {
				return node{}, err
			}
		}
		return n, nil
	}
	n := node{kind: mapping}
	for key, value := range canonjson.Members(raw) {
		kid, err := fromJSON(value, depth+1)
		if err == nil {
			err = n.add(key, kid)
		}
		if err != nil {
			return node{}, err
		}
	}
	return n, nil
}

// add adds a member to a mapping. A second one of that name would be read in one way here and in another elsewhere.
func (n *node) add(key string, kid node) error {
	switch {
	case n.get(key) != nil:
		return refused("the key %q stands twice in one mapping", termsafe.Head(termsafe.Clean(key), 80))
	case len(n.keys) == maxMembers:
		return refused("a mapping has more than %d keys", maxMembers)
	}
	n.keys, n.kids = append(n.keys, key), append(n.kids, kid)
	return nil
}

// append adds an element to a list.
func (n *node) append(kid node) error {
	if len(n.kids) == maxItems {
		return refused("a list has more than %d elements", maxItems)
	}
	n.kids = append(n.kids, kid)
	return nil
}

// A shaper makes an organisation of nodes, and collects what is wrong.
type shaper struct {
	problems []string
	ignored  []string
}

func (s *shaper) wrong(path, format string, args ...any) {
	if len(s.problems) < maxReported {
		s.problems = append(s.problems, path+": "+fmt.Sprintf(format, args...))
	}
}

func (s *shaper) org(root *node) *Org {
	o := &Org{}
	if root.kind != mapping {
		s.wrong("the text", "it is not a mapping at its top level, but %s", root.what())
		return o
	}
	s.only(root, "", "scope", "version", "instances", "commEdges")
	o.Scope, _ = s.text(root, "", "scope", true)
	if o.Scope == "" && root.get("scope") != nil && root.get("scope").kind == scalar {
		s.wrong("scope", "it is empty")
	}
	o.Version, o.versioned = s.text(root, "", "version", false)
	for n, kid := range s.items(root, "instances", true) {
		if m, ok := s.member(fmt.Sprintf("instances[%d]", n), &kid); ok {
			o.Members = append(o.Members, m)
		}
	}
	if root.get("commEdges") != nil {
		o.Edges = []Edge{}
	}
	for n, kid := range s.items(root, "commEdges", false) {
		if e, ok := s.edge(fmt.Sprintf("commEdges[%d]", n), &kid); ok {
			o.Edges = append(o.Edges, e)
		}
	}
	o.Ignored = s.ignored
	return o
}

func (s *shaper) member(path string, n *node) (m Member, ok bool) {
	if n.kind != mapping {
		s.wrong(path, "it is not a mapping, but %s", n.what())
		return m, false
	}
	s.only(n, path, "instance", "role", "scopes", "mandateRights")
	m.Instance = s.id(n, path, "instance")
	m.Role, _ = s.text(n, path, "role", true)
	if m.Scopes = s.texts(n, path, "scopes"); m.Scopes == nil {
		m.Scopes = []string{}
	}
	m.Rights = s.texts(n, path, "mandateRights")
	return m, true
}

func (s *shaper) edge(path string, n *node) (e Edge, ok bool) {
	if n.kind != mapping {
		s.wrong(path, "it is not a mapping, but %s", n.what())
		return e, false
	}
	s.only(n, path, "from", "to")
	e.From, e.To = s.id(n, path, "from"), s.id(n, path, "to")
	return e, true
}

// only notes the members of a mapping that mean nothing.
func (s *shaper) only(n *node, path string, known ...string) {
	for _, key := range n.keys {
		if !slices.Contains(known, key) && len(s.ignored) < maxReported {
			s.ignored = append(s.ignored, join(path, termsafe.Head(termsafe.Clean(key), 80)))
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// items returns the elements of a list.
func (s *shaper) items(n *node, key string, must bool) []node {
	kid := n.get(key)
	switch {
	case kid == nil && !must:
		return nil
	case kid == nil:
		s.wrong(key, "it is missing")
		return nil
	case kid.kind != list:
		s.wrong(key, "it is not a list, but %s", kid.what())
		return nil
	}
	return kid.kids
}

// text returns a member that is a text.
func (s *shaper) text(n *node, path, key string, must bool) (text string, there bool) {
	kid := n.get(key)
	path = join(path, key)
	switch {
	case kid == nil && must:
		s.wrong(path, "it is missing")
		return "", false
	case kid == nil:
		return "", false
	}
	return s.fit(path, kid), true
}

// id is text for the id of an instance, which has to fit a bus. An empty one is a matter of Problems.
func (s *shaper) id(n *node, path, key string) address.Instance {
	before := len(s.problems)
	id, _ := s.text(n, path, key, true)
	if id != "" && len(s.problems) == before {
		if err := address.Check(id); err != nil {
			s.wrong(join(path, key), "%s", termsafe.Clean(err.Error()))
		}
	}
	return address.Instance(id)
}

// texts returns a list of texts, nil where there is none; one text alone is a list of one.
func (s *shaper) texts(n *node, path, key string) []string {
	kid := n.get(key)
	if kid == nil {
		return nil
	}
	path = join(path, key)
	if kid.kind == scalar {
		return []string{s.fit(path, kid)}
	}
	if kid.kind != list {
		s.wrong(path, "it is not a list of texts, but %s", kid.what())
		return nil
	}
	all := make([]string, 0, len(kid.kids))
	for i := range kid.kids {
		all = append(all, s.fit(fmt.Sprintf("%s[%d]", path, i), &kid.kids[i]))
	}
	return all
}

// fit returns a text that can be shown and compared byte by byte.
func (s *shaper) fit(path string, n *node) string {
	switch {
	case n.kind != scalar:
		s.wrong(path, "it is not a text, but %s", n.what())
	case len(n.text) > maxText:
		s.wrong(path, "the text has %d bytes, at most %d are taken", len(n.text), maxText)
	case !utf8.ValidString(n.text):
		s.wrong(path, "the text is not valid UTF-8")
	case strings.ContainsFunc(n.text, termsafe.Unsafe):
		s.wrong(path, "the text holds a control character, or an invisible one")
	default:
		return n.text
	}
	return ""
}
