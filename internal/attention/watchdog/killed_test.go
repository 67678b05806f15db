package watchdog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// A mortal is a program that is killed before one of its steps: a step is whatever it asks of the bus, and what it does to an agent.
type mortal struct {
	Store
	left int
	dead bool
}

// killed is how the program ends in the middle of its work: nothing that it has deferred writes anything.
type killed struct{}

func (m *mortal) step() {
	if m.left--; m.left < 0 || m.dead {
		m.dead = true
		panic(killed{})
	}
}

// lives runs the program, and tells whether it came to its end.
func (m *mortal) lives(do func() error) (yes bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, is := p.(killed); !is {
				panic(p)
			}
			yes = false
		}
	}()
	return true, do()
}

func (m *mortal) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	m.step()
	return m.Store.Get(ctx, k)
}

func (m *mortal) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	m.step()
	return m.Store.List(ctx, kind, owner)
}

func (m *mortal) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	m.step()
	return m.Store.Create(ctx, k, data)
}

func (m *mortal) Replace(ctx context.Context, k store.Key, data []byte, rev store.Rev) (store.Rev, error) {
	m.step()
	return m.Store.Replace(ctx, k, data, rev)
}

func (m *mortal) Delete(ctx context.Context, k store.Key, rev store.Rev) error {
	m.step()
	return m.Store.Delete(ctx, k, rev)
}

func (m *mortal) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	m.step()
	return m.Store.Append(ctx, k, after, line)
}

// TestKilledAtEachStep: a watchdog that is killed while it asks an agent and restarted at once does not ask again before the pause is over,
// and keeps the cap. No agent is given up without an escalation, and no alert stays for an agent that continued.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(r *rig)
		ends func(r *rig) string // what is wrong an hour later, "" for nothing
	}{
		{"asking", func(r *rig) { r.record("paused"); r.now = r.now.Add(time.Minute) }, func(r *rig) string {
			if n := len(r.asked); n < Cap-1 || n > Cap || len(r.alerts()) != 1 {
				return fmt.Sprintf("asked %v, alerts %v", r.asked, r.alerts())
			}
			return ""
		}},
		{"asking without effect", func(r *rig) {
			r.record("paused")
			r.now = r.now.Add(time.Minute)
			r.try = func(ctx context.Context, t Target) (Attempt, error) {
				if err := t.Claim(ctx); err != nil {
					return Attempt{}, err
				}
				return Attempt{Held: "its screen does not stand still"}, nil
			}
		}, func(r *rig) string {
			if e := r.entry(); e.tries() > 1 || len(r.alerts()) > 0 { // a claim that was not taken back counts
				return string(e.Raw)
			}
			return ""
		}},
		{"putting it before its person", func(r *rig) { r.spentUp(); r.now = r.now.Add(time.Hour) }, func(r *rig) string {
			if len(r.asked) > 0 || len(r.alerts()) != 1 || r.alerts()[0].Count != 1 {
				return fmt.Sprintf("asked %v, alerts %v", r.asked, r.alerts())
			}
			return ""
		}},
		{"it went on", func(r *rig) {
			r.spentUp()
			if _, err := r.book.Raise(r.t.Context(), r.entry(), escalation.Alert{Instance: who, Reason: Exhausted, RelanceCount: Cap}, r.now); err != nil {
				r.t.Fatal(err)
			}
			at := r.now.Add(10 * time.Minute)
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) { return at, nil }
			r.now = at
		}, func(r *rig) string {
			if r.entry() != nil || len(r.alerts()) > 0 {
				return fmt.Sprintf("%+v, %v", r.entry(), r.alerts())
			}
			return ""
		}},
		{"the decider has it put away", func(r *rig) {
			r.record("paused")
			if _, err := r.book.Relanced(r.t.Context(), who, r.now); err != nil {
				r.t.Fatal(err)
			}
			r.now = r.now.Add(time.Minute)
			r.o.Settings.Enforce = true
			r.o.Decider = &Decider{Argv: []string{"echo", `{"action":"escalate"}`}}
		}, func(r *rig) string {
			if all := r.alerts(); len(all) != 1 || all[0].Reason != Watchdog || r.entry().Terminal != Escalate || len(r.asked) > 0 {
				return fmt.Sprintf("%v, %s", all, r.entry().Raw)
			}
			return ""
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const most = 100
			steps := 0
			for ; steps < most; steps++ {
				r := newRig(t)
				c.set(r)
				do := r.try
				if do == nil {
					do = r.Try
				}
				m := &mortal{Store: r.store, left: steps}
				r.try = func(ctx context.Context, t Target) (Attempt, error) { return tries(ctx, r, m, t, do) }
				mortals := r.o
				mortals.Book = &Book{Store: m}
				lived, err := m.lives(func() error { return New(mortals).Beat(t.Context()) })
				if err != nil {
					t.Fatal(err)
				}
				m.left, m.dead = 1<<30, false
				asked := len(r.asked)
				if err := New(r.o).Beat(t.Context()); err != nil { // started again at once
					t.Fatal(err)
				}
				if len(r.asked) > 1 {
					t.Errorf("killed before step %d, when it had asked %d times, it asks a second time", steps, asked)
				}
				r.goes(New(r.o), time.Hour)
				if wrong := c.ends(r); wrong != "" {
					t.Errorf("killed before step %d: %s", steps, wrong)
				}
				if lived {
					break
				}
			}
			if steps < 5 || steps == most {
				t.Errorf("it has %d steps", steps)
			}
		})
	}
}

