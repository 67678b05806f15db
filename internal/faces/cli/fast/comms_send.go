package fast

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// deliveryOptions are the flags of every verb that sends a message to a project.
type deliveryOptions struct {
	From, Artifact                                string
	Retries                                       int
	Restamp, KeepTimestamp, LocalFallback, DryRun bool
}

type commsSendOptions struct {
	deliveryOptions
	Key, Resend                                string
	NoSign, NoEnvelope, QueueOnHalt, ResendAll bool
}

// runCommsSend delivers a draft, or what an earlier try has kept.
func runCommsSend(ctx context.Context, c *kit.Call, opt *commsSendOptions) error {
	retries, err := Retries(c, &opt.Retries)
	if err != nil {
		return err
	}
	switch {
	case opt.Resend != "" || opt.ResendAll:
		if len(c.Args) > 0 || opt.Resend != "" && opt.ResendAll {
			return kit.Usagef("send: --resend and --resend-all stand alone: what is sent and where is in the bundle")
		}
		return resendKept(ctx, c, opt.Resend, retries)
	case len(c.Args) < 2:
		return kit.UsageHint("usage: "+c.Usage(), "send: missing %s", c.Verb.Argument(len(c.Args)))
	case opt.Restamp && opt.KeepTimestamp:
		return kit.Usagef("send: either --restamp or --keep-timestamp")
	}
	l, o, err := commsLetter(c, opt, retries)
	if err != nil {
		return kit.GeneralFault(err)
	}
	s, err := o.Send(ctx, l)
	if err != nil {
		return commsUnsent(c, err)
	}
	showSent(c, s)
	return nil
}

// Retries is how often a delivery to another machine is tried again.
func Retries(c *kit.Call, flag *int) (int, error) {
	n := kit.Or(c, flag, exchange.DefaultRetries)
	if n > exchange.MaxRetries {
		return 0, kit.UsageHint("0 to 20", "--retries: %d is too many", n)
	}
	return n, nil
}

// commsLetter is what the command line says about a send.
func commsLetter(c *kit.Call, opt *commsSendOptions, retries int) (exchange.Draft, *exchange.Service, error) {
	o, set, err := c.CommsService()
	if err != nil {
		return exchange.Draft{}, nil, err
	}
	dir := c.App.WorkDir()
	sender, project, err := senderOf(c, o, set, opt.From)
	if err != nil {
		return exchange.Draft{}, nil, err
	}
	l := exchange.Draft{
		Destination: c.Arg(0), Path: c.Arg(1), Sender: sender, Project: project, Dir: dir,
		Key: opt.Key, NoSign: opt.NoSign, Restamp: opt.Restamp, KeepTimestamp: opt.KeepTimestamp,
		NoEnvelope: opt.NoEnvelope, Fallback: opt.LocalFallback, QueueOnHalt: opt.QueueOnHalt,
		Strict: c.Under == kit.Tutti, DryRun: opt.DryRun, Retries: retries, Artifact: artifactOf(c, opt.Artifact),
	}
	if l.Path == "-" {
		l.Path = ""
		l.Text, err = kit.ReadAll(c.In, "standard input")
		if l.Text == nil {
			l.Text = []byte{}
		}
	}
	return l, o, err
}

// artifactOf is the path of the file that goes along, "" when none does.
func artifactOf(c *kit.Call, path string) string {
	if path != "" {
		return kit.Absolute(c.App.WorkDir(), path)
	}
	return ""
}

// commsUnsent says why a message was not delivered, in the exit status of the command.
func commsUnsent(c *kit.Call, err error) error {
	var e *exchange.SendError
	if !errors.As(err, &e) {
		return kit.GeneralFault(err)
	}
	if c.JSON {
		c.Result(e.View())
	}
	hint := e.Hint()
	if kept := `"tutti comms retry ` + e.Bundle + `" sends it`; e.Bundle != "" && !strings.Contains(hint, kept) {
		hint = strings.TrimPrefix(hint+"\nthe message is kept; "+kept, "\n")
	}
	if e.Code == exchange.CodeInterrupted && e.Bundle != "" {
		c.Remark("%s", kit.Clean(hint)) // an interrupt is not reported otherwise
	}
	return &kit.Fault{Code: int(e.Fault), Err: e, Next: hint}
}

// sayAdvice says on standard error what there is to say about a message that was sent.
func sayAdvice(c *kit.Call, s *exchange.Sent) {
	for _, text := range s.WarningTexts {
		c.Warn("%s", kit.Clean(text))
	}
	for _, text := range s.Advice {
		c.Remark("%s", kit.Clean(text))
	}
}

// showSent prints the name of the message, and on standard error what there is to say about it.
func showSent(c *kit.Call, s *exchange.Sent) {
	sayAdvice(c, s)
	if c.JSON {
		c.Result(s.View())
		return
	}
	c.Line(kit.Clean(s.Name))
	where := s.Destination
	if s.Path != "" {
		where += " (" + c.App.Shown(s.Path) + ")"
	}
	switch {
	case s.DryRun:
		c.Remark("nothing was sent (--dry-run); it would go to %s", kit.Clean(s.Destination))
	case s.Already:
		c.Remark("already there, the same bytes: %s", kit.Clean(where))
	case s.Key == "":
		c.Remark("delivered without a signature, so that its receiver refuses it: %s", kit.Clean(where))
	default:
		c.Remark("delivered to %s", kit.Clean(where))
	}
}

