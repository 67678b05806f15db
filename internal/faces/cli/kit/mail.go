package kit

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
	"tutti/internal/store"
)

// An Account is what the verbs on mail work at: a bus, the service for the mail on it, and who speaks.
type Account struct {
	*app.World
	Office *mail.Service
	Who    *identity.Speaker
	Now    time.Time
}

// Reader is who speaks, as one who is shown mail.
func (d *Account) Reader() mail.Reader {
	return mail.Reader{Instance: d.Who.Instance, Session: d.Who.Session}
}

// Counter opens the bus without an identity: the older verbs name a mailbox. Where there is no bus,
// a verb of h2a that reads gets no account and no error.
func (c *Call) Counter(mode app.Mode) (*Account, error) {
	open := c.World
	if mode == app.Reading {
		open = func(app.Mode) (*app.World, error) { return c.Reads() }
	}
	w, err := open(mode)
	if w == nil {
		return nil, err
	}
	return AccountOf(w), nil
}

// AccountOf is what verbs on the mail of an open bus work at. It names no speaker.
func AccountOf(w *app.World) *Account {
	o := &mail.Service{Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins, Halted: halt.Check, Now: time.Now}
	return &Account{World: w, Office: o, Now: time.Now()}
}

// Speaker opens the bus for one who sends.
func (c *Call) Speaker(ctx context.Context, as string) (*Account, error) {
	return c.account(ctx, app.Writing, (*identity.Keeper).Speak, identity.Ask{As: as})
}

// Receiver opens the bus for one who is shown mail, or takes it. What may be shown is for the user's settings to say.
func (c *Call) Receiver(ctx context.Context, as string) (*Account, error) {
	d, err := c.account(ctx, app.Writing, (*identity.Keeper).Reader, identity.Ask{As: as})
	if err != nil {
		return nil, err
	}
	if err := c.InName(ctx, d.World, d.Who.Instance); err != nil {
		d.Close()
		return nil, err
	}
	if err := c.KnownSpeaker(ctx, d.World, d.Who); err != nil {
		d.Close()
		return nil, err
	}
	return d, d.policy(c)
}

// Looker opens the bus for one who looks and changes nothing: at the mailbox of --instance, else at his own. Under h2a it has
// to be named, and where there is no bus the account is nil.
func (c *Call) Looker(ctx context.Context, instance string) (*Account, error) {
	switch {
	case instance == "" && c.Under == H2A:
		return nil, c.Missing("instance")
	case instance == "":
		d, err := c.account(ctx, app.Reading, (*identity.Keeper).Reader, identity.Ask{Peek: true})
		if err == nil && d != nil {
			if err = c.KnownSpeaker(ctx, d.World, d.Who); err != nil {
				d.Close()
				return nil, err
			}
		}
		return d, WithFlag(err, "--instance")
	}
	return c.OfOwn(ctx, app.Reading, instance)
}

