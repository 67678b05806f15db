package cli

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
	"tutti/internal/sessions/job"
)

// offerMatters offers what waits for somebody.
func offerMatters(ctx context.Context, k *completer, w *app.World) {
	all, _, err := w.Agreements().Matters().All(ctx)
	if err != nil {
		return
	}
	now := time.Now()
	for _, m := range all {
		if m.State(now) == escalation.Open && k.fits(m.ID) {
			k.say(m.ID, Truncate(Clean(m.About()), maxRemark))
		}
	}
}

// waitingHere finds what waits for who looks: on the bus, which may be nil, between projects, and among the jobs of this folder.
func waitingHere(ctx context.Context, c *Call, w *app.World, v *statusView, person func() bool) error {
	var onBus, letters []todo.Item
	var err error
	if w != nil && v.you != nil {
		onBus, err = w.WaitingOnBus(ctx, w.Agreements(), v.you.Instance, time.Now())
	}
	if v.letters != nil {
		letters = todo.Letters(v.letters.projects, v.letters.here, person())
	}
	v.waiting = todo.Join(v.waiting, onBus, letters, c.waitingJobs())
	return err
}

// waitingJobs are the jobs of this folder that wait for who looks.
func (c *Call) waitingJobs() []todo.Item {
	s, err := c.sessionsHere(c.opener)
	if err != nil {
		return nil
	}
	b, _, err := job.At(s.workspace())
	if err != nil {
		return nil
	}
	all, _, err := b.List()
	if err != nil {
		return nil
	}
	return todo.Jobs(all, c.jobActor)
}

// waitingForHook is what an agent is told of at the beginning of a conversation.
func waitingForHook(ctx context.Context, w *app.World, me address.Instance, submitter string) ([]todo.Item, error) {
	return w.WaitingForAgent(ctx, w.Agreements(), me, submitter, time.Now())
}
