package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"tutti/internal/agents/driver"
	"tutti/internal/core/text"
)

// checkEdit holds for every text: what is set is there, nothing else has changed in the eyes of another reader, no byte outside is
// gone, and it comes back.
func checkEdit(t *rapid.T, format driver.Format, src string, back bool, decode func([]byte) (map[string]any, error)) {
	path := []string{"mcp", "h2a"}
	set, err := Set(format, []byte(src), path, []byte(ours))
	if err != nil {
		t.Fatalf("Set: %v\n%s", err, src)
	}
	got, ok, err := Get(format, set, path)
	if a, b := decodeJSON(string(got)), decodeJSON(ours); err != nil || !ok || !reflect.DeepEqual(a, b) {
		t.Fatalf("Get: %s, %v, %v\n%s", got, ok, err, set)
	}
	before, err := decode([]byte(src))
	if err != nil {
		t.Fatalf("the text is at fault: %v\n%s", err, src)
	}
	after, err := decode(set)
	if err != nil {
		t.Fatalf("the result is at fault: %v\n%s", err, set)
	}
	if table, ok := after["mcp"].(map[string]any); ok {
		delete(table, "h2a")
		if len(table) == 0 && before["mcp"] == nil {
			delete(after, "mcp")
		}
	}
	if before["mcp"] == nil {
		delete(before, "mcp")
	}
	if !reflect.DeepEqual(before, after) && fmt.Sprint(before) != fmt.Sprint(after) {
		t.Fatalf("something else changed\n%s\n%s", src, set)
	}
	rest := set
	for _, c := range []byte(src) { // what was there is still there, in its order
		i := bytes.IndexByte(rest, c)
		if i < 0 {
			t.Fatalf("bytes are gone\n%s\n%s", src, set)
		}
		rest = rest[i+1:]
	}
	removed, err := Remove(format, set, path)
	if err != nil || back && string(removed) != src {
		t.Fatalf("Remove: %v\n%q\n%q", err, src, removed)
	}
}

func decodeJSON(src string) (v any) {
	if err := json.Unmarshal([]byte(src), &v); err != nil {
		return err
	}
	return v
}

func TestJSONProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		comments := rapid.Bool().Draw(t, "comments")
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		kinds := []string{"", "", " ", "\n  ", "\n\t", "\n\n    ", "\t", "  \n"}
		if comments {
			kinds = append(kinds, " // c, {\n", "/* [ */", " /* \" */ ", "\n  // line\n  ")
		}
		ws := func() string {
			return strings.ReplaceAll(rapid.SampledFrom(kinds).Draw(t, "ws"), "\n", eol)
		}
		var value func(depth int, top bool) string
		value = func(depth int, top bool) string {
			n := rapid.IntRange(0, 3).Draw(t, "n")
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			if top {
				kind, n = 2, n+1
			}
			if depth == 0 || kind < 2 {
				return rapid.SampledFrom([]string{`"x"`, `1`, `-1.50e3`, `null`, `true`, `"é\u00e9\" // {"`, `[]`, `{}`}).Draw(t, "scalar")
			}
			if n == 0 {
				return rapid.SampledFrom([]string{"{}", "[]"}).Draw(t, "empty")
			}
			mcp := -1
			if top {
				mcp = rapid.IntRange(-1, n-1).Draw(t, "mcp")
			}
			var b strings.Builder
			b.WriteString("{]["[kind-2 : kind-1])
			if kind == 3 {
				b.Reset()
				b.WriteString("[")
			}
			for i := range n {
				b.WriteString(ws())
				v := value(depth-1, i == mcp)
				if kind == 2 {
					key := fmt.Sprintf("%q", fmt.Sprint("k", i))
					if i == mcp {
						key = `"mcp"`
					}
					b.WriteString(key + ws() + ":" + ws())
				}
				b.WriteString(v + ws())
				if i < n-1 || comments && rapid.Bool().Draw(t, "trailing") {
					b.WriteString("," + ws())
				}
			}
			b.WriteString(map[int]string{2: "}", 3: "]"}[kind])
			return b.String()
		}
		src := ws() + value(3, true) + ws()
		checkEdit(t, driver.JSON, src, true, func(src []byte) (out map[string]any, err error) {
			std, err := hujson.Standardize(append(bytes.Clone(src), '\n'))
			if err != nil {
				return nil, err
			}
			return out, json.Unmarshal(std, &out)
		})
	})
}

func TestTOMLProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		noise := func() {
			for range rapid.IntRange(0, 2).Draw(t, "noise") {
				lines = append(lines, rapid.SampledFrom([]string{"", "# [mcp.h2a]", "  # c", "\t"}).Draw(t, "line"))
			}
		}
		seen := 0
		keys := func() {
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				seen++
				v := rapid.SampledFrom([]string{`1`, `"a # b"`, `'c:\'`, "[\n  1, # x\n  2,\n]", `{ a = 1, b = { c = "}" } }`, `1979-05-27T07:32:00Z`, "\"\"\"\n[mcp]\n\"\"\"", `0x1F`, `{}`, `[{ x = 1 }]`}).Draw(t, "value")
				lines = append(lines, fmt.Sprintf("%sk%d = %s%s", rapid.SampledFrom([]string{"", "  "}).Draw(t, "in"), seen, v,
					rapid.SampledFrom([]string{"", " # c", "  "}).Draw(t, "behind")))
				noise()
			}
		}
		noise()
		keys()
		form := rapid.IntRange(0, 4).Draw(t, "form")
		switch form {
		case 1:
			lines = append(lines, "mcp = { x = { c = 1 } } # in")
		case 2:
			lines = append(lines, "mcp.x.c = 1")
		}
		n := rapid.IntRange(0, 4).Draw(t, "sections")
		for i := range n {
			noise()
			name := fmt.Sprintf("s%d", i)
			if form == 3 && rapid.Bool().Draw(t, "family") {
				name = fmt.Sprintf("mcp.\"x y%d\"", i)
			}
			if form == 4 && i == 0 {
				name = "mcp"
			}
			if rapid.IntRange(0, 3).Draw(t, "array") == 0 && name[0] == 's' {
				lines = append(lines, "[["+name+"]]")
			} else {
				lines = append(lines, "[ "+name+" ] # h")
			}
			noise()
			keys()
		}
		noise()
		src := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol"))
		if rapid.Bool().Draw(t, "end") && src != "" {
			src += text.EOL([]byte(src))
		}
		checkEdit(t, driver.TOML, src, true, func(src []byte) (out map[string]any, err error) {
			out = map[string]any{}
			return out, toml.Unmarshal(src, &out)
		})
	})
}

func TestYAMLProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		unit := rapid.IntRange(1, 4).Draw(t, "unit")
		noise := func(indent int) {
			for range rapid.IntRange(0, 1).Draw(t, "noise") {
				lines = append(lines, rapid.SampledFrom([]string{"", "# c: d", strings.Repeat(" ", indent) + "# e"}).Draw(t, "line"))
			}
		}
		var table func(depth, indent int, top bool)
		table = func(depth, indent int, top bool) {
			in := strings.Repeat(" ", indent)
			n := rapid.IntRange(1, 3).Draw(t, "n")
			mcp := -1
			if top {
				mcp = rapid.IntRange(-1, n-1).Draw(t, "mcp")
			}
			for i := range n {
				key := fmt.Sprintf("%sk%d:", in, i)
				if i == mcp {
					key = "mcp:"
				}
				kind := rapid.IntRange(0, 4).Draw(t, "kind")
				switch {
				case depth > 0 && (i == mcp && kind < 4 || kind == 0):
					lines = append(lines, key+rapid.SampledFrom([]string{"", " # t", " "}).Draw(t, "behind"))
					noise(indent + unit)
					table(depth-1, indent+unit, false)
				case i == mcp:
					lines = append(lines, key+rapid.SampledFrom([]string{" {}", " {a: 1}", " { a: [1, 2], \"b\": 'c' } # f"}).Draw(t, "flow"))
				case kind == 1:
					lines = append(lines, key, in+"- a", in+"- b: 1", in+"  c: 2")
				case kind == 2:
					lines = append(lines, key+" |", in+"   # text", "", in+"   more")
				default:
					lines = append(lines, key+" "+rapid.SampledFrom([]string{"1", "x y # c", "'it''s'", `"a: # b"`, "{a: {b: 1}}", "[1, 2]", "~", "2026-01-02", "é"}).Draw(t, "value"))
				}
				noise(indent)
			}
		}
		table(2, 0, true)
		src := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")) + "\n"
		if bytes.Contains([]byte(src), []byte("\r\n")) {
			src = strings.TrimSuffix(src, "\n") + "\r\n"
		}
		checkEdit(t, driver.YAML, src, true, func(src []byte) (out map[string]any, err error) {
			return out, yaml.Unmarshal(src, &out)
		})
	})
}

