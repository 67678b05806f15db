//go:build e2e

package e2etest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// showing are the arguments with which a program tells of our server as host setup registers it, and what it says of one that it has
// reached; Codex does not try.
func (a agent) showing() (args []string, want string) {
	if a.host == "codex" {
		return []string{"mcp", "get", "tutti"}, "mcp-serve --auto-open --host codex --tools lean"
	}
	return a.list, a.connected
}

// TestHostSetup: in a home where the program itself had written its settings, host setup makes our server known to it, and
// takes it out again. An entry that was typed by hand for the same server goes, unless it says more.
func TestHostSetup(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, a, t.TempDir(), "http://127.0.0.1:1")
			out := string(tutti(t, d.home, "host", "setup", "--host", a.host))
			if !strings.Contains(out, "server tutti brought up to date") {
				t.Fatalf("got %s", out)
			}
			args, want := a.showing()
			said := d.run(t, args...)
			if !strings.Contains(said, "tutti") || !strings.Contains(said, want) {
				t.Errorf("%q: got\n%s\nwant tutti, and %q", args, said, want)
			}
			if a.host != "codex" && strings.Count(said, "mcp-serve") > 1 {
				t.Errorf("the server is there twice:\n%s", said)
			}
			if out := string(tutti(t, d.home, "host", "setup", "--host", a.host)); !strings.Contains(out, "already up to date") {
				t.Errorf("after the program has run: %s", out)
			}
			if out := string(tutti(t, d.home, "host", "status", "--host", a.host)); !strings.Contains(out, "answers in ") {
				t.Errorf("status: %s", out)
			}
			tutti(t, d.home, "host", "setup", "--host", a.host, "--remove")
			if out, err := d.command(t, args...).CombinedOutput(); strings.Contains(string(out), want) {
				t.Errorf("it is still there: %v\n%s", err, out)
			}
		})
	}
}

// TestHostSetupFromNothing: the same in a home where there is nothing but what lets the program run without questions.
func TestHostSetupFromNothing(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			agentPrograms(t)
			home := t.TempDir()
			d := desk{agent: a, home: home, work: filepath.Join(home, "project"), url: "http://127.0.0.1:1"}
			d.write(t, "project/readme", "")
			if a.host == "gemini" {
				d.write(t, ".gemini/trustedFolders.json", compact(object{d.work: "TRUST_FOLDER"}))
			}
			tutti(t, home, "host", "setup", "--host", a.host)
			args, want := a.showing()
			if said := d.run(t, args...); !strings.Contains(said, "tutti") || !strings.Contains(said, want) {
				t.Errorf("%q: got\n%s\nwant tutti, and %q", args, said, want)
			}
		})
	}
}

// TestHostStatusKnowsVersions: the programs are found where a shell finds them, and say which they are.
func TestHostStatusKnowsVersions(t *testing.T) {
	for _, a := range agents {
		if a.host == "gemini" {
			continue // it is a script, and needs a node of its own
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			c := exec.Command(strings.TrimSuffix(here.full, "-full"), "host", "status", "--host", a.host)
			c.Dir = home
			c.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(filepath.Join(agentPrograms(t), a.program[0])) + ":/usr/bin:/bin", "LANG=C.UTF-8"}
			out, err := c.CombinedOutput()
			if first, _, _ := strings.Cut(string(out), "\n"); err != nil || !strings.HasSuffix(first, " "+a.version) {
				t.Errorf("got %s, %v; want %s", out, err, a.version)
			}
		})
	}
}

// TestFormerName: an agent that may call the tools of the server under its former name may call them after the server was renamed, and
// stops at no dialog: claude -p refuses what it would ask for.
func TestFormerName(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			agentPrograms(t)
			a, home := claude(version), t.TempDir()
			p := enters(t, a, home)
			p.d.agent.ask = func(prompt string) []string { return []string{"--output-format", "json", "-p", prompt} }
			change := func(file, from, to string) {
				t.Helper()
				path := filepath.Join(home, file)
				text, err := os.ReadFile(path)
				if err != nil || strings.Count(string(text), from) != 1 {
					t.Fatalf("%s: %v, not once %s:\n%s", file, err, from, text)
				}
				p.d.write(t, file, strings.Replace(string(text), from, to, 1))
			}
			change(".claude.json", `"tutti": {`, `"h2a": {`)
			change(".claude/settings.json", `"mcp__tutti"`, `"mcp__h2a"`)
			if out := string(tutti(t, home, "host", "setup", "--host", "claude")); !strings.Contains(out, "server h2a renamed to tutti") {
				t.Errorf("got %s", out)
			}
			m, ended := p.round("what is the status?", a.steps(t, step{tool: "tutti_status", args: with(object{})}))
			p.ends(ended)
			if got, _ := m.result(a.tool("tutti_status")); !strings.Contains(got, `"instance"`) {
				t.Errorf("the tool answered %s", got)
			}
		})
	}
}
