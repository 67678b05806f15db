package settings

import (
	"errors"
	"testing"

	"tutti/internal/agents/driver"
)

// TestGolden: the edit follows the style of the file.
func TestGolden(t *testing.T) {
	t.Parallel()
	at := []string{"mcp", "h2a"}
	const v = `{"command":"/t","args":["a","b"]}`
	for _, c := range []struct {
		name           string
		format         driver.Format
		before, wanted string
		oneWay         bool // Remove leaves another text, which says the same
	}{
		{"nothing", driver.JSON, "", "{\n  \"mcp\": {\n    \"h2a\": {\n      \"command\": \"/t\",\n      \"args\": [\n        \"a\",\n        \"b\"\n      ]\n    }\n  }\n}\n", true},
		{"empty", driver.JSON, "{}\n", "{\n  \"mcp\": {\n    \"h2a\": {\n      \"command\": \"/t\",\n      \"args\": [\n        \"a\",\n        \"b\"\n      ]\n    }\n  }\n}\n", false},
		{"empty table, not last", driver.JSON, "{\n  \"mcp\": {},\n  \"l\": [1]\n}", "{\n  \"mcp\": {\n    \"h2a\": {\n      \"command\": \"/t\",\n      \"args\": [\"a\", \"b\"]\n    }\n  },\n  \"l\": [1]\n}", false},
		{"one line", driver.JSON, `{"a": 1, "mcp": {"x": 2}}`, `{"a": 1, "mcp": {"x": 2, "h2a": {"command": "/t", "args": ["a", "b"]}}}`, false},
		{"tight", driver.JSON, `{"a":1,"mcp":{}}`, `{"a":1,"mcp":{"h2a":{"command":"/t","args":["a","b"]}}}`, true},
		{"spaced", driver.JSON, "{ \"mcp\": { \"x\": 1 } }", "{ \"mcp\": { \"x\": 1, \"h2a\": {\"command\": \"/t\", \"args\": [\"a\", \"b\"]} } }", false},
		{
			"tabs, comma, comment", driver.JSON, "{\n\t\"l\": [],\n\t\"mcp\": {\n\t\t\"x\": 1, // one\n\t},\n}\n",
			"{\n\t\"l\": [],\n\t\"mcp\": {\n\t\t\"x\": 1, // one\n\t\t\"h2a\": {\n\t\t\t\"command\": \"/t\",\n\t\t\t\"args\": [\n\t\t\t\t\"a\",\n\t\t\t\t\"b\"\n\t\t\t]\n\t\t},\n\t},\n}\n", false,
		},
		{
			"comment behind the last", driver.JSON, "{\n  \"l\": [1],\n  \"mcp\": {\n    \"x\": 1 // one\n    // two\n  }\n}\n",
			"{\n  \"l\": [1],\n  \"mcp\": {\n    \"x\": 1, // one\n    // two\n    \"h2a\": {\n      \"command\": \"/t\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}\n", false,
		},
		{
			"only a comment", driver.JSON, "{\n  \"l\": [1],\n  \"mcp\": {\n    // none yet\n  }\n}\n",
			"{\n  \"l\": [1],\n  \"mcp\": {\n    // none yet\n    \"h2a\": {\n      \"command\": \"/t\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}\n", false,
		},

		{"nothing", driver.TOML, "", "[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]\n", false},
		{"bare keys", driver.TOML, "a = 1\n", "a = 1\n\n[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]\n", false},
		{
			"before the next family", driver.TOML, "[mcp.x]\nc = 1\n# c = 2\n\n# about y\n[y]\nd = 1\n",
			"[mcp.x]\nc = 1\n# c = 2\n\n[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]\n\n# about y\n[y]\nd = 1\n", false,
		},
		{"parent with a header", driver.TOML, "[mcp]\non = true\n\n[y]\n", "[mcp]\non = true\n\n[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]\n\n[y]\n", false},
		{"siblings inline", driver.TOML, "[mcp]\nx = { c = 1 } # x\n\n[y]\n", "[mcp]\nx = { c = 1 } # x\nh2a = { command = \"/t\", args = [\"a\", \"b\"] }\n\n[y]\n", false},
		{"parent inline", driver.TOML, "mcp = { x = { c = 1 } } # x\n", "mcp = { x = { c = 1 }, h2a = { command = \"/t\", args = [\"a\", \"b\"] } } # x\n", false},
		{"parent inline and empty", driver.TOML, "mcp = {}\nz = 1\n", "mcp = { h2a = { command = \"/t\", args = [\"a\", \"b\"] } }\nz = 1\n", false},
		{"dotted", driver.TOML, "mcp.x.c = 1\nz = 1\n[y]\n", "mcp.x.c = 1\nmcp.h2a = { command = \"/t\", args = [\"a\", \"b\"] }\nz = 1\n[y]\n", false},
		{"dotted below a header", driver.TOML, "[mcp]\nx.c = 1", "[mcp]\nx.c = 1\n\n[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]", false},
		{"arrays of tables around", driver.TOML, "[[r]]\na = 1\n[r.mcp.h2a]\nb = 1\n[[r]]\na = 2\n", "[[r]]\na = 1\n[r.mcp.h2a]\nb = 1\n[[r]]\na = 2\n\n[mcp.h2a]\ncommand = \"/t\"\nargs = [\"a\", \"b\"]\n", false},
		{"indented", driver.TOML, "  [mcp.x]\r\n  c = 1\r\n", "  [mcp.x]\r\n  c = 1\r\n\r\n  [mcp.h2a]\r\n  command = \"/t\"\r\n  args = [\"a\", \"b\"]\r\n", false},

		{"nothing", driver.YAML, "", "mcp:\n  h2a:\n    command: /t\n    args:\n      - a\n      - b\n", false},
		{"comment only", driver.YAML, "# none\n", "# none\nmcp:\n  h2a:\n    command: /t\n    args:\n      - a\n      - b\n", false},
		{"four columns", driver.YAML, "x:\n    y: 1\n", "x:\n    y: 1\nmcp:\n    h2a:\n        command: /t\n        args:\n            - a\n            - b\n", false},
		{"in the middle", driver.YAML, "l:\n- 1\nmcp:\n  x: {a: 1}\n  # more\n\n# z\nz: 1\n", "l:\n- 1\nmcp:\n  x: {a: 1}\n  # more\n  h2a:\n    command: /t\n    args:\n    - a\n    - b\n\n# z\nz: 1\n", false},
		{"flow", driver.YAML, "mcp: { x: 1 } # x\nz: 1\n", "mcp: { h2a: {command: /t, args: [a, b]}, x: 1 } # x\nz: 1\n", false},
		{"flow and empty", driver.YAML, "mcp: {}\nz: 1\n", "mcp: {h2a: {command: /t, args: [a, b]}}\nz: 1\n", false},
		{"table of nothing", driver.YAML, "mcp: # none\nz: 1\n", "mcp: # none\n  h2a:\n    command: /t\n    args:\n      - a\n      - b\nz: 1\n", true},
		{"all in braces", driver.YAML, "{\"a\": 1}\n", "{mcp: {h2a: {command: /t, args: [a, b]}}, \"a\": 1}\n", false},
		{"with a beginning", driver.YAML, "---\na: 1", "---\na: 1\nmcp:\n  h2a:\n    command: /t\n    args:\n      - a\n      - b", false},
	} {
		got, err := Set(c.format, []byte(c.before), at, []byte(v))
		if err != nil || string(got) != c.wanted {
			t.Errorf("%v %s: %v\n%s\ngot\n%s\nwant\n%s", c.format, c.name, err, c.before, got, c.wanted)
			continue
		}
		back, err := Remove(c.format, got, at)
		if err != nil || !c.oneWay && string(back) != c.before {
			t.Errorf("%v %s: %v\nafter Remove %q\nbefore Set   %q", c.format, c.name, err, back, c.before)
		}
	}
}

