package fast

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/members"
	"tutti/internal/comms/draft"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// projectOptions are the flags of send that say something about a message to a project.
type projectOptions struct {
	deliveryOptions
	Type, Conversation, Title, ReleaseStatus, Response string
	Sequence                                           int
}

// runSendProject delivers a draft to another project, or makes one of a text.
func runSendProject(ctx context.Context, c *kit.Call, opt *sendOptions) error {
	to := c.Args[0]
	switch {
	case len(c.Args) < 2:
		return kit.UsageHint("put a text behind it, in quotes, or the file of a draft: @FILE; - reads standard input", "send: missing text")
	case opt.Restamp && opt.KeepTimestamp:
		return kit.Usagef("send: either --restamp or --keep-timestamp")
	}
	retries, err := Retries(c, &opt.Retries)
	if err != nil {
		return err
	}
	data, err := c.Content(ctx, c.Args[1])
	if err != nil {
		return err
	}
	said := string(data)
	if strings.TrimSpace(said) == "" {
		return kit.Usagef("the text is empty")
	}
	o, set, err := c.CommsService()
	if err != nil {
		return err
	}
	dir := c.App.WorkDir()
	sender, project, err := senderOf(c, o, set, opt.From)
	if err != nil {
		return err
	}
	l := exchange.Draft{
		Destination: to, Text: []byte(said), Sender: sender, Project: project, Dir: dir, Retries: retries,
		Restamp: opt.Restamp, KeepTimestamp: opt.KeepTimestamp, Fallback: opt.LocalFallback, DryRun: opt.DryRun, Strict: true,
		Artifact: artifactOf(c, opt.Artifact),
	}
	if draft.Is(said) {
		for _, flag := range opt.sketched() {
			if c.IsSet(flag) {
				return kit.Usagef("send: the text has a header of its own; --%s is for a text without one", c.FlagName(flag))
			}
		}
	} else {
		// Where it goes is looked at first: what is missing in a draft matters only if the recipient exists.
		if err := leadsTo(c, o, to, l.Fallback); err != nil {
			return projectRefused(c, to, err)
		}
		s, err := sketchOf(c, opt, o, &l).Send(ctx, l)
		return projectSaid(c, to, s, sketchFault(c, opt, err))
	}
	s, err := o.Send(ctx, l)
	return projectSaid(c, to, s, err)
}

// projectSaid says what became of a message to a project.
func projectSaid(c *kit.Call, to string, s *exchange.Sent, err error) error {
	var f *kit.Fault
	if errors.As(err, &f) {
		return err // the text is not a message yet
	}
	if err != nil {
		return projectRefused(c, to, err)
	}
	projectReceipt(c, s)
	return nil
}

// leadsTo tells whether an address leads somewhere, as far as that is known on this machine.
func leadsTo(c *kit.Call, o *exchange.Service, to string, fallback bool) error {
	peers, broken := machines.ReadPeers(o.PeersPath())
	w, err := machines.Resolve(to, machines.Local{Hostname: o.Host}, peers, fallback || o.Fallback)
	switch {
	case err != nil && broken != nil:
		return broken
	case err != nil:
		return err
	case w.Local:
		_, err = o.Project(w.Project)
	}
	return err
}

// projectReceipt says what became of a message to a project, in the words and members of that to an agent. Whether anybody there is live is
// not known, so that it is deposited.
func projectReceipt(c *kit.Call, s *exchange.Sent) {
	sayAdvice(c, s)
	outcome := mail.Deposited
	if s.Already {
		outcome = mail.Already
	}
	if c.JSON {
		v := projectView{
			OK: true, ID: s.Name, Thread: s.Message.Conversation, To: s.Destination, Outcome: string(outcome), Signed: s.Key != "", Project: s.View(),
		}
		if s.DryRun {
			v.Outcome = "dry run"
		} else if !s.Already {
			v.Stored = envelope.Stamp(time.Now())
		}
		c.Result(v)
		return
	}
	to := kit.Clean(s.Destination)
	switch {
	case s.DryRun:
		c.Prose("", 0, "nothing was sent (--dry-run); it would go to the mailbox of "+to)
	case s.Already:
		c.Prose("", 0, "already delivered to "+to+": the same message is there")
	default:
		c.Prose("", 0, "stored in the mailbox of "+to+", for the agents of that project")
	}
	c.Line("  id " + kit.Clean(s.Name) + " · thread " + kit.Clean(s.Message.Conversation))
	what := string(s.Message.Type) + " at sequence " + strconv.Itoa(s.Message.Sequence)
	if s.Path != "" {
		what += " · " + kit.Clean(c.App.Shown(s.Path))
	}
	c.Line("  " + what)
}

// projectRefused is the error of a message that was not delivered, with what the address was taken for, the names that are near, and the
// exit status that send has for such a thing.
func projectRefused(c *kit.Call, to string, err error) error {
	var halted *halt.Error
	if errors.As(err, &halted) {
		return err
	}
	var sent *exchange.SendError
	f := &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
	if errors.As(err, &sent) && sent.Fault == exchange.NotDelivered {
		f.Code = kit.ExitIO
	}
	if near := nearProjects(to, err); len(near) > 0 {
		f.Next = kit.DidYouMean(near, "tutti send ")
	}
	if address := (*machines.AddressError)(nil); errors.As(err, &address) {
		f.Next = strings.TrimPrefix(f.Next+"\n"+to+" was taken for a project on a machine, because it has a dot and no colon; an agent is HOST:LABEL", "\n")
	}
	if c.JSON {
		v := projectRefusedView{To: to, Outcome: mail.Refused, Reason: err.Error(), Hint: f.Next}
		if sent != nil {
			v.ReasonCode, v.Bundle = sent.Code, sent.Bundle
		}
		c.Result(v)
	}
	return f
}

// nearProjects are addresses that may have been meant.
func nearProjects(to string, err error) (near []string) {
	host, project, _ := strings.Cut(to, ".")
	var address *machines.AddressError
	var none *exchange.NoProjectError
	switch {
	case errors.As(err, &address):
		for _, name := range address.Near {
			near = append(near, name+"."+project)
		}
	case errors.As(err, &none):
		for _, name := range none.Near {
			near = append(near, host+"."+name)
		}
	}
	return near
}

// projectHint says of an address that is neither what the two kinds look like, and names the project of this machine that has that name.
func projectHint(c *kit.Call, to string) string {
	if c.Under != kit.Tutti || members.AddresseeOf(to) != members.BareAddress {
		return ""
	}
	s := "it was taken for an agent; an agent is HOST:LABEL, a project MACHINE.PROJECT"
	o, _, err := c.App.CommsService()
	if err != nil {
		return s
	}
	if all, err := o.Projects(); err == nil && slices.ContainsFunc(all, func(p exchange.Project) bool { return p.Name == to && machines.ValidProject(to) }) {
		s += "\ndid you mean tutti send local." + app.QuoteArg(to) + "?"
	}
	return s
}
