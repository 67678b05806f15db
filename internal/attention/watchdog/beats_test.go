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
	"tutti/internal/governance/escalation"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const who = address.Instance("claude:api:3f2a9c01b7de")

// A rig is a drum over a bus, with a clock that goes only when it is told to, and a relauncher that does what it is told.
type rig struct {
	t      *testing.T
	store  Store
	book   *Book
	now    time.Time
	events []Event
	asked  []time.Time
	answer func() (Attempt, error) // nil: it is asked
	try    func(ctx context.Context, t Target) (Attempt, error)
	halted error
	o      Options
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Date(2030, 5, 1, 10, 0, 0, 0, time.UTC)}
	written := r.now.AddDate(1, 0, 0) // after all that happens: sessions with a heartbeat ahead are kept (see TestHeartbeatInTheFuture)
	r.store = memstore.New(memstore.Options{Now: func() time.Time { return written }})
	r.book = &Book{Store: r.store}
	r.o = Options{
		Book: r.book, Relaunch: r, Now: func() time.Time { return r.now }, Tell: func(e Event) { r.events = append(r.events, e) },
		Halted: func(string) error { return r.halted },
	}
	return r
}

func (r *rig) Try(ctx context.Context, t Target) (Attempt, error) {
	if r.try != nil {
		return r.try(ctx, t)
	}
	if r.answer != nil {
		return r.answer()
	}
	if err := t.Claim(ctx); err != nil {
		return Attempt{}, err
	}
	r.asked = append(r.asked, r.now)
	return Attempt{Did: true, How: "asked"}, nil
}

func (r *rig) record(status string) *Entry {
	r.t.Helper()
	e, err := r.book.Record(r.t.Context(), Stop{Instance: who, Status: status}, r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// goes lets time pass, with a beat every interval.
func (r *rig) goes(d *Beats, by time.Duration) {
	r.t.Helper()
	for end := r.now.Add(by); r.now.Before(end); r.now = r.now.Add(d.s.Interval) {
		if err := d.Beat(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) kinds() (all []string) {
	for _, e := range r.events {
		all = append(all, e.Kind)
	}
	return all
}

// after are the times of the requests, in intervals since a time.
func (r *rig) after(since time.Time) (all []int) {
	for _, t := range r.asked {
		all = append(all, int(t.Sub(since)/(30*time.Second)))
	}
	return all
}

func (r *rig) entry() *Entry {
	r.t.Helper()
	e, err := r.book.Get(r.t.Context(), who)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func (r *rig) alerts() []*escalation.Alert {
	r.t.Helper()
	all, problems, err := r.book.Alerts(r.t.Context())
	if err != nil || len(problems) > 0 {
		r.t.Fatal(err, problems)
	}
	return all
}

// TestPauses: the fourth and seventh weakness. The first request comes one interval after the stop, the next after 1, 2 and 4 more. Then
// the agent is escalated once, and the recorded start does not change.
func TestPauses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	began := r.now
	r.record("paused")
	r.goes(New(r.o), time.Hour)
	if got := fmt.Sprint(r.after(began)); got != "[1 2 4]" {
		t.Errorf("asked after %s intervals, want [1 2 4]", got)
	}
	all := r.alerts()
	if len(all) != 1 || all[0].Reason != Exhausted || all[0].RelanceCount != 3 || !all[0].At.Equal(began.Add(8*30*time.Second)) || all[0].Count != 1 {
		t.Fatalf("%+v", all)
	}
	if got := fmt.Sprint(r.kinds()); got != "[relanced relanced relanced escalated]" {
		t.Errorf("told of %s", got)
	}
	for _, want := range []string{`"channel": "alert"`, `"to": "PRINCIPAL"`, `"at": "2030-05-01T10:04:00.000Z"`, `"firstAt"`, `"lastAt"`} {
		if !strings.Contains(string(all[0].Raw), want) {
			t.Errorf("the alert lacks %s:\n%s", want, all[0].Raw)
		}
	}
}

// TestTurns: the third weakness. A hook at the end of every turn records also the turn that answered. The count goes on, so that the cap holds.
func TestTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.answer = func() (Attempt, error) {
		r.asked = append(r.asked, r.now)
		r.now = r.now.Add(10 * time.Second)
		defer r.record("paused")
		return Attempt{Did: true, How: "asked"}, nil
	}
	r.record("paused")
	d := New(r.o)
	r.goes(d, time.Hour)
	if len(r.asked) != 3 || len(r.alerts()) != 1 {
		t.Errorf("asked %d times, %d alerts; want 3 and 1", len(r.asked), len(r.alerts()))
	}
	// Long afterwards a stop is a new one.
	r.now = r.now.Add(time.Hour)
	if e := r.record("paused"); e.RelanceCount != 0 || e.Terminal != "" {
		t.Errorf("%+v", e)
	}
}

// TestProgress: an agent that works on for longer than an answer takes has gone on, and its next stop is a new one.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		did   time.Duration // after the last request
		spent bool
		gone  bool
	}{
		{"an invalid answer", time.Minute, false, false},
		{"it worked on", 3 * time.Minute, false, true},
		{"also when it was given up", 20 * time.Minute, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var did time.Time
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) { return did, nil }
			r.record("paused")
			d := New(r.o)
			r.goes(d, 2*time.Minute)
			if c.spent {
				r.goes(d, 10*time.Minute)
			}
			if (len(r.alerts()) > 0) != c.spent {
				t.Fatalf("alerts: %v", r.alerts())
			}
			did = r.asked[len(r.asked)-1].Add(c.did)
			if r.now.Before(did) {
				r.now = did
			}
			asked := len(r.asked)
			r.goes(d, 3*time.Minute)
			if gone := r.entry() == nil; gone != c.gone || gone && (len(r.asked) != asked || len(r.alerts()) > 0) {
				t.Errorf("gone on: %v, want %v; asked %d times more, %d alerts", gone, c.gone, len(r.asked)-asked, len(r.alerts()))
			}
		})
	}
}

