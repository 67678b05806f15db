package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// errUnsent is what an interrupt leaves of a recipient whose turn had not come.
var errUnsent = errors.New("interrupted, nothing was sent")

// runSend sends to one recipient, to several, to a scope, or a batch; or to a project.
func runSend(ctx context.Context, c *Call) error {
	if c.isSet("batch") {
		return runBatch(ctx, c)
	}
	if project, err := c.toProject(); err != nil {
		return err
	} else if project {
		return runSendProject(ctx, c)
	}
	to, letter, err := c.letter(ctx)
	if err != nil {
		return c.unsent(ctx, err)
	}
	d, err := c.speaker(ctx)
	if err != nil {
		return c.unsent(ctx, err)
	}
	defer d.Close()
	if scope := c.value("scope"); scope != "" {
		if to, err = d.inScope(ctx, scope); err != nil {
			return c.unsent(ctx, err)
		}
	}
	letter.From = d.who
	if c.under != H2A {
		letter.Near = c.App.Workplace().Path
	}
	if len(to) > 1 && letter.Thread == "" {
		letter.Thread = string(address.NewThread(d.now)) // one conversation, whoever answers
	}
	receipts := make([]mail.Receipt, 0, len(to))
	for _, p := range to {
		l := letter
		l.To = p
		receipts = append(receipts, c.sendOne(ctx, d, &l))
	}
	if c.duration("wait", 0) > 0 && receipts[0].Outcome != mail.Refused {
		if c.isSet("until") {
			return c.awaitStep(ctx, d, &receipts[0])
		}
		return c.await(ctx, d, &receipts[0])
	}
	return c.receipts(ctx, receipts, len(to) > 1 || c.isSet("scope"), letterWord(&letter))
}

// letter reads what is to be sent from the command line, and to whom. Recipients of a scope are found later.
func (c *Call) letter(ctx context.Context) (to []address.Instance, l mail.Draft, err error) {
	words := c.Args
	if c.value("scope") == "" {
		if len(words) == 0 {
			return nil, l, usageHint(`"tutti discover" lists who is there; then: tutti send ID "TEXT"`, "%s: to whom?", c.Verb.Name)
		}
		if to, err = recipients(words[0]); err != nil {
			return nil, l, err
		}
		words = words[1:]
	}
	switch {
	case len(words) > 1:
		return nil, l, usagef("%s: either recipients or --scope, not both", c.Verb.Name)
	case len(to) != 1 && c.value("id") != "":
		return nil, l, usagef("--id names one message, and several recipients get one each")
	case len(to) != 1 && c.duration("wait", 0) > 0:
		return nil, l, usagef("--wait waits for the answer of one recipient")
	case c.isSet("until") && c.duration("wait", 0) == 0:
		return nil, l, usageHint("tutti send ID TEXT --wait 60s --until shown", "--until: for how long?")
	}
	l = mail.Draft{ID: c.value("id"), Thread: c.value("thread"), ReplyTo: c.value("reply-to"), Deposit: c.on("deposit")}
	return to, l, c.say(ctx, &l, words)
}

// say puts what is to be said into a letter: the text, when there is one among the words, kind and body.
func (c *Call) say(ctx context.Context, l *mail.Draft, words []string) (err error) {
	l.Kind = c.value("kind")
	if b := c.value("body"); b != "" {
		if b == "-" && len(words) > 0 && words[0] == "-" {
			return usagef("text and body cannot both come from standard input")
		}
		if l.Body, err = c.object(ctx, b); err != nil {
			return err
		}
	}
	switch {
	case len(words) > 0:
		l.Text, err = c.words(ctx, words[0])
		return err
	case l.Body == nil:
		return usageHint("put the text behind it, in quotes; - reads it from standard input, @FILE from a file", "%s: what is to be said?", c.Verb.Name)
	}
	return nil
}

// object reads the JSON object of --body.
func (c *Call) object(ctx context.Context, arg string) ([]byte, error) {
	data, err := c.content(ctx, arg)
	switch {
	case err != nil:
		return nil, err
	case !canonjson.Valid(data) || !canonjson.IsObject(data):
		return nil, usageHint(`write it like {"kind":"status","done":true}`, "--body: it is no JSON object")
	case len(data) > envelope.MaxBody:
		return nil, tooLong(len(data))
	}
	return data, nil
}

// recipients reads a list of addresses; one that is in it twice counts once.
func recipients(list string) (to []address.Instance, err error) {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			return nil, usageHint(`"tutti discover" lists who is there`, "an empty recipient in %q", Clean(list))
		}
		if err := address.Check(one); err != nil {
			return nil, usagef("%s", Clean(err.Error()))
		}
		if i := address.Instance(one); !slices.ContainsFunc(to, func(o address.Instance) bool { return o.Canonical() == i.Canonical() }) {
			to = append(to, i)
		}
	}
	return to, nil
}

// inScope are the live agents of a scope but the speaker.
func (d *desk) inScope(ctx context.Context, scope string) (to []address.Instance, err error) {
	rows, err := d.Book.Discover(ctx, members.Filter{Scope: scope}, d.now)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Instance.Canonical() != d.who.Instance.Canonical() && !slices.Contains(to, r.Instance) {
			to = append(to, r.Instance)
		}
	}
	if len(to) == 0 {
		return nil, refuse(`"tutti discover" lists who is live, with their scopes`, "no other agent of %s is live", Clean(scope))
	}
	return to, nil
}

// sendOne sends one letter. What became of it is in the receipt, whatever happened.
func (c *Call) sendOne(ctx context.Context, d *desk, l *mail.Draft) mail.Receipt {
	asked := l.To
	if ctx.Err() != nil {
		return mail.Receipt{Outcome: mail.Refused, Asked: asked, To: asked, Err: errUnsent}
	}
	r, err := d.again(ctx, l)
	if err == nil && r.Outcome == "" {
		r, err = d.office.Send(ctx, *l)
		err = d.sameAgain(ctx, l, &r, err)
	}
	r.Asked = asked
	d.office.Recall(ctx, &r)
	c.outlook(ctx, d, &r, nil)
	if err != nil {
		r.Outcome, r.Err = mail.Refused, err
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			r.Err = errUnsent
		}
		c.guess(ctx, d, &r)
	}
	return r
}

// unsent says what an interrupt or --timeout meant when it came before anything was sent. The caller of a verb is silent
// about both.
func (c *Call) unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintf(c.errFile, "%s: %s %s: %v\n", c.prefix(), c.errPaint(red, "error:"), mail.Refused, errUnsent)
	}
	return err
}

// await waits for the answer to a letter that was sent, and shows it. The word on the letter itself is said before.
func (c *Call) await(ctx context.Context, d *desk, r *mail.Receipt) error {
	if !c.json {
		c.receiptText(r, false)
		if err := c.flush(); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // it would end the process with its claim on the answer
	item, err := c.answer(ctx, d, r)
	if c.json {
		var answer []byte
		if item != nil {
			answer = itemJSON(item)
		}
		c.emit(c.receiptJSON(r, "", answer))
	} else if item != nil {
		c.line("")
		c.show(item, time.Now(), maxShownBody)
	}
	if item == nil {
		return errors.Join(err, c.flush())
	}
	return errors.Join(err, c.deliver(ctx, d, &mail.Taken{Items: []mail.Item{*item}}))
}
