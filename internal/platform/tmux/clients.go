package tmux

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clients returns when each terminal that shows the session of a pane was last used by a person, to the second: a key, or a click. A
// session that no terminal shows has none.
func (s Server) Clients(ctx context.Context, pane Pane) ([]time.Time, error) {
	if !isID(pane.Session, '$') {
		return nil, fmt.Errorf("tmux list-clients on server %s: %q is not a session", s, pane.Session)
	}
	out, err := s.ask(ctx, "list-clients", "-t", pane.Session, "-F", "#{client_activity}")
	if err != nil {
		return nil, err
	}
	var all []time.Time
	for line := range strings.Lines(string(out)) {
		sec, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("tmux list-clients on server %s: %q is not a time", s, strings.TrimSpace(line))
		}
		all = append(all, time.Unix(sec, 0))
	}
	return all, nil
}

// Focused tells whether a person looks at a pane: it is the active pane in a terminal that has the focus, and that was used after the
// time since. Where the terminal does not report the focus, tmux counts each as focused.
func (s Server) Focused(ctx context.Context, pane Pane, since time.Time) (bool, error) {
	if !isID(pane.Session, '$') {
		return false, fmt.Errorf("tmux list-clients on server %s: %q is not a session", s, pane.Session)
	}
	out, err := s.ask(ctx, "list-clients", "-t", pane.Session, "-F", "#{client_activity} #{pane_id} #{client_flags}")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != pane.ID || !slices.Contains(strings.Split(f[2], ","), "focused") {
			continue
		}
		if sec, err := strconv.ParseInt(f[0], 10, 64); err == nil && !time.Unix(sec, 0).Before(since.Truncate(time.Second)) {
			return true, nil
		}
	}
	return false, nil
}
