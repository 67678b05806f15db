package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// call runs the function of the verb. Only a verb that may wait catches the signals: for the others the system's own end
// of the process is the fastest, and costs nothing at start.
func (c *Call) call(fn Func) error {
	ctx, stop := context.Background(), func() {}
	switch {
	case c.Verb.Waits && c.Verb.Brief != nil && c.Verb.Brief(c):
		ctx, stop = catchLate()
	case c.Verb.Waits:
		probeHandles()
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // the second interrupt kills at once
	}
	defer stop()
	bounded, cancel := c.withTimeout(ctx)
	defer cancel()
	err := fn(bounded, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return &fault{code: exitInterrupted} // the user knows
	case err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded):
		return failIO("", nil, "%s: gave up after %s (--timeout)", c.Verb.Name, c.text("timeout"))
	}
	return err
}

// briefly is how long a run that is expected to be over by then goes on before it catches signals. A send takes 2 ms.
const briefly = 50 * time.Millisecond

// catchLate is for a run that is over at once: an interrupt leaves it alone, so that it says what it did. Should it take
// longer than expected, interrupts are caught from then on. Catching from the start takes 0.3 ms, a tenth of a send.
func catchLate() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	late := time.AfterFunc(briefly, func() {
		probeHandles()
		caught := make(chan os.Signal, 2)
		signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
		<-caught
		cancel()
		<-caught
		os.Exit(exitInterrupted) // a signal that was once ignored cannot be given back to the system
	})
	return ctx, func() {
		late.Stop()
		cancel()
	}
}
