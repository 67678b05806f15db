package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const full = `{"name":"api-creator-claude","status":"stopped","x_before":[1, {"a":null}],"tmux_server":"default",` +
	`"pane":{"pid":4711,"cmd":"claude","tty":"/dev/pts/4","cwd":"/srv/api","id":"%7"},"mcp_attachments":[{"name":"h2a"}],` +
	`"start_command":"tutti session create","claude_session_id_own":null,"delegate_job_id":null,"resumable":true,` +
	`"stopped_at":"2026-11-21T19:00:00Z","stopped_at_epoch":1795287600,"stop_reason":"manual_stop","termination_mode":"graceful",` +
	`"note":"kept \u00e9","stop_count":0,"revision":3}`

func parse(t *testing.T, raw string) Row {
	t.Helper()
	r, _, err := Parse([]byte(raw))
	if err != nil {
		t.Fatalf("Parse(%s): %v", raw, err)
	}
	return r
}

func TestRowKeepsUnknownMembers(t *testing.T) {
	t.Parallel()
	r := parse(t, full)
	want := strings.ReplaceAll(strings.ReplaceAll(full, `[1, {`, `[1,{`), ` \u00e9`, ` \u00e9`)
	if got := string(r.JSON()); got != want {
		t.Errorf("unchanged row\n got %s\nwant %s", got, want)
	}
	if r.Pane.PID != 4711 || r.Resumable != Yes || r.Revision != 3 || r.StoppedAt.Unix() != 1795287600 || r.Kind() != "claude" {
		t.Errorf("read %+v", r)
	}
	r.SetConversation("claude", "11111111-2222-4333-8444-555555555555")
	r.Status = Running
	r.Clear("stopped_at", "stop_reason", "termination_mode", "resumable", "note")
	r.Pane.PID, r.Pane.StartTicks = 0, 99
	r.Agent = "claude"
	want = `{"name":"api-creator-claude","status":"running","x_before":[1,{"a":null}],"tmux_server":"default",` +
		`"pane":{"cmd":"claude","tty":"/dev/pts/4","cwd":"/srv/api","id":"%7","start_ticks":99},"mcp_attachments":[{"name":"h2a"}],` +
		`"start_command":"tutti session create","claude_session_id_own":"11111111-2222-4333-8444-555555555555","delegate_job_id":null,` +
		`"stop_count":0,"revision":3,"agent":"claude"}`
	if got := string(r.JSON()); got != want {
		t.Errorf("changed row\n got %s\nwant %s", got, want)
	}
}

func TestNewRow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 20, 0, 0, 5, time.FixedZone("", 3600))
	r := Row{
		Name: "a-creator-codex", Status: Running, Agent: "codex", Pane: Pane{Cwd: "/a"}, CreatedAt: at,
		Intent: &Intent{Verb: "create", Step: "row", At: at, PID: 5, Start: 7, Boot: "b"},
	}
	r.SetConversation("codex", "")
	r.Set("looks", []byte(`[ "300ms" ]`))
	want := `{"name":"a-creator-codex","status":"running","agent":"codex","codex_session_id_own":null,"pane":{"cwd":"/a"},` +
		`"intent":{"verb":"create","step":"row","at":"2026-11-21T19:00:00Z","at_epoch":1795287600,"pid":5,"start_ticks":7,"boot_id":"b"},` +
		`"created_at":"2026-11-21T19:00:00Z","created_at_epoch":1795287600,"looks":["300ms"]}`
	if got := string(r.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again := parse(t, want)
	if got := string(again.JSON()); got != want {
		t.Errorf("read and written again: %s", got)
	}
	if *again.Intent != (Intent{Verb: "create", Step: "row", At: Stamp(at), PID: 5, Start: 7, Boot: "b"}) {
		t.Errorf("intent %+v", again.Intent)
	}
}

func TestConversationFields(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"claude": "claude_session_id_own", "claude-code": "claude_session_id_own", "agy": "agy_conversation_id_own",
		"hermes": "hermes_conversation_id_own", "cline": "cline_conversation_id_own", "codex": "codex_session_id_own",
		"gemini": "gemini_session_id_own", "opencode": "opencode_session_id_own", "my-tool": "my_tool_session_id_own",
	} {
		if got := Field(kind); got != want {
			t.Errorf("Field(%q) = %q, want %q", kind, got, want)
		}
		r := Row{Name: "x", Agent: kind}
		r.SetConversation(kind, "one")
		if r.Conversation() != "one" {
			t.Errorf("%s: conversation %q", kind, r.Conversation())
		}
		r.PreviousIDs = []string{"zero", "one"}
		if id := r.Forget(); id != "one" || !slices.Equal(r.PreviousIDs, []string{"one", "zero"}) || r.Conversation() != "" || string(r.Get(want)) != "null" {
			t.Errorf("%s: forgot %q: %v %v", kind, id, r.PreviousIDs, r.Get(want))
		}
	}
}

