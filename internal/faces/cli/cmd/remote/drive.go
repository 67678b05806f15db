package remote

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

type driveOptions struct {
	From, To, Instruction, PrivateKey, Driver, Host, Nonce, At string
}

func runDrive(ctx context.Context, c *kit.Call, opt *driveOptions) error {
	to, text := c.Arg(0), c.Arg(1)
	if c.Under == kit.H2A {
		if err := c.Requires(&opt.To, &opt.Instruction); err != nil {
			return err
		}
		to, text = opt.To, opt.Instruction
	}
	if to == "" || text == "" {
		return kit.UsageHint("usage: "+c.Usage(), "drive: missing agent or instruction")
	}
	if err := address.Check(to); err != nil {
		return kit.Usagef("%s", kit.Clean(err.Error()))
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	o := Order{
		To: address.Instance(to), Instruction: text, Way: cmp.Or(opt.Driver, "auto"), Host: opt.Host, Nonce: opt.Nonce, At: opt.At,
		Specified: c.Under == kit.H2A, Environ: os.Environ(), Tell: func(line string) { c.Remark("%s", kit.Clean(line)) },
	}
	if c.Under == kit.Tutti { // a label serves as for other verbs
		if o.To, err = w.Identity.Meant(ctx, o.To); err != nil {
			return err
		}
	}
	if o.From, o.Key, err = Signer(ctx, c, w, &opt.From, &opt.PrivateKey); err != nil {
		return err
	}
	done, reason, err := Drive(ctx, w, o)
	switch {
	case err != nil:
		return err
	case reason != "":
		who := o.To
		if _, err := w.Registry.Registered(ctx, who); err == nil {
			who = o.From
		}
		return kit.BadState(driveHint(reason, o.From), "%s", driveText(reason, o.From, o.To, who))
	}
	showDriven(c, &o, &done)
	if done.Err == nil {
		return nil
	}
	return &kit.Fault{Code: kit.ExitState, Err: done.Err, Next: kit.HintOf(done.Err)}
}

// A driven is an instruction that was signed.
type driven struct {
	OK     bool             `json:"ok"`
	From   address.Instance `json:"from"`            // the agent that gives it
	To     address.Instance `json:"to"`              // the agent that it is for
	Driver string           `json:"driver"`          // the way that it took
	Driven bool             `json:"driven"`          // it got there
	Line   string           `json:"instructionLine"` // as it is typed
}

// An ignoredText is a text that is not an instruction.
type ignoredText struct {
	OK      bool   `json:"ok"`
	Ignored bool   `json:"ignored"` // true
	Reason  string `json:"reason"`  // "non-drive"
}

// An instruction is one that was let through.
type instruction struct {
	OK   bool             `json:"ok"`
	From address.Instance `json:"from"`        // the agent that gave it
	To   address.Instance `json:"to"`          // the agent that it is for
	Text string           `json:"instruction"` // the task
}

func showDriven(c *kit.Call, o *Order, done *Driven) {
	if !c.JSON {
		if done.Err == nil {
			c.Line("given to " + kit.Name(o.To) + " by " + done.Way)
		} else if done.Way == "logging" {
			c.Line(kit.Clean(done.Line))
		}
		return
	}
	c.Result(driven{true, o.From, o.To, cmp.Or(done.Way, o.Way), done.Err == nil, done.Line})
}

// driveText is a reason for people; programs look for the word. unknown is who of both is not registered, where that is the reason.
func driveText(reason string, from, to, unknown address.Instance) string {
	switch reason {
	case "unauthorized":
		return "unauthorized: " + kit.Name(from) + " may not give instructions to " + kit.Name(to)
	case "new-key":
		return "new-key: you have not confirmed this key as that of " + kit.Name(from)
	case "key-changed":
		return "key-changed: another key of " + kit.Name(from) + " is pinned here"
	case "missing-registration":
		return "missing-registration: " + kit.Name(unknown) + " is not registered here"
	}
	return reason
}

func driveHint(reason string, from address.Instance) string {
	switch reason {
	case "new-key", "key-changed":
		return "in a terminal of yours, outside of any agent: tutti keys trust " + kit.Clean(app.QuoteArg(string(from)))
	case "unauthorized":
		return "the registration of the agent names who conducts it, and a role counts from a registration that you have accepted (tutti keys trust); " +
			"tutti send asks the agent instead of telling it"
	case "missing-registration":
		return "tutti discover --all lists who is registered"
	}
	return ""
}

type driveReceiveOptions struct {
	To, Line, Now         string
	Stdin, IgnoreNonDrive bool
}

func runDriveReceive(ctx context.Context, c *kit.Call, opt *driveReceiveOptions) error {
	to := opt.To
	if to == "" {
		return c.Missing(&opt.To)
	}
	if err := address.Check(to); err != nil {
		return kit.Usagef("--to: %s", kit.Clean(err.Error()))
	}
	now := time.Now()
	if text := opt.Now; text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return kit.Usagef("--now %s: must be a number of milliseconds", kit.Clean(text))
		}
		now = time.UnixMilli(ms)
	}
	in := []byte(opt.Line)
	if opt.Stdin {
		var err error
		if in, err = c.Body("-"); err != nil {
			return err
		}
	} else if len(in) == 0 && !c.IsSet(&opt.Line) {
		return c.Missing(&opt.Line)
	}
	line, is, hook := Heard(in, c.Under == kit.Tutti)
	if !is && opt.IgnoreNonDrive {
		ignored(c, hook)
		return nil
	}
	err := received(ctx, c, line, address.Instance(to), now)
	if hook && err != nil && kit.ExitCode(err, c.Under) != kit.ExitState {
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: kit.HintOf(err)} // to a hook every other status means that the prompt may go on
	}
	return err
}