// resendKept delivers one bundle, or with an empty name all of them.
func resendKept(ctx context.Context, c *kit.Call, id string, retries int) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	if id != "" {
		s, err := o.Resend(ctx, id, retries)
		if err != nil {
			return commsUnsent(c, err)
		}
		showSent(c, s)
		return nil
	}
	done := []resentView{}
	n := 0
	var stopped *exchange.SendError
	worst := o.ResendAll(ctx, retries, func(id string, s *exchange.Sent, err error) {
		n++
		if e := (*exchange.SendError)(nil); errors.As(err, &e) && e.Fault == exchange.Halted {
			stopped = e // it is said last, with the line by which it is known
			if !c.JSON {
				return
			}
		}
		resent(c, &done, id, s, err)
	})
	if c.JSON {
		c.Result(done)
	} else if n == 0 {
		c.Line("no message waits to be sent again")
	}
	if stopped != nil {
		return &kit.Fault{Code: int(stopped.Fault), Err: stopped, Next: stopped.Hint()}
	}
	if worst != 0 {
		return &kit.Fault{Code: int(worst)}
	}
	return nil
}

// A resentView is what became of one message that was sent again.
type resentView struct {
	Bundle string             `json:"bundle"`
	Sent   *exchange.SentView `json:"sent,omitempty"`
	Failed any                `json:"failed,omitempty"` // a result as of comms send, or why in words
}

// resent tells what became of one bundle of many.
func resent(c *kit.Call, done *[]resentView, id string, s *exchange.Sent, err error) {
	var e *exchange.SendError
	errors.As(err, &e)
	if c.JSON {
		v := resentView{Bundle: id}
		switch {
		case err == nil:
			sent := s.View()
			v.Sent = &sent
		case e != nil:
			v.Failed = e.View()
		default:
			v.Failed = err.Error()
		}
		*done = append(*done, v)
		return
	}
	if err != nil {
		c.Warn("%s: %s", kit.Clean(id), kit.Clean(err.Error()))
		return
	}
	showSent(c, s)
}

// RetryOptions are the flags of comms retry.
type RetryOptions struct {
	Retries   int
	All, Drop bool
}

// RetryResults are what comms retry prints with --json: the list, each message sent again with --all, one, or one given up.
var RetryResults = render.OneOf{[]keptView{}, []resentView{}, exchange.SentView{}, exchange.SendErrorView{}, droppedView{}}

// RunCommsRetry lists what was not delivered, or sends it again.
func RunCommsRetry(ctx context.Context, c *kit.Call, opt *RetryOptions) error {
	retries, err := Retries(c, &opt.Retries)
	switch {
	case err != nil:
		return err
	case opt.All && (c.Arg(0) != "" || opt.Drop):
		return kit.Usagef("retry: either a bundle or --all, and --drop with a bundle")
	case opt.Drop && c.Arg(0) == "":
		return kit.UsageHint("tutti comms retry lists what is kept", "retry: --drop gives up one message: name it")
	case opt.Drop:
		return giveUp(ctx, c)
	case opt.All || c.Arg(0) != "":
		return resendKept(ctx, c, c.Arg(0), retries)
	}
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	bundles, bad := o.Bundles()
	for _, e := range bad {
		c.Warn("%s", kit.Clean(e.Error()))
	}
	if c.JSON {
		c.Result(render.Each(bundles, func(b exchange.Bundle) keptView { return keptView{b.ID, b.View()} }))
		return nil
	}
	if len(bundles) == 0 {
		c.Line("no message waits to be sent again")
		return nil
	}
	for _, b := range bundles {
		c.Line(kit.Clean(b.ID))
		c.Prose("  ", 2, "to "+kit.Clean(b.Destination)+", "+causeWords(&b))
	}
	c.Line("")
	c.Line("tutti comms retry " + app.QuoteArg(kit.Clean(bundles[0].ID)) + "   # or --all")
	c.Line("tutti comms retry " + app.QuoteArg(kit.Clean(bundles[0].ID)) + " --drop   # gives it up")
	return nil
}

// A keptView is a message that was not delivered yet.
type keptView struct {
	Bundle string              `json:"bundle"` // its name, for tutti comms retry
	Send   exchange.BundleView `json:"send"`
}

// A droppedView is what retry --drop prints with --json.
type droppedView struct {
	Bundle      string `json:"bundle"`
	Destination string `json:"destination"`
	Dropped     bool   `json:"dropped"`
}

// giveUp removes one message that is kept.
func giveUp(ctx context.Context, c *kit.Call) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	b, err := o.GiveUp(ctx, c.Arg(0))
	switch {
	case err != nil:
		return commsUnsent(c, err)
	case c.JSON:
		c.Result(droppedView{b.ID, b.Destination, true})
	default:
		c.Line("given up: " + kit.Clean(b.ID) + ", to " + kit.Clean(b.Destination))
	}
	return nil
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
	switch {
	case b.Tries == 1:
		text += ", after 1 try"
	case b.Tries > 1:
		text += ", after " + strconv.Itoa(b.Tries) + " tries"
	}
	if b.LastError != "" {
		text += ": " + kit.Clean(b.LastError)
	}
	return text
}
