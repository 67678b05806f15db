package daemon

import (
	"context"
	"errors"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/halt"
	"tutti/internal/platform/notify"
	"tutti/internal/store"
)

// waitsEvery is the time between two looks where no watcher tells of changes.
const waitsEvery = 20 * time.Second

// A waiter tells the user of what waits for them beside mail: agents that they could help, decisions, and signatures.
type waiter struct {
	*Site
	bus     *agreement.Bus
	desktop notify.Desktop
	seen    map[string]bool // what was there at the last look; nil before the first one
}

// waits is the part that does it. What waits when it begins is in `tutti status`, and no news.
func waits(ctx context.Context, s *Site) error {
	config, err := s.World.App.Wake()
	if err != nil {
		s.Fault(err.Error() + "; you still get notices")
	}
	if !config.Enabled || !config.Desktop {
		s.Ready("tells of nothing: wake.enabled or wake.desktop is off in the settings")
		return nil
	}
	w := &waiter{Site: s, bus: full.Agreements(s.World), desktop: notify.Desktop{Env: s.Facts.Env}}
	var hints <-chan store.Change
	if watcher, ok := s.World.Store.(store.Watcher); ok {
		if hints, err = watcher.Watch(ctx, []store.Scope{{Kind: store.Blockage}, {Kind: store.Journal}}); err != nil {
			return err
		}
	}
	every := time.NewTicker(waitsEvery)
	defer every.Stop()
	for {
		if err := w.look(ctx, time.Now()); err != nil {
			return err
		}
		s.Ready("tells you of agents that wait for your help, decision or signature")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-hints:
			if !ok {
				hints = nil
			}
		case <-every.C:
		}
	}
}

// look tells of what was not there at the look before. Under halt it tells of nothing, and not afterwards either.
func (w *waiter) look(ctx context.Context, now time.Time) error {
	me, err := w.user(ctx, now)
	if err != nil || me == "" {
		return err
	}
	all, err := full.WaitingOnBus(ctx, w.World, w.bus, me, now)
	if err != nil {
		return err
	}
	quiet := w.seen == nil || halt.Read().Halted
	seen := make(map[string]bool, len(all))
	for i := range all {
		key := all[i].Kind + " " + all[i].ID + " " + all[i].About
		seen[key] = true
		if !quiet && !w.seen[key] {
			w.tell(ctx, &all[i])
		}
	}
	w.seen = seen
	return nil
}

// user is the person who runs this, any person as long as they have no identity on the bus, "" where an agent runs it.
func (w *waiter) user(ctx context.Context, now time.Time) (address.Instance, error) {
	s, err := w.World.Identity.Speak(ctx, w.Facts, identity.Ask{Peek: true}, now)
	if _, unknown := errors.AsType[*identity.UnknownError](err); unknown {
		return "human:anybody", nil // a user without an identity yet gets what any person may answer
	}
	if err != nil || s.Instance.Canonical().Host() != identity.Human {
		return "", nil // TUTTI_INSTANCE or an agent CLI runs this: it does not act as the user
	}
	return s.Instance, nil
}

// waitTitles begin a notice, by the kind of what waits.
var waitTitles = map[string]string{
	todo.Escalation: " wants a decision", todo.Negotiation: " waits for your signature", todo.Blockage: " is blocked, and you could help",
}

// tell shows a notice, and prints a line.
func (w *waiter) tell(ctx context.Context, i *todo.Item) {
	title := waitTitles[i.Kind]
	if title == "" {
		return // mail that was held back has its own line
	}
	from := i.From
	if from == "" {
		from = i.ID
	}
	told, err := w.desktop.Say(ctx, from+title, i.About+"\n"+i.Command)
	how := ""
	if told && err == nil {
		how = " (told you at your desktop)"
	}
	w.Tell(Event{Kind: "waits", Text: from + title + ": " + i.About + how + "; " + i.Command, Of: i.Kind, ID: i.ID, From: i.From})
}
