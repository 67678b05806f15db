package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// hooksOf are the commands at an event with their tables, in their order.
func (d *desk) hooksOf(file, event string) (all []string) {
	d.t.Helper()
	list, _, err := settings.Get(driver.JSON, []byte(d.read(file)), []string{"hooks", event})
	if err != nil {
		d.t.Fatal(err)
	}
	for e := range canonjson.Elements(list) {
		hooks, _ := canonjson.Get(e, "hooks")
		for h := range canonjson.Elements(hooks) {
			all = append(all, string(h))
		}
	}
	return all
}

// TestUserHookSettingsAreKept: a user's changes to our entry are kept: a timeout, a tool filter, a status text.
func TestUserHookSettingsAreKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Command = "/opt/tutti"
	d.ok("claude")
	const file = ".claude/settings.json"
	text := d.read(file)
	for _, r := range [][2]string{
		{`/opt/tutti hook claude PostToolUse --all-tools",`, `/opt/tutti hook claude PostToolUse --all-tools", // mine` + "\n\"statusMessage\": \"mail\","},
		{`"PostToolUse": [`, `"PostToolUse": [ // which` + "\n" + `{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "date"}]},`},
		{`"timeout": 604800`, `"timeout": 3600`},
		{`/opt/tutti hook claude Stop --all-tools",` + "\n            \"timeout\": 10", `/opt/tutti hook claude Stop --all-tools"`},
		{`"timeout": 1` + "\n", `"timeout": 2` + "\n"},
	} {
		if !strings.Contains(text, r[0]) {
			t.Fatalf("no %s in\n%s", r[0], text)
		}
		text = strings.Replace(text, r[0], r[1], 1)
	}
	d.write(file, text, 0o600)
	claude, _ := driver.Get("claude")
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != InPlace {
		t.Errorf("with settings of its own: %s", s.Hooks[0].State)
	}
	if p := d.ok("claude"); p.Changed() || d.read(file) != text {
		t.Errorf("setup changes them\n%s", settings.Diff([]byte(text), []byte(d.read(file))))
	}
	d.q.Command = "/new/tutti"
	d.ok("claude")
	if got, want := d.read(file), strings.ReplaceAll(text, "/opt/tutti", "/new/tutti"); got != want {
		t.Errorf("another program\n%s", settings.Diff([]byte(want), []byte(got)))
	}
}

// Ours may stand beside a command of the user's in one entry. It is kept up to date there, and goes from there.
func TestSharedHookEntry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Command, d.q.Server = "/new/tutti", false
	const file = ".claude/settings.json"
	const text = `{
  "hooks": {
    "UserPromptSubmit": [
      {
        "hooks": [
          // say it
          {"type": "command", "command": "say"},
          {"type": "command", "command": "/old/tutti hook claude UserPromptSubmit", "timeout": 5}, // ours
          {"type": "command", "command": "/old/tutti hook claude UserPromptSubmit --root /srv"},
          {"type": "command", "command": "date"} // theirs
        ]
      },
      {"hooks": [{"type": "command", "command": "/older/tutti hook claude UserPromptSubmit"}]}
    ]
  }
}
`
	d.write(file, text, 0o600)
	d.ok("claude")
	want := []string{
		`{"type":"command","command":"say"}`, `{"type":"command","command":"[ -x /new/tutti ] || exit 0; exec /new/tutti hook claude UserPromptSubmit --all-tools --root /srv","timeout":5}`,
		`{"type":"command","command":"date"}`,
	}
	if got := d.hooksOf(file, "UserPromptSubmit"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, s := range []string{"// say it", "// ours", "// theirs"} {
		if !strings.Contains(d.read(file), s) {
			t.Errorf("%q is gone from\n%s", s, d.read(file))
		}
	}
	if p := d.ok("claude"); p.Changed() {
		t.Error("a second run changes it")
	}
	d.q.Remove = true
	d.ok("claude")
	got := d.read(file)
	if strings.Contains(got, "tutti") || !strings.Contains(got, "// say it\n          {\"type\": \"command\", \"command\": \"say\"},") {
		t.Errorf("after removal\n%s", got)
	}
}

// Hooks speak for the agent for which the server speaks.
func TestHooksUseServerName(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ok("claude")
	d.write(".claude.json", strings.ReplaceAll(d.read(".claude.json"), `"lean"`, `"lean", "--name", "old mac"`), 0o600)
	if !strings.Contains(d.read(".claude.json"), "old mac") {
		t.Fatal("the entry has another form:", d.read(".claude.json"))
	}
	claude, _ := driver.Get("claude")
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != Outdated {
		t.Errorf("hooks of an agent without that name: %s", s.Hooks[0].State)
	}
	d.ok("claude")
	got := d.hooksOf(".claude/settings.json", "Stop")
	if len(got) != 2 || !strings.Contains(got[0], "hook claude Stop --all-tools --name 'old mac'") || !strings.Contains(got[1], "--wait --name 'old mac'") {
		t.Errorf("got %q", got)
	}
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != InPlace {
		t.Errorf("got %s", s.Hooks[0].State)
	}
	if p := d.ok("claude"); p.Changed() {
		t.Error("a second run changes it")
	}
	d.q.Remove = true
	d.ok("claude")
	if left, err := os.ReadFile(filepath.Join(d.q.Place.Home, ".claude/settings.json")); err == nil { // it was all ours
		t.Errorf("left behind: %s", left)
	}
}

