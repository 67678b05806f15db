package driver

import (
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
)

// The answers that stop an agent, byte for byte as they were measured: in a slightly wrong form the tool runs.
func TestDeny(t *testing.T) {
	t.Parallel()
	const (
		block = `{"decision":"block","reason":"R"}`
		stop  = `{"continue":false,"stopReason":"R"}`
		deny  = `{"decision":"deny","reason":"R"}`
		use   = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}`
	)
	want := map[string]string{
		"claude UserPromptSubmit": block, "claude PreToolUse": use, "claude PostToolUse": stop, "claude PostToolBatch": stop,
		"claude PermissionRequest": `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"R","interrupt":true}}}`,
		"codex UserPromptSubmit":   block, "codex PreToolUse": use,
		"codex PostToolUse":       `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"R"}}`,
		"codex PermissionRequest": `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"R"}}}`,
		"gemini BeforeAgent":      deny, "gemini BeforeTool": deny, "gemini BeforeModel": stop,
		"gemini AfterTool":          `{"hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"R"}}`,
		"opencode UserPromptSubmit": block, "opencode PreToolUse": use, "opencode PostToolUse": stop,
		"opencode PermissionRequest": `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"R"}}}`,
	}
	for _, d := range All() {
		for _, e := range d.Hooks.Events {
			a, ok := d.Hooks.Deny(e, "R")
			name := d.Name + " " + e.Name
			if got := strings.TrimSuffix(string(a.Out), "\n"); got != want[name] || ok != (got != "") || a.Status != 0 || len(a.Err) > 0 {
				t.Errorf("%s: %s with %d, want %s", name, got, a.Status, want[name])
			}
			if ok && !canonjson.Valid(a.Out) {
				t.Errorf("%s: not JSON: %s", name, a.Out)
			}
			if _, ok := d.Hooks.Deny(e, ""); ok {
				t.Errorf("%s: a denial without a reason lets the tool run in Codex", name)
			}
			if told := name == "codex PostToolUse" || name == "gemini AfterTool"; a.Told != told {
				t.Errorf("%s: Told is %v: only these two cannot stop the agent", name, a.Told)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing events: %v", want)
	}
}

// The commands of Codex that its user has reviewed stay as they are, and its answers never end a turn by continue:false.
func TestCodexKeepsReviewedCommands(t *testing.T) {
	t.Parallel()
	for _, e := range codex.Hooks.Events {
		if e.Kept != (e.Name != "PreToolUse") || e.Beside {
			t.Errorf("%s: %+v", e.Name, e)
		}
		if a, _ := codex.Hooks.Deny(e, "R"); strings.Contains(string(a.Out), "continue") {
			t.Errorf("%s: %s", e.Name, a.Out)
		}
	}
}
