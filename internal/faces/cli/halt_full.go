package cli

import (
	"context"
	"errors"

	"tutti/internal/core/canonjson"
)

// haltFully halts this machine, looks at what that reached, and halts other machines.
func haltFully(ctx context.Context, c *Call) error {
	state, d, failed := c.HaltHere(ctx)
	raised := failed == nil
	var report *haltView
	if c.under == Tutti && raised {
		report = c.lookAtHalt(ctx, state, d.watcher)
	}
	var machines []byte
	if c.on("tailnet") {
		var err error
		if machines, err = haltAll(ctx, c, c.haltReason(), failed); failed == nil {
			failed = err
		}
	}
	if report != nil {
		report.Machines = machines
		return errors.Join(failed, c.finishHalt(ctx, report))
	}
	if c.json && (raised || machines != nil) {
		c.emit(haltJSON(state, d.watcher, nil, func(o *canonjson.Object) { o.Raw("machines", machines) }))
	}
	return failed
}

// resumeFully clears the switch here and on other machines, and says what the halt has left lying.
func resumeFully(ctx context.Context, c *Call) error {
	who, err := c.forUser("lift a halt")
	if err != nil {
		return err
	}
	d, failed := c.ResumeHere(ctx, who)
	if failed != nil && !c.on("tailnet") {
		return failed
	}
	var left remains
	if failed == nil {
		if left = remainsOf(ctx, c, d.was.Halted); !c.json {
			c.showRemains(left)
		}
	}
	var machines []byte
	if c.on("tailnet") {
		if machines, err = resumeAll(ctx, c, failed, !d.was.Halted); failed == nil {
			failed = err
		}
	}
	return c.LetGoOn(ctx, &d, failed, func(o *canonjson.Object) {
		left.json(o)
		o.Raw("machines", machines)
	})
}
