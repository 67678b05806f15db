package fast

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/follow"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// errSeen ends a watch that was to see one thing.
var errSeen = errors.New("seen")

// maxShown is the width of the first line of a message where no terminal sets one.
const maxShown = 400

type watchOptions struct {
	All, Once bool
	Instance  string
}

func runWatch(ctx context.Context, c *kit.Call, opt *watchOptions) error {
	if opt.All && opt.Instance != "" {
		return kit.Usagef("watch: either --all or --instance, not both")
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()

	office := mail.Service{Mail: w.Mail, Registry: w.Registry, Pins: w.Pins}
	o := follow.Options{Store: w.Store, Judge: office.JudgeIn, Switch: follow.Switch{Read: halt.Settled}}
	whose := "all agents"
	if !opt.All {
		if whose, o.Mailboxes, err = mailboxes(ctx, c, w, opt.Instance); err != nil {
			return err
		}
		o.Judge = func(ctx context.Context, _ string, e *envelope.Envelope) (trust.Verdict, error) {
			return office.Judge(ctx, address.Instance(whose), e)
		}
	}
	look, stop := c.App.HaltLook()
	defer stop()
	o.Switch.Look = look
	err = follow.New(o).Run(ctx, func(e follow.Event) error { return watched(c, opt, &e, whose) })
	if errors.Is(err, errSeen) {
		return nil
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// mailboxes finds out whose mail is watched, and returns what lists the folders that contain it.
func mailboxes(ctx context.Context, c *kit.Call, w *app.World, of string) (whose string, list func(context.Context) ([]string, error), err error) {
	reader, err := w.Identity.Reader(ctx, kit.FactsOf(c.App), identity.Ask{Instance: of, Peek: true}, time.Now())
	if unknown, ok := errors.AsType[*identity.UnknownError](err); ok {
		return "", nil, kit.BadState(unknown.Hint()+"\ntutti watch --all   # watches everybody's", "watch: %s", unknown.Error())
	}
	if err != nil {
		return "", nil, kit.WithFlag(err, "--instance")
	}
	if err := c.KnownSpeaker(ctx, w, reader); err != nil {
		return "", nil, err
	}
	return string(reader.Instance), func(ctx context.Context) ([]string, error) {
		sources, err := w.Mail.Sources(ctx, reader.Instance)
		owners := make([]string, 0, len(sources))
		for _, s := range sources {
			owners = append(owners, s.Owner)
		}
		return owners, err
	}, nil
}

// watched prints an event at once. Ctrl-C between two of them loses none that was printed.
func watched(c *kit.Call, opt *watchOptions, e *follow.Event, whose string) error {
	switch {
	case c.JSON:
		c.ResultLine(viewEvent(e))
	case e.Kind == follow.Watching:
		if e.Polled {
			c.Warn("the system grants no watcher: looking once a second")
		}
		c.Remark("watching the mail of %s, and who comes and goes", kit.Clean(whose))
	case e.Kind == follow.Unfit:
		c.Warn("%s", kit.Clean(e.Err.Error()))
	default:
		sayEvent(c, e, opt.All)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	if opt.Once && (e.Kind == follow.Mail || e.Kind == follow.Joined || e.Kind == follow.Left) {
		return errSeen
	}
	return nil
}

// sayEvent prints an event for people. On a terminal the text of a message that does not fit behind the rest has a line of its
// own, cut at the edge; the rest is never cut, because the worth of the signature stands last in it.
func sayEvent(c *kit.Call, e *follow.Event, all bool) {
	const stamp = "15:04:05 "
	line, text := e.At.Local().Format(stamp)+eventLine(c, e, all), ""
	if e.Kind == follow.Mail {
		line, text = line+":", firstOf(e.Message.Text())
	}
	switch {
	case text == "":
		c.Line(line)
	case c.Columns > 0 && kit.Width(line)+1+kit.Width(text) > c.Columns:
		c.Line(line)
		c.Line(kit.Truncate(strings.Repeat(" ", len(stamp))+text, c.Columns))
	default:
		c.Line(line + " " + text)
	}
}

// eventLine writes an event but for the text of a message. All that comes from others is cleaned.
func eventLine(c *kit.Call, e *follow.Event, all bool) string {
	switch e.Kind {
	case follow.Mail:
		m := e.Message
		line := "mail " + kit.Clean(m.ID) + " from " + kit.Name(m.Actor.Instance)
		if all {
			line += " to " + kit.Name(address.Instance(address.SegmentToAddress(e.Mailbox)))
		}
		line += " (" + verdictText(e.Verdict, m.Actor.Role)
		if m.Via() == identity.Unattended {
			line += ", " + identity.Unattended
		}
		return line + ")"
	case follow.Joined, follow.Left:
		line := string(e.Kind) + " " + kit.Name(e.Session.Instance)
		if e.Session.Name != "" {
			line += " " + kit.Clean(e.Session.Name)
		}
		return line + " (" + kit.Clean(string(e.Session.SessionID)) + ")"
	case follow.Halted:
		line := "halted"
		if e.Reason != "" {
			line += ": " + kit.Clean(e.Reason)
		}
		return line + "; silent until it is cleared"
	case follow.Resumed:
		line := "halt cleared"
		if e.Missed > 0 {
			line += "; " + kit.Plural(e.Missed, "message") + " came meanwhile: tutti inbox --unread"
		}
		return line
	}
	return string(e.Kind)
}

// firstOf is the first line of a text that has more than blanks on it.
func firstOf(text string) string {
	return kit.Truncate(kit.Clean(FirstLine(text, "")), maxShown)
}

// verdictText is the word for a signature, and beside it what the sender claims without having it.
func verdictText(v *trust.Verdict, role string) string {
	if v == nil {
		return "not checked"
	}
	text := v.Said()
	if v.RoleNotRegistered {
		text += ", role " + kit.Clean(role) + " not registered"
	}
	return text
}
