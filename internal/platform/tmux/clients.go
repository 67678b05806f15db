package tmux

import (
	"context"
	"fmt"
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
