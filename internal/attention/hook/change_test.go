package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/attention/approval"
)

// TestChange: what a tool writes is shown line by line, with what goes, what comes and what stays.
func TestChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tool, input, about, text string }{
		"new file":        {"Write", `{"file_path":"new","content":"a\nb\n"}`, "new (+2 -0)", "+a\n+b"},
		"replaced file":   {"Write", `{"file_path":"old","content":"a"}`, "old (replaces the file with 1 line)", "+a"},
		"emptied file":    {"Write", `{"file_path":"old","content":""}`, "old (replaces the file with 0 lines)", "(no text)"},
		"edit":            {"Edit", `{"file_path":"f","old_string":"a\nb\nc","new_string":"a\nB\nc"}`, "f (+1 -1)", " a\n-b\n+B\n c"},
		"edit everywhere": {"Edit", `{"file_path":"f","old_string":"a","new_string":"","replace_all":true}`, "f (+0 -1)", "everywhere in the file:\n-a"},
		"two edits":       {"MultiEdit", `{"file_path":"f","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"c\nd"}]}`, "f (+2 -1)", "-a\n+b\n\n c\n+d"},
		"notebook":        {"NotebookEdit", `{"notebook_path":"n","cell_id":"3","edit_mode":"delete","new_source":""}`, `n (delete cell "3")`, `delete cell "3":`},
		"diff":            {"edit", `{"filepath":"f","diff":"--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline\n","patterns":["f"]}`, "f (+1 -1)", "@@ -1 +1 @@\n-a\n+b"},
		"other spelling":  {"Write", `{"file_path":"new","content":"bad","Content":"good"}`, "new (+1 -0)", "+bad"},
		"new file, edit":  {"Edit", `{"file_path":"f","old_string":"","new_string":"a"}`, "f (+1 -0)", "+a"},
		"two files":       {"edit", `{"filepath":"f, g","diff":"Index: f\n===\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\nIndex: g\n===\n--- g\n+++ g\n@@ -1 +1 @@\n+c\n"}`, "f, g (+2 -1)", "Index: f\n@@ -1 +1 @@\n-a\n+b\nIndex: g\n@@ -1 +1 @@\n+c"},
		"other tool":      {"mcp__x__Write", `{"file_path":"new","content":"a"}`, "", ""},
		"no text":         {"Write", `{"file_path":"new"}`, "new (what it writes is not known)", ""},
		"no diff":         {"edit", `{"patterns":["x"]}`, "a file (what it writes is not known)", ""},
	} {
		got := changeOf(c.tool, []byte(c.input), dir)
		switch {
		case got == nil:
			if c.about != "" {
				t.Errorf("%s: nothing, want %q", name, c.about)
			}
		case got.about() != c.about || got.text() != c.text:
			t.Errorf("%s: %q, %q\nwant %q, %q", name, got.about(), got.text(), c.about, c.text)
		}
	}
	long, err := json.Marshal(map[string]string{"file_path": "new", "content": strings.Repeat("line\n", approval.MaxChange/5)})
	if err != nil {
		t.Fatal(err)
	}
	if got := changeOf("Write", long, dir); !strings.Contains(got.about(), "too long to show in full") {
		t.Errorf("long: %q", got.about())
	}
}

// TestAboutTool: of the tool of an MCP server all arguments are shown, and of a command that it leaves the sandbox.
func TestAboutTool(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"Bash", `{"command":"ls","description":"x"}`, "ls"},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, "outside the sandbox: ls"},
		{"mcp__x__run", `{"command":"ls","host":"prod"}`, `{"command":"ls","host":"prod"}`},
		{"WebFetch", `{"url":"https://a","prompt":"p"}`, "https://a"},
	} {
		if got := aboutTool(c[0], []byte(c[1])); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
