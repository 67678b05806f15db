package stop

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tutti/internal/agents/codexserver"
	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/attention/haltreport"
	"tutti/internal/comms/fleet"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
	"tutti/internal/sessions/observe"
)

// reportTime is how long the report of a halt waits for agents that can still acknowledge it.
const reportTime = time.Second

// haltReached looks at what a halt reached, and ends the turns of Codex meanwhile.
func haltReached(ctx context.Context, c *kit.Call, opt *fast.HaltOptions) (*haltreport.Report, []agentproc.Agent, error) {
	o, err := reportOptions(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	o.Wait = reportTime
	if opt.Tailnet {
		o.Wait = reportTime / 4 // the other machines wait to be halted
	}
	o.Interrupt = func(ctx context.Context, server agentproc.Agent) error {
		folder := server.Getenv("CODEX_HOME")
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(o.Home, ".codex")
		}
		_, err := codexserver.Stop(ctx, codexserver.Socket(folder))
		return err
	}
	return haltreport.Look(ctx, o)
}

// HaltKnown is what is known now of a halt that was set before. It waits for no agent and ends no turn; nil: nothing is known.
func HaltKnown(ctx context.Context, c *kit.Call) *haltreport.Report {
	o, err := reportOptions(ctx, c)
	if err != nil {
		return nil
	}
	r, _, err := haltreport.Look(ctx, o)
	if err != nil {
		return nil
	}
	return r
}

func reportOptions(ctx context.Context, c *kit.Call) (o haltreport.Options, err error) {
	if o.Home, err = c.App.Home(); err != nil {
		return o, err
	}
	if o.State, err = c.App.StateDir(); err != nil {
		return o, err
	}
	o.Build = kit.BuildID()
	if e, err := halt.Memory(); err == nil {
		o.Epoch = e.Count
	}
	names := sync.OnceValue(func() map[string]string { return session.NamesByOwner(ctx, c) })
	o.Called = func(a *agentproc.Agent) string { return names()[a.Getenv(observe.Variable)] }
	o.Unreviewed = func(a *agentproc.Agent) bool { return unreviewed(o.Home, a) }
	return o, nil
}

// unreviewed tells whether an agent CLI waits for its user's review of the hook before tools, by the look of "tutti host status".
func unreviewed(home string, a *agentproc.Agent) bool {
	d, ok := driver.Get(a.CLI)
	if !ok {
		return false
	}
	q := setup.Request{Place: driver.Site{Home: home, Env: a.Getenv}}
	all, err := q.Unreviewed(d)
	return err == nil && slices.ContainsFunc(all, func(r setup.Review) bool {
		e, _ := d.Hooks.Event(r.Event)
		return e.Moment == driver.Use
	})
}

// lookAtHalt finds out what the halt reached, and prints it unless JSON was asked for.
func lookAtHalt(ctx context.Context, c *kit.Call, opt *fast.HaltOptions, state halt.State, watcher string) *fast.HaltView {
	v := fast.ViewOfHalt(state, watcher)
	switch {
	case c.Alien != nil:
		v.Unavailable = kit.Clean(c.Alien.Error())
	default:
		var err error
		if v.Report, v.Agents, err = haltReached(ctx, c, opt); err != nil {
			v.Report, v.Unavailable = nil, kit.Clean(err.Error())
		}
		if !opt.Kill { // which ends them
			v.Programs = session.OwnPrograms(ctx, c, v.Agents)
		}
	}
	fast.SayHalted(c, v)
	return v
}

// finishHalt ends the agents where that was asked for, here and on the other machines that are halted, and says how to go on where a
// person reads it.
func finishHalt(ctx context.Context, c *kit.Call, opt *fast.HaltOptions, v *fast.HaltView, others fleet.Net) (err error) {
	if opt.Kill || opt.Tools {
		err = endAgents(ctx, c, opt, v, others)
	}
	if c.JSON {
		c.Result(v)
		return err
	}
	if c.UserReads() {
		c.Line("")
		c.Line(fast.LiftsIt)
	}
	return err
}
