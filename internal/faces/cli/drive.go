package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/remoting"
	"tutti/internal/halt"
)

func runDrive(ctx context.Context, c *Call) error {
	to, text := c.arg(0), c.arg(1)
	if c.under == H2A {
		if to, text = c.value("to"), c.value("instruction"); to == "" || text == "" {
			return c.missing(map[bool]string{true: "to", false: "instruction"}[to == ""])
		}
	}
	if to == "" || text == "" {
		return usageHint("usage: "+c.usage(), "drive: whom, and to do what?")
	}
	if err := address.Check(to); err != nil {
		return usagef("%s", Clean(err.Error()))
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	o := app.Order{
		To: address.Instance(to), Instruction: text, Way: cmp.Or(c.value("driver"), "auto"), Host: c.value("host"), Nonce: c.value("nonce"), At: c.value("at"),
		Environ: os.Environ(), Tell: func(line string) { c.remark("%s", Clean(line)) },
	}
	if c.under == Tutti { // a label serves as for other verbs
		if o.To, err = w.Identity.Meant(ctx, o.To); err != nil {
			return err
		}
	}
	if o.From, o.Key, err = c.signer(ctx, w, "from"); err != nil {
		return err
	}
	done, reason, err := remoting.Drive(ctx, w, o)
	switch {
	case err != nil:
		return err
	case reason != "":
		who := o.To
		if _, err := w.Registry.Registered(ctx, who); err == nil {
			who = o.From
		}
		return badState(driveHint(reason), "%s", driveText(reason, o.From, o.To, who))
	}
	c.showDriven(&o, &done)
	if done.Err == nil {
		return nil
	}
	return &fault{code: exitState, err: done.Err, hint: hintOf(done.Err)}
}

func (c *Call) showDriven(o *app.Order, done *app.Driven) {
	if !c.json {
		if done.Err == nil {
			c.line("given to " + Clean(string(o.To)) + " by " + done.Way)
		} else if done.Way == "logging" {
			c.line(Clean(done.Line))
		}
		return
	}
	var j canonjson.Object
	j.Bool("ok", true)
	j.Str("from", string(o.From))
	j.Str("to", string(o.To))
	j.Str("driver", cmp.Or(done.Way, o.Way))
	j.Bool("driven", done.Err == nil)
	j.Str("instructionLine", done.Line)
	c.emit(j.Bytes())
}

// driveText is a reason for people; programs look for the word. unknown is who of both is not registered, where that is the reason.
func driveText(reason string, from, to, unknown address.Instance) string {
	switch reason {
	case "unauthorized":
		return "unauthorized: " + Clean(string(from)) + " may not give instructions to " + Clean(string(to))
	case "missing-registration":
		return "missing-registration: " + Clean(string(unknown)) + " is not registered here"
	}
	return reason
}

func driveHint(reason string) string {
	switch reason {
	case "unauthorized":
		return "the registration of the agent names who conducts it; tutti send asks it instead of telling it"
	case "missing-registration":
		return "tutti discover --all lists who is registered"
	}
	return ""
}

func runDriveReceive(ctx context.Context, c *Call) error {
	to := c.value("to")
	if to == "" {
		return c.missing("to")
	}
	if err := address.Check(to); err != nil {
		return usagef("--to: %s", Clean(err.Error()))
	}
	now := time.Now()
	if text := c.value("now"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return usagef("--now %s: a number of milliseconds is meant", Clean(text))
		}
		now = time.UnixMilli(ms)
	}
	in := []byte(c.value("line"))
	if c.on("stdin") {
		var err error
		if in, err = c.body("-"); err != nil {
			return err
		}
	} else if len(in) == 0 && !c.isSet("line") {
		return c.missing("line")
	}
	line, is, hook := remoting.Heard(in)
	if !is && c.on("ignore-non-drive") {
		c.ignored(hook)
		return nil
	}
	err := c.received(ctx, line, address.Instance(to), now)
	if hook && err != nil && exitCode(err, c.under) != exitState {
		return &fault{code: exitState, err: err, hint: hintOf(err)} // to a hook every other status means that the prompt may go on
	}
	return err
}

// ignored says that a text is no instruction, but not to a hook: what that prints goes before the model at each prompt.
func (c *Call) ignored(hook bool) {
	if hook || !c.json {
		return
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Bool("ignored", true)
	o.Str("reason", "non-drive")
	c.emit(o.Bytes())
}

// received lets a line through, or not. While the halt switch is on no instruction is.
func (c *Call) received(ctx context.Context, line string, to address.Instance, now time.Time) error {
	if err := halt.Check("let an instruction through"); err != nil {
		return badState(hintOf(err), "%s", Clean(err.Error())) // the status of a halt would let a hook go on
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	i, reason, err := remoting.Receive(ctx, w, line, to, now)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return failIO("", err, "drive receive")
	}
	if reason != "" {
		return badState("", "%s", reason)
	}
	if !c.json {
		c.line("from " + Clean(string(i.From)) + ": " + Clean(i.Text))
		return nil
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("from", string(i.From))
	o.Str("to", string(i.To))
	o.Str("instruction", i.Text)
	c.emit(o.Bytes())
	return nil
}

func runDriveServe(ctx context.Context, c *Call) error {
	e, err := c.endpoint(8788, "/h2a/drive")
	if err != nil {
		return err
	}
	if e.To = address.Instance(c.value("to")); e.To == "" {
		return c.missing("to")
	}
	if err := address.Check(string(e.To)); err != nil {
		return usagef("--to: %s", Clean(err.Error()))
	}
	if e.Command = c.value("inject-command"); e.Command == "" {
		return c.missing("inject-command")
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return c.served(ctx, w, e, remoting.ServeDrive)
}
