package watchdog

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// Sentence is all that is typed into the program of an agent that has stopped. No part of it comes from anywhere else.
const Sentence = "You have stopped. Go on with your work; if there is nothing left to do, say so and stop."

// A Chain tries several ways, the mildest first. One that finds the agent at work, or not to be disturbed now, is the last: no
// agent is started beside it.
type Chain []Relauncher

// Try is of [Relauncher].
func (c Chain) Try(ctx context.Context, t Target) (Attempt, error) {
	why := ""
	for _, r := range c {
		a, err := r.Try(ctx, t)
		if err != nil {
			if _, halted := errors.AsType[*halt.Error](err); halted || ctx.Err() != nil || t.begun() {
				return a, err // with a mark the result is unknown: no second way is taken
			}
			a.Why = err.Error()
		}
		if a.Did || a.AtWork || a.Held != "" {
			return a, nil
		}
		if a.Why != "" {
			if why != "" {
				why += "; "
			}
			why += a.Why
		}
	}
	if why == "" {
		why = "there is no way to it"
	}
	return Attempt{Why: why}, nil
}

// Panes types [Sentence] into the pane of tmux in which an agent lives, if it is proven to be that agent and to be idle: its process lives in the
// pane and is in front, its screen shows an empty place to type and no question, and no person types there.
type Panes struct {
	Servers func() []tmux.Server
	Halted  func(action string) error
	Typing  time.Duration // see wake.Nudger
}

// Try is of [Relauncher].
func (p Panes) Try(ctx context.Context, t Target) (Attempt, error) {
	found, err := observe.Inhabitants(ctx, p.Servers(), inhabitant(t))
	switch {
	case err != nil:
		return Attempt{Held: "tmux does not say what its panes are: " + err.Error()}, nil
	case len(found) == 0:
		return Attempt{Why: "its program is in no pane of tmux that is known"}, nil
	case len(found) > 1:
		return Attempt{Why: "several panes could be its own"}, nil
	}
	in := found[0]
	if in.Driver.Life.Screen == nil {
		return Attempt{Why: "the screen of " + in.Driver.Title + " is not known, so nothing is typed into it"}, nil
	}
	screen, err := in.Server.Capture(ctx, in.Pane.Ref(), tmux.Capture{})
	if err != nil {
		return Attempt{Held: "its screen cannot be read: " + err.Error()}, nil
	}
	seen := in.Driver.Life.Screen(screen, in.Pane.Title)
	if a, rests := rests(seen); !rests {
		return a, nil
	}
	var halted error
	n := wake.Nudger{
		Server: in.Server, Agent: in.Process, Say: Sentence, Typing: p.Typing,
		Halted: func() error {
			if halted = p.Halted("type into a pane"); halted == nil {
				halted = t.Claim(ctx)
			}
			return halted
		},
	}
	did := n.Try(ctx, in.Driver.Life.Screen)
	switch {
	case halted != nil:
		return Attempt{}, halted
	case did.Did && did.Err == nil:
		return Attempt{Did: true, How: "typed into " + did.Detail}, nil
	case did.Err != nil:
		return Attempt{Why: did.Err.Error()}, nil
	case did.Later:
		return Attempt{Held: "its screen does not stand still, or a person is there"}, nil
	}
	return Attempt{Why: "its program is not in its pane any more"}, nil
}

// rests tells whether a screen shows an agent that rests, and what it shows else.
func rests(seen driver.Seen) (a Attempt, yes bool) {
	switch {
	case seen.Doing == driver.Busy:
		return Attempt{AtWork: true}, false
	case seen.Doing == driver.Limited:
		return Attempt{Held: "its provider does not let it go on now, which is not a stall"}, false
	case seen.Doing == driver.Asking:
		asks := "something"
		if seen.Dialog != "" {
			asks = seen.Dialog
		}
		return Attempt{Held: "it asks " + asks + ", and waits for its user"}, false
	case seen.Free(), seen.Holds(Sentence):
		return Attempt{}, true
	case seen.Prompt && seen.Typed != "":
		return Attempt{Held: "a person has begun to type there"}, false
	}
	return Attempt{Held: "its screen does not say that it rests"}, false
}