func TestScreenOfOlderPrograms(t *testing.T) {
	t.Parallel()
	old := `{"name":"a","status":"stopped","pane":{},"last_visible_status":"$ bye\n"}`
	r := parse(t, old)
	if r.VisibleScreen != "$ bye\n" || r.VisibleStatus != "" || string(r.JSON()) != old {
		t.Errorf("screen %q, status %q, written %s", r.VisibleScreen, r.VisibleStatus, r.JSON())
	}
	r.VisibleStatus = Stopped
	want := `{"name":"a","status":"stopped","pane":{},"last_visible_status":"stopped","last_visible_screen":"$ bye\n"}`
	if got := string(r.JSON()); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	both := parse(t, `{"name":"a","status":"stopped","pane":{},"last_visible_screen":"new","last_visible_status":"old"}`)
	if both.VisibleScreen != "new" {
		t.Errorf("of two screens %q", both.VisibleScreen)
	}
	if s := Screen("a\x1b[31mb\x07\n" + strings.Repeat("x\n", 300) + "\n\n"); strings.Count(s, "\n") != 199 || strings.ContainsAny(s, "\x1b\x07") {
		t.Errorf("%d lines kept: %q", strings.Count(s, "\n")+1, s[:20])
	}
	if s := Screen(strings.Repeat("é", 20000)); len(s) > 16<<10 || !strings.HasPrefix(s, "é") {
		t.Errorf("%d bytes kept", len(s))
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)
	for _, members := range []string{
		`"stopped_at":"2026-11-21T19:00:00Z"`, `"stopped_at_epoch":1795287600`, `"stopped_at_epoch":1795287600.4`,
		`"stopped_at":"2026-11-21T20:00:00+01:00"`, `"stopped_at":"2026-11-21 19:00:00+00:00"`, `"stopped_at":"2026-11-21 19:00:00"`,
		`"stopped_at":"2026-11-21T19:00:00"`, `"stopped_at_epoch":5,"stopped_at":"2026-11-21T19:00:00Z"`,
		`"stopped_at":"2026-11-21T19:00:00Z","stopped_at_epoch":5`, `"stopped_at":"yesterday","stopped_at_epoch":1795287600`,
		`"stopped_at":null,"stopped_at_epoch":1795287600`,
	} {
		r := parse(t, `{"name":"a","status":"stopped","pane":{},`+members+`}`)
		if !Stamp(r.StoppedAt).Equal(want) {
			t.Errorf("%s: read as %s", members, r.StoppedAt)
		}
		r.Clear("stopped_at")
		if got := string(r.JSON()); got != `{"name":"a","status":"stopped","pane":{}}` {
			t.Errorf("%s: cleared: %s", members, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for raw, why := range map[string]string{
		`[]`: "not a mapping", `{"name":"a"`: "not a mapping", `{}`: "no pane", `{"status":"running","pane":{}}`: "no name",
		`{"name":7,"status":"running","pane":{}}`: "no name", `{"name":"a","pane":{}}`: "status is missing",
		`{"name":"a","status":"walking","pane":{}}`: `"walking"`, `{"name":"a","status":true,"pane":{}}`: "status is missing",
		`{"name":"a","status":"running","pane":null}`: "not a mapping", `{"name":"a","status":"running","pane":[]}`: "not a mapping",
		`{"name":"a","status":"running","pane":{"pid":"x"}}`: "pane.pid", `{"name":"a","status":"running","pane":{"pid":-4}}`: "pane.pid",
		`{"name":"a","status":"running","pane":{"cwd":"rel"}}`:           "absolute",
		`{"name":"a","status":"running","pane":{},"role":""}`:            "role",
		`{"name":"a","status":"running","pane":{},"role":[]}`:            "role",
		`{"name":"a","status":"running","pane":{},"tmux_server":"../x"}`: "server",
		`{"name":"a\u001b","status":"running","pane":{}}`:                "control",
		`{"name":"a\nb","status":"running","pane":{}}`:                   "control",
	} {
		_, _, err := Parse([]byte(raw))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want something about %q", raw, err, why)
		}
	}
	for _, raw := range []string{
		`{"name":"a","status":"running","pane":{}}`, `{"name":"a:b c","status":"archived","pane":{"pid":null},"role":null,"tmux_server":null}`,
		`{"name":"a","status":"running","pane":{"pid":0,"cmd":""}}`,
	} {
		if got := parse(t, raw); string(got.JSON()) != raw {
			t.Errorf("%s was written as %s", raw, got.JSON())
		}
	}
	_, remarks, err := Parse([]byte(`{"name":"a","status":"running","pane":{},"start_argv":"sh","resumable":"yes"}`))
	if err != nil || len(remarks) != 2 {
		t.Errorf("remarks %q, %v", remarks, err)
	}
	before := parse(t, `{"name":"a","status":"running","pane":{},"role":"tester"}`)
	for _, c := range []struct {
		change func(r *Row)
		want   error
	}{
		{func(r *Row) { r.Role = "x" }, ErrRole},
		{func(r *Row) { r.Server = "other" }, ErrServer},
		{func(r *Row) { r.Server = "default" }, nil},
		{func(r *Row) { r.Status = Stopped }, nil},
	} {
		after := before.Clone()
		c.change(&after)
		if err := CheckChange(&before, &after); !errors.Is(err, c.want) {
			t.Errorf("change to %s: %v, want %v", after.JSON(), err, c.want)
		}
	}
}

func TestCloneIsDeep(t *testing.T) {
	t.Parallel()
	r := parse(t, full)
	c := r.Clone()
	c.SetConversation("claude", "x")
	c.Set("note", []byte(`1`))
	c.Clear("delegate_job_id", "stop_count")
	c.Pane.PID = 1
	if got := string(r.JSON()); strings.Contains(got, `"x"`) || !strings.Contains(got, `"delegate_job_id":null`) || !strings.Contains(got, "kept") {
		t.Errorf("the original became %s", got)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	beside := []byte(`{"agent_identities":{"claude":{"session_id":"s","project_cwd":"/a"},"agy":{"conversation_id":"c"},"x":null}}`)
	for kind, want := range map[string][2]string{"claude": {"s", "/a"}, "agy": {"c", ""}, "x": {}, "codex": {}} {
		if id, cwd := Identity(beside, kind); id != want[0] || cwd != want[1] {
			t.Errorf("%s: %q in %q, want %v", kind, id, cwd, want)
		}
	}
	if id, cwd := Identity(nil, "claude"); id != "" || cwd != "" {
		t.Errorf("of nothing: %q in %q", id, cwd)
	}
}