// session writes what the server of an agent says of it.
func (r *rig) session(status string, beat, called time.Time) {
	r.t.Helper()
	raw := fmt.Sprintf(`{"sessionId":"s","instance":%q,"startedAt":"2030-05-01T09:00:00.000Z","heartbeatAt":%q,"state":"live","workStatus":%q,
"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"pid":4711,"lastMcpActivityAt":%q,
"launchContext":{"cwd":"/w","command":"claude","tmux":{"session":"m","pane":"%%3"}},"workspace":{"id":"ws:1","path":"/w","host":"h","label":"w"}}`,
		who, beat.Format(time.RFC3339Nano), status, called.Format(time.RFC3339Nano))
	k := store.Key{Kind: store.Presence, Name: "s"}
	old, err := r.store.Get(r.t.Context(), k)
	if err == nil {
		_, err = r.store.Replace(r.t.Context(), k, []byte(raw), old.Rev)
	} else {
		_, err = r.store.Create(r.t.Context(), k, []byte(raw))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestNotStalled: states that are not a stall.
func TestNotStalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(r *rig)
		want string // in what is told
	}{
		{"out of tokens", func(r *rig) { r.record("out-of-tokens") }, "not a stall"},
		{"blocked", func(r *rig) { r.record("blocked") }, "blocked"},
		{"done", func(r *rig) { r.record("done") }, ""},
		{"at work by its word", func(r *rig) { r.record("working") }, "at work"},
		{"its session says done", func(r *rig) { r.record("paused"); r.session("done", r.now.Add(20*time.Minute), r.now) }, "done"},
		{"its session has called tools since", func(r *rig) { r.record("paused"); r.session("working", r.now, r.now.Add(time.Minute)) }, "went on"},
		{"a headless agent without a session that has reported", func(r *rig) {
			at := r.now.Add(20 * time.Second)
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) { return at, nil }
			r.record("paused")
		}, "went on"},
		{"it asks", func(r *rig) {
			r.answer = func() (Attempt, error) { return Attempt{Held: "it asks whether a tool may be used"}, nil }
			r.record("paused")
		}, "whether a tool may be used"},
		{"seen at work", func(r *rig) {
			r.answer = func() (Attempt, error) { return Attempt{AtWork: true}, nil }
			r.record("paused")
		}, "seen at work"},
		{"not engaged since the halt", func(r *rig) {
			r.o.Engaged = func(context.Context, address.Instance) (bool, error) { return false, nil }
			r.record("paused")
		}, "let it go on"},
		{"halted", func(r *rig) { r.halted = &halt.Error{Action: "drumbeat"}; r.record("paused") }, "halted"},
		{"no way to it by its address", func(r *rig) {
			r.o.Reach = func(context.Context, address.Instance, time.Time) (string, error) { return "several have it", nil }
			r.record("paused")
		}, "skip"},
		{"no activity is recorded, and it is not live", func(r *rig) { r.session("working", r.now.Add(-10*time.Minute), r.now.Add(-11*time.Minute)) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.set(r)
			r.goes(New(r.o), 9*time.Minute)
			if len(r.asked) > 0 || len(r.alerts()) > 0 {
				t.Errorf("asked %v, alerts %v", r.asked, r.alerts())
			}
			if e := r.entry(); e != nil && (e.RelanceCount > 0 || e.DeclinedCount > 0) {
				t.Errorf("it was counted: %s", e.Raw)
			}
			said := ""
			for _, e := range r.events {
				said += e.Text + "\n"
			}
			if !strings.Contains(said, c.want) || c.want == "" && said != "" || strings.Count(said, "\n") > 1 {
				t.Errorf("told of %q, want %q, once", said, c.want)
			}
		})
	}
}

