package settings

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/test/boundtest"
)

// fixture reads a file of testdata.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const ours = `{"command":"/opt/a b/tutti","args":["mcp-serve","--host","x \"y\" \\ é \u007f"],"env":{"K":"v"}}`

var fixtures = []struct {
	file   string
	format driver.Format
	table  string
}{
	{"claude.json", driver.JSON, "mcpServers"},
	{"claude-settings.json", driver.JSON, "mcpServers"},
	{"codex.toml", driver.TOML, "mcp_servers"},
	{"gemini.json", driver.JSON, "mcpServers"},
	{"opencode.jsonc", driver.JSON, "mcp"},
	{"hermes.yaml", driver.YAML, "mcp_servers"},
}

// variants of a text: other line ends, a mark, no end of the last line.
func variants(text []byte) map[string][]byte {
	crlf := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	return map[string][]byte{
		"as it is": text, "crlf": crlf, "marked": append([]byte(byteOrderMark), text...),
		"no end": bytes.TrimRight(text, "\r\n"), "crlf, no end, marked": append([]byte(byteOrderMark), bytes.TrimRight(crlf, "\r\n")...),
		"blank end": append(bytes.Clone(text), "\n\n"...),
	}
}

// Everything but one run of lines is as it was, and it comes back to the byte.
func TestFixtures(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	for _, f := range fixtures {
		for kind, text := range variants(fixture(t, f.file)) {
			for _, path := range [][]string{{f.table, "h2a"}, {"added", "h2a"}, {"added"}} {
				label := f.file + ", " + kind + ", " + name(path)
				set, err := Set(f.format, text, path, []byte(ours))
				if err != nil {
					t.Errorf("%s: %v", label, err)
					continue
				}
				if strings.Contains(kind, "crlf") && bytes.Count(set, []byte("\n")) != bytes.Count(set, []byte("\r\n")) {
					t.Errorf("%s: ends of lines are mixed", label)
				}
				got, ok, err := Get(f.format, set, path)
				if want := string(canonical(t, ours)); err != nil || !ok || string(canonical(t, string(got))) != want {
					t.Errorf("%s: got %s, %v, %v\nwant %s", label, got, ok, err, want)
				}
				again, err := Set(f.format, set, path, []byte(ours))
				if err != nil || !bytes.Equal(again, set) {
					t.Errorf("%s: a second Set changes something: %v\n%s", label, err, Diff(set, again))
				}
				other := join(path[:len(path)-1], "other-name")
				renamed, err := Rename(f.format, set, path, "other-name")
				if old, ok, _ := Get(f.format, renamed, path); err != nil || ok {
					t.Errorf("%s: renamed: %v, and %s is still there", label, err, old)
				}
				if back, err := Rename(f.format, renamed, other, path[len(path)-1]); err != nil || !bytes.Equal(back, set) {
					t.Errorf("%s: renamed and back: %v\n%s", label, err, Diff(set, back))
				}
				back, err := Remove(f.format, set, path)
				if err != nil || !bytes.Equal(back, text) {
					t.Errorf("%s: not what it was: %v\n%s\nbetween:\n%s", label, err, Diff(text, back), Diff(text, set))
				}
				for line := range strings.Lines(Diff(text, set)) {
					if line[0] == '-' && f.format != driver.JSON && !strings.Contains(kind, "no end") {
						t.Errorf("%s: a line went: %s", label, line)
					}
				}
			}
		}
	}
}

