//go:build e2e

package e2etest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a model sees besides the results that it asked for.

// TestAgentsReportErrors: a refusal reaches the model in words, with the hint what to do instead.
func TestAgentsReportErrors(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			m := talk(t, a, t.TempDir(), step{tool: "tutti_send", args: with(object{"to": "codex:nobody", "text": "hello"})})
			got, _ := m.result(a.tool("tutti_send"))
			for _, want := range []string{`"error":`, `"hint":`, "codex:nobody"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in what the model got: %s", want, got)
				}
			}
		})
	}
}

// TestPushesDoNotReachModel: mail arrives while the model thinks, the server says so at once, and no program lets the model
// know. Once one does, docs/agents.md has to tell it.
func TestPushesDoNotReachModel(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			agentPrograms(t)
			home := t.TempDir()
			root := filepath.Join(home, "bus")
			ben := connect(t, home, root, "agy", "ben")
			m := newModel(t, a.steps(t,
				step{tool: "tutti_status", args: with(object{})},
				step{tool: "tutti_peers", args: func(now turn) object {
					status, _ := now.result(a.tool("tutti_status"))
					send := exec.Command(strings.TrimSuffix(here.full, "-full"), "send", "--root", root, "--as", ben, first(instanceIn, status), "the schema changed")
					send.Dir, send.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
					if out, err := send.CombinedOutput(); err != nil {
						t.Errorf("send: %v\n%s", err, out)
					}
					return object{}
				}},
				step{tool: "tutti_receive", args: with(object{})},
			))
			wire := filepath.Join(home, "wire")
			d := newDesk(t, a, home, m.http.URL, os.Args[0], "wire", wire, here.full, "mcp-serve", "--root", root, "--auto-open", "--host", a.host, "--name", "ana")
			d.run(t, a.ask("call the tools")...)

			passed, err := os.ReadFile(wire)
			if err != nil || !bytes.Contains(passed, []byte("inbox.envelope_arrived")) {
				t.Errorf("the server has pushed nothing: %v\n%s", err, passed)
			}
			if got, _ := m.result(a.tool("tutti_receive")); !strings.Contains(got, "the schema changed") {
				t.Errorf("the mail is not in the result: %s", got)
			}
			for _, turn := range m.seen() {
				if bytes.Contains(turn.raw, []byte("envelope_arrived")) {
					t.Errorf("the push is in what the model was sent: %s", turn.raw)
				}
			}
		})
	}
}
