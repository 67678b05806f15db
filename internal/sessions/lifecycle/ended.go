package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// over writes down that the program has ended, and takes its pane away.
func (b *begin) over(ctx context.Context, look string) error {
	ctx = context.WithoutCancel(ctx)
	how := "it ended at once"
	if look != lookStart {
		how = "it ended within " + look
	}
	if b.pane.Dead {
		if text, err := b.server.Capture(ctx, b.pane.Ref(), tmux.Capture{History: -1}); err == nil {
			b.screen = lastWords(text)
		}
		how += HowEnded(&b.pane)
	}
	b.screen = registry.Screen(b.screen)
	b.ended = true
	resumable := b.verb == VerbResume || b.m.exists(&b.row)
	err := b.changeIf(ctx, func(r *registry.Row) bool {
		if b.marked = !b.tells(r); b.marked {
			return false
		}
		b.m.lives(r, &b.pane, b.first)
		endedRow(r, b.m.o.Now(), how, b.screen, resumable)
		addLook(r, look)
		r.Intent = nil
		return true
	})
	if b.marked && err == nil {
		if b.row.Status == registry.Stopped || b.row.Intent != nil {
			how = "it was stopped meanwhile"
		}
		return &Error{Kind: NotUp, Session: b.row.Name, Text: how, Next: "tutti session status " + b.row.Name}
	}
	if b.m.o.Bus.Ended != nil {
		if e := b.m.o.Bus.Ended(ctx, &b.row); e != nil {
			b.m.o.Tell("the bus was not told of the end: " + e.Error())
		}
	}
	if b.pane.Dead && b.pane.Owner == b.row.OwnerID {
		if e := b.server.Kill(ctx, b.pane); e != nil && !errors.Is(e, tmux.ErrAbsent) {
			b.m.o.Tell("its last screen stays in tmux: " + e.Error())
		}
	}
	return errors.Join(&Error{Kind: NotUp, Session: b.row.Name, Text: how}, err)
}

// tells tells whether an end is this begin's to write down: a stop that has come in between does that itself, and so does a monitor.
func (b *begin) tells(r *registry.Row) bool {
	if r.Intent != nil {
		return ours(r.Intent) && r.Intent.Verb == b.verb
	}
	return r.Status == registry.Running
}

// HowEnded is how the program of a dead pane ended, for people.
func HowEnded(p *tmux.Pane) string {
	switch {
	case p.Signal != 0:
		return fmt.Sprintf(", by signal %d", p.Signal)
	case p.Status >= 0:
		return fmt.Sprintf(", with status %d", p.Status)
	}
	return ""
}

// endedRow is the row of a session whose program has ended by itself.
func endedRow(r *registry.Row, now time.Time, note, screen string, resumable bool) {
	r.Clear(lostMember, beforeMember)
	r.Status, r.VisibleStatus = registry.Terminated, registry.Terminated
	r.TerminatedAt, r.Resumable = registry.Stamp(now), registry.FlagOf(resumable)
	r.VisibleNote = note
	if screen != "" {
		r.VisibleScreen = screen
	}
}
