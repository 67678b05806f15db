package stop

import (
	"context"
	"errors"

	"tutti/internal/comms/fleet"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// haltFully halts this machine, looks at what that reached, and halts other machines.
func haltFully(ctx context.Context, c *kit.Call) error {
	if fast.Drills(c) {
		return runDrill(ctx, c)
	}
	state, d, failed := fast.HaltHere(ctx, c)
	raised := failed == nil
	var report *fast.HaltView
	if c.Under == kit.Tutti && raised {
		report = lookAtHalt(ctx, c, state, d.Watcher)
	}
	var machines []byte
	var others fleet.Net
	if c.On("tailnet") {
		var err error
		if machines, others, err = haltAll(ctx, c, fast.HaltReason(c), failed); failed == nil {
			failed = err
		}
	}
	if report != nil {
		report.Machines = machines
		return errors.Join(failed, finishHalt(ctx, c, report, others))
	}
	if c.JSON && (raised || machines != nil) {
		v := fast.ViewOfHalt(state, d.Watcher)
		v.Machines = machines
		c.Result(v)
	}
	return failed
}

// resumeFully clears the switch here and on other machines, and says what the halt has left lying.
func resumeFully(ctx context.Context, c *kit.Call) error {
	who, err := c.ForUser("lift a halt")
	if err != nil {
		return err
	}
	if err := mayGoOn(ctx, c); err != nil {
		return err // before the halt is lifted
	}
	d, failed := fast.ResumeHere(ctx, c, who)
	if failed != nil && !c.On("tailnet") {
		return failed
	}
	v := &fast.HaltView{Held: []fast.HeldMessage{}, Open: []fast.OpenConversation{}}
	if failed == nil {
		if findRemains(ctx, c, d.Was.Halted, v); !c.JSON {
			showRemains(c, v)
		}
	}
	if c.On("tailnet") {
		if v.Machines, err = resumeAll(ctx, c, failed, !d.Was.Halted); failed == nil {
			failed = err
		}
	}
	if c.On("restart") {
		if err := restart(ctx, c, v); failed == nil {
			failed = err
		}
	}
	return fast.LetGoOn(ctx, c, &d, failed, v)
}
