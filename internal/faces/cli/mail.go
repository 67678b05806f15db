package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// A desk is what the verbs on mail work at: a bus, the office that handles the mail on it, and who stands there.
type desk struct {
	*app.World
	office *mail.Service
	who    *identity.Speaker
	now    time.Time
}

// reader is who stands at the desk, as one who is shown mail.
func (d *desk) reader() mail.Reader {
	return mail.Reader{Instance: d.who.Instance, Session: d.who.Session}
}

// counter opens the bus without asking who is there: the older verbs name a mailbox, and need nobody. Where there is no bus,
// a verb of h2a that reads gets no desk and no error.
func (c *Call) counter(mode app.Mode) (*desk, error) {
	open := c.world
	if mode == app.Reading {
		open = func(app.Mode) (*app.World, error) { return c.reads() }
	}
	w, err := open(mode)
	if w == nil {
		return nil, err
	}
	o := &mail.Service{Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins, Halted: halt.Check, Now: time.Now}
	return &desk{World: w, office: o, now: time.Now()}, nil
}

// speaker opens the bus for one who sends.
func (c *Call) speaker(ctx context.Context) (*desk, error) {
	return c.desk(ctx, app.Writing, (*identity.Keeper).Speak, identity.Ask{As: c.value("as")})
}

// taker opens the bus for one who is shown mail, or takes it. What may be shown is for the user's settings to say.
func (c *Call) taker(ctx context.Context) (*desk, error) {
	d, err := c.desk(ctx, app.Writing, (*identity.Keeper).Reader, identity.Ask{As: c.value("as")})
	if err != nil {
		return nil, err
	}
	if err := c.knownSpeaker(ctx, d.World, d.who); err != nil {
		d.Close()
		return nil, err
	}
	return d, d.policy(c)
}

// looker opens the bus for one who looks and changes nothing: at the mailbox of --instance, else at his own. Under h2a it has
// to be named, and where there is no bus the desk is nil: nothing lies there.
func (c *Call) looker(ctx context.Context) (*desk, error) {
	i := c.value("instance")
	switch {
	case i == "" && c.under == H2A:
		return nil, c.missing("instance")
	case i == "":
		d, err := c.desk(ctx, app.Reading, (*identity.Keeper).Reader, identity.Ask{Peek: true})
		if err == nil && d != nil {
			if err = c.knownSpeaker(ctx, d.World, d.who); err != nil {
				d.Close()
				return nil, err
			}
		}
		return d, withFlag(err, "--instance")
	}
	return c.ofOwn(ctx, app.Reading, i)
}

// ofOwn opens the bus at the mailbox of an agent whom the user may name by host and label.
func (c *Call) ofOwn(ctx context.Context, mode app.Mode, i string) (*desk, error) {
	d, err := c.named(mode, i)
	if d == nil || err != nil {
		return d, err
	}
	if d.who.Instance, err = c.meant(ctx, d.World, i); err == nil {
		err = c.known(ctx, d.World, d.who.Instance)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// named opens the bus at the mailbox of an instance. No identity is asked for.
func (c *Call) named(mode app.Mode, i string) (*desk, error) {
	if err := address.Check(i); err != nil {
		return nil, usagef("--instance: %v", err)
	}
	d, err := c.counter(mode)
	if d != nil {
		d.who = &identity.Speaker{Instance: address.Instance(i)}
	}
	return d, err
}

// A finder tells who is meant.
type finder func(*identity.Keeper, context.Context, *identity.Facts, identity.Ask, time.Time) (*identity.Speaker, error)

func (c *Call) desk(ctx context.Context, mode app.Mode, find finder, ask identity.Ask) (*desk, error) {
	d, err := c.counter(mode)
	if err != nil {
		return nil, err
	}
	d.who, err = find(d.Identity, ctx, factsOf(c.App), ask, d.now)
	if err != nil {
		d.Close()
		return nil, whose(err)
	}
	if c.verbose {
		c.remark("as %s (%s)", Clean(string(d.who.Instance)), Clean(d.who.How))
	}
	return d, nil
}

// whose makes a reader who has no mailbox yet a matter of state, as a message that is not there is one.
func whose(err error) error {
	var unknown *identity.UnknownError
	if errors.As(err, &unknown) {
		return &fault{code: exitState, err: err, hint: unknown.Hint()}
	}
	return err
}

// withFlag makes the hint to an error about who speaks one for a verb whose flag for that is not --as.
func withFlag(err error, flag string) error {
	if nobody, ok := errors.AsType[*identity.NoIdentityError](err); ok {
		return &fault{code: exitCode(err, Tutti), err: err, hint: strings.Replace(nobody.Hint(), "--as", flag, 1)}
	}
	return err
}

// policy reads the user's settings.
func (d *desk) policy(c *Call) error {
	err := d.keepTo(c)
	if err != nil {
		d.Close()
	}
	return err
}

// keepTo makes the office keep to the user's settings.
func (d *desk) keepTo(c *Call) error {
	set, err := c.App.Config()
	if err != nil {
		return err
	}
	d.office.Policy = mail.Policy{RequireSigned: set.RequireSigned, Allow: set.Allow, Block: set.Block}
	return nil
}

// judged is a message with what its signatures are worth.
func (d *desk) judged(ctx context.Context, m *mailbox.Message) (mail.Item, error) {
	v, err := d.office.Judge(ctx, m.Envelope)
	return mail.Item{Message: m, Verdict: v}, err
}

// noMessage makes a message that is not there exit status 2.
func noMessage(err error, hint string) error {
	if errors.Is(err, mailbox.ErrNoMessage) {
		return &fault{code: exitState, err: err, hint: hint}
	}
	return err
}

// within reads, and gives up waiting when ctx ends. The reading goes on then until the process ends: nothing can stop one
// from a terminal.
func within(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// content reads an argument that holds what is to be said.
func (c *Call) content(ctx context.Context, arg string) ([]byte, error) {
	if arg != "-" && !strings.HasPrefix(arg, "@") {
		return []byte(arg), nil
	}
	data, err := within(ctx, func() ([]byte, error) { return c.body(arg) })
	if arg != "-" && errors.Is(err, fs.ErrNotExist) {
		return nil, failIO("a text that begins with @ goes through standard input: -", err, "")
	}
	return data, err
}

// words reads the text of a message.
func (c *Call) words(ctx context.Context, arg string) (string, error) {
	data, err := c.content(ctx, arg)
	switch {
	case err != nil:
		return "", err
	case len(data) > envelope.MaxBody:
		return "", tooLong(len(data))
	case !utf8.Valid(data):
		return "", refuse("put it into a file and send its path", "the text is no UTF-8")
	case len(strings.TrimSpace(string(data))) == 0:
		return "", usagef("the text is empty")
	}
	return string(data), nil
}

func tooLong(n int) error {
	return refuse("put it into a file and send its path", "the text has %d bytes, at most %d are sent", n, envelope.MaxBody)
}

// word is what a message's signature is worth, coloured by whether one should look twice.
func (c *Call) word(v trust.Verdict) string {
	code := yellow
	switch v.Word {
	case trust.Verified:
		code = green
	case trust.KeyChanged, trust.BadSignature:
		code = red
	}
	return c.paint(code, v.Word.String())
}
