package fast

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
	"tutti/internal/faces/cli/kit"
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

// HaltOptions are the flags of halt.
type HaltOptions struct {
	Tailnet, Kill, Tools, Yes, Drill, NoStopWatcher bool
}

// ResumeOptions are the flags of resume.
type ResumeOptions struct {
	Tailnet, Wake, Restart, NoStartWatcher bool
	Session                                string
}

// runHalt sets the switch before anything else. A later failure is reported, and the halt stays. What a halt reached,
// and other machines, are for the program that takes the place of this one.
func runHalt(ctx context.Context, c *kit.Call, opt *HaltOptions) error {
	if Drills(c, opt) {
		return handOn(c, nil)
	}
	state, d, failed := HaltHere(ctx, c, opt)
	switch {
	case failed != nil && opt.Tailnet:
		_ = handOn(c, nil) // the other program tries again
		return failed
	case failed != nil:
		return failed
	case c.Under == kit.Tutti:
		return halfHalted(c, opt, handOn(c, &d), state, d.Watcher)
	case opt.Tailnet:
		failed = alone(c.Verb.Name, handOn(c, &d))
	}
	if c.JSON {
		c.Result(ViewOfHalt(state, d.Watcher))
	}
	return failed
}

// HaltHere halts this machine, unless the program that this one replaces has done so.
func HaltHere(ctx context.Context, c *kit.Call, opt *HaltOptions) (state halt.State, d done, err error) {
	d, before := doneBefore(c)
	if before {
		state = halt.Read()
	}
	if !state.Halted {
		state, err = haltHere(ctx, c, opt, HaltReason(c), &d)
	}
	return state, d, err
}

// Drills tells whether a drill is asked for and no halt. With anything else beside --drill it is a halt: that is the safe reading.
func Drills(c *kit.Call, opt *HaltOptions) bool {
	return len(c.Args) == 0 && *opt == HaltOptions{Drill: true}
}

// HaltReason is the reason on the command line, "" for none.
func HaltReason(c *kit.Call) string { return strings.Join(c.Args, " ") }

// haltedBefore says that a halt was on already, and which reason counts now.
func haltedBefore(was, now halt.State) string {
	text := "it was halted already"
	if !was.Since.IsZero() {
		text += " since " + was.Since.Local().Format("15:04:05")
	}
	if was.Reason != "" && was.Reason != now.Reason {
		text += ", for another reason: " + kit.Clean(was.Reason)
	}
	return text
}

// haltHere halts this machine, and says so.
func haltHere(ctx context.Context, c *kit.Call, opt *HaltOptions, reason string, d *done) (halt.State, error) {
	was := halt.Read()
	state, warnings, err := halt.Raise(reason)
	if was.Halted && err == nil && c.Under == kit.Tutti && !c.JSON {
		c.Remark("%s", haltedBefore(was, state))
	}
	var watcherErr error
	d.Watcher, watcherErr = watcher(ctx, c, opt.NoStopWatcher, "stop", "stopped", watchPath, watchService)
	for _, w := range warnings {
		c.Warn("%s", kit.Clean(w.Error()))
	}
	if err != nil {
		code := kit.ExitIO
		if c.Under == kit.Cross {
			code = kit.ExitUsage // the page knows no other number for it
		}
		return state, &kit.Fault{Code: code, Err: err, Next: "make it by hand: mkdir -p ~/.config/cross-agent-comms && touch " + halt.Shown}
	}
	switch {
	case c.Under == kit.Tutti:
		if watcherErr != nil {
			c.Warn("the mail watcher was not stopped: %s", kit.Clean(watcherErr.Error()))
		}
	case !c.JSON:
		halted(c, d.Watcher, watcherErr)
	}
	return state, nil
}

