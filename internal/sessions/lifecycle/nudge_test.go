package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/platform/tmux"
)

// TestNudgeTarget: a line reaches the agent of the session on its bus when it is idle, and no other agent.
func TestNudgeTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("api", "types")
	server, err := tmux.Named(row.Server)
	if err != nil {
		t.Fatal(err)
	}
	var pane tmux.Pane
	r.until("the pane", func() bool {
		pane, err = server.Find(t.Context(), "api")
		return err == nil
	})
	now := envelope.Stamp(time.Now().Add(time.Second))
	s := func(change func(*presence.Session)) *presence.Session {
		one := &presence.Session{
			Instance: "claude:api:aaaaaaaaaaa1", Host: "claude", PID: pane.PID, StartedAt: now, HeartbeatAt: now, State: presence.Live,
			Launch: &presence.Launch{Cwd: "/", Command: "claude", Tmux: &presence.Tmux{Session: "api", Pane: pane.ID}},
		}
		change(one)
		return one
	}
	const text = "[h2a from=a to=b nonce=n at=t sig=s] count 'the' files; $(touch /tmp/owned) #{pane_id} -x"
	for what, c := range map[string]struct {
		s          *presence.Session
		text, part string
	}{
		"two lines":          {s(func(*presence.Session) {}), "a\nb", "more than one line"},
		"keys":               {s(func(*presence.Session) {}), "a\x1b[201~", "control characters"},
		"another machine's":  {s(func(s *presence.Session) { s.MirroredAt = now }), text, "no pane of this machine"},
		"closed":             {s(func(s *presence.Session) { s.State = presence.Closed }), text, "no pane of this machine"},
		"another pane":       {s(func(s *presence.Session) { s.Launch.Tmux.Pane = "%9999" }), text, "not seen to run"},
		"another process":    {s(func(s *presence.Session) { s.PID = 1; s.StartedAt = "2020-01-01T00:00:00.000Z" }), text, "not seen to run"},
		"an unknown program": {s(func(s *presence.Session) { s.Host = "custom"; s.Instance = "custom:x:1" }), text, "tutti types only into Claude Code"},
	} {
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := r.m.Nudge(within, c.s, []tmux.Server{server}, c.text)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: got %v, want %q", what, err, c.part)
		}
	}
	if err := r.m.Nudge(t.Context(), s(func(*presence.Session) {}), []tmux.Server{server}, text); err != nil {
		t.Fatal(err)
	}
	if got := r.submitted("api"); got != text {
		t.Errorf("submitted: %q", got)
	}
}