// OfOwn opens the bus at the mailbox of an agent whom the user may name by host and label.
func (c *Call) OfOwn(ctx context.Context, mode app.Mode, i string) (*Account, error) {
	d, err := c.Named(mode, i)
	if d == nil || err != nil {
		return d, err
	}
	if d.Who.Instance, err = c.Meant(ctx, d.World, i); err == nil {
		err = c.known(ctx, d.World, d.Who.Instance)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Named opens the bus at the mailbox of an instance. No identity is asked for.
func (c *Call) Named(mode app.Mode, i string) (*Account, error) {
	if err := address.Check(i); err != nil {
		return nil, Usagef("--instance: %v", err)
	}
	d, err := c.Counter(mode)
	if d != nil {
		d.Who = &identity.Speaker{Instance: address.Instance(i)}
	}
	return d, err
}

// A finder resolves a name to an agent.
type finder func(*identity.Keeper, context.Context, *identity.Facts, identity.Ask, time.Time) (*identity.Speaker, error)

func (c *Call) account(ctx context.Context, mode app.Mode, find finder, ask identity.Ask) (*Account, error) {
	d, err := c.Counter(mode)
	if err != nil {
		return nil, err
	}
	d.Who, err = find(d.Identity, ctx, FactsOf(c.App), ask, d.Now)
	if err != nil {
		d.Close()
		return nil, Whose(err)
	}
	if c.Verbose {
		c.Remark("as %s (%s)", Name(d.Who.Instance), Clean(d.Who.How))
	}
	return d, nil
}

// Whose makes a reader who has no mailbox yet a matter of state, as a message that is not there is one.
func Whose(err error) error {
	var unknown *identity.UnknownError
	if errors.As(err, &unknown) {
		return &Fault{Code: ExitState, Err: err, Next: unknown.Hint()}
	}
	return err
}

// WithFlag makes the hint to an error about who speaks one for a verb whose flag for that is not --as.
func WithFlag(err error, flag string) error {
	if unknown, ok := errors.AsType[*identity.NoIdentityError](err); ok {
		return &Fault{Code: ExitCode(err, Tutti), Err: err, Next: strings.Replace(unknown.Hint(), "--as", flag, 1)}
	}
	return err
}

// policy reads the user's settings.
func (d *Account) policy(c *Call) error {
	err := d.KeepTo(c)
	if err != nil {
		d.Close()
	}
	return err
}

// KeepTo makes the office keep to the user's settings.
func (d *Account) KeepTo(c *Call) error {
	set, err := c.App.Config()
	if err != nil {
		return err
	}
	d.Office.Policy = mail.Policy{RequireSigned: set.RequireSigned, Allow: set.Allow, Block: set.Block}
	return nil
}

// Judged is a message with what its signatures are worth. Where a user looks through all mailboxes, its reader is the one that it was
// found in.
func (d *Account) Judged(ctx context.Context, m *mailbox.Message) (mail.Item, error) {
	reader := d.Who.Instance
	if reader == "" {
		reader = address.Instance(address.SegmentToAddress(m.Key.Owner))
	}
	if m.Key.Kind == store.Outbox {
		reader = ""
	}
	v, err := d.Office.Judge(ctx, reader, m.Envelope)
	return mail.Item{Message: m, Verdict: v}, err
}

// NoMessage makes a message that is not there exit status 2.
func NoMessage(err error, hint string) error {
	if errors.Is(err, mailbox.ErrNoMessage) {
		return &Fault{Code: ExitState, Err: err, Next: hint}
	}
	return err
}

// Within reads, and gives up waiting when ctx ends. The reading goes on then until the process ends: nothing can stop one
// from a terminal.
func Within(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
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

// Content reads an argument that holds what is to be said.
func (c *Call) Content(ctx context.Context, arg string) ([]byte, error) {
	if arg != "-" && !strings.HasPrefix(arg, "@") {
		return []byte(arg), nil
	}
	data, err := Within(ctx, func() ([]byte, error) { return c.Body(arg) })
	if arg != "-" && errors.Is(err, fs.ErrNotExist) {
		return nil, FailIO("a text that begins with @ goes through standard input: -", err, "")
	}
	return data, err
}

// Words reads the text of a message.
func (c *Call) Words(ctx context.Context, arg string) (string, error) {
	data, err := c.Content(ctx, arg)
	switch {
	case err != nil:
		return "", err
	case len(data) > envelope.MaxBody:
		return "", TooLong(len(data))
	case !utf8.Valid(data):
		return "", Refuse("put it into a file and send its path", "the text is not valid UTF-8")
	case len(strings.TrimSpace(string(data))) == 0:
		return "", Usagef("the text is empty")
	}
	return string(data), nil
}

func TooLong(n int) error {
	return Refuse("put it into a file and send its path", "the text has %d bytes, at most %d are sent", n, envelope.MaxBody)
}

// Word is what a message's signature is worth, coloured by whether one should look twice.
func (c *Call) Word(v trust.Verdict) string {
	code := Yellow
	switch v.Word {
	case trust.Verified:
		code = Green
	case trust.KeyChanged, trust.BadSignature:
		code = Red
	}
	if v.AddressedTo != "" {
		code = Red
	}
	return c.Paint(code, v.Said())
}
