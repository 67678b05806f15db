package kit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that an interrupt ends, instead of the process: the second interrupt does that. A verb that may run
// long has it from the start. The others ask for it when they see that they will wait; the system's own end of the process is the
// fastest, and to catch signals takes 0.4 ms.
func (c *Call) Interruptible(ctx context.Context) context.Context {
	if c.signals != nil {
		return ctx
	}
	probeHandles()
	caught, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(caught, stop)
	c.signals = caught
	return caught
}

// interrupted reports whether a signal ended the context of the verb.
func (c *Call) interrupted() bool {
	return c.signals != nil && errors.Is(c.signals.Err(), context.Canceled)
}

// call runs the function of the verb.
func (c *Call) call(fn Func) error {
	ctx, cancel := c.withTimeout(context.Background())
	defer cancel()
	if c.Verb.Waits {
		ctx = c.Interruptible(ctx)
	}
	err := fn(ctx, c)
	switch {
	case err != nil && c.interrupted():
		return &Fault{Code: ExitInterrupted} // the user knows
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return FailIO("", nil, "%s: gave up after %s (--timeout)", c.Verb.Name, c.Text("timeout"))
	}
	return err
}