// Members that people added stay with Set, and go with Replace; what is the same is not touched.
func TestMembers(t *testing.T) {
	t.Parallel()
	at := []string{"mcp", "h2a"}
	const v = `{"command":"/new","args":["a"],"env":{"K":"v"}}`
	for _, c := range []struct {
		name                  string
		format                driver.Format
		before, set, replaced string
	}{
		{
			"JSON", driver.JSON,
			"{\n  \"mcp\": {\n    \"h2a\": {\n      \"timeout\": 5, // mine\n      \"command\": \"/old\", // c\n      \"args\": [\"a\"],\n      \"env\": {\"U\": \"1\"}\n    }\n  }\n}\n",
			"{\n  \"mcp\": {\n    \"h2a\": {\n      \"timeout\": 5, // mine\n      \"command\": \"/new\", // c\n      \"args\": [\"a\"],\n      \"env\": {\"U\": \"1\", \"K\": \"v\"}\n    }\n  }\n}\n",
			"{\n  \"mcp\": {\n    \"h2a\": {\n      // mine\n      \"command\": \"/new\", // c\n      \"args\": [\"a\"],\n      \"env\": {\"K\": \"v\"}\n    }\n  }\n}\n",
		},
		{
			"TOML with a sub-table", driver.TOML,
			"[mcp.h2a]\nstartup_timeout_sec = 20 # slow\ncommand = '/old' # c\nargs = [ 'a' ]\n\n[mcp.h2a.tools.x]\napproval = \"never\"\n\n[mcp.h2a.env]\nU = \"1\"\n\n[z]\n",
			"[mcp.h2a]\nstartup_timeout_sec = 20 # slow\ncommand = \"/new\" # c\nargs = [ 'a' ]\n\n[mcp.h2a.tools.x]\napproval = \"never\"\n\n[mcp.h2a.env]\nU = \"1\"\nK = \"v\"\n\n[z]\n",
			"[mcp.h2a]\ncommand = \"/new\" # c\nargs = [ 'a' ]\n\n[mcp.h2a.env]\nK = \"v\"\n\n[z]\n",
		},
		{
			"TOML inline", driver.TOML,
			"mcp = { h2a = { t = 1, command = '/old', enabled_tools = [] } }\n",
			"mcp = { h2a = { t = 1, command = \"/new\", enabled_tools = [], args = [\"a\"], env = { K = \"v\" } } }\n",
			"mcp = { h2a = { command = \"/new\", args = [\"a\"], env = { K = \"v\" } } }\n",
		},
		{
			"TOML dotted", driver.TOML,
			"mcp.h2a.t = 1\nmcp.h2a.command = '/old'\nz = 1\n",
			"mcp.h2a.t = 1\nmcp.h2a.command = \"/new\"\nmcp.h2a.args = [\"a\"]\nmcp.h2a.env = { K = \"v\" }\nz = 1\n",
			"mcp.h2a.command = \"/new\"\nmcp.h2a.args = [\"a\"]\nmcp.h2a.env = { K = \"v\" }\nz = 1\n",
		},
		{
			"TOML, only the sub-table is there", driver.TOML,
			"[mcp.h2a.env]\nK = \"v\"\n[z]\n",
			"[mcp.h2a.env]\nK = \"v\"\n\n[mcp.h2a]\ncommand = \"/new\"\nargs = [\"a\"]\n[z]\n",
			"[mcp.h2a.env]\nK = \"v\"\n\n[mcp.h2a]\ncommand = \"/new\"\nargs = [\"a\"]\n[z]\n",
		},
		{
			"YAML", driver.YAML,
			"mcp:\n  h2a:\n    timeout: 5 # mine\n    command: '/old' # c\n    args: [a]\n    env:\n      U: 1\nz: 1\n",
			"mcp:\n  h2a:\n    timeout: 5 # mine\n    command: /new # c\n    args: [a]\n    env:\n      U: 1\n      K: v\nz: 1\n",
			"mcp:\n  h2a:\n    command: /new # c\n    args: [a]\n    env:\n      K: v\nz: 1\n",
		},
	} {
		got, err := Set(c.format, []byte(c.before), at, []byte(v))
		if err != nil || string(got) != c.set {
			t.Errorf("%s: Set: %v\ngot\n%s\nwant\n%s", c.name, err, got, c.set)
		}
		got, err = Replace(c.format, []byte(c.before), at, []byte(v))
		if err != nil || string(got) != c.replaced {
			t.Errorf("%s: Replace: %v\ngot\n%s\nwant\n%s", c.name, err, got, c.replaced)
		}
	}
}

