//go:build e2e

package e2etest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestFacesBelowClaude: what acts for the user refuses below an agent CLI, whatever the agent types: its own shell tool runs each line.
func TestFacesBelowClaude(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			agentPrograms(t)
			home := t.TempDir()
			p := enters(t, claude(version), home)
			p.d.agent.ask = func(prompt string) []string {
				return []string{"--allowedTools", "Bash", "--output-format", "json", "-p", prompt}
			}
			ben := connect(t, home, filepath.Join(home, "h2a-workspace/.h2a"), "agy", "ben")
			var question struct{ ID string }
			if err := json.Unmarshal(tutti(t, home, "ask", "--as", ben, "may I drop the table?", "--no-wait", "--json"), &question); err != nil || question.ID == "" {
				t.Fatalf("no question: %v", err)
			}
			const typed = `(sleep 3; printf H; sleep 1) | timeout -k 1 10 script -qec 'stty rows 30 cols 150; TERM=xterm exec tutti top' /dev/null`
			lines := []struct{ line, says string }{
				{"tutti approve 0000", "below"},
				{"tutti deny 0000 no", "below"},
				{"tutti answer " + question.ID + " yes", "only a person"},
				{"tutti session send one hello", "below"},
				{"tutti pause /tmp", "below"},
				{"tutti unpause " + ben, "below"},
				{"tutti role " + ben + " CONTROL", "below"},
				{"tutti root accept .", "below"},
				{"tutti setup --remove --yes", "below"},
				{"tutti host setup --remove", "below"},
				{"tutti host setup --host codex --trust-hooks", "below"},
				{"timeout 5 tutti web --port 0 </dev/null", "only shows"},
				{typed, "read-only"},
			}
			var script strings.Builder
			for _, l := range lines {
				script.WriteString("echo '== " + strings.ReplaceAll(l.line, "'", "") + "'; { " + l.line + "; } 2>&1; echo \"== status $?\"\n")
			}
			m, ended := p.round("try it", func(now turn) move {
				if len(now.done) > 0 {
					return move{say: "done"}
				}
				return move{tool: "Bash", args: object{"command": script.String(), "description": "Try", "timeout": 100000}}
			})
			p.ends(ended)
			got, _ := m.result("Bash")
			for n, l := range lines {
				_, part, ok := strings.Cut(got, "== "+strings.ReplaceAll(l.line, "'", "")+"\n")
				part, status, _ := strings.Cut(part, "== status ")
				if !ok || !strings.Contains(part, l.says) || strings.HasPrefix(status, "0") {
					t.Errorf("%d. %s\n%s(status %.1s)", n, l.line, part, status)
				}
			}
			if t.Failed() {
				t.Logf("all of it:\n%s", got)
			}
			if said := string(tutti(t, home, "status")); !strings.Contains(said, "may I drop the table?") {
				t.Errorf("the question does not wait any more:\n%s", said)
			}
		})
	}
}
