package cli

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/canonjson"
)

// runCommsSend delivers a draft, or what an earlier try has kept.
func runCommsSend(ctx context.Context, c *Call) error {
	retries, err := c.retries()
	if err != nil {
		return err
	}
	switch again := c.text("resend"); {
	case again != "" || c.on("resend-all"):
		if len(c.Args) > 0 || again != "" && c.on("resend-all") {
			return usagef("send: --resend and --resend-all stand alone: what is sent and where is in the bundle")
		}
		return resendKept(ctx, c, again, retries)
	case len(c.Args) < 2:
		return usageHint("usage: "+c.usage(), "send: something is missing: %s", c.Verb.argument(len(c.Args)))
	case c.on("restamp") && c.on("keep-timestamp"):
		return usagef("send: either --restamp or --keep-timestamp")
	}
	l, o, err := c.commsLetter(retries)
	if err != nil {
		return generalFault(err)
	}
	s, err := o.Send(ctx, l)
	if err != nil {
		return c.commsUnsent(err)
	}
	c.showSent(s)
	return nil
}

// retries is how often a delivery to another machine is tried again.
func (c *Call) retries() (int, error) {
	n := c.count("retries", exchange.DefaultRetries)
	if n > exchange.MaxRetries {
		return 0, usageHint("0 to 20", "--retries: %d is too many", n)
	}
	return n, nil
}

// commsLetter is what the command line says about a send.
func (c *Call) commsLetter(retries int) (exchange.Draft, *exchange.Service, error) {
	o, set, err := c.office()
	if err != nil {
		return exchange.Draft{}, nil, err
	}
	dir := c.App.WorkDir()
	sender, project, err := o.Sender(c.text("from"), os.Getenv("CROSS_AGENT_FROM"), dir, set.Sender)
	if err != nil {
		return exchange.Draft{}, nil, err
	}
	l := exchange.Draft{
		Destination: c.arg(0), Path: c.arg(1), Sender: sender, Project: project, Dir: dir,
		Key: c.text("key"), NoSign: c.on("no-sign"), Restamp: c.on("restamp"), KeepTimestamp: c.on("keep-timestamp"),
		NoEnvelope: c.on("no-envelope"), Fallback: c.on("local-fallback"), QueueOnHalt: c.on("queue-on-halt"),
		DryRun: c.on("dry-run"), Retries: retries,
	}
	if l.Path == "-" {
		l.Path = ""
		l.Text, err = readAll(c.In, "standard input")
		if l.Text == nil {
			l.Text = []byte{}
		}
	}
	return l, o, err
}

// commsUnsent says why a message was not delivered, in the exit status of the command.
func (c *Call) commsUnsent(err error) error {
	var e *exchange.SendError
	if !errors.As(err, &e) {
		return generalFault(err)
	}
	if c.json {
		c.emit(e.JSON())
	}
	hint := e.Hint()
	if kept := `"tutti comms retry ` + e.Bundle + `" sends it`; e.Bundle != "" && !strings.Contains(hint, kept) {
		hint = strings.TrimPrefix(hint+"\nthe message is kept; "+kept, "\n")
	}
	if e.Code == exchange.CodeInterrupted && e.Bundle != "" {
		c.remark("%s", Clean(hint)) // an interrupt is not reported otherwise
	}
	return &fault{code: int(e.Fault), err: e, hint: hint}
}

// showSent prints the name of the message, and on standard error what there is to say about it.
func (c *Call) showSent(s *exchange.Sent) {
	for _, text := range s.WarningTexts {
		c.warn("%s", Clean(text))
	}
	for _, text := range s.Advice {
		c.remark("%s", Clean(text))
	}
	if c.json {
		c.emit(s.JSON())
		return
	}
	c.line(Clean(s.Name))
	where := s.Destination
	if s.Path != "" {
		where += " (" + c.App.Shown(s.Path) + ")"
	}
	switch {
	case s.DryRun:
		c.remark("nothing was sent (--dry-run); it would go to %s", Clean(s.Destination))
	case s.Already:
		c.remark("already there, the same bytes: %s", Clean(where))
	case s.Key == "":
		c.remark("delivered without a signature, so that its receiver refuses it: %s", Clean(where))
	default:
		c.remark("delivered to %s", Clean(where))
	}
}