// canonical sorts members by going through a value.
func canonical(t testing.TB, raw string) []byte {
	t.Helper()
	v, err := readValue([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out := &value{kind: object}
	for _, n := range []string{"command", "args", "env"} {
		if m := v.member(n); m != nil {
			out = out.with([]string{n}, m)
		}
	}
	return out.json(nil)
}

// Hooks of others stay, ours come and go.
func TestHookFixture(t *testing.T) {
	t.Parallel()
	is := func(entry []byte) bool { return bytes.Contains(entry, []byte("tutti hook")) }
	entry := []byte(`{"hooks":[{"type":"command","command":"/bin/tutti hook claude X","timeout":10}]}`)
	second := []byte(`{"hooks":[{"type":"command","command":"/bin/tutti hook claude X --wait","timeout":600}]}`)
	for kind, start := range variants(fixture(t, "claude-settings.json")) {
		text := start
		events := []string{"SessionStart", "PostToolUse", "Notification", "Stop"}
		for _, e := range events {
			var err error
			if text, err = SetListEntries(driver.JSON, text, []string{"hooks", e}, is, [][]byte{entry, second}); err != nil {
				t.Fatalf("%s: %s: %v", kind, e, err)
			}
		}
		if again, err := SetListEntries(driver.JSON, text, []string{"hooks", "Stop"}, is, [][]byte{entry, second}); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s: a second time changes something: %v\n%s", kind, err, Diff(text, again))
		}
		one, err := SetListEntries(driver.JSON, text, []string{"hooks", "PostToolUse"}, is, [][]byte{second})
		if got, _, _ := Get(driver.JSON, one, []string{"hooks", "PostToolUse"}); err != nil || bytes.Count(got, []byte("tutti hook")) != 1 || !bytes.Contains(got, []byte("gofmt")) {
			t.Errorf("%s: fewer entries: %v %s", kind, err, got)
		}
		for _, e := range events {
			if text, err = SetListEntries(driver.JSON, text, []string{"hooks", e}, is, nil); err != nil {
				t.Fatalf("%s: %s: %v", kind, e, err)
			}
		}
		if !bytes.Equal(text, start) {
			t.Errorf("%s: not what it was\n%s", kind, Diff(start, text))
		}
	}
}

// A text that is at fault is refused with its place, and one that is only unusual with the way out.
func TestRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200)
	for _, c := range []struct {
		format driver.Format
		text   string
		want   string // part of the error
	}{
		{driver.JSON, "{\n  \"a\": 1,,\n}", "line 2, column 10"},
		{driver.JSON, "{\"a\": {\"b\": 1, \"b\": 2}}", `line 1, column 16: "b" stands here a second time`},
		{driver.JSON, "{\"a\": 1", "line 1"},
		{driver.JSON, "[1]", "line 1, column 1: the text is a list, and no table"},
		{driver.JSON, "{}\n{}", "line 2"},
		{driver.JSON, "{\"a\": " + deep, "line 1, column 106: more than 100"},
		{driver.JSON, "{\"a\":\x00}", "line 1, column 6: a byte with the value zero"},
		{driver.JSON, "{\n\"a\xff\": 1}", "line 2, column 3: this is not UTF-8"},
		{driver.JSON, strings.Repeat(" ", MaxSize+1), "8388608 are the limit"},
		{driver.JSON, `{"mcp": "x"}`, "mcp is a single value, and no table"},
		{driver.JSON, `{"mcp": null}`, "mcp is empty (null), and no table"},
		{driver.JSON, `{"mcp": [1]}`, "mcp is a list, and no table"},
		{driver.TOML, "a = 1\nb = = 2\n", "line 2, column 5"},
		{driver.TOML, "a = 1\na = 2\n", "line 2, column 1"},
		{driver.TOML, "[a]\n[b]\n[a]\n", "line 3"},
		{driver.TOML, "a = { b = 1 }\n[a.c]\n", "line 2"},
		{driver.TOML, "a = " + deep, "line 1, column 105: more than 100"},
		{driver.TOML, strings.Repeat("a.", 5000) + "a = 1", "more than 100"},
		{driver.TOML, "x = \"\xff\"", "line 1, column 6: this is not UTF-8"},
		{driver.TOML, "[[mcp]]\nx = 1\n", "mcp is a list, and no table"},
		{driver.YAML, "a: 1\nb: [\n", "line "},
		{driver.YAML, "a: 1\nb: 2\na: 3\n", `line 3, column 1: "a" stands here a second time`},
		{driver.YAML, "a: 1\n---\nb: 1\n", "line 2: a second document begins here"},
		{driver.YAML, "- a\n", "line 1, column 1: the text is a list"},
		{driver.YAML, "a: " + deep + strings.Repeat("]", 200), "more than 100"},
		{driver.YAML, "mcp: &x\n  a: 1\nother: *x\n", "has an anchor or a tag"},
		{driver.YAML, "base: &x {a: 1}\nmcp: *x\n", "no table"},
		{driver.YAML, "a: 1\n...\n", "mark for its end"},
		{driver.YAML, "a: \"x\u2028y\"\n", "line 1, column 6: an unusual end of a line"},
		{driver.YAML, "? mcp\n: a: 1\n", ErrUnsafe.Error()},
	} {
		got, err := Set(c.format, []byte(c.text), []string{"mcp", "h2a"}, []byte(ours))
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%.60q: got %v\nwant an error with %q\n%s", c.text, err, c.want, got)
		}
		if strings.Contains(c.want, "no table") && !strings.Contains(c.want, "the text") && !errors.Is(err, ErrUnsafe) {
			t.Errorf("%.60q: %v does not say what to do", c.text, err)
		}
	}
	for _, bad := range []string{"", "{", `{"a":1,"a":2}`, "// x\n1"} {
		if _, err := Set(driver.JSON, []byte("{}"), []string{"a"}, []byte(bad)); err == nil {
			t.Errorf("the value %q is taken", bad)
		}
	}
	if _, err := Set(driver.TOML, nil, []string{"a"}, []byte(`{"b":null}`)); err == nil {
		t.Error("TOML takes null")
	}
}

