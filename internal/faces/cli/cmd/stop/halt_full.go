package stop

import (
	"context"
	"errors"

	"tutti/internal/comms/fleet"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// haltFully halts this machine, looks at what that reached, and halts other machines.
func haltFully(ctx context.Context, c *kit.Call, opt *fast.HaltOptions) error {
	if fast.Drills(c, opt) {
		return runDrill(ctx, c)
	}
	state, d, failed := fast.HaltHere(ctx, c, opt)
	raised := failed == nil
	var report *fast.HaltView
	if c.Under == kit.Tutti && raised {
		report = lookAtHalt(ctx, c, opt, state, d.Watcher)
	}
	var machines []byte
	var others fleet.Net
	if opt.Tailnet {
		var err error
		if machines, others, err = haltAll(ctx, c, opt, failed); failed == nil {
			failed = err
		}
	}
	if report != nil {
		report.Machines = machines
		return errors.Join(failed, finishHalt(ctx, c, opt, report, others))
	}
	if c.JSON && (raised || machines != nil) {
		v := fast.ViewOfHalt(state, d.Watcher)
		v.Machines = machines
		c.Result(v)
	}
	return failed
}

// resumeFully clears the switch here and on other machines, and says what the halt has left lying.
func resumeFully(ctx context.Context, c *kit.Call, opt *fast.ResumeOptions) error {
	who, err := c.ForUser("lift a halt")
	if err != nil {
		return err
	}
	if err := mayGoOn(ctx, c, opt); err != nil {
		return err // before the halt is lifted
	}
	d, failed := fast.ResumeHere(ctx, c, opt, who)
	if failed != nil && !opt.Tailnet {
		return failed
	}
	v := &fast.HaltView{Held: []fast.HeldMessage{}, Open: []fast.OpenConversation{}}
	if failed == nil {
		if findRemains(ctx, c, d.Was.Halted, v); !c.JSON {
			showRemains(c, v)
		}
	}
	if opt.Tailnet {
		if v.Machines, err = resumeAll(ctx, c, opt, failed, !d.Was.Halted); failed == nil {
			failed = err
		}
	}
	if opt.Restart {
		if err := restart(ctx, c, v); failed == nil {
			failed = err
		}
	}
	return fast.LetGoOn(ctx, c, opt, &d, failed, v)
}
