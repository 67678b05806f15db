package drill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/attention/hookmark"
	"tutti/internal/platform/proc"
	"tutti/internal/test/progfile"
)

// TestMain plays an agent CLI and the hook of tutti under their names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "claude":
		os.Exit(playCLI())
	case "tutti":
		os.Exit(playHook())
	case "tutti-fails":
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// playCLI asks the model for a command, runs the hooks before it, runs it, and asks again.
func playCLI() int {
	home := os.Getenv("HOME")
	raw, err := os.ReadFile(filepath.Join(home, ".claude/settings.json"))
	var s struct {
		DisableAllHooks bool
		Hooks           struct {
			PreToolUse []struct {
				Matcher string
				Hooks   []struct{ Command string }
			}
		}
	}
	if err == nil && json.Unmarshal(raw, &s) != nil {
		return 2
	}
	for {
		r, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", strings.NewReader(`{"tools":[{"name":"Bash"}]}`))
		if err != nil {
			fmt.Println(err)
			return 3
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		_, rest, ok := bytes.Cut(body, []byte(`"partial_json":`))
		if !ok {
			return 0
		}
		var input string
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&input) != nil {
			return 4
		}
		var args struct{ Command string }
		_ = json.Unmarshal([]byte(input), &args)
		for _, e := range s.Hooks.PreToolUse {
			if s.DisableAllHooks || e.Matcher != "*" && e.Matcher != "Bash" {
				continue
			}
			for _, h := range e.Hooks {
				out, _ := exec.Command("/bin/sh", "-c", h.Command).Output()
				if bytes.Contains(out, []byte(`"deny"`)) {
					return 0
				}
			}
		}
		_ = exec.Command("/bin/sh", "-c", args.Command).Run()
	}
}

func playHook() int {
	home := os.Getenv("HOME")
	if _, err := os.Stat(filepath.Join(home, ".config/cross-agent-comms/HALT")); err != nil {
		return 0
	}
	id := proc.Self()
	err := hookmark.Record(filepath.Join(home, ".local/state/tutti"), hookmark.Mark{PID: id.PID, Start: id.Start, Boot: id.Boot, CLI: "claude", Denies: true, Acked: 1})
	if err != nil {
		return 1
	}
	fmt.Println(`{"decision":"deny"}`)
	return 0
}

func swap(t *testing.T, text, old, now string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("no %q in %s", old, text)
	}
	return strings.Replace(text, old, now, 1)
}

// TestRun: a CLI with working hooks counts as stopped. With hooks broken in six ways it does not, and each is named. The hooks of
// others are not run, nothing is left, and no switch but that of the drill is set.
func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, _ := driver.Get("claude")
	for name, c := range map[string]struct {
		breaks func(t *testing.T, home, text string) string
		state  State
		says   string
	}{
		"works": {nil, Stopped, "stopped after "},
		"a hook of the user's is not run": {func(t *testing.T, home, text string) string {
			return swap(t, text, `"PreToolUse": [`, `"PreToolUse": [{"matcher":"*","hooks":[{"type":"command","command":"touch `+home+`/foreign"}]},`)
		}, Stopped, "stopped after "},
		"no hooks": {func(*testing.T, string, string) string { return "{}" }, NotStopped, "no hooks of tutti in its settings"},
		"deleted program": {func(t *testing.T, home, text string) string {
			if err := os.Remove(filepath.Join(home, "tutti")); err != nil {
				t.Fatal(err)
			}
			return text
		}, NotStopped, "tutti, which is not there"},
		"turned off": {func(t *testing.T, _, text string) string {
			return swap(t, text, "{", `{"disableAllHooks":true,`)
		}, NotStopped, "its settings turn hooks off"},
		"for edits only": {func(t *testing.T, _, text string) string {
			return swap(t, text, `"matcher": "*"`, `"matcher": "Edit"`)
		}, NotStopped, "no hook before every tool"},
		"no event before a tool": {func(t *testing.T, _, text string) string {
			return swap(t, text, "PreToolUse", "PreToolUseOfOld")
		}, NotStopped, "no hook before every tool"},
		"a program that fails": {func(t *testing.T, home, text string) string {
			program := filepath.Join(home, "tutti")
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			if err := progfile.Write(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			return text
		}, NotStopped, "hook did not fire: only --kill stops it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for _, link := range []string{"tutti", "claude"} {
				if err := os.Symlink(self, filepath.Join(home, link)); err != nil {
					t.Fatal(err)
				}
			}
			place := driver.Site{Home: home, Env: func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }}
			q := setup.Request{Place: place, Command: filepath.Join(home, "tutti"), Hooks: true, Now: time.Now()}
			if p := q.Do(func() *setup.Plan { return q.Plan(d) }); p.Err != nil {
				t.Fatal(p.Err)
			}
			path := filepath.Join(home, ".claude/settings.json")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if c.breaks != nil {
				text := c.breaks(t, home, string(raw))
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				raw = []byte(text)
			}
			r := Run(t.Context(), d, Options{Place: place, Version: "2.1.330", Program: filepath.Join(home, "claude"), Now: time.Now()})
			if r.State != c.state || !strings.Contains(r.Text, c.says) || c.state == NotStopped && r.Calls != further || c.state == Stopped && r.Calls > 1 {
				t.Errorf("got %+v", r)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, raw) {
				t.Errorf("the user's settings have changed: %s", now)
			}
			for _, left := range []string{"foreign", ".config", ".local"} {
				if _, err := os.Lstat(filepath.Join(home, left)); err == nil {
					t.Errorf("%s is in the user's home folder", left)
				}
			}
		})
	}
}

// TestEndsByItself: a CLI that ends is not taken for one that was stopped.
func TestEndsByItself(t *testing.T) {
	d, _ := driver.Get("claude")
	r := Run(t.Context(), d, Options{Place: driver.Site{Home: t.TempDir(), Env: os.Getenv}, Program: "/bin/true", Now: time.Now()})
	if r.State != NotTried || !strings.Contains(r.Text, "it ended before its second tool call") {
		t.Errorf("got %+v", r)
	}
}

func TestRecord(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, r := range []Result{
		{CLI: "claude", Version: "2.1.330", State: Stopped, Text: "stopped"},
		{CLI: "codex", State: NotStopped},
		{CLI: "claude", State: NotTried},
	} {
		if err := Record(state, r); err != nil {
			t.Fatal(err)
		}
	}
	all := Last(state)
	if len(all) != 2 || all["claude"].Version != "2.1.330" || all["codex"].State != NotStopped {
		t.Errorf("got %+v", all)
	}
}
