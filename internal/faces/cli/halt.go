package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// The user units of the mailbox watcher. The path unit goes first: it would start the service again.
const (
	watchPath    = "cross-agent-watch.path"
	watchService = "cross-agent-watch.service"
)

// watcherTime bounds what is asked of systemd. A user manager that hangs must not hold up a halt, which is complete
// before it is asked.
const watcherTime = 2 * time.Second

// runHalt sets the switch before anything else. Whatever goes wrong afterwards is said, and halts nobody less. What a halt reached,
// and other machines, are for the program that takes the place of this one.
func runHalt(ctx context.Context, c *Call) error {
	state, d, failed := c.HaltHere(ctx)
	switch {
	case failed != nil && c.on("tailnet"):
		return errors.Join(failed, alone(c.Verb.Name, c.handOn(nil))) // the other program tries again
	case failed != nil:
		return failed
	case c.under == Tutti:
		return c.halfHalted(c.handOn(&d), state, d.watcher)
	case c.on("tailnet"):
		failed = alone(c.Verb.Name, c.handOn(&d))
	}
	if c.json {
		c.emit(haltJSON(state, d.watcher, nil, func(*canonjson.Object) {}))
	}
	return failed
}

// HaltHere halts this machine, unless the program that this one replaces has done so.
func (c *Call) HaltHere(ctx context.Context) (state halt.State, d done, err error) {
	d, before := c.doneBefore()
	if before {
		state = halt.Read()
	}
	if !state.Halted {
		state, err = c.haltHere(ctx, c.haltReason(), &d)
	}
	return state, d, err
}

func (c *Call) haltReason() string { return strings.Join(c.Args, " ") }

// haltHere halts this machine, and says so.
func (c *Call) haltHere(ctx context.Context, reason string, d *done) (halt.State, error) {
	state, warnings, err := halt.Raise(reason)
	d.watcher = "left alone"
	var watcherErr error
	switch {
	case c.under == Tutti && !watcherInstalled():
		d.watcher = "not installed"
	case !c.on("no-stop-watcher"):
		d.watcher = "stopped"
		if watcherErr = systemctl(ctx, "stop", watchPath, watchService); watcherErr != nil {
			d.watcher = "not stopped: " + watcherErr.Error()
		}
	}
	for _, w := range warnings {
		c.warn("%s", Clean(w.Error()))
	}
	if err != nil {
		code := exitIO
		if c.under == Cross {
			code = exitUsage // the page knows no other number for it
		}
		return state, &fault{code: code, err: err, hint: "make it by hand: mkdir -p ~/.config/cross-agent-comms && touch " + halt.Shown}
	}
	switch {
	case c.under == Tutti:
		if watcherErr != nil {
			c.warn("the mail watcher was not stopped: %s", Clean(watcherErr.Error()))
		}
	case !c.json:
		c.halted(d.watcher, watcherErr)
	}
	return state, nil
}

func (c *Call) halted(watcher string, watcherErr error) {
	c.line("✓ HALT file written: " + halt.Shown)
	switch {
	case watcherErr != nil:
		c.prose("⚠ ", 2, "Watcher service not stopped: "+Clean(watcherErr.Error())+" (says systemctl; the halt is valid without it)")
	case watcher == "stopped":
		c.line("✓ Watcher service stopped (" + watchPath + ")")
	}
	c.prose("- ", 2, "In-flight sends finish the step in hand (seconds); new sends are blocked.")
	c.prose("- ", 2, "Agents that poll stop within one cadence (~5 min).")
	how := "`cross-agent-resume` clears HALT. "
	if c.belowAgent() {
		how = "" // no agent reads how to lift a halt
	}
	c.prose("- ", 2, how+"Polling does NOT auto-resume: tell the agent of each session to go on.")
}

// runResume clears the switch. Other machines, and what waits between projects, are for the program that takes the place of this one.
func runResume(ctx context.Context, c *Call) error {
	who, err := c.forUser("lift a halt")
	if err != nil {
		return err
	}
	d, failed := c.ResumeHere(ctx, who)
	switch {
	case failed != nil && !c.on("tailnet"):
		return failed
	case failed != nil:
		_ = c.handOn(nil) // the other program tries again
	case c.on("tailnet"):
		failed = alone(c.Verb.Name, c.handOn(&d))
	default:
		if o, err := c.haltOffice(); err == nil && commsAbout(o) {
			c.remark("what waits between projects is not shown: %s", Clean(c.handOn(&d).Error()))
		}
	}
	return c.LetGoOn(ctx, &d, failed, func(*canonjson.Object) {})
}

// ResumeHere clears the switch of this machine, unless the program that this one replaces has done so.
func (c *Call) ResumeHere(ctx context.Context, who *identity.Caller) (d done, err error) {
	d, before := c.doneBefore()
	if !before || halt.Read().Halted {
		err = c.resumeHere(ctx, &d, who)
	}
	return d, err
}

