package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"tutti/internal/core/text"
)

// A jsonDoc is a text of JSON, perhaps with comments and trailing commas. An empty text is an empty object.
type jsonDoc struct {
	text  []byte
	root  hujson.Value
	empty bool
	val   *value
	style jsonStyle
}

// A jsonStyle is how a text is written.
type jsonStyle struct {
	eol    string
	unit   string // of indentation
	lines  bool   // members stand on lines of their own
	tight  bool   // no space behind a colon or a comma
	inline bool   // lists of single values stand on one line
}

func parseJSON(src []byte) (*jsonDoc, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return &jsonDoc{text: src, empty: true, val: &value{kind: object}}, nil
	}
	if err := checkDepth(src, skipJSON); err != nil {
		return nil, err
	}
	// The parser wants an end of the line behind a comment, and people leave it out at the end of a text.
	root, err := hujson.Parse(src)
	if err != nil {
		ended, err2 := hujson.Parse(append(src[:len(src):len(src)], '\n'))
		if err2 != nil {
			return nil, jsonFault(err)
		}
		root = ended
	}
	d := &jsonDoc{text: src, root: root}
	if d.val, err = jsonValue(src, &root); err != nil {
		return nil, err
	}
	if d.val.kind != object {
		return nil, fault(src, root.StartOffset, "the text is %s, and no table", d.val.what())
	}
	d.style = d.look()
	return d, nil
}

func (d *jsonDoc) value() *value { return d.val }

// skipJSON returns where a string or a comment ends that begins at an offset; else the offset.
func skipJSON(src []byte, at int) int {
	switch {
	case src[at] == '"':
		for i := at + 1; i < len(src); i++ {
			switch src[i] {
			case '\\':
				i++
			case '"', '\n':
				return i + 1
			}
		}
		return len(src)
	case bytes.HasPrefix(src[at:], []byte("//")):
		return text.LineEnd(src, at)
	case bytes.HasPrefix(src[at:], []byte("/*")):
		if i := bytes.Index(src[at+2:], []byte("*/")); i >= 0 {
			return at + 2 + i + 2
		}
		return len(src)
	}
	return at
}

// jsonPlace finds the place in the errors of the parser.
var jsonPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)
})