// inhabitant says whom to look for in panes: by a session that was kept until about the stop or after it, else by what the stop was recorded with.
func inhabitant(t Target) observe.Inhabitant {
	q := observe.Inhabitant{Kind: t.Instance.Canonical().Host(), By: t.StoppedAt}
	recorded := t.Launch != nil && t.Launch.Tmux != nil
	if s := t.Session; s != nil && s.Launch != nil && s.Launch.Tmux != nil {
		beat, _ := envelope.ParseTime(s.HeartbeatAt)
		if !recorded || !beat.Before(t.StoppedAt.Add(-presence.Expiry)) {
			q.Pane, q.Session, q.PID, q.Kept = s.Launch.Tmux.Pane, s.Launch.Tmux.Session, s.PID, s
			return q
		}
	}
	if recorded {
		q.Pane, q.Session = t.Launch.Tmux.Pane, t.Launch.Tmux.Session
	}
	return q
}

// Ended reports whether the program of a session has ended, although the session was not closed: the process that kept it is
// gone, on this machine, and no program of its kind that was there when it began lives in its pane. Anything unknown is not a
// proof.
func (p Panes) Ended(ctx context.Context, s *presence.Session) bool {
	if s.PID <= 1 || !observe.OnThisMachine(s) {
		return false
	}
	beat, ok := envelope.ParseTime(s.HeartbeatAt)
	began, ok2 := envelope.ParseTime(s.StartedAt)
	if !ok || !ok2 || s.Launch == nil || s.Launch.Tmux == nil {
		return false
	}
	const rounding = time.Second
	switch started, runs := proc.StartTime(s.PID); {
	case runs && !started.After(beat.Add(rounding)):
		return false
	case !runs:
		if _, err := proc.Of(s.PID); !errors.Is(err, proc.ErrGone) {
			return false
		}
	}
	host := s.Host
	if host == "" {
		host = s.Instance.Canonical().Host()
	}
	if _, known := driver.Kind(host); !known {
		return false
	}
	found, err := observe.Inhabitants(ctx, p.Servers(), observe.Inhabitant{Kind: host, Pane: s.Launch.Tmux.Pane, Session: s.Launch.Tmux.Session, By: began})
	return err == nil && len(found) == 0
}

// Sessions takes up the conversation of an agent again whose program has ended, if it lives in a session that "tutti session create" made, and
// that was cut off: one that was stopped stays stopped. What is started is what the user started before; see [lifecycle.Manager.Resume].
type Sessions struct {
	// Managers are those of the registries in which agents are looked for, with their rows.
	Managers func(ctx context.Context) ([]Managed, error)
}

// Managed is a registry of sessions.
type Managed struct {
	Rows   []registry.Row
	Resume func(ctx context.Context, q lifecycle.ResumeRequest) (*lifecycle.Resumed, error)
}

// Try is of [Relauncher].
func (s Sessions) Try(ctx context.Context, t Target) (Attempt, error) {
	all, err := s.Managers(ctx)
	if err != nil {
		return Attempt{}, err
	}
	who := t.Instance.Canonical()
	for _, m := range all {
		i := slices.IndexFunc(m.Rows, func(r registry.Row) bool {
			return r.Instance != "" && address.Instance(r.Instance).Canonical() == who
		})
		if i < 0 {
			continue
		}
		return resume(ctx, t, m, &m.Rows[i])
	}
	return Attempt{Why: "it lives in no session that tutti started"}, nil
}

func resume(ctx context.Context, t Target, m Managed, r *registry.Row) (Attempt, error) {
	if !lifecycle.CutOff(r) {
		return Attempt{Why: "its session " + r.Name + " was ended in order; to go on all the same: tutti session resume " + r.Name}, nil
	}
	q := lifecycle.ResumeRequest{Name: r.Name}
	if d, ok := driver.Kind(r.Kind()); ok && d.Life.Screen != nil {
		q.Prompt = Sentence
	}
	if err := t.Claim(ctx); err != nil {
		return Attempt{}, err
	}
	done, err := m.Resume(ctx, q)
	switch problem, ok := errors.AsType[*lifecycle.Error](err); {
	case err == nil && done.Running:
		return Attempt{Why: "its session " + r.Name + " runs"}, nil
	case err == nil, done != nil && done.Pane.ID != "" && !done.Running: // it was started; later events show the result
		return Attempt{Did: true, How: "its session " + r.Name + " was taken up again"}, nil
	case ok && (problem.Kind == lifecycle.Busy || problem.Kind == lifecycle.Unclear):
		return Attempt{Held: problem.Error()}, nil
	}
	return Attempt{}, err
}