// LetGoOn ends a resume: it says which agents wait for their user, lets those go on that are to, and prints the result for programs, with
// what more adds to it. failed is what went wrong before.
func (c *Call) LetGoOn(ctx context.Context, d *done, failed error, more func(*canonjson.Object)) error {
	var agents []heldView
	if c.under == Tutti && c.value("session") == "" && !halt.Read().Halted {
		agents = c.release(d.was.Halted)
	}
	if c.json {
		c.emit(haltJSON(halt.Read(), d.watcher, &d.was, func(o *canonjson.Object) {
			more(o)
			heldJSON(o, agents)
		}))
	}
	if c.value("session") != "" && !halt.Read().Halted {
		if err := c.letGoOn(ctx); err != nil {
			return err
		}
	}
	return failed
}

// resumeHere clears the switch of this machine, and says so.
func (c *Call) resumeHere(ctx context.Context, d *done, who *identity.Caller) error {
	var err error
	d.watcher = "left alone"
	if d.was, err = halt.ClearBy(liftOf(who)); err != nil {
		return &fault{code: exitUsage, err: err}
	}
	if d.was.Halted {
		announce(ctx, liftOf(who))
	}
	var watcherErr error
	switch {
	case c.under == Tutti && !watcherInstalled():
		d.watcher = "not installed"
	case !c.on("no-start-watcher"):
		d.watcher = "started"
		if watcherErr = systemctl(ctx, "start", watchPath); watcherErr != nil {
			d.watcher = "not started: " + watcherErr.Error()
		}
	}
	if !c.json {
		c.resumed(d.was, d.watcher, watcherErr)
	}
	return nil
}

// letGoOn is the user's word for one agent: what comes for it is put before it again.
func (c *Call) letGoOn(ctx context.Context) error {
	name := address.Instance(c.value("session"))
	if err := address.Check(string(name)); err != nil {
		return usagef("--session: %s", Clean(err.Error()))
	}
	if !address.HostQualified(string(name)) {
		e := &identity.NameError{Name: string(name)}
		return badState(e.Hint(), "--session: %s", Clean(e.Error()))
	}
	d, err := c.counter(app.Writing)
	if err != nil {
		return err
	}
	defer d.Close()
	who, err := d.Identity.Meant(ctx, name)
	if err != nil {
		return fmt.Errorf("--session: %w", err)
	}
	if !d.Ring.Has(who) {
		return badState(`"tutti keys list" shows the agents whose keys are here`, "--session: no agent of yours is called %s", Clean(string(name)))
	}
	if err := d.office.Engage(ctx, mail.Reader{Instance: who}); err != nil {
		return err
	}
	c.wakeOne(string(who.Canonical()))
	return nil
}

func (c *Call) resumed(was halt.State, watcher string, watcherErr error) {
	if !was.Halted {
		c.line("✓ Nothing was halted: there is no " + halt.Shown)
	} else {
		text := "✓ HALT file removed: " + halt.Shown
		if !was.Since.IsZero() {
			text += " (set " + ago(time.Since(was.Since))
			if was.Reason != "" {
				text += ": " + Clean(was.Reason)
			}
			text += ")"
		}
		c.prose("", 0, text)
	}
	switch {
	case watcherErr != nil:
		c.prose("⚠ ", 2, "Watcher service not started: "+Clean(watcherErr.Error())+" (says systemctl; this matters only if you installed it)")
	case watcher == "started":
		c.line("✓ Watcher service started (" + watchPath + ")")
	}
	if c.under == Tutti {
		if !was.Halted {
			return
		}
		c.prose("- ", 2, "Sending and receiving work again. No agent goes on by itself.")
		return
	}
	c.prose("- ", 2, "Sending and receiving work again; the watcher picks up the messages that were held.")
	c.prose("- ", 2, "Polling does NOT restart by itself: tell the agent of each session to go on.")
}

// haltJSON is what both verbs print for programs; was is the state that was cleared.
func haltJSON(s halt.State, watcher string, was *halt.State, more func(o *canonjson.Object)) []byte {
	var o canonjson.Object
	o.Bool("ok", s.Halted == (was == nil))
	o.Bool("halted", s.Halted)
	o.Str("path", s.Path)
	if was != nil {
		o.Bool("wasHalted", was.Halted)
		s.Reason, s.Since = was.Reason, was.Since
	}
	o.Opt("reason", s.Reason)
	if !s.Since.IsZero() {
		o.Str("since", s.Since.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	o.Str("watcher", watcher)
	more(&o)
	return o.Bytes()
}

// systemctl asks the user's service manager to start or stop units, one after the other, all within watcherTime. The
// error is that of the first unit: the others only exist with it.
func systemctl(ctx context.Context, what string, units ...string) error {
	program, err := exec.LookPath("systemctl")
	if err != nil {
		return errors.New("systemctl is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, watcherTime)
	defer cancel()
	var first error
	for _, unit := range units {
		cmd := exec.CommandContext(ctx, program, "--user", "--quiet", what, unit)
		cmd.WaitDelay = 100 * time.Millisecond
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return fmt.Errorf("systemctl did not answer within %v", watcherTime)
		}
		if err != nil && first == nil {
			first = errors.New(firstLine(string(out), err.Error()))
		}
	}
	return first
}

// firstLine returns the first line of s, or otherwise when there is none.
func firstLine(s, otherwise string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if s == "" {
		return otherwise
	}
	return s
}
