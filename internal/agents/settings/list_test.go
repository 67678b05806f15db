package settings

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/core/text"
)

func TestListEntries(t *testing.T) {
	t.Parallel()
	is := func(entry []byte) bool { return bytes.Contains(entry, []byte("tutti")) }
	for _, c := range []struct {
		name           string
		format         driver.Format
		before, wanted string
		entries        []string
		unsafe         bool
	}{
		{
			"ours keep their places", driver.JSON, "{\"l\": [\"tutti 1\", \"a\", \"tutti 2\", \"b\"]}", "{\"l\": [\"tutti 3\", \"a\", \"tutti 2\", \"b\", \"tutti 5\"]}",
			[]string{`"tutti 3"`, `"tutti 2"`, `"tutti 5"`},
			false,
		},
		{"fewer", driver.JSON, "{\"l\": [\"tutti 1\", \"a\", \"tutti 2\", \"b\"]}", "{\"l\": [\"tutti 3\", \"a\", \"b\"]}", []string{`"tutti 3"`}, false},
		{"the first goes", driver.JSON, "{\"l\": [\"tutti 1\", \"a\", \"tutti 2\", \"b\"]}", "{\"l\": [\"a\", \"tutti 2\", \"b\", \"tutti 3\"]}", []string{"", `"tutti 2"`, "", `"tutti 3"`}, false},
		{"none is there, and none comes", driver.JSON, "{\"x\": 1}", "{\"x\": 1}", []string{"", ""}, false},
		{"none left", driver.JSON, "{\n  \"l\": [\n    \"tutti 1\", // ours\n    \"a\" // theirs\n  ]\n}", "{\n  \"l\": [\n    // ours\n    \"a\" // theirs\n  ]\n}", nil, false},
		{"list goes", driver.JSON, "{\n  \"a\": 1,\n  \"l\": [\n    \"tutti\"\n  ]\n}", "{\n  \"a\": 1\n}", nil, false},
		{"an empty list of others stays", driver.JSON, "{\"l\": []}", "{\"l\": []}", nil, false},
		{"nothing to do", driver.JSON, "{\"x\": 1}", "{\"x\": 1}", nil, false},
		{"no list", driver.JSON, "{\"l\": {}}", "", []string{`1`}, true},
		{
			"inside an entry of ours what is not changed stays", driver.JSON,
			"{\"l\": [{\"m\": \"x\", \"h\": [ // all\n    // mine\n    {\"a\":1}, // say\n    {\"c\": \"tutti 1\",  \"t\": 5}\n  ]}]}",
			"{\"l\": [{\"m\": \"x\", \"h\": [ // all\n    // mine\n    {\"a\":1}, // say\n    {\"c\": \"tutti 2\",  \"t\": 5}\n  ]}]}",
			[]string{`{"m":"x","h":[{"a":1},{"c":"tutti 2","t":5}]}`},
			false,
		},
		{
			"and where something of it goes", driver.JSON,
			"{\"l\": [{\"h\": [\n    {\"c\": \"tutti 0\"},\n    // mine\n    {\"a\":1,}, // say\n    {\"c\": \"tutti 1\",  \"t\": 5}, /* z */ 7\n  ], \"o\": 1, \"p\" : {}}]}",
			"{\"l\": [{\"h\": [\n    // mine\n    {\"a\":1,}, // say\n    {\"c\": \"tutti 2\",  \"t\": 5}, /* z */ 7\n  ], \"p\" : {}, \"n\": [1]}]}",
			[]string{`{"h":[{"a":1},{"c":"tutti 2","t":5},7],"p":{},"n":[1]}`},
			false,
		},
		{
			"and where something comes between", driver.JSON, "{\"l\": [[\"tutti\", /* c */ 2]]}", "{\"l\": [[\"tutti\", 3, 2]]}",
			[]string{`["tutti",3,2]`},
			false,
		},
		{"TOML", driver.TOML, "l = ['a', 'tutti'] # c\n", "l = [\"a\", \"tutti 2\", \"tutti 3\"] # c\n", []string{`"tutti 2"`, `"tutti 3"`}, false},
		{"TOML, new", driver.TOML, "a = 1\n[x]\n", "a = 1\nl = [\"tutti\"]\n[x]\n", []string{`"tutti"`}, false},
		{"TOML, comments", driver.TOML, "l = ['a', # c\n 'tutti']\n", "", []string{`"tutti 2"`}, true},
		{"TOML, tables", driver.TOML, "[[l]]\nc = 'tutti'\n", "", []string{`{"c":"tutti 2"}`}, true},
		{"YAML", driver.YAML, "l:\n- a\n- tutti\nz: 1\n", "l:\n- a\n- \"tutti 2\"\nz: 1\n", []string{`"tutti 2"`}, false},
		{"YAML, gone", driver.YAML, "z: 1\nl: [tutti]\n", "z: 1\n", nil, false},
		{"YAML, comments", driver.YAML, "l:\n- a # c\n- tutti\n", "", []string{`"tutti 2"`}, true},
	} {
		var entries [][]byte
		for _, e := range c.entries {
			if e == "" {
				entries = append(entries, nil)
				continue
			}
			entries = append(entries, []byte(e))
		}
		got, err := SetListEntries(c.format, []byte(c.before), []string{"l"}, is, entries)
		if errors.Is(err, ErrUnsafe) != c.unsafe || !c.unsafe && err != nil || string(got) != c.wanted {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", c.name, err, got, c.wanted)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format driver.Format
		text   string
		want   string
	}{
		{driver.JSON, `{"a": {"b": [1.50, "é<\u0041", "\ud800", null, true, {}]}} // end`, `[1.50,"é<A","\ud800",null,true,{}]`},
		{driver.JSON, `{"a": {"B": 1}}`, ""},
		{driver.JSON, "\ufeff\n", ""},
		{driver.TOML, "a.b = [1.5, 0x10, 'x', inf, 2026-01-02, 2026-01-02T03:04:05Z, { c = 1e3 }]", `[1.5,16,"x","+inf","2026-01-02","2026-01-02T03:04:05Z",{"c":1000.0}]`},
		{driver.TOML, "[a]\n'b' = '''\n\\x'''", `"\\x"`},
		{driver.YAML, "a: {b: [1.5, 0x10, x, .inf, 2026-01-02, ~, yes, true, '1', *x, &x y]}", ""},
		{driver.YAML, "v: &x 1\na:\n  b: [1.5, 0x10, x, .inf, 2026-01-02, ~, yes, True, '1', *x]", `[1.5,"0x10","x",".inf","2026-01-02",null,"yes",true,"1","*x"]`},
		{driver.YAML, "a:\nc: 1", ""},
	} {
		got, ok, err := Get(c.format, []byte(c.text), []string{"a", "b"})
		if string(got) != c.want || ok != (c.want != "") || err != nil && !strings.Contains(err.Error(), "unknown anchor") {
			t.Errorf("%s\ngot  %s, %v, %v\nwant %s", c.text, got, ok, err, c.want)
		}
	}
}

// The net holds back what a fault elsewhere in the package would do to a file.
func TestNet(t *testing.T) {
	t.Parallel()
	path := []string{"mcp", "h2a"}
	for _, c := range []struct {
		name          string
		format        driver.Format
		before, after string
		sound         bool
	}{
		{"as it should be", driver.JSON, `{"a": 1}`, `{"a": 1, "mcp": {"h2a": 2}}`, true},
		{"another value", driver.JSON, `{"a": 1}`, `{"a": 1, "mcp": {"h2a": 3}}`, false},
		{"something else changed", driver.JSON, `{"a": 1}`, `{"a": 2, "mcp": {"h2a": 2}}`, false},
		{"something else came", driver.JSON, `{"a": 1}`, `{"a": 1, "b": {}, "mcp": {"h2a": 2}}`, false},
		{"something else went", driver.JSON, `{"a": 1, "b": {}}`, `{"a": 1, "mcp": {"h2a": 2}}`, false},
		{"no longer JSON", driver.JSON, `{"a": 1}`, `{"a": 1, "mcp": {"h2a": 2},}`, false},
		{"an order of entries", driver.TOML, `a = [1, 2]`, "a = [2, 1]\nmcp.h2a = 2", false},
		{"another type", driver.TOML, `a = 1`, "a = 1.0\nmcp.h2a = 2", false},
		{"an anchor", driver.YAML, `a: &x 1`, "a: 1\nmcp: {h2a: 2}", false},
		{"not there", driver.YAML, `a: 1`, "a: 1", false},
	} {
		old, err := parse(c.format, []byte(c.before))
		if err != nil {
			t.Fatal(err)
		}
		e := &edit{format: c.format}
		if err := e.step([]byte(c.after), nil); err != nil {
			t.Fatal(err)
		}
		want := old.value().with(path, &value{tag: tagNumber, text: "2"})
		if err := verify(c.format, []byte(c.before), e, want, path); (err == nil) != c.sound || err != nil && !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	if got, err := apply([]byte("abc"), text.Put(0, 2, "x"), text.Put(1, 3, "y")); err == nil {
		t.Errorf("two changes that meet: %q", got)
	}
	if got, err := apply([]byte("abc"), text.Put(2, 4, "x")); err == nil {
		t.Errorf("a change beyond the end: %q", got)
	}
}