// fuzz: whatever the text, an edit gives a sound result or an error, and never both or none.
func fuzz(f *testing.F, format driver.Format, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, x := range fixtures {
		if x.format == format && x.file != "claude.json" {
			f.Add(fixture(f, x.file))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		path := []string{"mcp", "h2a"}
		news := [][]byte{[]byte(`{"h":[{"c":"x"}]}`), nil, []byte(`{"h":[],"n":1}`)}
		if listed, err := SetListEntries(format, src, []string{"mcp"}, func([]byte) bool { return true }, news); err == nil {
			if got, ok, err := Get(format, listed, []string{"mcp"}); err != nil || !ok || format == driver.JSON && !sameJSON(string(got), `[{"h":[{"c":"x"}]},{"h":[],"n":1}]`) {
				t.Fatalf("%q\n%q: %s, %v, %v", src, listed, got, ok, err)
			}
		}
		value, was, err := Get(format, src, path)
		var syntax *SyntaxError
		if errors.As(err, &syntax) && syntax.Line < 1 {
			t.Fatalf("%q: %v", src, err)
		}
		set, err := Set(format, src, path, []byte(ours))
		if err != nil {
			return
		}
		if _, ok, err := Get(format, set, path); !ok || err != nil {
			t.Fatalf("%q\n%q: %v", src, set, err)
		}
		removed, err := Remove(format, set, path)
		if err != nil {
			return
		}
		if got, ok, err := Get(format, removed, path); ok || err != nil {
			t.Fatalf("%q\n%q: still %s, %v (before: %s, %v)", set, removed, got, err, value, was)
		}
	})
}

func sameJSON(a, b string) bool { return reflect.DeepEqual(decodeJSON(a), decodeJSON(b)) }

func FuzzJSON(f *testing.F) {
	fuzz(f, driver.JSON, "", "{}", `{"mcp": {"h2a": {"args": [1]}}, }`, "{//\n}", `{"mcp":/**/{/**/},}`,
		"{\"mcp\": [{\"h\": [ // a\n{\"c\": 1}, /* b */ 2,], \"o\": 1 /* c */}, 3, {\"h\": {}, \"n\": [\n]}, 4]}")
}

func FuzzTOML(f *testing.F) {
	fuzz(f, driver.TOML, "", "mcp = {}", "[mcp]\nh2a.x = 1", "[mcp.h2a]\n[[mcp.h2a.x]]", "a = '''\n'''\n", "[ mcp . \"h2a\" ]")
}

func FuzzYAML(f *testing.F) {
	fuzz(f, driver.YAML, "", "mcp: {}", "mcp:\n", "---\nmcp: {h2a: {x: 1}}", "mcp:\n  ? a\n  : b", "{mcp: {a: 'b'}, c}", "mcp: !!map {a: 1}")
}
