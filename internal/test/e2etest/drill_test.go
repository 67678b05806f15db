//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/attention/drill"
)

// TestDrill has "tutti halt --drill" try the real programs: with the hooks of tutti each is stopped, and with hooks broken in six ways
// none is, and the drill says why. The switch of the user is never set.
func TestDrill(t *testing.T) {
	agentPrograms(t)
	for _, c := range []struct {
		name   string
		agent  agent
		breaks func(d desk, file string)
		says   string // "": it is stopped
	}{
		{"claude-197", claude("197"), nil, ""},
		{"claude-330", claude("330"), nil, ""},
		{"codex", codex, nil, ""},
		{"gemini", gemini, nil, ""},
		{"opencode", opencode, nil, ""},
		{"no hooks", claude("330"), func(d desk, file string) { d.write(t, file, "{}") }, "no hooks of tutti in its settings"},
		{"deleted program", claude("330"), func(d desk, file string) {
			d.write(t, file, strings.ReplaceAll(d.read(t, file), filepath.Dir(here.full), "/nonexistent"))
		}, "/nonexistent/tutti, which is not there"},
		{"turned off", claude("330"), func(d desk, file string) {
			d.write(t, file, strings.Replace(d.read(t, file), "{", `{"disableAllHooks": true,`, 1))
		}, "its settings turn hooks off"},
		{"for edits only", claude("330"), func(d desk, file string) {
			text := d.read(t, file)
			text = strings.ReplaceAll(text, "PostToolBatch", "Unknown") // else it ends the turn
			text = strings.ReplaceAll(text, `"PostToolUse"`, `"Unknown2"`)
			d.write(t, file, strings.ReplaceAll(text, `"matcher": "*"`, `"matcher": "Edit"`))
		}, "no hook before every tool"},
		{"not reviewed", codex, func(d desk, file string) {
			config := d.read(t, ".codex/config.toml")
			before, _, _ := strings.Cut(config, "[hooks.state")
			d.write(t, ".codex/config.toml", before)
		}, "its hooks wait for your review"},
		{"turned off in Gemini", gemini, func(d desk, file string) {
			d.write(t, file, strings.Replace(d.read(t, file), "{", `{"hooksConfig": {"enabled": false},`, 1))
		}, "its settings turn hooks off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			d := newDesk(t, c.agent, home, "http://127.0.0.1:1")
			args := []string{"host", "setup", "--host", c.agent.host, "--no-server"}
			if c.agent.host == "codex" {
				args = append(args, "--trust-hooks")
			}
			tutti(t, home, args...)
			if c.breaks != nil {
				c.breaks(d, map[string]string{"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}[c.agent.host])
			}
			got := d.drill(t)
			if len(got) != 1 {
				t.Fatalf("got %+v", got)
			}
			r := got[0]
			t.Logf("MEASURED %s", r.Line())
			want, says := drill.Stopped, "stopped after "
			if c.says != "" {
				want, says = drill.NotStopped, "hook did not fire: only --kill stops it ("
			}
			// Gemini CLI is asked for its version here, and a busy machine takes longer than the drill waits for that.
			if r.State != want || !strings.HasPrefix(r.Text, says) || !strings.Contains(r.Text, c.says) || r.CLI != c.agent.host || r.Version != c.agent.version && (r.Version != "" || c.agent.host != "gemini") {
				t.Errorf("got %+v", r)
			}
			if want == drill.Stopped && r.Calls > 1 {
				t.Errorf("%d calls began after the halt", r.Calls)
			}
			if _, err := os.Lstat(filepath.Join(home, ".config/cross-agent-comms")); err == nil {
				t.Error("the user's switch was set")
			}
			nothingLeft(t, home)
		})
	}
}

// drill runs the drill where the program is the only agent CLI on the path.
func (d desk) drill(t *testing.T) []drill.Result {
	t.Helper()
	bin := filepath.Join(d.home, "bin")
	var words []string
	for _, p := range d.agent.program {
		words = append(words, filepath.Join(agentPrograms(t), p))
	}
	at := filepath.Join(bin, d.agent.host)
	if len(words) == 1 {
		if err := errors.Join(os.MkdirAll(bin, 0o700), os.Symlink(words[0], at)); err != nil {
			t.Fatal(err)
		}
	} else {
		d.write(t, "bin/"+d.agent.host, "#!/bin/sh\nexec "+strings.Join(words, " ")+" \"$@\"\n")
		if err := os.Chmod(at, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(strings.TrimSuffix(here.full, "-full"), "halt", "--drill", "--json")
	c.Env = []string{"HOME=" + d.home, "PATH=" + bin + ":/usr/bin:/bin", "LANG=C.UTF-8"}
	out, err := c.Output()
	var v struct{ Drills []drill.Result }
	if e := json.Unmarshal(out, &v); e != nil {
		t.Fatalf("%v, %v: %s", err, e, out)
	}
	return v.Drills
}