// TestRename: the name changes in every place, and nothing else changes.
func TestRename(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		format     driver.Format
		path       []string
		text, want string
	}{
		"json": {
			driver.JSON,
			[]string{"s", "h2a"},
			`{"h2a": 1, "s": { /* c */ "a": {"h2a": 2}, "h2a" : {"x": "h2a"}, }}`,
			`{"h2a": 1, "s": { /* c */ "a": {"h2a": 2}, "tutti" : {"x": "h2a"}, }}`,
		},
		"toml headers": {
			driver.TOML,
			[]string{"s", "h2a"},
			"[s.h2a] # c\nx = 'h2a'\ny.h2a = 1\n[s.\"h2a\".env]\nA = 1\n[s.h2ab]\n[[s.h2a.list]]\nz = 1\n[h2a]\n",
			"[s.tutti] # c\nx = 'h2a'\ny.h2a = 1\n[s.tutti.env]\nA = 1\n[s.h2ab]\n[[s.tutti.list]]\nz = 1\n[h2a]\n",
		},
		"toml dotted":  {driver.TOML, []string{"s", "h2a"}, "s.h2a.x = 1\n[s.h2a.env]\ns.h2a.y = 2\n", "s.tutti.x = 1\n[s.tutti.env]\ns.h2a.y = 2\n"},
		"toml section": {driver.TOML, []string{"s", "h2a"}, "[s]\nh2a.x = 1\nh2a . y = 2\n", "[s]\ntutti.x = 1\ntutti . y = 2\n"},
		"toml inline":  {driver.TOML, []string{"s", "h2a"}, "s = { a = 1, h2a = { h2a = 1 } }\n", "s = { a = 1, tutti = { h2a = 1 } }\n"},
		"yaml":         {driver.YAML, []string{"s", "h2a"}, "s:\n  a: h2a\n  'h2a': # c\n    h2a: 1\n", "s:\n  a: h2a\n  tutti: # c\n    h2a: 1\n"},
		"yaml flow":    {driver.YAML, []string{"s", "h2a"}, "s: {h2a: {x: 1}}\n", "s: {tutti: {x: 1}}\n"},
	}
	for name, c := range cases {
		if got, err := Rename(c.format, []byte(c.text), c.path, "tutti"); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
	for _, text := range []string{`{"s": {"h2a": 1, "tutti": 2}}`, `{"s": {}}`, `{"s": {"h2a": 1, "h2a": 2}}`} {
		if got, err := Rename(driver.JSON, []byte(text), []string{"s", "h2a"}, "tutti"); err == nil {
			t.Errorf("%s became %s", text, got)
		}
	}
}
