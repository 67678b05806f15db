package status

import (
	"context"
	"time"

	"tutti/internal/faces/tui"
	"tutti/internal/faces/web"
)

// followForWeb looks as the terminal screen does, until the context ends.
func (t *topView) followForWeb(ctx context.Context, changed func(*web.Snapshot)) error {
	t.follow(ctx, func(s *tui.Snapshot, err error) {
		if s == nil {
			s = &tui.Snapshot{At: time.Now()}
		}
		out := webSnapshot(s)
		if err != nil {
			out.Notes = append(out.Notes, err.Error())
		}
		changed(out)
	})
	return nil
}

// webSnapshot is a snapshot of the terminal screen as the page shows it.
func webSnapshot(s *tui.Snapshot) *web.Snapshot {
	return &web.Snapshot{At: s.At, Agents: s.Agents, Waits: s.Waits, Notes: s.Notes}
}
