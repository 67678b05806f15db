package snapshot

import (
	"context"

	"tutti/internal/core/render"
	"tutti/internal/halt"
	"tutti/internal/platform/notify"
)

// readNews reads the pauses, and which halts and pauses ended. It shows a notice of one that ended without a record.
func (v *View) readNews(ctx context.Context) {
	if m, err := halt.Memory(); err == nil {
		if _, first := m.Ended(); first {
			announce(ctx, halt.Lift{How: halt.Unrecorded})
		}
	}
	v.Pauses = render.List(halt.Pauses())
	for _, what := range halt.LostPauses() {
		announce(ctx, halt.Lift{How: halt.Unrecorded, Pause: what})
	}
	all, unseen, end := halt.Lifts()
	v.Lifts, v.LiftsEnd = render.List(all[len(all)-unseen:]), end
}

// announce shows a notice that a halt or a pause ended. Where there is no desktop, status and hooks still say it.
func announce(ctx context.Context, l halt.Lift) {
	_, _ = notify.Desktop{}.Say(ctx, "tutti", l.Text())
}