// Hooks use the bus of the server that is registered, whatever is set up first.
func TestHooksUseServerBus(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Root, d.q.Hooks = "/srv/bus", false
	d.ok("claude")
	d.q.Root, d.q.Hooks, d.q.Server = "", true, false
	claude, _ := driver.Get("claude")
	d.ok("claude")
	if got := d.hooksOf(".claude/settings.json", "Stop"); len(got) != 2 || !strings.Contains(got[0], "hook claude Stop --all-tools --root /srv/bus") || !strings.Contains(got[1], "--wait --root /srv/bus") {
		t.Errorf("got %q", got)
	}
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != InPlace {
		t.Errorf("got %s", s.Hooks[0].State)
	}
	d.write(".claude/settings.json", strings.ReplaceAll(d.read(".claude/settings.json"), " --root /srv/bus", ""), 0o600)
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != Outdated {
		t.Errorf("hooks for another bus than the server: %s", s.Hooks[0].State)
	}
	d.q.Server = true
	if p := d.ok("claude"); !p.Changed() {
		t.Error("setup leaves them")
	}
	d.write(".claude/settings.json", strings.ReplaceAll(d.read(".claude/settings.json"), "/srv/bus", "/srv/other"), 0o600)
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != Outdated {
		t.Errorf("hooks that name another bus than the server: %s", s.Hooks[0].State)
	}
}

// A line of the user's own around ours is not rewritten, nor doubled, nor taken out; removal tells of it.
func TestWrappedHook(t *testing.T) {
	t.Parallel()
	const file = ".claude/settings.json"
	for command, wrapped := range map[string]bool{
		`/old/tutti hook claude Stop`:                                                            false,
		`'/old dir/tutti' hook claude Stop --root '/srv/$x'`:                                     false,
		`/old/tutti  hook claude Stop`:                                                           false,
		`[ -x /old/tutti ] || exit 0; exec /old/tutti hook claude Stop`:                          false,
		`[ -x '/old dir/tutti' ] || exit 0; exec '/old dir/tutti' hook claude Stop --root '/$x'`: false,
		`[ -x /old/tutti ] || exit 0; exec /other/tutti hook claude Stop`:                        true,
		`[ -x /old/tutti ] || exit 0; exec /old/tutti hook claude Stop; date`:                    true,
		`timeout 5 /old/tutti hook claude Stop`:                                                  true,
		`A=b /old/tutti hook claude Stop`:                                                        true,
		`[ -x /old/tutti ] && /old/tutti hook claude Stop`:                                       true,
		`/old/tutti hook claude Stop; date >>/tmp/log`:                                           true,
		`/old/tutti hook claude Stop --root "$HOME/bus"`:                                         true,
		"/old/tutti hook claude Stop\ndate":                                                      true,
		`/old/tutti hook claude Stop 2>/dev/null || true # fails open`:                           true,
	} {
		d := newDesk(t)
		d.q.Command, d.q.Server = "/new/tutti", false
		var c canonjson.Object
		c.Str("type", "command")
		c.Str("command", command)
		d.write(file, `{"hooks": {"Stop": [{"hooks": [`+string(c.Bytes())+`]}]}}`, 0o600)
		d.ok("claude")
		all := d.hooksOf(file, "Stop")
		if len(all) != 2 || strings.Contains(all[0], "/old") != wrapped || !strings.Contains(all[1], "/new/tutti hook claude Stop --wait") {
			t.Errorf("%s: got %q", command, all)
		}
		if p := d.ok("claude"); p.Changed() {
			t.Errorf("%s: a second run changes it", command)
		}
		d.q.Remove = true
		p := d.ok("claude")
		if (len(p.Remarks) == 1) != wrapped || wrapped && !strings.Contains(p.Remarks[0], command) {
			t.Errorf("%s: %q", command, p.Remarks)
		}
		if wrapped && !slices.Equal(d.hooksOf(file, "Stop"), []string{string(c.Bytes())}) {
			t.Errorf("%s: after removal %s", command, d.read(file))
		}
	}
}

// A timeout that an older release wrote was not the user's wish.
func TestFormerTimeout(t *testing.T) {
	t.Parallel()
	const file = ".claude/settings.json"
	d := newDesk(t)
	d.q.Command, d.q.Server = "/opt/tutti", false
	d.ok("claude")
	now := d.read(file)
	former := strings.ReplaceAll(now, `"timeout": 604800`, `"timeout": 600`)
	asked := `PermissionRequest --all-tools",` + "\n            " + `"timeout": `
	if former = strings.Replace(former, asked+"600\n", asked+"10\n", 1); !strings.Contains(former, asked+"10\n") {
		t.Fatal(former)
	}
	d.write(file, former, 0o600)
	claude, _ := driver.Get("claude")
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != Outdated {
		t.Errorf("got %s", s.Hooks[0].State)
	}
	d.ok("claude")
	if got := d.read(file); got != now {
		t.Errorf("got\n%s", settings.Diff([]byte(now), []byte(got)))
	}
}

