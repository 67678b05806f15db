package history

import (
	"testing"
	"time"

	"tutti/internal/halt"
	"tutti/internal/sessions/registry"
)

// TestJoin: one list in order of time, from a moment on, the newest of it, and nothing twice.
func TestJoin(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1_790_000_000+int64(s), 0).UTC() }
	one, two, three := Event{At: at(1), Kind: Message, ID: "a"}, Event{At: at(2), Kind: Session, From: "api"}, Event{At: at(3), Kind: Message, ID: "b"}
	for _, c := range []struct {
		name  string
		since time.Time
		most  int
		want  []Event
	}{
		{"all", time.Time{}, 0, []Event{one, two, three}},
		{"the newest", time.Time{}, 2, []Event{two, three}},
		{"since a moment", at(2), 0, []Event{two, three}},
	} {
		got := Join(c.since, c.most, []Event{three, one}, []Event{two, one})
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
	seen := Seen{}
	if n := len(New([]Event{one, two}, seen)); n != 2 {
		t.Errorf("%d events are new, want 2", n)
	}
	if news := New([]Event{one, two, three}, seen); len(news) != 1 || news[0] != three {
		t.Errorf("%v are new, want the third", news)
	}
}

// TestSessions: a running session has no stop, and a stopped one says why.
func TestSessions(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_790_000_000, 0).UTC()
	rows := []registry.Row{
		{Name: "api", Status: registry.Running, Agent: "claude", Pane: registry.Pane{Cwd: "/shop"}, CreatedAt: at, StoppedAt: at, ResumedAt: at.Add(time.Second)},
		{Name: "docs", Status: registry.Stopped, Agent: "gemini", CreatedAt: at, StoppedAt: at, StopReason: "user"},
	}
	var got []string
	for _, e := range Sessions(rows, "/r") {
		got = append(got, e.From+" "+e.Text)
	}
	want := []string{"api created: claude in /shop", "api resumed", "docs created: gemini in ", "docs stopped: user"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// TestHalts: how halts and pauses began and ended, and the halt that holds, once.
func TestHalts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_790_000_000, 0).UTC()
	record := []halt.Lift{{How: halt.Raised, Chain: []string{"loop"}, At: at}, {How: halt.AtTerminal, At: at}, {How: halt.Paused, Pause: "/shop", Chain: []string{"a < b"}, At: at}, {How: halt.WithoutTerminal, Pause: "/shop", At: at}}
	want := []string{"all agents were halted: loop", "the halt was lifted at a terminal", "/shop was paused: a < b", "the pause of /shop was lifted without a terminal"}
	for _, c := range []struct {
		name string
		now  halt.State
		want []string
	}{
		{"no halt", halt.State{}, want},
		{"one holds", halt.State{Halted: true, Since: at.Add(time.Hour), Reason: "again"}, append(want[:4:4], "all agents were halted: again")},
	} {
		got := Halts(c.now, record)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i].Text != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, got[i].Text, c.want[i])
			}
		}
	}
	// A message of the same second was before the halt.
	if all := Join(time.Time{}, 0, Halts(halt.State{}, record[:1]), []Event{{At: at.Add(500 * time.Millisecond), Kind: Message}}); all[0].Kind != Message {
		t.Errorf("the halt comes first: %v", all)
	}
}
