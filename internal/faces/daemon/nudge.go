package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/sessions/observe"
)

// maxNudged is how many agents are looked after at a time.
const maxNudged = 64

// nudges tell agents of mail whose CLI the settings describe. Such an agent has no server of ours that would wake it, so the fixed sentence is
// typed into its screen, if that shows an idle agent. It reads its mail in its own shell.
type nudges struct {
	*mailer
	ctx   context.Context // ends the ladders
	works sync.WaitGroup

	mu  sync.Mutex // guards all; a leaf
	all map[address.Instance]*wake.Ladder
}

// wakes has an agent told that it has mail, if that is a matter for here.
func (n *nudges) wakes(who address.Instance) {
	who = who.Canonical()
	d, ok := driver.Kind(who.Host())
	if !ok || !d.Added || !d.Wake.Nudge || !n.config.Nudge {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.all[who]
	if l == nil {
		if len(n.all) >= maxNudged {
			return
		}
		times := n.times
		times.Quiet = cmp.Or(n.config.Quiet, times.Quiet)
		l = wake.NewLadder(wake.LadderOptions{
			Rungs: []wake.Rung{{Name: wake.Nudge, Try: func(ctx context.Context) wake.Attempt { return n.try(ctx, d, who) }}},
			Times: times, Log: n.Fault,
			Unread: func(ctx context.Context) ([]string, time.Time, error) { return n.unread(ctx, who) },
			May:    func() bool { return n.may(who) },
			Note:   func(m mailbox.Mark) { n.note(who, who, m) },
		})
		n.all[who] = l
		n.works.Go(func() { l.Run(n.ctx) })
	}
	l.Mail()
}

// halt forgets what came before a halt.
func (n *nudges) halt() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.all {
		l.Halt()
	}
}

// try types the sentence once, unless the agent has a server of its own, which wakes it.
func (n *nudges) try(ctx context.Context, d *driver.Driver, who address.Instance) wake.Attempt {
	s, served, err := n.session(ctx, who)
	if err != nil || served || s == nil {
		return wake.Attempt{Err: err}
	}
	found, err := observe.Inhabitants(ctx, observe.Servers(n.Facts.Env), observe.Inhabitant{
		Kind: d.Name, Pane: s.Launch.Tmux.Pane, Session: s.Launch.Tmux.Session, Kept: s, PID: s.PID,
	})
	if err != nil || len(found) != 1 { // of several it is not known which
		return wake.Attempt{Err: err}
	}
	a := wake.Nudger{
		Server: found[0].Server, Agent: found[0].Process, Say: wake.ShellSentence, Typing: wake.TypingWindow(n.Facts.Env(wake.TypingVariable)),
		Halted: func() error { return halt.Check("type into a pane") },
	}.Try(ctx, d.Life.Screen)
	if a.Did && a.Err == nil {
		n.Tell(Event{Kind: "told", Text: fmt.Sprintf("typed into %s of %s that mail waits", a.Detail, who), For: who, By: wake.Nudge})
	}
	return a
}

// session is the connection of an agent that names a pane of this machine; served: a server of ours wakes the agent.
func (n *nudges) session(ctx context.Context, who address.Instance) (s *presence.Session, served bool, err error) {
	all, err := n.World.Presence.Of(ctx, who, time.Now())
	for _, one := range all {
		served = served || !one.StandsIn()
		if observe.InLocalPane(one) {
			s = one
		}
	}
	return s, served, err
}

// unread are the messages that the agent was not shown.
func (n *nudges) unread(ctx context.Context, who address.Instance) (ids []string, again time.Time, err error) {
	all, _, err := n.World.Mail.Lines(ctx, who, mailbox.Query{States: true})
	if err != nil {
		return nil, again, err
	}
	now, me := time.Now(), mailbox.Reader{By: who}
	for i := range all {
		s := all[i].State
		if s != nil && s.Seen() {
			continue
		}
		if s == nil || s.Free(me, now) {
			ids = append(ids, all[i].ID)
		} else if at, ever := s.FreeAt(me); ever && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	return slices.Clip(ids), again, nil
}

// may tells whether the agent may be told: its user has let it go on since the last halt, and it is not paused.
func (n *nudges) may(who address.Instance) bool {
	ctx, cancel := context.WithTimeout(n.ctx, noteWithin)
	defer cancel()
	s, _, err := n.session(ctx, who)
	if err != nil || s == nil || halt.Read().Halted {
		return false
	}
	dir := ""
	if s.Workspace != nil {
		dir = s.Workspace.Path
	}
	engaged, err := n.Office.Engaged(ctx, who)
	_, paused := halt.PausedFor(string(who), dir)
	return err == nil && engaged && !paused
}
