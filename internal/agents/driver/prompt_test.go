package driver

import (
	"strings"
	"testing"
)

// TestClaudePrompt has screens of both tried versions, shortened.
func TestClaudePrompt(t *testing.T) {
	t.Parallel()
	rule := strings.Repeat("─", 80)
	for name, c := range map[string]struct {
		screen string
		typed  string
		ok     bool
	}{
		"idle":                  {"● done, fine\n\n✻ Churned for 4s\n\n" + rule + "\n❯\u00a0\n" + rule + "\n  ? for shortcuts · ← for agents      ● high · /effort\n\n\n", "", true},
		"idle, newer":           {"● done\n\n      ◐ medium · /effort\n" + rule + "\n❯\u00a0\n" + rule + "\n  ⏵⏵ auto mode on (shift+tab to cycle) · ← for agents", "", true},
		"a draft":               {"x\n" + rule + "\n❯\u00a0a draft\n" + rule + "\n", "a draft", true},
		"a draft of lines":      {"x\n" + rule + "\n❯\u00a0one\n  two\n" + rule + "\n", "one\ntwo", true},
		"a draft of paragraphs": {"x\n" + rule + "\n❯\u00a0one\n\n  two\n\n\n    three\n" + rule + "\n", "one\n\ntwo\n\n\n  three", true},
		"busy": {"✶ Pontificating…\n  ⎿  Tip: Start small\n\n" + rule + "\n❯\u00a0\n" + rule +
			"\n  ⏵⏵ auto mode on (shift+tab to cycle) · esc to interrupt", "", false},
		"a question":        {"❯ /model\n\n" + rule + "\n  Select model\n\n  ❯ 1. Default (recommended) ✔\n    2. Opus\n\n  Enter to set as default · Esc to cancel", "", false},
		"a question, newer": {"x\n▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔ ctrl+y to paste deleted text ▔\n  Select model\n  ❯ 1. Default\n", "", false},
		"a question below text that looks like a prompt": {rule + "\n❯\u00a0\n" + rule + "\n\n" + rule + "\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n", "", false},
		"a question below a prompt":                      {rule + "\n❯\u00a0\n" + rule + "\n Do you want to proceed?\n\n ❯ 1. Yes\n   2. No\n\n Esc to cancel", "", false},
		"the shell after it was put aside":               {rule + "\n❯\u00a0\n" + rule + "\n  ? for shortcuts\n\n[1]+  Stopped     claude\n\nuser@host:~$\n", "", false},
		"a shell":                                        {"user@host:~$ ", "", false},
		"nothing":                                        {"", "", false},
	} {
		s := claudeScreen(c.screen, "✳ work")
		if ok := s.Doing == Idle && s.Prompt; s.Typed != c.typed && ok || ok != c.ok {
			t.Errorf("%s: %+v; want %q, %v", name, s, c.typed, c.ok)
		}
		if other := claudeScreen(c.screen, "work"); other.Free() {
			t.Errorf("%s: it is free without a star in the title: %+v", name, other)
		}
	}
}

// TestAlone: who does one task is not kept waiting by a hook.
func TestAlone(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]bool{"cli": false, "": false, "sdk-cli": true, "sdk-ts": true} {
		got := claude.Wake.Alone(func(name string) string {
			if name == "CLAUDE_CODE_ENTRYPOINT" {
				return how
			}
			return ""
		})
		if got != want {
			t.Errorf("%q: %v", how, got)
		}
	}
}