func halted(c *kit.Call, watcher string, watcherErr error) {
	c.Line("✓ HALT file written: " + halt.Shown)
	switch {
	case watcherErr != nil:
		c.Prose("⚠ ", 2, "Watcher service not stopped: "+kit.Clean(watcherErr.Error())+" (says systemctl; the halt is valid without it)")
	case watcher == "stopped":
		c.Line("✓ Watcher service stopped (" + watchPath + ")")
	}
	c.Prose("- ", 2, "In-flight sends finish the step in hand (seconds); new sends are blocked.")
	c.Prose("- ", 2, "Agents that poll stop within one cadence (~5 min).")
	how := "`cross-agent-resume` clears HALT. "
	if c.BelowAgent() {
		how = "" // no agent reads how to lift a halt
	}
	c.Prose("- ", 2, how+"Polling does NOT auto-resume: tell the agent of each session to go on.")
}

// runResume clears the switch. Other machines, and what waits between projects, are for the program that takes the place of this one.
func runResume(ctx context.Context, c *kit.Call, opt *ResumeOptions) error {
	who, err := c.ForUser("lift a halt")
	if err != nil {
		return err
	}
	if opt.Session != "" && !running(ctx, c, opt.Session) {
		_ = handOn(c, nil) // the other program knows sessions; without it, what is known here has to do
	}
	d, failed := ResumeHere(ctx, c, opt, who)
	switch {
	case failed != nil && !opt.Tailnet:
		return failed
	case failed != nil:
		_ = handOn(c, nil) // the other program tries again
	case opt.Tailnet:
		failed = alone(c.Verb.Name, handOn(c, &d))
	case opt.Restart:
		err := handOn(c, &d)
		failed = kit.FailIO(kit.InstallHint, nil, "--restart: nothing was started again: %s", kit.Clean(err.Error()))
	default:
		if o, err := HaltOffice(c); err == nil && commsAbout(o) {
			c.Remark("what waits between projects is not shown: %s", kit.Clean(handOn(c, &d).Error()))
		}
	}
	return LetGoOn(ctx, c, opt, &d, failed, &HaltView{})
}

// ResumeHere clears the switch of this machine, unless the program that this one replaces has done so.
func ResumeHere(ctx context.Context, c *kit.Call, opt *ResumeOptions, who *identity.Caller) (d done, err error) {
	d, before := doneBefore(c)
	if opt.Session != "" && !before {
		o, _, err := GoesOn(ctx, c, opt.Session, app.Reading)
		if err != nil {
			return d, err // before the halt is lifted
		}
		defer o.Close()
	}
	if !before || halt.Read().Halted {
		err = resumeHere(ctx, c, opt, &d, who)
	}
	return d, err
}

// LetGoOn ends a resume: it says which agents wait for their user, lets those go on that are to, and prints the result for programs. v has
// what the halt left, and the other machines. failed is what went wrong before.
func LetGoOn(ctx context.Context, c *kit.Call, opt *ResumeOptions, d *done, failed error, v *HaltView) error {
	if c.Under == kit.Tutti && opt.Session == "" && !halt.Read().Halted {
		v.Stopped = release(c, opt.Wake, d.Was.Halted)
	}
	if c.JSON {
		now := halt.Read()
		v.OK, v.Halted, v.Path, v.WasHalted = !now.Halted, now.Halted, now.Path, &d.Was.Halted
		v.because(d.Was)
		v.Watcher = d.Watcher
		c.Result(v)
	}
	if opt.Session != "" && !halt.Read().Halted {
		if err := letGoOn(ctx, c, opt.Session); err != nil {
			return err
		}
	}
	return failed
}

// resumeHere clears the switch of this machine, and says so.
func resumeHere(ctx context.Context, c *kit.Call, opt *ResumeOptions, d *done, who *identity.Caller) error {
	var err error
	d.Watcher = "left alone"
	if d.Was, err = halt.ClearBy(kit.LiftOf(who)); err != nil {
		return &kit.Fault{Code: kit.ExitUsage, Err: err}
	}
	if d.Was.Halted {
		kit.Announce(ctx, kit.LiftOf(who))
	}
	var watcherErr error
	d.Watcher, watcherErr = watcher(ctx, c, opt.NoStartWatcher, "start", "started", watchPath)
	if !c.JSON {
		resumed(c, opt, d.Was, d.Watcher, watcherErr)
	}
	return nil
}

