package fast

import (
	"cmp"
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
	"tutti/internal/faces/cli/kit"
)

// errUnsent is what an interrupt leaves of a recipient whose turn had not come.
var errUnsent = errors.New("interrupted, nothing was sent")

type sendOptions struct {
	projectOptions
	Thread, ReplyTo, ID, Kind, Body, As, Scope, Until, Batch string
	Deposit                                                  bool
	Wait                                                     time.Duration
}

// runSend sends to one recipient, to several, to a scope, or a batch; or to a project.
func runSend(ctx context.Context, c *kit.Call, opt *sendOptions) error {
	if !brief(c, opt) {
		ctx = c.Interruptible(ctx)
	}
	if c.IsSet(&opt.Batch) {
		return runBatch(ctx, c, opt)
	}
	if project, err := toProject(c, opt); err != nil {
		return err
	} else if project {
		return runSendProject(ctx, c, opt)
	}
	to, letter, err := letter(ctx, c, opt)
	if err != nil {
		return unsent(ctx, c, err)
	}
	d, err := c.Speaker(ctx, opt.As)
	if err != nil {
		return unsent(ctx, c, err)
	}
	defer d.Close()
	if err := c.KnownSpeaker(ctx, d.World, d.Who); err != nil {
		if no, ok := errors.AsType[*kit.Fault](err); ok {
			no.Code = kit.ExitUsage // a sender without a key is a refusal
		}
		return unsent(ctx, c, err)
	}
	if opt.Scope != "" {
		if to, err = inScope(ctx, d, opt.Scope); err != nil {
			return unsent(ctx, c, err)
		}
	}
	letter.From = d.Who
	if c.Under != kit.H2A {
		letter.Near = c.App.Workplace().Path
	}
	if len(to) > 1 && letter.Thread == "" { // one conversation for all answers
		letter.Thread = cmp.Or(d.Office.ThreadOf(ctx, d.Who.Instance, letter.ReplyTo), string(address.NewThread(d.Now)))
	}
	receipts := make([]mail.Receipt, 0, len(to))
	for _, p := range to {
		l := letter
		l.To = p
		receipts = append(receipts, sendOne(ctx, c, d, &l))
	}
	if opt.Wait > 0 && receipts[0].Outcome != mail.Refused {
		if c.IsSet(&opt.Until) {
			return awaitStep(ctx, c, opt, d, &receipts[0])
		}
		return await(ctx, c, opt, d, &receipts[0])
	}
	return showReceipts(ctx, c, receipts, len(to) > 1 || c.IsSet(&opt.Scope), letterWord(&letter))
}

// brief reports whether the message and its one recipient stand on the command line and no answer is awaited: then nothing but files is waited
// for, and an interrupt may end the process.
func brief(c *kit.Call, opt *sendOptions) bool {
	return !c.Full && len(c.Args) == 2 && !strings.ContainsAny(c.Args[0], ",.") && c.Args[1] != "-" &&
		opt.Wait == 0 && opt.Batch == "" && opt.Scope == "" && opt.Body == ""
}

// letter reads the message and its recipient from the command line. Recipients of a scope are found later.
func letter(ctx context.Context, c *kit.Call, opt *sendOptions) (to []address.Instance, l mail.Draft, err error) {
	words := c.Args
	if opt.Scope == "" {
		if len(words) == 0 {
			return nil, l, kit.UsageHint(`"tutti discover" lists who is there; then: tutti send ID "TEXT"`, "%s: missing recipient", c.Verb.Name)
		}
		if to, err = recipients(words[0]); err != nil {
			return nil, l, err
		}
		words = words[1:]
	}
	switch {
	case len(words) > 1:
		return nil, l, kit.Usagef("%s: either recipients or --scope, not both", c.Verb.Name)
	case len(to) != 1 && opt.ID != "":
		return nil, l, kit.Usagef("--id names one message, and several recipients get one each")
	case len(to) != 1 && opt.Wait > 0:
		return nil, l, kit.Usagef("--wait waits for the answer of one recipient")
	case c.IsSet(&opt.Until) && opt.Wait == 0:
		return nil, l, kit.UsageHint("tutti send ID TEXT --wait 60s --until shown", "--until: for how long?")
	}
	l = mail.Draft{ID: opt.ID, Thread: opt.Thread, ReplyTo: opt.ReplyTo, Kind: opt.Kind, Deposit: opt.Deposit}
	return to, l, say(ctx, c, &l, opt.Body, words)
}

