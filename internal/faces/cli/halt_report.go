package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"tutti/internal/agents/codexserver"
	"tutti/internal/attention/haltreport"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// reportTime is how long the report of a halt waits for agents that can still acknowledge it.
const reportTime = time.Second

// haltReached looks at what a halt reached, and ends the turns of Codex meanwhile.
func (c *Call) haltReached(ctx context.Context) (*haltreport.Report, []agentproc.Agent, error) {
	home, err := c.App.Home()
	if err != nil {
		return nil, nil, err
	}
	state, err := c.App.StateDir()
	if err != nil {
		return nil, nil, err
	}
	o := haltreport.Options{Home: home, State: state, Build: BuildID(), Wait: reportTime}
	if c.on("tailnet") {
		o.Wait = reportTime / 4 // the other machines wait to be halted
	}
	if e, err := halt.Memory(); err == nil {
		o.Epoch = e.Count
	}
	o.Interrupt = func(ctx context.Context, server agentproc.Agent) error {
		folder := server.Getenv("CODEX_HOME")
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(home, ".codex")
		}
		_, err := codexserver.StopIn(ctx, folder)
		return err
	}
	return haltreport.Look(ctx, o)
}

// lookAtHalt finds out what the halt reached, and prints it unless JSON was asked for.
func (c *Call) lookAtHalt(ctx context.Context, state halt.State, watcher string) *haltView {
	v := &haltView{OK: state.Halted, Halted: state.Halted, Path: state.Path, Reason: state.Reason, Watcher: watcher}
	if !state.Since.IsZero() {
		v.Since = state.Since.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	switch {
	case c.alien != nil:
		v.Unavailable = Clean(c.alien.Error())
	default:
		var err error
		if v.Report, v.agents, err = c.haltReached(ctx); err != nil {
			v.Report, v.Unavailable = nil, Clean(err.Error())
		}
	}
	c.sayHalted(v)
	return v
}

// finishHalt ends the agents where that was asked for, and says how to go on where a person reads it.
func (c *Call) finishHalt(ctx context.Context, v *haltView) (err error) {
	if c.on("kill") {
		v.Ended, err = c.killAgents(ctx, v.agents, v.Unavailable)
	}
	if c.json {
		raw, e := json.Marshal(v)
		if e != nil {
			return e
		}
		c.emit(raw)
		return err
	}
	if err == nil && !c.on("tailnet") && factsOf(c.App).Attended() {
		c.line("")
		c.line(`Continue with "tutti resume".`)
	}
	return err
}