// resend delivers one bundle, or with an empty name all of them.
func resendKept(ctx context.Context, c *Call, id string, retries int) error {
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	if id != "" {
		s, err := o.Resend(ctx, id, retries)
		if err != nil {
			return c.commsUnsent(err)
		}
		c.showSent(s)
		return nil
	}
	var done list
	n := 0
	var stopped *exchange.SendError
	worst := o.ResendAll(ctx, retries, func(id string, s *exchange.Sent, err error) {
		n++
		if e := (*exchange.SendError)(nil); errors.As(err, &e) && e.Fault == exchange.Halted {
			stopped = e // it is said last, with the line by which it is known
			if !c.json {
				return
			}
		}
		c.resent(&done, id, s, err)
	})
	if c.json {
		c.emit(done.bytes())
	} else if n == 0 {
		c.nothing("no message waits to be sent again")
	}
	if stopped != nil {
		return &fault{code: int(stopped.Fault), err: stopped, hint: stopped.Hint()}
	}
	if worst != 0 {
		return &fault{code: int(worst)}
	}
	return nil
}

// resent tells what became of one bundle of many.
func (c *Call) resent(done *list, id string, s *exchange.Sent, err error) {
	var e *exchange.SendError
	errors.As(err, &e)
	if c.json {
		var o canonjson.Object
		o.Str("bundle", id)
		switch {
		case err == nil:
			o.Raw("sent", s.JSON())
		case e != nil:
			o.Raw("failed", e.JSON())
		default:
			o.Str("failed", err.Error())
		}
		done.obj(&o)
		return
	}
	if err != nil {
		c.warn("%s: %s", Clean(id), Clean(err.Error()))
		return
	}
	c.showSent(s)
}

// runCommsRetry lists what was not delivered, or sends it again.
func runCommsRetry(ctx context.Context, c *Call) error {
	retries, err := c.retries()
	switch {
	case err != nil:
		return err
	case c.on("all") && c.arg(0) != "":
		return usagef("retry: either a bundle or --all")
	case c.on("all") || c.arg(0) != "":
		return resendKept(ctx, c, c.arg(0), retries)
	}
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	bundles, bad := o.Bundles()
	for _, e := range bad {
		c.warn("%s", Clean(e.Error()))
	}
	if c.json {
		var l list
		for _, b := range bundles {
			l.raw(bundleJSON(&b))
		}
		c.emit(l.bytes())
		return nil
	}
	if len(bundles) == 0 {
		c.nothing("no message waits to be sent again")
		return nil
	}
	for _, b := range bundles {
		c.line(Clean(b.ID))
		c.prose("  ", 2, "to "+Clean(b.Destination)+", "+causeWords(&b))
	}
	c.line("")
	c.line("tutti comms retry " + app.QuoteArg(Clean(bundles[0].ID)) + "   # or --all")
	c.line("given up by removing its folder below " + Clean(c.App.Shown(o.StatePath("failed-sends"))))
	return nil
}

func bundleJSON(b *exchange.Bundle) []byte {
	var o canonjson.Object
	o.Str("bundle", b.ID)
	o.Raw("send", b.JSON())
	return o.Bytes()
}

func triesWords(n int) string {
	if n == 1 {
		return "1 try"
	}
	return strconv.Itoa(n) + " tries"
}

// causeWords says why a message is kept.
func causeWords(b *exchange.Bundle) string {
	text := "kept: "
	switch b.Cause {
	case exchange.CauseHalted:
		text += "the halt switch was on"
	case exchange.CauseUnreachable:
		text += "not reached"
	case exchange.CauseRefused:
		text += "refused there"
	case exchange.CauseInterrupted:
		text += "interrupted"
	default:
		text += "its delivery was cut off"
	}
	if b.Tries > 0 {
		text += ", after " + triesWords(b.Tries)
	}
	if b.LastError != "" {
		text += ": " + Clean(b.LastError)
	}
	return text
}
