package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/blocker"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// raise says of an agent that it is blocked.
func (r *rig) raise(i address.Instance) {
	r.t.Helper()
	if _, _, err := blocker.New(r.store).Raise(r.t.Context(), blocker.Call{Instance: i, Reason: "the schema is missing"}, r.now); err != nil {
		r.t.Fatal(err)
	}
}

// stop records that an agent has stopped.
func (r *rig) stop(i address.Instance) {
	r.t.Helper()
	if _, err := r.book.Record(r.t.Context(), Stop{Instance: i, Status: presence.Paused}, r.now); err != nil {
		r.t.Fatal(err)
	}
}

// put lays a document as it is.
func (r *rig) put(k store.Key, raw string) {
	r.t.Helper()
	if _, err := r.store.Create(r.t.Context(), k, []byte(raw)); err != nil {
		r.t.Fatal(err)
	}
}

func agent(n int) address.Instance { return address.Instance(fmt.Sprintf("claude:a:%012x", n)) }

// TestBlocked: an agent that has reported a blocker is neither asked nor escalated. Once the blocker is resolved it is asked.
func TestBlocked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(r *rig)
	}{
		{"before it stopped", func(r *rig) { r.raise(who); r.record("paused") }},
		{"after it stopped", func(r *rig) { r.record("paused"); r.raise(who) }},
		{"in another spelling", func(r *rig) { r.record("paused"); r.raise("Claude:API:3f2a9c01b7de") }},
		{"when it had been asked often enough", func(r *rig) {
			r.record("paused")
			for range Cap {
				if _, err := r.book.Relanced(r.t.Context(), who, r.now); err != nil {
					r.t.Fatal(err)
				}
			}
			r.raise(who)
		}},
		{"in the moment before it would be asked", func(r *rig) {
			r.record("paused")
			raised := false
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) {
				if !raised {
					raised = true
					r.raise(who)
				}
				return time.Time{}, nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.set(r)
			before := r.entry()
			d := New(r.o)
			r.goes(d, time.Hour)
			if e := r.entry(); len(r.asked) > 0 || len(r.alerts()) > 0 || string(e.Raw) != string(before.Raw) {
				t.Fatalf("asked %v, alerts %v, %s", r.asked, r.alerts(), e.Raw)
			}
			if len(r.events) != 1 || !strings.Contains(r.events[0].Text, "it is blocked") {
				t.Errorf("told of %v", r.events)
			}
			is := who
			if strings.Contains(c.name, "spelling") {
				is = "Claude:API:3f2a9c01b7de"
			}
			if _, err := blocker.New(r.store).Resolve(t.Context(), is, "human:ana:000000000001", r.now); err != nil {
				t.Fatal(err)
			}
			r.goes(d, time.Minute)
			if before.RelanceCount == Cap {
				if len(r.alerts()) != 1 {
					t.Errorf("afterwards alerts %v", r.alerts())
				}
			} else if len(r.asked) == 0 {
				t.Errorf("it was not asked when that was resolved; told of %v", r.events)
			}
		})
	}
}

// TestBlockersOfOthersAreIgnored: blockers of other agents, and those stored under a wrong name, do not keep an agent from being asked.
func TestBlockersOfOthersAreIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.raise("codex:web:aaaaaaaaaaa1")
	r.put(store.Key{Kind: store.Blockage, Name: "claude__zzz"}, `{"instance":"`+string(who)+`","scope":"","reason":"r","raisedAt":"2030-05-01T10:00:00.000Z"}`)
	r.put(store.Key{Kind: store.Blockage, Name: "claude__torn"}, `{"instance":`)
	r.record("paused")
	r.goes(New(r.o), time.Minute)
	if len(r.asked) == 0 {
		t.Errorf("it was not asked; told of %v", r.events)
	}
}

// TestWaitingDoNotUseTheLimit: agents that wait for a person do not use up the limit of a round, however many they are, and are checked
// again in turn.
func TestWaitingDoNotUseTheLimit(t *testing.T) {
	t.Parallel()
	for _, waiting := range []int{busy, looks - 1, 5 * looks} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			dialog := map[address.Instance]int{}
			for n := range waiting {
				dialog[agent(n)] = 0
				r.stop(agent(n))
			}
			r.try = func(ctx context.Context, t Target) (Attempt, error) {
				if _, waits := dialog[t.Instance]; waits {
					dialog[t.Instance]++
					return Attempt{Held: "it asks whether a tool may be used"}, nil
				}
				r.asked = append(r.asked, r.now)
				return Attempt{Did: true}, t.Claim(ctx)
			}
			r.now = r.now.Add(time.Second)
			r.record("paused")
			began := r.now
			d := New(r.o)
			rounds := (waiting + looks) / looks // as many beats until everybody was looked at
			r.goes(d, time.Duration(rounds+2)*d.s.Interval)
			if len(r.asked) == 0 || waiting < looks && r.asked[0].Sub(began) != d.s.Interval {
				t.Errorf("it was asked at %v, want %s after %s", r.asked, d.s.Interval, began)
			}
			for i, n := range dialog {
				if n == 0 {
					t.Errorf("%s was never looked at", i)
				}
			}
			if e, err := r.book.Get(t.Context(), agent(0)); err != nil || e.tries() > 0 {
				t.Errorf("it was counted: %+v, %v", e, err)
			}
		})
	}
}

