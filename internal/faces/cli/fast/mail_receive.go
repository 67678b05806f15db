package fast

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mail"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// lookAgain is how often mail is looked for while waiting, beside the hints of the store's watcher: they may be lost, and a
// claim of another session that runs out gives none.
const lookAgain = 10 * time.Second

type receiveOptions struct {
	Wait  time.Duration
	Limit int
	As    string
}

// runReceive shows what was not shown yet.
func runReceive(ctx context.Context, c *kit.Call, opt *receiveOptions) error {
	d, err := c.Receiver(ctx, opt.As)
	if err != nil {
		return err
	}
	defer d.Close()
	signal.Ignore(syscall.SIGPIPE) // it would end the process with its claim on the messages
	t, err := waitMail(ctx, c, opt, d)
	if err != nil {
		return err
	}
	sayHeld(c, t)
	sayUnfit(c, t.Strange)
	if c.JSON {
		c.Result(viewTaken(d, t))
	} else {
		shown(c, opt, d, t)
	}
	if err := deliver(ctx, c, d, t); err != nil {
		return err
	}
	if err := d.Office.Engage(ctx, d.Reader()); err != nil {
		c.Warn("%s", kit.Clean(err.Error()))
	}
	if opt.Wait > 0 && len(t.Items) == 0 {
		return nothingCame(c, "no mail within "+opt.Wait.String())
	}
	return nil
}

// deliver writes what was printed and records its messages as shown. Messages that cannot be written are given back, so that
// the next reader is offered them at once.
func deliver(ctx context.Context, c *kit.Call, d *kit.Account, t *mail.Taken) error {
	if len(t.Items) == 0 {
		return c.Flush()
	}
	err := c.Write()
	if err == nil {
		return d.Office.Shown(ctx, d.Reader(), t)
	}
	ids := make([]string, len(t.Items))
	for i := range t.Items {
		ids[i] = t.Items[i].ID
	}
	return errors.Join(err, d.Office.GiveBack(ctx, d.Reader(), ids))
}

// nothingCame is exit status 2; where standard output is JSON it says so there.
func nothingCame(c *kit.Call, what string) error {
	if c.JSON {
		return &kit.Fault{Code: kit.ExitState}
	}
	return kit.BadState("", "%s: %s", c.Verb.Name, what)
}

// waitMail takes what is there, and with --wait what comes first.
func waitMail(ctx context.Context, c *kit.Call, opt *receiveOptions, d *kit.Account) (*mail.Taken, error) {
	take := func() (*mail.Taken, error) {
		// What is claimed has to be shown, so an interrupt does not come in between.
		return d.Office.Receive(context.WithoutCancel(ctx), d.Reader(), opt.Limit)
	}
	if opt.Wait == 0 {
		return take()
	}
	ctx, stop := waiting(ctx, c, opt.Wait)
	defer stop()
	look, err := hints(ctx, d)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	var t *mail.Taken
	err = poll(ctx, look, func() (bool, error) {
		t, err = take()
		return err == nil && len(t.Items)+len(t.Held) > 0, err
	})
	if errors.Is(err, errWaited) {
		err = nil
	}
	return t, err
}

// poll calls try at once, at each hint, and now and then, until that is done or fails. When ctx ends before, the error is why it ended.
func poll(ctx context.Context, look <-chan store.Change, try func() (done bool, err error)) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case _, open := <-look:
			if !open {
				look = nil // ctx has ended
			}
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errWaited ends a wait whose time is over.
var errWaited = errors.New("waited long enough")

// waiting is a context for a verb that waits: it ends after wait with errWaited, and at once when the halt switch is set.
func waiting(ctx context.Context, c *kit.Call, wait time.Duration) (context.Context, func()) {
	look, unlook := c.App.HaltLook()
	halting, stop := halt.Context(ctx, look)
	waiting, cancel := context.WithTimeoutCause(halting, wait, errWaited)
	return waiting, func() { cancel(); stop(); unlook() }
}

// hints returns a channel that delivers when something may have come into one of the folders of the reader. It is armed
// when hints returns. Without a watcher it is nil.
func hints(ctx context.Context, d *kit.Account) (<-chan store.Change, error) {
	sources, err := d.Mail.Sources(ctx, d.Who.Instance)
	if err != nil {
		return nil, err
	}
	var scopes []store.Scope
	for _, s := range sources {
		scopes = append(scopes, store.Scope{Kind: store.Inbox, Owner: s.Owner})
	}
	return d.Store.Watch(ctx, scopes)
}

// answer waits for the reply to a letter.
func answer(ctx context.Context, c *kit.Call, opt *sendOptions, d *kit.Account, r *mail.Receipt) (*mail.Item, error) {
	ctx, stop := waiting(ctx, c, opt.Wait)
	defer stop()
	changes, err := hints(ctx, d)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	look := make(chan struct{}, 1)
	if changes != nil {
		go func() { // ends with ctx, which closes changes
			for range changes {
				select {
				case look <- struct{}{}:
				default:
				}
			}
		}()
	}
	if err := d.KeepTo(c); err != nil {
		return nil, err
	}
	item, err := d.Office.Answer(ctx, d.Reader(), r.To, r.ID, look)
	if err == nil {
		return item, d.Office.Claim(context.WithoutCancel(ctx), d.Reader(), item)
	}
	if ctx.Err() == nil {
		return nil, err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errWaited) {
		return nil, cause
	}
	return nil, nothingCame(c, "no answer within "+opt.Wait.String()+"; when it comes, "+called(c)+" receive shows it")
}

// shown prints what was taken.
func shown(c *kit.Call, opt *receiveOptions, d *kit.Account, t *mail.Taken) {
	if len(t.Items) == 0 {
		if opt.Wait == 0 {
			as := ""
			if opt.As != "" {
				as = " --as " + kit.Clean(app.QuoteArg(opt.As))
			}
			c.Prose("", 0, "no new mail for "+kit.Name(d.Who.Instance)+"; "+called(c)+" inbox"+as+" lists what was shown and not acknowledged")
		}
		return
	}
	now := time.Now()
	for i := range t.Items {
		if i > 0 {
			c.Line("")
		}
		Show(c, &t.Items[i], now, maxShownBody, FromOnly)
	}
	c.Line("")
	if t.Left > 0 {
		more := ""
		if t.More {
			more = "+"
		}
		c.Printf("%d%s more; %s shows them\n", t.Left, more, receives(c))
	}
	id := "<id>"
	if len(t.Items) == 1 && c.Under != kit.H2A {
		id = kit.Clean(t.Items[0].Envelope.ID)
	}
	if opt.As != "" {
		id = "--as " + kit.Clean(app.QuoteArg(opt.As)) + " " + id
	}
	c.Printf("to answer: %s reply %s \"TEXT\"; dealt with: %s ack %s\n", called(c), id, called(c), id)
}

// sayHeld names what the settings of the user held back.
func sayHeld(c *kit.Call, t *mail.Taken) {
	if n := len(t.Held); n > 0 {
		c.Warn("%s held back by your settings; \"tutti inbox held\" lists them with the reason", kit.Plural(n, "message"))
	}
}
