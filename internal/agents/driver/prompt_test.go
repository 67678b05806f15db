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

// TestOneTaskHookDoesNotWait: a hook of an agent that runs one task does not wait.
func TestOneTaskHookDoesNotWait(t *testing.T) {
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

// TestCodexTallDraft: a draft that leaves no room for the foot, whole and scrolled, as it was recorded in windows of 100 × 32 and 80 × 24.
func TestCodexTallDraft(t *testing.T) {
	t.Parallel()
	const end = "\n\n  Report progress at least every 30s.\n\n  The job:\n\n  Count the files.\n\n  Then say so.\n\n\n\n"
	const above = "  /review - review any changes and find issues\n\n\n"
	for name, c := range map[string]struct{ screen, first, last string }{
		"whole": {
			above + "› Job abcdefgh. Run these yourself, as the\n  work goes on:\n\n      tutti job publish abcdefgh started --workspace /tmp/\n  a_b" + end,
			"Job abcdefgh. Run these yourself, as the\nwork goes on:\n\n    tutti job publish", "Count the files.\n\nThen say so.",
		},
		"scrolled": {
			above + "›     tutti job publish abcdefgh completed 'WHAT CAME OUT' --workspace /tmp/   ↑\n  a_b\n      tutti job publish abcdefgh error" + end,
			"tutti job publish abcdefgh completed 'WHAT CAME OUT' --workspace /tmp/\na_b\n", "Then say so.",
		},
	} {
		got := codexScreen(c.screen, "api")
		if !got.Holds(got.Typed) || !strings.HasPrefix(got.Typed, c.first) || !strings.HasSuffix(got.Typed, c.last) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, screen := range map[string]string{
		"a question":     above + "› Would you\n  like\n  to\n  run\n  it\n  y yes\n  n no\n  Press enter to confirm or esc to cancel\n",
		"transcript":     "› go on\n\n  one\n\n  two\n\n  three\n\n• done\n",
		"one that moves": "› go on\n\n  two\n",
	} {
		if got := codexScreen(screen, "api"); got.Prompt {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestGeminiSmaller: the rest of a wider window is below the box.
func TestGeminiSmaller(t *testing.T) {
	t.Parallel()
	rule, top, bottom := strings.Repeat("─", 80), strings.Repeat("▄", 80), strings.Repeat("▀", 80)
	foot := " workspace (/directory)               sandbox\n ~/a_b                                no sandbox\n"
	screen := rule + "\n Shift+Tab to accept edits\n" + top + "\n > one line\n" + bottom + "\n" + foot + "\n" + bottom[:len(bottom)/2] + "\n" + foot
	if got := geminiScreen(screen, "◇  Ready (a_b)"); got.Typed != "one line" || got.Doing != Idle {
		t.Errorf("%+v", got)
	}
}
