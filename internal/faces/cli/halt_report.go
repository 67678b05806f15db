package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/attention/haltreport"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// reportTime is how long the report of a halt waits for agents that can still acknowledge it.
const reportTime = time.Second

// A codexStopper ends the turns and background commands of the background server of Codex whose folder, CODEX_HOME, it is given.
type codexStopper func(ctx context.Context, codexHome string) (threads int, err error)

// HaltVerb is halt with the report. Only tuttid can talk to the background server of Codex.
func HaltVerb(stop func(ctx context.Context, codexHome string) (threads int, err error)) HeavyVerb {
	run := withComms(func(ctx context.Context, c *Call) error {
		c.comms.reached = codexStopper(stop).reached
		return runHalt(ctx, c)
	})
	return HeavyVerb{Name: "halt", Run: run}
}

// reached looks at what a halt reached, and ends the turns of Codex meanwhile.
func (stop codexStopper) reached(ctx context.Context, c *Call) (*haltreport.Report, []agentproc.Agent, error) {
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
		_, err := stop(ctx, folder)
		return err
	}
	return haltreport.Look(ctx, o)
}

// A haltView is what "tutti halt --json" prints.
type haltView struct {
	OK      bool   `json:"ok"`
	Halted  bool   `json:"halted"`
	Path    string `json:"path"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since,omitempty"`
	Watcher string `json:"watcher"`
	// Report is missing where it is not available; Unavailable says why.
	Report      *haltreport.Report `json:"report,omitempty"`
	Unavailable string             `json:"unavailable,omitempty"`
	Ended       []endedView        `json:"ended,omitempty"`
	Machines    json.RawMessage    `json:"machines,omitempty"`

	agents []agentproc.Agent
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
	case c.comms == nil || c.comms.reached == nil:
		v.Unavailable = "this program was built without it"
	default:
		var err error
		if v.Report, v.agents, err = c.comms.reached(ctx, c); err != nil {
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

// sayHalted prints the report as text.
func (c *Call) sayHalted(v *haltView) {
	if c.json {
		return
	}
	if v.Report == nil {
		c.prose("", 0, "Halted. The report is not available: "+v.Unavailable+".")
		return
	}
	c.prose("", 0, v.Report.First())
	lines := v.Report.Lines()
	if len(lines) > 0 {
		c.line("")
	}
	for _, line := range lines {
		c.prose("", 4, Clean(line))
	}
	for _, p := range v.Report.Problems {
		c.warn("%s", Clean(p))
	}
}

// halfHalted is a halt without the program that reports: err says why that could not be started. The switch is set.
func (c *Call) halfHalted(err error, state halt.State, watcher string) error {
	v := haltView{OK: true, Halted: true, Path: state.Path, Watcher: watcher, Unavailable: Clean(err.Error())}
	if c.json {
		c.emit(haltJSON(state, watcher, nil, noMore(v.Unavailable)))
	} else {
		c.sayHalted(&v)
	}
	switch {
	case c.on("tailnet"):
		return alone(c.Verb.Name, err)
	case c.on("kill"):
		return failIO(installHint, nil, "--kill: nothing was ended: %s", Clean(err.Error()))
	}
	return nil
}

// unitFolders are where units of a user may be, below the home folder and elsewhere.
func unitFolders() []string {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	return []string{
		filepath.Join(config, "systemd/user"), filepath.Join(home, ".local/share/systemd/user"), "/etc/systemd/user", "/usr/local/lib/systemd/user",
		"/usr/lib/systemd/user", "/run/systemd/user",
	}
}

// watcherInstalled tells whether the units of the mail watcher exist.
func watcherInstalled() bool {
	for _, folder := range unitFolders() {
		for _, unit := range [...]string{watchPath, watchService} {
			if _, err := os.Lstat(filepath.Join(folder, unit)); err == nil {
				return true
			}
		}
	}
	return false
}
