package driver

import (
	"strings"
	"testing"
	"time"
)

// TestClaudeSessionFile has what both tried versions write, shortened, and what they do not.
func TestClaudeSessionFile(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1795287859941)
	for name, c := range map[string]struct {
		raw  string
		want SelfReport
		ok   bool
	}{
		"idle": {
			`{"pid":15652,"sessionId":"73cc9de3-7ad3-4c8e-9b1a-000000000001","cwd":"/x","startedAt":1795287852033,"procStart":"3317569","version":"2.1.197","kind":"interactive","status":"idle","updatedAt":1795287859999,"statusUpdatedAt":1795287859941}`,
			SelfReport{PID: 15652, Start: 3317569, Conversation: "73cc9de3-7ad3-4c8e-9b1a-000000000001", Dir: "/x", Doing: Idle, Since: at, Version: "2.1.197"},
			true,
		},
		"busy, newer": {
			`{"pid":15626,"procStart":"3317563","version":"2.1.329","peerFeatures":["notify_idle"],"asksForConvertedSkills":null,"status":"busy","statusUpdatedAt":1795287859941}`,
			SelfReport{PID: 15626, Start: 3317563, Doing: Busy, Since: at, Version: "2.1.329"},
			true,
		},
		"a question":   {`{"pid":2,"procStart":"1","status":"waiting","waitingFor":"permission prompt","statusUpdatedAt":1795287859941}`, SelfReport{PID: 2, Start: 1, Doing: Asking, Asks: "permission prompt", Since: at}, true},
		"another word": {`{"pid":2,"procStart":"1","status":"dreaming","statusUpdatedAt":1795287859941}`, SelfReport{PID: 2, Start: 1, Since: at}, true},
		"no status": {
			`{"pid":2,"procStart":"1","sessionId":"73cc9de3-7ad3-4c8e-9b1a-000000000001","entrypoint":"sdk-cli"}`,
			SelfReport{PID: 2, Start: 1, Conversation: "73cc9de3-7ad3-4c8e-9b1a-000000000001"},
			true,
		},
		"in the background": {
			`{"pid":2,"procStart":"1","kind":"bg","status":"idle","statusUpdatedAt":1795287859941}`,
			SelfReport{PID: 2, Start: 1, Background: true, Doing: Idle, Since: at},
			true,
		},
		"no id":         {`{"pid":2,"procStart":"1","sessionId":"--help"}`, SelfReport{PID: 2, Start: 1}, true},
		"too large":     {`{"pid":2,"procStart":"1","name":"` + strings.Repeat("x", MaxSheet) + `"}`, SelfReport{}, false},
		"no start":      {`{"pid":2,"status":"idle","statusUpdatedAt":1795287859941}`, SelfReport{}, false},
		"another start": {`{"pid":2,"procStart":"Sat Nov 21","status":"idle","statusUpdatedAt":1795287859941}`, SelfReport{}, false},
		"other types":   {`{"pid":"2","procStart":1,"status":"idle","statusUpdatedAt":"now"}`, SelfReport{}, false},
		"half of it":    {`{"pid":2,"procStart":"1","status":"idle","statusUpd`, SelfReport{}, false},
		"nothing":       {"", SelfReport{}, false},
		"a list":        {"[]", SelfReport{}, false},
	} {
		if got, ok := claude.Life.ReadSheet([]byte(c.raw)); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
	for env, want := range map[string]string{"": "/home/ana/.claude/sessions/7.json", "/cfg": "/cfg/sessions/7.json", "cfg": "/home/ana/.claude/sessions/7.json"} {
		if got := claude.Life.Sheet(with(map[string]string{"CLAUDE_CONFIG_DIR": env}), 7); got != want {
			t.Errorf("CLAUDE_CONFIG_DIR=%q: %s, want %s", env, got, want)
		}
	}
}