// ignored reports a text that is not an instruction, but not to a hook: what that prints goes before the model at each prompt.
func ignored(c *kit.Call, hook bool) {
	if hook || !c.JSON {
		return
	}
	c.Result(ignoredText{true, true, "non-drive"})
}

// received lets a line through, or not. While the halt switch is on no instruction is.
func received(ctx context.Context, c *kit.Call, line string, to address.Instance, now time.Time) error {
	if err := halt.Check("let an instruction through"); err != nil {
		return kit.BadState(kit.HintOf(err), "%s", kit.Clean(err.Error())) // the status of a halt would let a hook go on
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	i, reason, err := Receive(ctx, w, line, to, c.Under == kit.H2A, now)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return kit.FailIO("", err, "drive receive")
	}
	if reason != "" {
		hint := ""
		if c.Under == kit.Tutti {
			hint = driveHint(reason, address.Instance(i.From))
		}
		return kit.BadState(hint, "%s", reason)
	}
	if !c.JSON {
		c.Line("from " + kit.Name(address.Instance(i.From)) + ": " + kit.Clean(i.Text))
		return nil
	}
	c.Result(instruction{true, address.Instance(i.From), address.Instance(i.To), i.Text})
	return nil
}

type driveServeOptions struct {
	serveOptions
	To, InjectCommand string
}

func runDriveServe(ctx context.Context, c *kit.Call, opt *driveServeOptions) error {
	e, err := endpoint(c, &opt.serveOptions, 8788, "/h2a/drive")
	if err != nil {
		return err
	}
	e.Specified = c.Under == kit.H2A
	if e.To = address.Instance(opt.To); e.To == "" {
		return c.Missing(&opt.To)
	}
	if err := address.Check(string(e.To)); err != nil {
		return kit.Usagef("--to: %s", kit.Clean(err.Error()))
	}
	if e.Command = opt.InjectCommand; e.Command == "" {
		return c.Missing(&opt.InjectCommand)
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return served(ctx, c, w, e, ServeDrive)
}
