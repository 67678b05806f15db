package fast

import (
	"encoding/json"
	"testing"

	"tutti/internal/attention/haltreport"
	"tutti/internal/sessions/agentproc"
)

// TestHaltMembers: "tutti halt --json" has these members and no others: the command lines of agents are not among them.
func TestHaltMembers(t *testing.T) {
	v := HaltView{
		OK: true, Halted: true, Path: "/h", Reason: "r", Since: "s", Watcher: "not installed",
		Report: &haltreport.Report{
			Agents: []haltreport.Agent{{
				Name: "api", CLI: "codex", Version: "1", PID: 7, TTY: "pts/1", Dir: "/d", Instance: "codex:api", Server: true,
				State: haltreport.Denied, Interrupted: true, Text: "t",
			}},
			Stop: 1, Problems: []string{"p"},
		},
		Unavailable: "u", Ended: []EndedView{{CLI: "codex", PID: 7, Tools: 1, Killed: true, Left: []int{8}}}, Machines: json.RawMessage(`[]`),
		Agents: []agentproc.Agent{{CLI: "codex", Argv: []string{"codex", "--api-key", "secret"}}},
	}
	const want = `{"ok":true,"halted":true,"path":"/h","reason":"r","since":"s","watcher":"not installed",` +
		`"report":{"agents":[{"name":"api","cli":"codex","version":"1","pid":7,"tty":"pts/1","dir":"/d","instance":"codex:api","server":true,` +
		`"state":"denied","interrupted":true,"text":"t"}],"stop":1,"needKill":0,"elsewhere":0,"problems":["p"]},` +
		`"unavailable":"u","ended":[{"cli":"codex","pid":7,"tools":1,"killed":true,"left":[8]}],"machines":[]}`
	if got, err := json.Marshal(v); err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
