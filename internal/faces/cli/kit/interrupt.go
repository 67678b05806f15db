package kit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// call runs the function of the verb. Only a verb that may wait catches the signals: for the others the system's own end
// of the process is the fastest, and costs nothing at start.
func (c *Call) call(fn Func) error {
	ctx, stop := context.Background(), func() {}
	if c.Verb.Waits {
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
		return &Fault{Code: ExitInterrupted} // the user knows
	case err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded):
		return FailIO("", nil, "%s: gave up after %s (--timeout)", c.Verb.Name, c.Text("timeout"))
	}
	return err
}