// say puts what is to be said into a letter: the text, when there is one among the words, and the body.
func say(ctx context.Context, c *kit.Call, l *mail.Draft, body string, words []string) (err error) {
	if body != "" {
		if body == "-" && len(words) > 0 && words[0] == "-" {
			return kit.Usagef("text and body cannot both come from standard input")
		}
		if l.Body, err = object(ctx, c, body); err != nil {
			return err
		}
	}
	switch {
	case len(words) > 0:
		l.Text, err = c.Words(ctx, words[0])
		return err
	case l.Body == nil && c.Verb.Name == "reply" && strings.Contains(c.Arg(0), " "):
		return kit.UsageHint(called(c)+" receive shows the id of each message; then: "+called(c)+" reply <id> <text>", "reply: which message? the text alone does not tell")
	case l.Body == nil:
		return kit.UsageHint("put the text behind it, in quotes; - reads it from standard input, @FILE from a file", "%s: missing text", c.Verb.Name)
	}
	return nil
}

// object reads the JSON object of --body.
func object(ctx context.Context, c *kit.Call, arg string) ([]byte, error) {
	data, err := c.Content(ctx, arg)
	switch {
	case err != nil:
		return nil, err
	case !canonjson.Valid(data) || !canonjson.IsObject(data):
		return nil, kit.UsageHint(`write it like {"kind":"status","done":true}`, "--body: not a JSON object")
	case len(data) > envelope.MaxBody:
		return nil, kit.TooLong(len(data))
	}
	return data, nil
}

// recipients reads a list of addresses; one that is in it twice counts once.
func recipients(list string) (to []address.Instance, err error) {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			return nil, kit.UsageHint(`"tutti discover" lists who is there`, "an empty recipient in %q", kit.Clean(list))
		}
		if err := address.Check(one); err != nil {
			return nil, kit.Usagef("%s", kit.Clean(err.Error()))
		}
		if i := address.Instance(one); !slices.ContainsFunc(to, func(o address.Instance) bool { return o.Canonical() == i.Canonical() }) {
			to = append(to, i)
		}
	}
	return to, nil
}

// inScope are the live agents of a scope but the speaker.
func inScope(ctx context.Context, d *kit.Account, scope string) (to []address.Instance, err error) {
	rows, err := d.Book.Discover(ctx, members.Filter{Scope: scope}, d.Now)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Instance.Canonical() != d.Who.Instance.Canonical() && !slices.Contains(to, r.Instance) {
			to = append(to, r.Instance)
		}
	}
	if len(to) == 0 {
		return nil, kit.Refuse(`"tutti discover" lists who is live, with their scopes`, "no other agent of %s is live", kit.Clean(scope))
	}
	return to, nil
}

// sendOne sends one letter. What became of it is in the receipt, whatever happened.
func sendOne(ctx context.Context, c *kit.Call, d *kit.Account, l *mail.Draft) mail.Receipt {
	asked := l.To
	if ctx.Err() != nil {
		return mail.Receipt{Outcome: mail.Refused, Asked: asked, To: asked, Err: errUnsent}
	}
	r, err := d.Office.SendOnce(ctx, *l)
	outlook(ctx, c, d, &r, nil)
	if err != nil {
		r.Err = unsentOr(ctx, l, err)
		c.Guess(ctx, d, &r)
	}
	return r
}

// unsentOr is the error of a message as a user reads it.
func unsentOr(ctx context.Context, l *mail.Draft, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return errUnsent
	}
	if wrong, ok := errors.AsType[*address.Error](err); ok && l.ID != "" && wrong.ID == l.ID {
		return kit.Usagef("--id: %v", wrong)
	}
	return err
}

// unsent says what an interrupt or --timeout meant when it came before anything was sent. The caller of a verb is silent
// about both.
func unsent(ctx context.Context, c *kit.Call, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintf(c.ErrFile, "%s: %s %s: %v\n", c.Prefix(), c.ErrPaint(kit.Red, "error:"), mail.Refused, errUnsent)
	}
	return err
}

// await waits for the answer to a letter that was sent, and shows it. The word on the letter itself is said before.
func await(ctx context.Context, c *kit.Call, opt *sendOptions, d *kit.Account, r *mail.Receipt) error {
	if !c.JSON {
		receiptText(c, r, false)
		if err := c.Flush(); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // it would end the process with its claim on the answer
	item, err := answer(ctx, c, opt, d, r)
	if c.JSON {
		v := viewReceipt(c, r, "")
		if item != nil {
			answer := ViewItem(item)
			v.Answer = &answer
		}
		c.Result(v)
	} else if item != nil {
		c.Line("")
		Show(c, item, time.Now(), maxShownBody, FromOnly)
	}
	if item == nil {
		return errors.Join(err, c.Flush())
	}
	return errors.Join(err, deliver(ctx, c, d, &mail.Taken{Items: []mail.Item{*item}}))
}
