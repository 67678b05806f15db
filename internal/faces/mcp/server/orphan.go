package server

import (
	"context"
	"errors"
	"time"

	"tutti/internal/platform/proc"
)

// orphanedFor is how long the server stays when the agent program that it runs below has ended: longer than the end of its
// input, which mostly comes with that, may take.
const orphanedFor = 4 * time.Second

// withAgent returns a context that also ends when the agent program has ended and the input stays open all the same, because
// some other process holds its other end. The session would stay live for ever otherwise.
func (v *server) withAgent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-v.begun: // it has asked what the program runs below
		case <-ctx.Done():
			return
		}
		p, ok := v.facts.AgentProcess()
		if !ok {
			return
		}
		ended, stop, err := proc.End(p.ID)
		switch {
		case errors.Is(err, proc.ErrGone): // before anybody could wait for it
		case err != nil: // then the end of the input has to do
			return
		default:
			defer stop()
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
		}
		late := time.NewTimer(orphanedFor)
		defer late.Stop()
		select {
		case <-late.C:
			v.log("the agent program has ended, and this server with it")
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