// tries is an attempt with steps of its own: before it is written down that the agent is asked, before it is, and after.
func tries(ctx context.Context, r *rig, m *mortal, t Target, do func(context.Context, Target) (Attempt, error)) (Attempt, error) {
	m.step()
	r.try = nil
	defer func() {
		r.try = func(ctx context.Context, t Target) (Attempt, error) { return tries(ctx, r, m, t, do) }
	}()
	a, err := do(ctx, t)
	m.step()
	return a, err
}

// spentUp records an agent that was asked as often as it may be.
func (r *rig) spentUp() {
	r.t.Helper()
	r.record("paused")
	for range Cap {
		if _, err := r.book.Relanced(r.t.Context(), who, r.now); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestClaimedFirst: the watchdog records each attempt before it types, sends or starts anything, and does nothing if it cannot. If the
// outcome of an attempt is unknown, it does not try a second way.
func TestClaimedFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	pane, got, _ := s.agent("claude", "idle")
	done := 0
	panes := Panes{Servers: func() []tmux.Server { return []tmux.Server{s.server} }, Halted: func(string) error { return nil }}
	elsewhere := Elsewhere{
		From: envelope.Actor{Instance: asker, Role: "AGENTS", Scope: "scope:a"}, Now: time.Now,
		Where: func(context.Context, address.Instance) (string, bool, error) {
			return "http://127.0.0.1:1/", false, nil
		},
		Seal: func(raw []byte, _ string) ([]byte, error) { return raw, nil },
		Post: func(context.Context, string, bool, []byte) (int, error) {
			done++
			return 0, errors.New("it takes too long")
		},
	}
	sessions := Sessions{Managers: func(context.Context) ([]Managed, error) {
		return []Managed{{
			Rows: []registry.Row{{Name: "a", Agent: "claude", Instance: string(who), Status: registry.Running}},
			Resume: func(context.Context, lifecycle.ResumeRequest) (*lifecycle.Resumed, error) {
				done++
				return nil, errors.New("it breaks in the middle")
			},
		}}, nil
	}}
	for name, way := range map[string]Relauncher{"panes": panes, "elsewhere": elsewhere, "sessions": sessions} {
		r := newRig(t)
		e := r.record("paused")
		if err := r.book.Clear(t.Context(), who, r.now); err != nil { // so that there is nothing to be marked
			t.Fatal(err)
		}
		target := s.target(pane)
		target.claim = &claim{d: New(r.o), e: e}
		if a, err := (Chain{way, elsewhere}).Try(t.Context(), target); a.Did || !errors.Is(err, errPassed) || done > 0 {
			t.Errorf("%s without a mark: %+v, %v, done %d times", name, a, err, done)
		}
	}
	if raw, err := os.ReadFile(got); err == nil || strings.Contains(s.tmux("capture-pane", "-p", "-t", pane), "stopped") {
		t.Errorf("typed: %q, %v", raw, err)
	}
	for name, way := range map[string]Relauncher{"elsewhere": elsewhere, "sessions": sessions} {
		done = 0
		r := newRig(t)
		r.o.Relaunch = Chain{way, elsewhere, sessions}
		r.record("paused")
		r.now = r.now.Add(time.Minute)
		if err := New(r.o).Beat(t.Context()); err != nil || done != 1 {
			t.Errorf("%s: done %d times, want once; %v", name, done, err)
		}
		if e := r.entry(); e.RelanceCount != 0 || e.DeclinedCount != 1 {
			t.Errorf("%s: %s", name, e.Raw)
		}
	}
}
