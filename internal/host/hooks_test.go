package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/canonjson"
	"tutti/internal/driver"
	"tutti/internal/settings"
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

// What a user has set in an entry of ours stays theirs: a timeout, for which tools it runs, a word to show.
func TestOwnHookSettings(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Command = "/opt/tutti"
	d.ok("claude")
	const file = ".claude/settings.json"
	text := d.read(file)
	for _, r := range [][2]string{
		{`/opt/tutti hook claude PostToolUse",`, `/opt/tutti hook claude PostToolUse", // mine` + "\n\"statusMessage\": \"mail\","},
		{`"PostToolUse": [`, `"PostToolUse": [ // which` + "\n" + `{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "date"}]},`},
		{`"timeout": 604800`, `"timeout": 3600`},
		{`/opt/tutti hook claude Stop",` + "\n            \"timeout\": 10", `/opt/tutti hook claude Stop"`},
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
		`{"type":"command","command":"say"}`, `{"type":"command","command":"/new/tutti hook claude UserPromptSubmit --root /srv","timeout":5}`,
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
func TestHooksHaveTheNameOfTheServer(t *testing.T) {
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
	if len(got) != 2 || !strings.Contains(got[0], "hook claude Stop --name 'old mac'") || !strings.Contains(got[1], "--wait --name 'old mac'") {
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
func TestHooksUseTheBusOfTheServer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Root, d.q.Hooks = "/srv/bus", false
	d.ok("claude")
	d.q.Root, d.q.Hooks, d.q.Server = "", true, false
	claude, _ := driver.Get("claude")
	d.ok("claude")
	if got := d.hooksOf(".claude/settings.json", "Stop"); len(got) != 2 || !strings.Contains(got[0], "hook claude Stop --root /srv/bus") || !strings.Contains(got[1], "--wait --root /srv/bus") {
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
		`/old/tutti hook claude Stop`:                                  false,
		`'/old dir/tutti' hook claude Stop --root '/srv/$x'`:           false,
		`/old/tutti  hook claude Stop`:                                 false,
		`timeout 5 /old/tutti hook claude Stop`:                        true,
		`A=b /old/tutti hook claude Stop`:                              true,
		`[ -x /old/tutti ] && /old/tutti hook claude Stop`:             true,
		`/old/tutti hook claude Stop; date >>/tmp/log`:                 true,
		`/old/tutti hook claude Stop --root "$HOME/bus"`:               true,
		"/old/tutti hook claude Stop\ndate":                            true,
		`/old/tutti hook claude Stop 2>/dev/null || true # fails open`: true,
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
	d.write(file, strings.ReplaceAll(now, `"timeout": 604800`, `"timeout": 600`), 0o600)
	claude, _ := driver.Get("claude")
	if s := d.q.Look(t.Context(), claude); s.Hooks[0].State != Outdated {
		t.Errorf("got %s", s.Hooks[0].State)
	}
	d.ok("claude")
	if got := d.read(file); got != now {
		t.Errorf("got\n%s", settings.Diff([]byte(now), []byte(got)))
	}
}