// TestEscalatedAgain: an agent that stalls for good a second time is escalated again, whether or not the first escalation was answered.
func TestEscalatedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		between func(r *rig)
		want    int // how often it is told
	}{
		{"stalled again long after", func(r *rig) { r.now = r.now.Add(time.Hour); r.record("paused") }, 2},
		{"answered, then stalled again", func(r *rig) { r.answered(); r.now = r.now.Add(time.Hour); r.record("paused") }, 2},
		{"it was answered, and it stopped again soon", func(r *rig) { r.answered(); r.now = r.now.Add(time.Minute); r.record("paused") }, 2},
		{"still stalled", func(*rig) {}, 1},
		{"still stalled after an answer", func(r *rig) { r.answered() }, 1},
		{"a hook records the end of its answer", func(r *rig) { r.now = r.now.Add(time.Minute); r.record("paused") }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			told := 0
			r.o.Alert = func(context.Context, *escalation.Alert) error { told++; return nil }
			r.record("paused")
			d := New(r.o)
			r.goes(d, 10*time.Minute)
			if told != 1 || len(r.alerts()) != 1 {
				t.Fatalf("told %d times, %v", told, r.alerts())
			}
			c.between(r)
			r.goes(d, 10*time.Minute)
			all := r.alerts()
			if told != c.want || len(all) != 1 || all[0].Count != c.want {
				t.Errorf("told %d times, want %d; %+v", told, c.want, all)
			}
			if c.want > 1 && all[0].Seen != nil {
				t.Errorf("the second one was not acknowledged: %s", all[0].Raw)
			}
		})
	}
}

// answered writes that a person has seen the alert.
func (r *rig) answered() {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	if err := escalation.New(r.store, nil, nil, nil).See(r.t.Context(), who, escalation.Answer{By: "human:ana:000000000001", Text: "seen", At: r.now}, signature.Generate()); err != nil {
		r.t.Fatal(err)
	}
}

// TestHaltWhileDecided: a halt that came and went while the decider thought leaves an agent that its user has to let go on first.
func TestHaltWhileDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	on := true
	r.o.Engaged = func(context.Context, address.Instance) (bool, error) { return on, nil }
	r.try = func(ctx context.Context, t Target) (Attempt, error) {
		on = false // a screen is looked at for a second
		if err := t.Claim(ctx); err != nil {
			return Attempt{}, err
		}
		r.asked = append(r.asked, r.now)
		return Attempt{Did: true}, nil
	}
	r.record("paused")
	r.goes(New(r.o), 10*time.Minute)
	if e := r.entry(); len(r.asked) > 0 || e.tries() > 0 || len(r.alerts()) > 0 {
		t.Errorf("asked %v, %s", r.asked, e.Raw)
	}
}

// TestSessionReportsRateLimit: the session of an agent may know of a limit that the record does not.
func TestSessionReportsRateLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	began := r.now
	r.record("paused")
	r.session(presence.OutOfTokens, r.now.Add(50*time.Minute), time.Time{})
	r.goes(New(r.o), 61*time.Minute)
	if got := r.after(began); len(got) == 0 || got[0] <= 103 { // its last heartbeat counts for ninety seconds
		t.Errorf("asked after %v intervals", got)
	}
}

// TestReportUnknown: whether an agent has reported cannot be found out; it is not asked on that account.
func TestReportUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Said = func(context.Context, address.Instance) (time.Time, error) {
		return time.Time{}, errors.New("cannot be read")
	}
	r.record("paused")
	r.goes(New(r.o), 10*time.Minute)
	if len(r.asked) > 0 || fmt.Sprint(r.kinds()) != "[fault]" {
		t.Errorf("asked %v, told of %v", r.asked, r.events)
	}
}

// TestOneAgent: an agent recorded in two spellings is asked once, and an entry under the name of another agent is ignored.
func TestOneAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.record("paused")
	r.stop("Claude:API:3f2a9c01b7de")
	r.put(store.Key{Kind: store.Drumbeat, Name: "claude__zzz"}, `{"instance":"`+string(who)+`","workStatus":"done","stoppedAt":"2030-05-01T11:00:00.000Z"}`)
	r.put(store.Key{Kind: store.Drumbeat, Name: "x"}, `{"instance":"x\n--urgency=critical","workStatus":"paused","stoppedAt":"2030-05-01T10:00:00.000Z"}`)
	began := r.now
	r.goes(New(r.o), time.Hour)
	if got := fmt.Sprint(r.after(began)); got != "[1 2 4]" {
		t.Errorf("asked after %s intervals, want [1 2 4]; told of %v", got, r.events)
	}
}

