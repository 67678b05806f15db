package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"tutti/internal/core/text"
)

// A tomlDoc is a text of TOML: what it says, and where each expression stands.
type tomlDoc struct {
	text  []byte
	val   *value
	exprs []tomlExpr
	eol   string
}

// A tomlExpr is a header of a table, or a key with its value.
type tomlExpr struct {
	header  bool
	array   bool // a header of the form [[…]]
	under   bool // stands below such a header, or is one: no path leads there
	section int  // the header above a key, as an index; -1: none
	key     []string
	parts   []text.Splice // where the parts of the key that stand here are, the last ones of key
	// Byte ranges: of the whole expression without a comment behind it, and of the value.
	start, end, valStart int
	inline               bool       // the value is an inline table
	kids                 []tomlExpr // its members; their keys begin below the table
}

func parseTOML(src []byte) (*tomlDoc, error) {
	if err := checkDepth(src, skipTOML); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := toml.Unmarshal(src, &all); err != nil {
		return nil, tomlFault(err)
	}
	d := &tomlDoc{text: src, val: tomlValue(all), eol: text.EOL(src)}
	var p unstable.Parser
	p.Reset(src)
	section := -1
	arrays := map[string]bool{}
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			e := d.header(n)
			if e.array {
				arrays[tomlKeys(e.key)] = true
			}
			for k := range e.key {
				e.under = e.under || len(arrays) > 0 && arrays[tomlKeys(e.key[:k+1])]
			}
			section = len(d.exprs)
			d.exprs = append(d.exprs, e)
		case unstable.KeyValue:
			e := d.keyValue(n)
			e.section = section
			if section >= 0 {
				e.key = slices.Concat(d.exprs[section].key, e.key)
				e.under = d.exprs[section].under
			}
			d.exprs = append(d.exprs, e)
		}
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("this TOML cannot be read: %w", err)
	}
	return d, nil
}

func (d *tomlDoc) value() *value { return d.val }

// tomlFault makes one line of what the parser says on several.
func tomlFault(err error) error {
	var e *toml.DecodeError
	if !errors.As(err, &e) {
		return fmt.Errorf("this TOML cannot be read: %w", err)
	}
	line, column := e.Position()
	reason := strings.TrimPrefix(e.Error(), "toml: ")
	if k := e.Key(); len(k) > 0 {
		reason = strings.Join(k, ".") + ": " + reason
	}
	return &SyntaxError{Line: line, Column: column, Reason: reason}
}

// skipTOML returns where a string or a comment ends that begins at an offset; else the offset.
func skipTOML(src []byte, at int) int {
	switch src[at] {
	case '#':
		return text.LineEnd(src, at)
	case '"', '\'':
	default:
		return at
	}
	mark := src[at : at+1]
	if long := bytes.Repeat(mark, 3); bytes.HasPrefix(src[at:], long) {
		for i := at + 3; i < len(src); i++ {
			if src[i] == '\\' && mark[0] == '"' {
				i++
			} else if bytes.HasPrefix(src[i:], long) {
				i += 3
				for i < len(src) && src[i] == mark[0] { // up to two more belong to the string
					i++
				}
				return i
			}
		}
		return len(src)
	}
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\' && mark[0] == '"':
			i++
		case src[i] == mark[0], src[i] == '\n':
			return i + 1
		}
	}
	return len(src)
}

// tomlValue: a value that JSON has no form for is marked by its tag, and shown as a string.
func tomlValue(v any) *value {
	switch t := v.(type) {
	case map[string]any:
		out := &value{kind: object}
		for _, n := range slices.Sorted(maps.Keys(t)) {
			out.names, out.kids = append(out.names, n), append(out.kids, tomlValue(t[n]))
		}
		return out
	case []any:
		out := &value{kind: list}
		for _, k := range t {
			out.kids = append(out.kids, tomlValue(k))
		}
		return out
	case string:
		return stringValue(t)
	case bool:
		return &value{tag: tagBool, text: strconv.FormatBool(t)}
	case int64:
		return &value{tag: tagNumber, text: strconv.FormatInt(t, 10)}
	case float64:
		src := strconv.FormatFloat(t, 'g', -1, 64)
		if strings.ContainsAny(src, "IN") { // Inf, NaN
			return &value{tag: "float", text: quote(strings.ToLower(src))}
		}
		if !strings.ContainsAny(src, ".e") {
			src += ".0"
		}
		return &value{tag: tagNumber, text: src}
	case time.Time:
		return &value{tag: "time", text: quote(t.Format(time.RFC3339Nano))}
	}
	return &value{tag: fmt.Sprintf("%T", v), text: quote(fmt.Sprint(v))}
}

// header reads where a header stands.
func (d *tomlDoc) header(n *unstable.Node) tomlExpr {
	e := tomlExpr{header: true, array: n.Kind == unstable.ArrayTable, section: -1}
	first, behind := d.keys(&e, n.Key())
	e.start = first
	for e.start > 0 && d.text[e.start] != '[' {
		e.start--
	}
	if e.array && e.start > 0 {
		e.start--
	}
	e.end = skipBlanks(d.text, behind)
	for e.end < len(d.text) && d.text[e.end] == ']' {
		e.end++
	}
	e.valStart = e.end
	return e
}

// keyValue reads where a key and its value stand.
func (d *tomlDoc) keyValue(n *unstable.Node) tomlExpr {
	e := tomlExpr{section: -1}
	first, behind := d.keys(&e, n.Key())
	e.start = first
	e.end = len(bytes.TrimRight(d.text[:int(n.Raw.Offset)+int(n.Raw.Length)], " \t\r\n"))
	e.valStart = skipBlanks(d.text, skipBlanks(d.text, behind)+1) // over the mark between them
	v := n.Value()
	if v.Kind == unstable.InlineTable {
		e.inline = true
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				e.kids = append(e.kids, d.keyValue(it.Node()))
			}
		}
	}
	return e
}

// keys reads a key, and returns where it begins and ends.
func (d *tomlDoc) keys(e *tomlExpr, it unstable.Iterator) (first, behind int) {
	first = -1
	for it.Next() {
		k := it.Node()
		if first < 0 {
			first = int(k.Raw.Offset)
		}
		behind = int(k.Raw.Offset) + int(k.Raw.Length)
		e.parts = append(e.parts, text.Put(int(k.Raw.Offset), behind, ""))
		e.key = append(e.key, string(k.Data))
	}
	return first, behind
}

func hasPrefix(key, prefix []string) bool {
	return len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix)
}

// tomlKey writes one part of a key.
func tomlKey(s string) string {
	bare := s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	if bare {
		return s
	}
	return tomlString(s)
}

func tomlKeys(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = tomlKey(p)
	}
	return strings.Join(parts, ".")
}

// tomlString: the escapes of JSON are among those of TOML, but for one character that TOML wants escaped.
func tomlString(s string) string { return strings.ReplaceAll(quote(s), "\x7f", `\u007F`) }

// tomlInline writes a value on one line.
func tomlInline(v *value) (string, error) {
	switch {
	case v.kind == scalar && v.tag == tagString:
		return tomlString(v.plain), nil
	case v.kind == scalar && v.tag == tagNull:
		return "", errors.New("TOML has no null")
	case v.kind == scalar:
		return v.text, nil
	case v.kind == object && len(v.kids) == 0:
		return "{}", nil
	}
	parts := make([]string, len(v.kids))
	for i, k := range v.kids {
		src, err := tomlInline(k)
		if err != nil {
			return "", err
		}
		if v.kind == object {
			src = tomlKey(v.names[i]) + " = " + src
		}
		parts[i] = src
	}
	if v.kind == object {
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}
