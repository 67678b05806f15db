package cli

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"tutti/internal/bus/mail"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// lookAgain is how often mail is looked for while waiting, beside the hints of the store's watcher: they may be lost, and a
// claim of another session that runs out gives none.
const lookAgain = 10 * time.Second

// runReceive shows what was not shown yet.
func runReceive(ctx context.Context, c *Call) error {
	d, err := c.taker(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	signal.Ignore(syscall.SIGPIPE) // it would end the process with its claim on the messages
	t, err := c.waitMail(ctx, d)
	if err != nil {
		return err
	}
	c.sayHeld(t)
	c.sayUnfit(t.Strange)
	if c.json {
		c.emit(takenJSON(d, t))
	} else {
		c.shown(d, t)
	}
	if err := c.deliver(ctx, d, t); err != nil {
		return err
	}
	if err := d.office.Engage(ctx, d.reader()); err != nil {
		c.warn("%s", Clean(err.Error()))
	}
	if wait := c.duration("wait", 0); wait > 0 && len(t.Items) == 0 {
		return c.nothingCame("no mail within " + wait.String())
	}
	return nil
}

// deliver writes what was printed and records its messages as shown. Messages that cannot be written are given back, so that
// the next reader is offered them at once.
func (c *Call) deliver(ctx context.Context, d *desk, t *mail.Taken) error {
	if len(t.Items) == 0 {
		return c.flush()
	}
	err := c.write()
	if err == nil {
		return d.office.Shown(ctx, d.reader(), t)
	}
	ids := make([]string, len(t.Items))
	for i := range t.Items {
		ids[i] = t.Items[i].ID
	}
	return errors.Join(err, d.office.GiveBack(ctx, d.reader(), ids))
}

// nothingCame is exit status 2; where standard output is JSON it says so there.
func (c *Call) nothingCame(what string) error {
	if c.json {
		return &fault{code: exitState}
	}
	return badState("", "%s: %s", c.Verb.Name, what)
}

// waitMail takes what is there, and with --wait what comes first.
func (c *Call) waitMail(ctx context.Context, d *desk) (*mail.Taken, error) {
	take := func() (*mail.Taken, error) {
		// What is claimed has to be shown, so an interrupt does not come in between.
		return d.office.Receive(context.WithoutCancel(ctx), d.reader(), c.count("limit", 0))
	}
	wait := c.duration("wait", 0)
	if wait == 0 {
		return take()
	}
	ctx, stop := c.waiting(ctx, wait)
	defer stop()
	look, err := d.hints(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		t, err := take()
		if err != nil || len(t.Items)+len(t.Held) > 0 {
			return t, err
		}
		select {
		case _, open := <-look:
			if !open {
				look = nil // ctx has ended
			}
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errWaited) {
				return t, nil
			}
			return nil, context.Cause(ctx)
		}
	}
}

// errWaited ends a wait whose time is over.
var errWaited = errors.New("waited long enough")

// waiting is a context for a verb that waits: it ends after wait with errWaited, and at once when the halt switch is set.
func (c *Call) waiting(ctx context.Context, wait time.Duration) (context.Context, func()) {
	look, unlook := c.App.HaltLook()
	halting, stop := halt.Context(ctx, look)
	waiting, cancel := context.WithTimeoutCause(halting, wait, errWaited)
	return waiting, func() { cancel(); stop(); unlook() }
}

// hints returns a channel that delivers when something may have come into one of the folders of the reader. It is armed
// when hints returns. Without a watcher it is nil.
func (d *desk) hints(ctx context.Context) (<-chan store.Change, error) {
	sources, err := d.Mail.Sources(ctx, d.who.Instance)
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
func (c *Call) answer(ctx context.Context, d *desk, r *mail.Receipt) (*mail.Item, error) {
	wait := c.duration("wait", 0)
	ctx, stop := c.waiting(ctx, wait)
	defer stop()
	changes, err := d.hints(ctx)
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
	if err := d.keepTo(c); err != nil {
		return nil, err
	}
	item, err := d.office.Answer(ctx, d.reader(), r.ID, look)
	if err == nil {
		return item, d.office.Claim(context.WithoutCancel(ctx), d.reader(), item)
	}
	if ctx.Err() == nil {
		return nil, err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errWaited) {
		return nil, cause
	}
	return nil, c.nothingCame("no answer within " + wait.String() + "; when it comes, " + c.called() + " receive shows it")
}

// shown prints what was taken.
func (c *Call) shown(d *desk, t *mail.Taken) {
	if len(t.Items) == 0 {
		if c.duration("wait", 0) == 0 {
			c.prose("", 0, "no new mail for "+Clean(string(d.who.Instance))+"; "+c.called()+" inbox lists what was shown and not acknowledged")
		}
		return
	}
	now := time.Now()
	for i := range t.Items {
		if i > 0 {
			c.line("")
		}
		c.show(&t.Items[i], now, maxShownBody)
	}
	c.line("")
	if t.Left > 0 {
		c.printf("%d more; %s receive shows them\n", t.Left, c.called())
	}
	c.printf("to answer: %s reply <id> <text>; dealt with: %s ack <id>, or ack --all\n", c.called(), c.called())
}

// sayHeld names what the settings of the user held back.
func (c *Call) sayHeld(t *mail.Taken) {
	if n := len(t.Held); n > 0 {
		c.warn("%s held back by your settings; \"tutti inbox held\" lists them with the reason", plural(n, "message"))
	}
}

func takenJSON(d *desk, t *mail.Taken) []byte {
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("instance", string(d.who.Instance))
	var items, held list
	for i := range t.Items {
		items.raw(itemJSON(&t.Items[i]))
	}
	for i := range t.Held {
		held.str(t.Held[i].Envelope.ID)
	}
	o.Raw("messages", items.bytes())
	o.Int("left", int64(t.Left))
	o.Raw("held", held.bytes())
	o.Int("unfit", int64(len(t.Strange)))
	return o.Bytes()
}