// TestPlaces: an entry names a pane as it likes. One in which another agent lives by its session is not typed into for it, and none is asked in the
// name of one agent after the other.
func TestPlaces(t *testing.T) {
	t.Parallel()
	in := func(r *rig, i address.Instance, pane string) {
		r.t.Helper()
		l := &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Session: "m", Pane: pane}}
		if _, err := r.book.Record(r.t.Context(), Stop{Instance: i, Status: presence.Paused, Launch: l}, r.now); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		set  func(r *rig)
		want string // who is asked in ten minutes
	}{
		{"of a live agent", func(r *rig) { r.session("working", r.now.Add(time.Hour), time.Time{}); in(r, agent(1), "%3") }, "[]"},
		{"another one", func(r *rig) { r.session("working", r.now.Add(time.Hour), time.Time{}); in(r, agent(1), "%4") }, "[1 1 1]"},
		{"its own", func(r *rig) { r.session("working", r.now.Add(time.Second), time.Time{}); in(r, who, "%3") }, "[api api api]"},
		{"three agents in one", func(r *rig) { in(r, agent(1), "%3"); in(r, agent(2), "%3"); in(r, agent(3), "%3") }, "[1 1 1]"},
		{"two in one, of which one names no session", func(r *rig) {
			in(r, agent(1), "%3")
			l := &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Pane: "%3"}}
			if _, err := r.book.Record(r.t.Context(), Stop{Instance: agent(2), Status: presence.Paused, Launch: l}, r.now); err != nil {
				r.t.Fatal(err)
			}
		}, "[1 1 1]"},
		{"each in its own", func(r *rig) { in(r, agent(1), "%3"); in(r, agent(2), "%4") }, "[1 2 1 2 1 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.set(r)
			var asked []string
			r.try = func(ctx context.Context, t Target) (Attempt, error) {
				name := strings.TrimLeft(string(t.Instance[strings.LastIndexByte(string(t.Instance), ':')+1:]), "0")
				if t.Instance == who {
					name = "api"
				}
				asked = append(asked, name)
				return Attempt{Did: true}, t.Claim(ctx)
			}
			r.goes(New(r.o), 10*time.Minute)
			if got := fmt.Sprint(asked); got != c.want {
				t.Errorf("asked %s, want %s; told of %v", got, c.want, r.events)
			}
		})
	}
}

// TestClearedEntryStaysCleared: a stall of an ended agent that a person has cleared is not found again, not even by a watchdog that was
// started later. If the agent lives again and ends again, that is a new stall.
func TestClearedEntryStaysCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.session("working", r.now.Add(-2*time.Minute), time.Time{})
	r.o.Ended = func(context.Context, *presence.Session) bool { return true }
	engaged := false
	r.o.Engaged = func(context.Context, address.Instance) (bool, error) { return engaged, nil }
	d := New(r.o)
	r.goes(d, 2*time.Minute)
	if e := r.entry(); e == nil || e.Origin != Ended || len(r.asked) > 0 {
		t.Fatalf("after a halt: %+v, asked %v", e, r.asked)
	}
	if err := r.book.Clear(t.Context(), who, r.now); err != nil {
		t.Fatal(err)
	}
	engaged = true
	r.goes(d, 5*time.Minute)
	r.goes(New(r.o), 5*time.Minute)
	if e := r.entry(); e != nil || len(r.asked) > 0 {
		t.Errorf("after it was cleared: %+v, asked %v", e, r.asked)
	}
	r.session("working", r.now, time.Time{})
	r.goes(d, 3*time.Minute)
	if len(r.asked) == 0 {
		t.Errorf("it has ended again; told of %v", r.events)
	}
}

// TestManyEnded: of many sessions whose processes are unknown, one round checks a bounded number, and later rounds check the others.
func TestManyEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	raw := `{"sessionId":"s%d","instance":%q,"startedAt":"2030-05-01T09:00:00.000Z","heartbeatAt":"2030-05-01T09:57:00.000Z","state":"live","pid":4711,
"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"launchContext":{"cwd":"/w","command":"claude","tmux":{"session":"m","pane":"%%3"}}}`
	for n := range 2 * looks {
		r.put(store.Key{Kind: store.Presence, Name: fmt.Sprintf("s%d", n)}, fmt.Sprintf(raw, n, agent(n)))
	}
	seen := 0
	r.o.Ended = func(context.Context, *presence.Session) bool { seen++; return false }
	d := New(r.o)
	if err := d.Beat(t.Context()); err != nil || seen != looks {
		t.Errorf("%d were looked into, want %d; %v", seen, looks, err)
	}
}

// TestClearedWhileDecided: a stall that is cleared while the decider runs is not escalated.
func TestClearedWhileDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.record("paused")
	if _, err := r.book.Relanced(t.Context(), who, r.now); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Minute)
	r.o.Settings.Enforce = true
	r.o.Decider = &Decider{Argv: []string{"echo", `{"action":"escalate"}`}}
	decided := false
	r.o.Tell = func(e Event) {
		if e.Kind == Decided {
			decided = true
			if err := r.book.Clear(t.Context(), who, r.now); err != nil {
				t.Error(err)
			}
		}
	}
	r.goes(New(r.o), time.Minute)
	if all := r.alerts(); !decided || len(all) > 0 {
		t.Errorf("decided: %v; escalated: %v", decided, all)
	}
}