// GoesOn finds the agent that --session names.
func GoesOn(ctx context.Context, c *kit.Call, name string, mode app.Mode) (*kit.Account, address.Instance, error) {
	if err := address.Check(name); err != nil {
		return nil, "", kit.Usagef("--session: %s", kit.Clean(err.Error()))
	}
	d, err := c.Counter(mode)
	if err != nil {
		return nil, "", err
	}
	who, err := d.Identity.Named(ctx, name)
	switch {
	case err != nil:
		err = fmt.Errorf("--session: %w", err)
	case !d.Ring.Has(who):
		err = kit.BadState(`"tutti keys list" shows the agents whose keys are here`, "--session: no agent of yours is called %s", kit.Clean(name))
	default:
		return d, who, nil
	}
	d.Close()
	return nil, "", err
}

// running tells whether --session names an agent that is live.
func running(ctx context.Context, c *kit.Call, name string) bool {
	d, who, err := GoesOn(ctx, c, name, app.Reading)
	if err != nil {
		_, unknown := errors.AsType[*identity.NameError](err)
		return !unknown // any other error is reported here
	}
	defer d.Close()
	live, err := d.Presence.Of(ctx, who, time.Now())
	return err == nil && len(live) > 0
}

// letGoOn records that the user lets one agent continue: it gets its mail again.
func letGoOn(ctx context.Context, c *kit.Call, name string) error {
	d, who, err := GoesOn(ctx, c, name, app.Writing)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Office.Engage(ctx, mail.Reader{Instance: who}); err != nil {
		return err
	}
	wakeOne(c, string(who.Canonical()))
	return nil
}

func resumed(c *kit.Call, opt *ResumeOptions, was halt.State, watcher string, watcherErr error) {
	if !was.Halted {
		c.Prose("✓ ", 2, "Nothing was halted: there is no "+halt.Shown)
	} else {
		text := "✓ HALT file removed: " + halt.Shown
		if !was.Since.IsZero() {
			text += " (set " + kit.Ago(time.Since(was.Since))
			if was.Reason != "" {
				text += ": " + kit.Clean(was.Reason)
			}
			text += ")"
		}
		c.Prose("", 0, text)
	}
	switch {
	case watcherErr != nil:
		c.Prose("⚠ ", 2, "Watcher service not started: "+kit.Clean(watcherErr.Error())+" (says systemctl; this matters only if you installed it)")
	case watcher == "started":
		c.Line("✓ Watcher service started (" + watchPath + ")")
	}
	if c.Under == kit.Tutti {
		if !was.Halted {
			return
		}
		text := "Sending and receiving work again."
		switch {
		case opt.Wake:
		case opt.Session != "":
			text += " No other agent goes on by itself."
		default:
			text += " No agent goes on by itself."
		}
		c.Prose("- ", 2, text)
		return
	}
	c.Prose("- ", 2, "Sending and receiving work again; the watcher picks up the messages that were held.")
	c.Prose("- ", 2, "Polling does NOT restart by itself: tell the agent of each session to go on.")
}

// watcher starts or stops the mail watcher, unless it is to be left alone, and says what became of it.
func watcher(ctx context.Context, c *kit.Call, leave bool, verb, done string, units ...string) (word string, err error) {
	switch {
	case c.Under == kit.Tutti && !watcherInstalled():
		return "not installed", nil
	case leave:
		return "left alone", nil
	}
	if err = systemctl(ctx, verb, units...); err != nil {
		return "not " + done + ": " + err.Error(), err
	}
	return done, nil
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
			first = errors.New(FirstLine(string(out), err.Error()))
		}
	}
	return first
}

// FirstLine returns the first line of s, or otherwise when there is none.
func FirstLine(s, otherwise string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if s == "" {
		return otherwise
	}
	return s
}
