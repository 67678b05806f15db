package daemon

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/app/snapshot"
	"tutti/internal/attention/notice"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/core/render"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
)

// inUse is how long ago a focused terminal may have been used for its user to count as looking at it.
const inUse = 5 * time.Minute

// A noticer tells the user of what their agents need, and keeps the counts for "tutti status --short".
type noticer struct {
	*Site
	sender *notice.Sender
	on     bool           // the settings want notices
	view   *snapshot.View // the latest
}

// notices is the part that does it. Of several programs of one user one does it: while that is another one, this one waits.
func notices(ctx context.Context, s *Site) error {
	if is, err := s.person(ctx); err != nil || !is {
		s.Ready("tells of nothing: an agent runs this")
		return err
	}
	release, err := s.tellsAlone(ctx)
	if err != nil {
		return err
	}
	defer release()
	sender, config, err := full.Notices(s.World.App, s.Facts.Env, s.Terminal)
	if sender == nil {
		return err
	}
	if err != nil {
		s.Fault(err.Error() + "; notices begin anew")
	}
	n := &noticer{Site: s, sender: sender, on: config.Enabled}
	sender.Focused = n.focused
	return n.run(ctx)
}

// person tells whether a person runs this. One without an identity yet counts.
func (s *Site) person(ctx context.Context) (bool, error) {
	who, err := s.World.Identity.Speak(ctx, s.Facts, identity.Ask{Peek: true}, time.Now())
	if _, unknown := errors.AsType[*identity.UnknownError](err); unknown {
		return true, nil
	}
	return err == nil && who.Instance.Canonical().Host() == identity.Human, nil //nolint:nilerr // then it does not act as the user
}

// tellsAlone waits until no other process of this user tells notices.
func (s *Site) tellsAlone(ctx context.Context) (release func(), err error) {
	state, err := s.World.App.StateDir()
	if err != nil {
		return nil, err
	}
	d, err := atomicfile.OpenDir(state)
	if err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		lock, err := filelock.Acquire(ctx, d.FD(), state, filelock.Options{Kernel: "notices.lock", Timeout: -1})
		if err == nil {
			return func() { _, _ = lock.Release(), d.Close() }, nil // it ends with the process in any case
		}
		if _, held := errors.AsType[*filelock.HeldError](err); !held || ctx.Err() != nil {
			return nil, errors.Join(err, d.Close())
		}
		if !said {
			s.Ready("waits: another tutti up tells you about your agents")
		}
		pause(ctx, lastWait)
	}
}

// run follows the agents until ctx is done.
func (n *noticer) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	views, done := make(chan *snapshot.View, 1), make(chan struct{})
	o := &snapshot.Options{App: n.World.App, Actor: func() (string, bool) { return "", true }}
	go func() {
		defer close(done)
		snapshot.Follow(ctx, o, func(v *snapshot.View, _ error) {
			if v == nil {
				return
			}
			select {
			case <-views: // an older one that was not taken
			default:
			}
			views <- v
		})
	}()
	defer func() {
		stop()
		<-done
	}()
	var ended []notice.Condition
	for {
		var due <-chan time.Time
		if at := n.sender.Next(); n.on && !at.IsZero() {
			due = time.After(max(0, time.Until(at)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case session := <-n.ended:
			ended = append(ended, notice.EndOf(session))
			if n.view == nil {
				continue
			}
		case n.view = <-views:
			if err := n.view.KeepGlance(); err != nil {
				n.Fault("keep the counts for tutti status --short: " + err.Error())
			}
		case <-due:
			if err := n.send(ctx); err != nil {
				return err
			}
			continue
		}
		if !n.on {
			n.Ready("tells of nothing: notify.enabled or wake.enabled is off in the settings")
			continue
		}
		rows := render.Each(n.view.Rows, func(r snapshot.Agent) overview.Row { return r.Row })
		if err := n.sender.Look(append(notice.Of(rows, n.view.Waiting, n.view.Halted, n.view.Called), ended...)); err != nil {
			return err
		}
		ended = nil
		n.Ready("tells you of agents that wait for you, are blocked or limited, and of ends and halts")
	}
}

// send sends what is due, and prints a line for each notice.
func (n *noticer) send(ctx context.Context) error {
	tried, err := n.sender.Send(ctx)
	for i := range tried {
		m := &tried[i]
		var by, why []string
		for _, t := range m.Tries {
			if t.State == notice.Sent {
				by = append(by, t.Channel)
			} else if t.Error != "" {
				why = append(why, t.Channel+" did not accept it: "+t.Error)
			}
		}
		text := m.Title + ": " + strings.ReplaceAll(m.Text, "\n", "; ")
		if len(by) > 0 {
			text += " (told by " + strings.Join(by, ", ") + ")"
		}
		e := Event{Kind: "notice", Text: strings.Join(append([]string{text}, why...), "; "), ID: m.ID, By: strings.Join(by, ","), Why: strings.Join(why, "; ")}
		n.Tell(e)
	}
	return err
}

// focused tells whether the user looks at the agent of a condition.
func (n *noticer) focused(ctx context.Context, of string) bool {
	for i := range n.view.Rows {
		if r := &n.view.Rows[i]; notice.IDOf(&r.Row) == of {
			return r.Focused(ctx, time.Now().Add(-inUse))
		}
	}
	return false
}