func jsonFault(err error) error {
	src := err.Error()
	m := jsonPlace().FindStringSubmatch(src)
	if m == nil {
		return err
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return &SyntaxError{Line: line, Column: column, Reason: strings.TrimPrefix(src, m[0])}
}

// isStandard says whether a text is JSON without comments and trailing commas.
func isStandard(src []byte) bool { return len(bytes.TrimSpace(src)) == 0 || json.Valid(src) }

// readValue reads a value of standard JSON.
func readValue(raw []byte) (*value, error) {
	if !json.Valid(raw) {
		return nil, errors.New("this is not valid JSON")
	}
	if err := checkText(raw); err != nil {
		return nil, err
	}
	if err := checkDepth(raw, skipJSON); err != nil {
		return nil, err
	}
	v, err := hujson.Parse(raw)
	if err != nil {
		return nil, jsonFault(err)
	}
	return jsonValue(raw, &v)
}

func jsonValue(src []byte, v *hujson.Value) (*value, error) {
	switch t := v.Value.(type) {
	case *hujson.Object:
		out := &value{kind: object}
		seen := make(map[string]bool, len(t.Members))
		for i := range t.Members {
			m := &t.Members[i]
			lit, _ := m.Name.Value.(hujson.Literal)
			n := lit.String()
			if seen[n] {
				return nil, fault(src, m.Name.StartOffset, "%s stands here a second time", quote(n))
			}
			seen[n] = true
			kid, err := jsonValue(src, &m.Value)
			if err != nil {
				return nil, err
			}
			out.names, out.kids = append(out.names, n), append(out.kids, kid)
		}
		return out, nil
	case *hujson.Array:
		out := &value{kind: list}
		for i := range t.Elements {
			kid, err := jsonValue(src, &t.Elements[i])
			if err != nil {
				return nil, err
			}
			out.kids = append(out.kids, kid)
		}
		return out, nil
	case hujson.Literal:
		return literalValue(t), nil
	}
	return nil, fmt.Errorf("a value of unknown kind: %w", ErrUnsafe)
}

func literalValue(lit hujson.Literal) *value {
	switch lit.Kind() {
	case '"':
		s := lit.String()
		if strings.ContainsRune(s, '\ufffd') {
			// Half of a surrogate pair is read as this character. What was written tells the two apart.
			return &value{tag: tagString, text: string(lit), plain: s}
		}
		return stringValue(s)
	case '0':
		return &value{tag: tagNumber, text: string(lit)}
	case 'n':
		return &value{tag: tagNull, text: "null"}
	}
	return &value{tag: tagBool, text: string(lit)}
}

// An elem is a member of an object or an entry of a list, in the text.
type elem struct {
	start, end int // from the first byte of the name, if any, to behind the value
	comma      int // offset of the comma behind it; -1: there is none
	val        *hujson.Value
	name       string
}

// elems returns what stands in an object or a list.
func (d *jsonDoc) elems(c *hujson.Value) []elem {
	var out []elem
	add := func(start int, name string, v *hujson.Value) {
		e := elem{start: start, end: v.EndOffset, comma: -1, val: v, name: name}
		if j := e.end + len(v.AfterExtra); j < len(d.text) && d.text[j] == ',' {
			e.comma = j
		}
		out = append(out, e)
	}
	switch t := c.Value.(type) {
	case *hujson.Object:
		for i := range t.Members {
			m := &t.Members[i]
			lit, _ := m.Name.Value.(hujson.Literal)
			add(m.Name.StartOffset, lit.String(), &m.Value)
		}
	case *hujson.Array:
		for i := range t.Elements {
			add(t.Elements[i].StartOffset, "", &t.Elements[i])
		}
	}
	return out
}

// find goes down a path as far as there are objects. It returns the value where it stopped and how many names it used.
func (d *jsonDoc) find(path []string) (*hujson.Value, int) {
	at := &d.root
	for i, n := range path {
		var next *hujson.Value
		for _, e := range d.elems(at) {
			if e.name == n {
				next = e.val
			}
		}
		if next == nil {
			return at, i
		}
		at = next
	}
	return at, len(path)
}

func (d *jsonDoc) insert(path []string, v *value) ([]byte, error) {
	if d.empty {
		d.style = jsonStyle{eol: text.EOL(d.text), unit: "  ", lines: true}
		return append(d.render(nil, v.wrap(path), ""), d.style.eol...), nil
	}
	at, n := d.find(path)
	return apply(d.text, d.add(at, path[n], v.wrap(path[n+1:]))...)
}

func (d *jsonDoc) replace(path []string, v *value) ([]byte, error) {
	at, n := d.find(path)
	if n < len(path) {
		return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
	}
	return apply(d.text, d.swap(at, v))
}

// swap puts a value in the place of another one. What stood on one line stays on one.
func (d *jsonDoc) swap(at *hujson.Value, v *value) text.Splice {
	var src []byte
	old := d.text[at.StartOffset:at.EndOffset]
	short := len(old) > 2 && (old[0] == '{' || old[0] == '[') && bytes.IndexByte(old, '\n') < 0
	if d.style.lines && !short {
		src = d.render(nil, v, indentOf(d.text, at.StartOffset))
	} else {
		src = d.line(nil, v)
	}
	return text.Put(at.StartOffset, at.EndOffset, string(src))
}

func (d *jsonDoc) remove(path []string) ([]byte, error) {
	for ; ; path = path[:len(path)-1] {
		parent, _ := d.find(path[:len(path)-1])
		es := d.elems(parent)
		at := -1
		for i, e := range es {
			if e.name == path[len(path)-1] {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
		}
		// A table that would be empty goes with its last member where Set makes tables: as the last one in its own table.
		if len(es) == 1 && len(path) > 1 && d.onlyElem(parent, es[0]) && d.lastIn(path[:len(path)-1]) {
			continue
		}
		return apply(d.text, d.drop(parent, es, at)...)
	}
}

func (d *jsonDoc) rename(path []string, to string) ([]byte, error) {
	parent, _ := d.find(path[:len(path)-1])
	if o, ok := parent.Value.(*hujson.Object); ok {
		for i := range o.Members {
			m := &o.Members[i].Name
			if lit, _ := m.Value.(hujson.Literal); lit.String() == path[len(path)-1] {
				return apply(d.text, text.Put(m.StartOffset, m.EndOffset, quote(to)))
			}
		}
	}
	return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
}

// lastIn says whether the member at a path is the last one of its object.
func (d *jsonDoc) lastIn(path []string) bool {
	parent, _ := d.find(path[:len(path)-1])
	es := d.elems(parent)
	return len(es) > 0 && es[len(es)-1].name == path[len(path)-1]
}

// onlyElem says whether nothing but one element and white space stands between the brackets.
func (d *jsonDoc) onlyElem(c *hujson.Value, e elem) bool {
	rest := append([]byte(nil), d.text[c.StartOffset+1:e.start]...)
	if e.comma >= 0 {
		rest = append(append(rest, d.text[e.end:e.comma]...), d.text[e.comma+1:c.EndOffset-1]...)
	} else {
		rest = append(rest, d.text[e.end:c.EndOffset-1]...)
	}
	return text.Blank(rest)
}

func (d *jsonDoc) list(path []string, olds []int, news []*value) ([]byte, error) {
	if _, n := d.find(path); n < len(path) {
		return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
	}
	// From the end to the beginning, one at a time: what comes before a change keeps its place.
	src := d.text
	for i := len(olds) - 1; i >= 0; i-- {
		doc, err := parseJSON(src)
		if err != nil {
			return nil, err
		}
		at, _ := doc.find(path)
		es := doc.elems(at)
		switch {
		case olds[i] < 0:
			continue // below, in their order
		case news[i] == nil:
			src, err = apply(src, doc.drop(at, es, olds[i])...)
		default:
			src, err = doc.turn(path, olds[i], news[i])
		}
		if err != nil {
			return nil, err
		}
	}
	for i, old := range olds {
		if old >= 0 {
			continue
		}
		doc, err := parseJSON(src)
		if err != nil {
			return nil, err
		}
		at, _ := doc.find(path)
		if src, err = apply(src, doc.add(at, "", news[i])...); err != nil {
			return nil, err
		}
	}
	return src, nil
}
