package snapshot

import (
	"context"
	"time"

	"tutti/internal/attention/glance"
	"tutti/internal/sessions/observe"
)

// KeepGlance writes how much waits for the user where "tutti status --short" reads it.
func (v *View) KeepGlance() error {
	state, err := v.App.StateDir()
	if err != nil {
		return err
	}
	g := glance.Glance{At: v.At.UTC(), Mail: v.Unread - v.announced(), Waiting: len(v.Waiting)}
	for _, m := range v.unseen() {
		g.Mail += m.Unread
	}
	return glance.Write(state, g)
}

// Focused tells whether the user looks at the pane of an agent, and has used that terminal after the time since.
func (r *Agent) Focused(ctx context.Context, since time.Time) bool {
	if r.Tmux == nil || r.Tmux.sight.State != observe.Alive {
		return false
	}
	server, err := observe.ServerOf(r.Tmux.Row)
	if err != nil {
		return false
	}
	is, err := server.Focused(ctx, r.Tmux.sight.Pane, since)
	return is && err == nil
}
