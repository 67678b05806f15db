package driver

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
)

// TestEdit: the path to change is read from the arguments of editing tools, and of no others. The settings entry matches all tools. A text
// for the model never says whether the tool may run.
func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     *Driver
		event string
		input string
		want  []string
	}{
		{&claude, "PreToolUse", `{"tool_name":"Edit","tool_input":{"file_path":"/w/a.go","old_string":"x"}}`, []string{"/w/a.go"}},
		{&claude, "PreToolUse", `{"tool_name":"NotebookEdit","tool_input":{"notebook_path":"/w/a.ipynb"}}`, []string{"/w/a.ipynb"}},
		{&gemini, "BeforeTool", `{"tool_name":"replace","tool_input":{"file_path":"a.go"}}`, []string{"a.go"}},
		{&claude, "PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"ls"}}`, nil},
		{&claude, "PreToolUse", `{"tool_name":"Edit","tool_input":{"file_path":7,"notebook_path":""}}`, nil},
		{&claude, "PreToolUse", `{"tool_name":"Edit","tool_input":"file_path"}`, nil},
		{&claude, "PreToolUse", `{"tool_name":"Edit","tool_input":{"file_path":"` + strings.Repeat("x", 5000) + `"}}`, nil},
		{&claude, "PreToolUse", `{"tool_name":"Edit","tool_input":{"file_path":"a\u0000b"}}`, nil},
		{&claude, "PreToolUse", `{"tool_name":"Read","tool_input":{"file_path":"/w/a.go"}}`, nil},
		{&codex, "PreToolUse", `{"tool_name":"apply_patch","tool_input":{"command":"x"}}`, nil},
		{&claude, "PostToolUse", `{"tool_name":"Edit","tool_input":{"file_path":"/w/a.go"}}`, nil},
	} {
		got, err := c.d.Hooks.Read(c.event, []byte(c.input))
		if err != nil || !slices.Equal(got.Files, c.want) {
			t.Errorf("%s %.80s: %q, %v, want %q", c.event, c.input, got.Files, err, c.want)
		}
	}
	for d, want := range map[*Driver]string{
		&claude: `{"matcher":"*","hooks":[{"type":"command","command":"x","timeout":10}]}`,
		&gemini: `{"matcher":"*","hooks":[{"type":"command","name":"tutti","command":"x","timeout":10000}]}`,
	} {
		for _, e := range d.Hooks.Events {
			if e.Moment != Use {
				continue
			}
			if got := string(d.Hooks.Entry(e, "x", false)); got != want {
				t.Errorf("%s: %s, want %s", d.Name, got, want)
			}
			a, ok := d.Hooks.Add(e, "w")
			if !ok || a.Status != 0 || len(a.Err) > 0 || strings.Contains(string(a.Out), "ecision") || !canonjson.Valid(a.Out) || !strings.Contains(string(a.Out), `"additionalContext":"w"`) {
				t.Errorf("%s answers %q with %d", d.Name, a.Out, a.Status)
			}
		}
	}
}