// An entry that a former release wrote for editing tools is called for all tools after setup, also where a user has chosen others: a halt
// must reach every tool. In an entry that is shared with a command of the user's, theirs keeps its tools.
func TestAllTools(t *testing.T) {
	t.Parallel()
	const file = ".claude/settings.json"
	const ours = `{"type": "command", "command": "/old/tutti hook claude PreToolUse", "timeout": 7}`
	for entry, want := range map[string][]string{
		`{"matcher": "Edit|Write|MultiEdit|NotebookEdit", "hooks": [` + ours + `]}`:                                                  {`"*" 1`},
		`{"matcher": "Bash", "hooks": [` + ours + `]}`:                                                                               {`"*" 1`},
		`{"matcher": "", "hooks": [` + ours + `]}`:                                                                                   {`"" 1`},
		`{"hooks": [` + ours + `]}`:                                                                                                  {` 1`},
		`{"matcher": "Bash", "hooks": [{"type": "command", "command": "date"}, ` + ours + `]}`:                                       {`"Bash" 1`, `"*" 1`},
		`{"matcher": "*", "hooks": [{"type": "command", "command": "date"}, ` + ours + `]}`:                                          {`"*" 2`},
		`{"matcher": "Bash", "hooks": [{"type": "command", "command": "date"}]}`:                                                     {`"Bash" 1`, `"*" 1`},
		`{"matcher": "Edit", "hooks": [{"type": "command", "command": "A=b ` + ours[len(`{"type": "command", "command": "`):] + `]}`: {`"Edit" 1`},
	} {
		d := newDesk(t)
		d.q.Command, d.q.Server = "/new/tutti", false
		d.write(file, `{"hooks": {"PreToolUse": [`+entry+`]}}`, 0o600)
		d.ok("claude")
		list, _, err := settings.Get(driver.JSON, []byte(d.read(file)), []string{"hooks", "PreToolUse"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e := range canonjson.Elements(list) {
			matcher, _ := canonjson.Get(e, "matcher")
			n := 0
			for range commandsOf(e) {
				n++
			}
			got = append(got, fmt.Sprintf("%s %d", matcher, n))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot %q, want %q", entry, got, want)
		}
		if p := d.ok("claude"); p.Changed() {
			t.Errorf("%s: a second run changes it", entry)
		}
	}
}

// The commands that users of Codex have reviewed stay byte for byte what former releases wrote, and what is new comes behind the
// entries of others: the position of an entry is part of what was reviewed. Gemini CLI takes the error of a shell for a refusal, so
// that each of its commands looks first whether the program is there.
func TestReviewedAndGuarded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Command, d.q.Server = "/opt/tutti", false
	const file = ".codex/hooks.json"
	theirs := `{"type":"command","command":"mine"}`
	d.write(file, `{"hooks": {"PreToolUse": [{"hooks": [`+theirs+`]}], "Stop": [{"hooks": [{"type": "command", "command": "/opt/tutti hook codex Stop", "timeout": 10}]}, {"hooks": [`+theirs+`]}]}}`, 0o600)
	d.ok("codex")
	for event, want := range map[string][]string{
		"SessionStart":      {`{"type":"command","command":"/opt/tutti hook codex SessionStart","timeout":10}`},
		"UserPromptSubmit":  {`{"type":"command","command":"/opt/tutti hook codex UserPromptSubmit","timeout":10}`},
		"PreToolUse":        {theirs, `{"type":"command","command":"[ -x /opt/tutti ] || exit 0; exec /opt/tutti hook codex PreToolUse --all-tools","timeout":10}`},
		"PostToolUse":       {`{"type":"command","command":"/opt/tutti hook codex PostToolUse","timeout":10}`},
		"PermissionRequest": {`{"type":"command","command":"/opt/tutti hook codex PermissionRequest","timeout":10}`},
		"Stop":              {`{"type":"command","command":"/opt/tutti hook codex Stop","timeout":10}`, theirs},
		"SessionEnd":        {`{"type":"command","command":"/opt/tutti hook codex SessionEnd","timeout":1}`},
	} {
		if got := d.hooksOf(file, event); !slices.Equal(got, want) {
			t.Errorf("codex %s:\ngot  %q\nwant %q", event, got, want)
		}
	}
	d.ok("gemini")
	gemini, _ := driver.Get("gemini")
	for _, e := range gemini.Hooks.Events {
		for _, h := range d.hooksOf(".gemini/settings.json", e.Name) {
			if !strings.Contains(h, `"[ -x /opt/tutti ] || exit 0; exec /opt/tutti hook gemini `) {
				t.Errorf("gemini %s: %s", e.Name, h)
			}
		}
	}
}
