package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// unused is nil when nothing of a row runs. What is left of it in tmux, a pane whose program has ended, is taken away.
func (m *Manager) unused(ctx context.Context, r *registry.Row) error {
	s := observe.Look(ctx, r)
	switch s.State {
	case observe.Unknown:
		return &Error{Kind: Unclear, Session: r.Name, Text: "tmux does not say whether it runs", Err: s.Err}
	case observe.Alive:
		return &Error{
			Kind: Refused, Session: r.Name, Text: "already running",
			Next: "tutti session attach " + r.Name + "   # or: tutti session stop " + r.Name,
		}
	case observe.Other:
		if s.Foreign {
			return &Error{Kind: NotTheOne, Session: r.Name, Text: "tmux server " + r.ServerName() + " has a session of that name that is not ours", Next: "--session takes another name"}
		}
		return &Error{Kind: NotTheOne, Session: r.Name, Text: fmt.Sprintf("in its session runs process %d, which is not the one of the row", s.Process.PID), Next: "tutti session status " + r.Name}
	case observe.Dead:
		if err := m.clearPane(ctx, r, &s.Pane); err != nil {
			return err
		}
	}
	return m.noneLeft(ctx, r)
}

// clearPane takes away the pane of a session whose program has ended, once its last screen is in the row.
func (m *Manager) clearPane(ctx context.Context, r *registry.Row, pane *tmux.Pane) error {
	server, err := observe.ServerOf(r)
	if err != nil {
		return err
	}
	if r.Status == registry.Running && r.OwnerID != "" {
		screen := m.lastScreen(ctx, r, pane)
		_, err := m.o.Registry.Change(ctx, r.Name, func(row *registry.Row, found bool) error {
			if !found || row.OwnerID != r.OwnerID || row.Status != registry.Running {
				return registry.ErrNoChange
			}
			endedRow(row, m.endedAt(pane), "its program has ended"+HowEnded(pane), screen, row.Conversation() != "")
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := server.Kill(ctx, *pane); err != nil && !errors.Is(err, tmux.ErrAbsent) {
		return &Error{Kind: Unclear, Session: r.Name, Text: "what is left of it in tmux cannot be taken away", Err: err}
	}
	return nil
}

// lastScreen is what tmux has kept of a program that has ended, "" when it says nothing.
func (m *Manager) lastScreen(ctx context.Context, r *registry.Row, pane *tmux.Pane) string {
	server, err := observe.ServerOf(r)
	if err != nil || !pane.Dead {
		return ""
	}
	text, _ := server.Capture(ctx, pane.Ref(), tmux.Capture{History: -1}) // that it ended counts, with a picture or without
	return registry.Screen(lastWords(text))
}

// endedAt is when the program of a dead pane ended, as far as tmux knows.
func (m *Manager) endedAt(pane *tmux.Pane) time.Time {
	if pane.DeadAt.IsZero() {
		return m.o.Now()
	}
	return pane.DeadAt
}

// noneLeft is nil when no process of a session runs outside of tmux, as they do when the server was killed: for a moment, until they have
// noticed, and some for good.
func (m *Manager) noneLeft(ctx context.Context, r *registry.Row) error {
	first, ok := observe.FirstProcess(r)
	if !ok && r.OwnerID == "" {
		return nil
	}
	left, _, err := observe.Processes(r, first)
	if err != nil || len(left) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endsWithin)
	defer cancel()
	alive := proc.Gone(ctx, ids(left))
	if len(alive) == 0 {
		return nil
	}
	var names []string
	for _, p := range left {
		if slices.Contains(alive, p.ID) {
			names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Comm))
		}
	}
	return &Error{
		Kind: Refused, Session: r.Name, Text: "tmux does not have it any more, but these processes of it run: " + strings.Join(names, ", "),
		Next: "tutti session stop " + r.Name,
	}
}

// endsWithin is how long a program takes at most to end when its terminal has gone, if it does: Claude Code was seen to take two
// seconds.
const endsWithin = 3 * time.Second

// ids are the identities of processes.
func ids(ps []proc.Process) []proc.ID {
	found := make([]proc.ID, len(ps))
	for i, p := range ps {
		found[i] = p.ID
	}
	return found
}
