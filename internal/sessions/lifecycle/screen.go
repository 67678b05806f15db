package lifecycle

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A Picture is what a session shows, or showed last.
type Picture struct {
	Lines []string // without control characters, and without empty ones at the end
	Sight observe.Observation
	Kept  bool // the session is gone; this is what its row has kept
}

// Capture returns what the session of a row shows: its screen, or that many of its last lines when lines is not 0. Of a session that
// is gone it is what the row has kept.
func Capture(ctx context.Context, r *registry.Row, lines int) (p Picture, err error) {
	s, err := observe.ServerOf(r)
	if err != nil {
		return p, &Error{Kind: Refused, Session: r.Name, Text: "its row names no tmux server", Err: err}
	}
	if p.Sight, err = reach(ctx, r); err != nil {
		if p.Sight.State != observe.Absent || r.VisibleScreen == "" {
			return p, err
		}
		p.Kept, p.Lines = true, last(r.VisibleScreen, lines)
		return p, nil
	}
	c := tmux.Capture{History: lines}
	if p.Sight.State == observe.Dead {
		c.History = -1 // the first lines of the screen have gone there
	}
	text, err := s.Capture(ctx, p.Sight.Pane.Ref(), c)
	if err != nil {
		return p, &Error{Kind: Unclear, Session: r.Name, Text: "its screen cannot be read", Err: err}
	}
	if p.Sight.State == observe.Dead {
		text = lastWords(text)
	}
	p.Lines = last(tmux.Clean(text), lines)
	return p, nil
}

// Coloured returns the lines of the visible screen of a session with the escape sequences of its program, not sanitised.
func Coloured(ctx context.Context, r *registry.Row) ([]string, error) {
	s, err := observe.ServerOf(r)
	if err != nil {
		return nil, &Error{Kind: Refused, Session: r.Name, Text: "its row names no tmux server", Err: err}
	}
	sight, err := reach(ctx, r)
	if err != nil {
		return nil, err
	}
	text, err := s.Capture(ctx, sight.Pane.Ref(), tmux.Capture{Colours: true})
	if err != nil {
		return nil, &Error{Kind: Unclear, Session: r.Name, Text: "its screen cannot be read", Err: err}
	}
	return strings.Split(strings.TrimRight(text, " \n"), "\n"), nil
}

// lastWords is what a program that has ended has left on its screen, without the line that tmux writes below it.
func lastWords(text string) string {
	text = strings.TrimRight(text, " \n")
	if i := strings.LastIndexByte(text, '\n') + 1; strings.HasPrefix(strings.TrimLeft(text[i:], " "), "Pane is dead") {
		return strings.TrimRight(text[:i], " \n")
	}
	return text
}

// last are the last lines of a text; 0 is all of them.
func last(text string, n int) []string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}

// Attach returns what replaces a process so that its terminal shows the session of a row; inside is the value of $TMUX there.
func Attach(ctx context.Context, r *registry.Row, inside string) (path string, argv, env []string, err error) {
	s, err := observe.ServerOf(r)
	if err != nil {
		return "", nil, nil, &Error{Kind: Refused, Session: r.Name, Text: "its row names no tmux server", Err: err}
	}
	sight, err := reach(ctx, r)
	if err != nil {
		return "", nil, nil, err
	}
	return s.Attach(sight.Pane, inside)
}

// reach finds the session of a row, for viewing. One that was started anew in its place still counts.
func reach(ctx context.Context, r *registry.Row) (observe.Observation, error) {
	s, err := observe.ServerOf(r)
	if err != nil {
		return observe.Observation{}, err
	}
	pane, err := s.Find(ctx, r.Name)
	sight := observe.Judge(r, pane, err)
	switch {
	case sight.State == observe.Alive, sight.State == observe.Dead, sight.State == observe.Other && !sight.Foreign:
		return sight, nil
	case sight.State == observe.Other:
		return sight, &Error{Kind: NotTheOne, Session: r.Name, Text: "the session of that name on tmux server " + r.ServerName() + " has another owner", Next: "tutti session status " + r.Name}
	case sight.State == observe.Absent:
		next := "tutti session resume " + r.Name
		if r.Resumable == registry.No {
			next = ""
		}
		return sight, &Error{Kind: Refused, Session: r.Name, Text: "it is not there", Next: next}
	case errors.Is(sight.Err, tmux.ErrMissing):
		return sight, &Error{Kind: Unclear, Session: r.Name, Text: "tmux cannot be asked", Err: sight.Err}
	}
	return sight, &Error{Kind: Unclear, Session: r.Name, Text: "tmux did not answer", Err: sight.Err}
}
