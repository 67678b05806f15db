package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/presence"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// Nudge types a text into the pane in which the agent of a session of the bus lives, and submits it, as Deliver does for a
// session of the registry. What the record says of the pane is believed when it can be seen: on one of the servers there is a
// pane of that id, the agent runs in it, and its program is in front. Sessions of other machines cannot be reached. The text
// has to be one line.
func (m *Manager) Nudge(ctx context.Context, s *presence.Session, servers []tmux.Server, text string) error {
	if err := m.o.Halted(); err != nil {
		return err
	}
	name := string(s.Instance)
	if err := typable(name, text); err != nil {
		return err
	}
	if strings.ContainsAny(text, "\r\n") {
		return &Error{Kind: Refused, Session: name, Text: "the text has more than one line, and each would be submitted by itself"}
	}
	if !observe.InLocalPane(s) {
		return &Error{Kind: Refused, Session: name, Text: "its session names no pane of this machine"}
	}
	kind, ok := driver.Kind(observe.ProgramOf(s))
	if !ok || kind.Life.Screen == nil {
		return &Error{Kind: Refused, Session: name, Text: typesOnly}
	}
	pane, server, err := livingPane(ctx, s, servers)
	if err != nil {
		return err
	}
	first, err := proc.Of(pane.PID)
	if err != nil {
		return &Error{Kind: NotTheOne, Session: name, Text: "its pane changes at this moment", Err: err}
	}
	b := &begin{
		m: m, visit: true, where: pane.ID, kind: kind, pane: pane, server: server, first: first, at: m.o.Now(),
		row: registry.Row{Name: name, OwnerID: pane.Owner},
	}
	return b.deliver(ctx, text, deliverWait)
}

// livingPane finds the pane in which the agent of a session lives.
func livingPane(ctx context.Context, s *presence.Session, servers []tmux.Server) (tmux.Pane, tmux.Server, error) {
	var failed error
	processes, err := proc.List()
	if err != nil {
		return tmux.Pane{}, tmux.Server{}, err
	}
	for _, server := range servers {
		snap, err := server.Panes(ctx)
		if err != nil {
			if !errors.Is(err, tmux.ErrAbsent) {
				failed = err
			}
			continue
		}
		at := slices.IndexFunc(snap.Panes, func(p tmux.Pane) bool {
			return p.ID == s.Launch.Tmux.Pane && observe.LivesIn(s, p, processes)
		})
		if at < 0 {
			continue
		}
		pane := snap.Panes[at]
		if pane.InMode || pane.InputOff || pane.Synchronized {
			return pane, server, &Error{Kind: Refused, Session: string(s.Instance), Text: "its pane is being looked through, takes no keys, or hands them on to others"}
		}
		return pane, server, nil
	}
	if failed != nil {
		return tmux.Pane{}, tmux.Server{}, &Error{Kind: Unclear, Session: string(s.Instance), Text: "tmux does not say whether it runs", Err: failed}
	}
	return tmux.Pane{}, tmux.Server{}, &Error{Kind: NotTheOne, Session: string(s.Instance), Text: "its agent is not seen to run in the pane that its session names"}
}

// find returns the pane of what was begun.
func (b *begin) find(ctx context.Context) (tmux.Pane, error) {
	if b.where == "" {
		return b.server.Find(ctx, b.row.Name)
	}
	snap, err := b.server.Panes(ctx)
	if err != nil {
		return tmux.Pane{}, err
	}
	for _, p := range snap.Panes {
		if p.ID == b.where && p.Server == b.pane.Server && p.PID == b.pane.PID {
			return p, nil
		}
	}
	return tmux.Pane{}, tmux.ErrAbsent
}

// attach is what to type to see it.
func (b *begin) attach() string {
	if b.where != "" {
		return "tmux attach -t '" + b.where + "'"
	}
	return "tutti session attach " + b.row.Name
}