// TestRateLimitEnds: limits are waited for, and do not last for ever.
func TestRateLimitEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	began := r.now
	r.record("out-of-tokens")
	r.goes(New(r.o), 61*time.Minute)
	if got := fmt.Sprint(r.after(began)); got != "[120]" {
		t.Errorf("asked after %s intervals, want [120]", got)
	}
}

// TestConductorGracePeriod: the eighth weakness. A conductor that does not drum is waited for no longer than the grace.
func TestConductorGracePeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Self = "codex:me:0123456789ab"
	r.o.Workspace = func(context.Context, address.Instance) (string, error) { return "ws:1", nil }
	r.o.Conductor = func(context.Context, string, time.Time) (address.Instance, error) {
		return "codex:boss:ba9876543210", nil
	}
	began := r.now
	r.record("paused")
	r.goes(New(r.o), time.Hour)
	if got := fmt.Sprint(r.after(began)); got != "[11 12 14]" {
		t.Errorf("asked after %s intervals, want [11 12 14]: five minutes are ten", got)
	}
	if kinds := r.kinds(); len(kinds) != 5 || kinds[0] != Deferred {
		t.Errorf("told of %s", kinds)
	}
}

// TestWithoutRelauncher: without a relauncher nothing is written, and each thing is said once.
func TestWithoutRelauncher(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.record("paused")
	before := string(r.entry().Raw)
	r.o.Relaunch = nil
	r.o.Decider = &Decider{Argv: []string{"false"}}
	r.o.Ended = func(context.Context, *presence.Session) bool { return true }
	r.goes(New(r.o), time.Hour)
	if got := fmt.Sprint(r.kinds()); got != "[would-relance]" {
		t.Errorf("told of %s", got)
	}
	if e := r.entry(); string(e.Raw) != before || len(r.alerts()) > 0 {
		t.Errorf("it was written: %s, %v", e.Raw, r.alerts())
	}
}