// Remove leaves what others have beside ours.
func TestRemove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format         driver.Format
		before, wanted string
	}{
		{driver.JSON, `{"mcp": {"h2a": 1, "b": 2}}`, `{"mcp": {"b": 2}}`},
		{driver.JSON, "{\n  \"mcp\": {\n    // keep\n    \"h2a\": 1\n  }\n}", "{\n  \"mcp\": {\n    // keep\n  }\n}"},
		{driver.JSON, "{\n  \"mcp\": {\n    \"a\": 1,\n    \"h2a\": 1, // note\n  }\n}", "{\n  \"mcp\": {\n    \"a\": 1,\n    // note\n  }\n}"},
		{driver.JSON, "{\n  \"mcp\": {\n    \"h2a\": 1,\n\n    \"a\": 1\n  }\n}", "{\n  \"mcp\": {\n\n    \"a\": 1\n  }\n}"},
		{driver.JSON, "{\n  \"mcp\": {\"h2a\": 1},\n  \"z\": 1\n}", "{\n  \"mcp\": {},\n  \"z\": 1\n}"},
		{driver.JSON, "{\"mcp\": {\"a\": 1 /* x */, \"h2a\": 1 /* y */}}", "{\"mcp\": {\"a\": 1 /* x */ /* y */}}"},
		{driver.TOML, "[mcp.h2a]\na = 1\n# in ours\nb = 2\n\n# z\n[z]\n[mcp.h2a.env]\nk = 1\n[[mcp.h2a.more]]\nx = 1\n", "\n# z\n[z]\n"},
		{driver.TOML, "[mcp]\nh2a.a = 1\nh2a.b = [\n 1, # c\n]\nc = 1\n", "[mcp]\nc = 1\n"},
		{driver.TOML, "x = 1\n[\"mcp\".'h2a']\na = 1", "x = 1"},
		{driver.YAML, "mcp:\n  h2a:\n    a: 1\n    # in ours\n  # kept\nz: 1\n", "mcp: {}\n  # kept\nz: 1\n"},
		{driver.YAML, "mcp:\n  h2a:\n    a: |\n      # text\n\n      text\n  b: 1\n", "mcp:\n  b: 1\n"},
		{driver.YAML, "mcp: {a: 1, h2a: {b: [1, 2], c: 'it''s }'}}\n", "mcp: {a: 1}\n"},
		{driver.YAML, "mcp: {h2a: x}\n", "mcp: {}\n"},
	} {
		got, err := Remove(c.format, []byte(c.before), []string{"mcp", "h2a"})
		if err != nil || string(got) != c.wanted {
			t.Errorf("%v: %v\n%s\ngot\n%s\nwant\n%s", c.format, err, c.before, got, c.wanted)
		}
	}
	// What others refer to cannot go.
	if got, err := Remove(driver.YAML, []byte("mcp:\n  h2a: &x\n    a: 1\nz: *x\n"), []string{"mcp", "h2a"}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("an anchor in use: %v\n%s", err, got)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		{"1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n"},
		{"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"a\nb\n1\n2\n3\n4\n5\n6\n7\nc\n", "A\nb\n1\n2\n3\n4\n5\n6\n7\nC\n", "@@ -1,4 +1,4 @@\n-a\n+A\n b\n 1\n 2\n@@ -7,4 +7,4 @@\n 5\n 6\n 7\n-c\n+C\n"},
	} {
		if got := Diff([]byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%q, %q\ngot\n%s\nwant\n%s", c.before, c.after, got, c.want)
		}
	}
}