// TestEnded: an agent whose program is proven to have ended gets an entry. One that is only not live does not.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		beat   time.Duration // before now
		proven bool
		said   bool // it has sent something since
		want   int
	}{
		{"proven", 2 * time.Minute, true, false, 1},
		{"not proven", 2 * time.Minute, false, false, 0},
		{"proven, and it has reported since", 2 * time.Minute, true, true, 0},
		{"of the past", 40 * time.Minute, true, false, 0},
		{"kept", 10 * time.Second, true, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.session("working", r.now.Add(-c.beat), r.now.Add(-c.beat))
			r.o.Ended = func(context.Context, *presence.Session) bool { return c.proven }
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) {
				if c.said {
					return r.now, nil
				}
				return time.Time{}, nil
			}
			r.goes(New(r.o), 50*time.Second)
			if len(r.asked) != c.want {
				t.Errorf("asked %d times, want %d; told of %v", len(r.asked), c.want, r.events)
			}
			if e := r.entry(); (e != nil) != (c.want > 0) || e != nil && e.Origin != Ended {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestDeclined: an agent that cannot be reached is not counted as asked, but is escalated in the end.
func TestDeclined(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.answer = func() (Attempt, error) { return Attempt{Why: "it is in no pane"}, nil }
	r.record("paused")
	r.goes(New(r.o), time.Hour)
	all := r.alerts()
	if e := r.entry(); e.RelanceCount != 0 || e.DeclinedCount != 3 || len(all) != 1 || !strings.Contains(all[0].Detail, "no pane") {
		t.Errorf("%s\n%+v", e.Raw, all)
	}
}

// TestCleared: the fifth weakness. An entry that was cleared while its agent was asked is not made again by the count, and unknown members of one that
// stays are kept.
func TestCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.record("paused")
	r.answer = func() (Attempt, error) {
		return Attempt{Did: true}, r.book.Clear(t.Context(), who, r.now)
	}
	r.goes(New(r.o), 5*time.Minute)
	if e := r.entry(); e != nil {
		t.Errorf("it is there again: %s", e.Raw)
	}
	raw := `{"instance":"` + string(who) + `","workStatus":"paused","stoppedAt":"x","relanceCount":1,"theirs":{"a":[1]}}`
	if _, err := r.store.Create(t.Context(), entryKey(who), []byte(raw)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.book.Relanced(t.Context(), who, r.now); err != nil {
		t.Fatal(err)
	}
	if _, err := r.book.PutAway(t.Context(), who, Escalate, r.now); err != nil {
		t.Fatal(err)
	}
	r.record("paused")
	if e := r.entry(); e.RelanceCount != 2 || e.Terminal != Escalate || !strings.Contains(string(e.Raw), `"theirs": {`) {
		t.Errorf("%s", e.Raw)
	}
}

// TestManyStalledAgents: after a restart of the machine not everybody goes on in one beat.
func TestManyStalledAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 3 * busy {
		if _, err := r.book.Record(t.Context(), Stop{Instance: address.Instance(fmt.Sprintf("claude:a:%012x", n)), Status: "paused"}, r.now); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(time.Minute)
	d := New(r.o)
	for n := range 3 {
		if err := d.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.asked) != (n+1)*busy {
			t.Fatalf("beat %d: %d were asked", n, len(r.asked))
		}
	}
}

// TestHaltDuringRound: a halt that comes while a beat is under way ends it.
func TestHaltDuringRound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 3 {
		if _, err := r.book.Record(t.Context(), Stop{Instance: address.Instance(fmt.Sprintf("claude:a:%012x", n)), Status: "paused"}, r.now); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(time.Minute)
	r.answer = func() (Attempt, error) {
		r.asked = append(r.asked, r.now)
		r.halted = &halt.Error{Action: "drumbeat"}
		return Attempt{Did: true}, nil
	}
	if err := New(r.o).Beat(t.Context()); err != nil || len(r.asked) != 1 {
		t.Errorf("%d were asked: %v", len(r.asked), err)
	}
}

// TestTwoWatchdogs: one works, and the other learns which one. A watchdog that was stopped for too long does nothing more.
func TestTwoWatchdogs(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir()+"/.h2a", filestore.Options{Create: true, CreatedBy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	beats := make(chan struct{}, 1)
	o := Options{Book: &Book{Store: s}, Halted: func(string) error {
		select {
		case beats <- struct{}{}:
		default:
		}
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- New(o).Run(ctx, s, Holder("tutti up")) }()
	<-beats
	err = New(o).Run(t.Context(), s, Holder("another"))
	other, held := errors.AsType[*store.HeldError](err)
	if !held || !strings.HasPrefix(other.Holder, "tutti up, process ") {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	again, cancel := context.WithCancel(t.Context())
	go func() { ended <- New(o).Run(again, s, Holder("the next")) }()
	<-beats // it was given back
	cancel()
	<-ended
}

// TestStoppedForLong: a watchdog that continues after its lease is over asks no agent, even in the middle of a round.
func TestStoppedForLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 3 {
		if _, err := r.book.Record(t.Context(), Stop{Instance: address.Instance(fmt.Sprintf("claude:a:%012x", n)), Status: "paused"}, r.now); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(time.Minute)
	d := New(r.o)
	h := &held{now: d.o.Now, lease: store.Lease{Until: r.now.Add(time.Minute)}}
	d.hold = h.check
	r.answer = func() (Attempt, error) {
		r.asked = append(r.asked, r.now)
		r.now = r.now.Add(2 * time.Minute) // SIGSTOP, and SIGCONT
		return Attempt{Did: true}, nil
	}
	if err := d.Beat(t.Context()); !errors.Is(err, store.ErrLost) || len(r.asked) != 1 {
		t.Errorf("%d were asked, and it ended with %v", len(r.asked), err)
	}
}

// TestWaitingEntryIsRechecked: an entry that waits is judged again as soon as it, or a session of its agent, is another one: what was to be waited for may be over.
func TestWaitingEntryIsRechecked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := New(r.o)
	r.record("out-of-tokens")
	r.goes(d, 5*time.Minute)
	r.record("paused")
	r.goes(d, time.Minute)
	if len(r.asked) != 1 {
		t.Errorf("asked %v after a new record, want once", r.asked)
	}
	r.session("blocked", r.now.Add(time.Minute), r.now.Add(-time.Hour))
	r.goes(d, time.Minute)
	if kinds := r.kinds(); len(r.asked) != 1 || kinds[len(kinds)-1] != Held {
		t.Errorf("asked %v, told of %v; want it left alone", r.asked, r.events)
	}
}
