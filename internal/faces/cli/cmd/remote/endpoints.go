package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/halt"
	"tutti/internal/platform/tmux"
	"tutti/internal/remote"
	"tutti/internal/remote/instruct"
	"tutti/internal/remote/listen"
	"tutti/internal/remote/mirror"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/store"
)

// openListener opens the address of an endpoint, and says where it is.
func openListener(e *Endpoint, o *listen.Options) (net.Listener, error) {
	if e.Path == "" || e.Path[0] != '/' {
		return nil, fmt.Errorf("path %q: it begins with a slash", e.Path)
	}
	conf, err := listen.TLS(e.Cert, e.Key)
	if err != nil {
		return nil, err
	}
	l, err := listen.Listen(listen.Address{Host: e.Host, Port: e.Port, Exposed: e.Exposed})
	if err != nil {
		return nil, err
	}
	o.Path, o.TLS, o.Log = e.Path, conf, e.Log
	o.Halted = func() error { return halt.Check("take anything in") }
	e.Ready(scheme(conf) + "://" + l.Addr().String() + e.Path)
	return l, nil
}

func scheme(conf *tls.Config) string {
	if conf == nil {
		return "http"
	}
	return "https"
}

func rates(e *Endpoint) *remote.Rates { return &remote.Rates{PerSecond: e.Rate} }

// known checks the URLs under which an endpoint is known.
func known(e *Endpoint) error {
	for _, u := range e.KnownAs {
		if err := remote.CheckURL(u); err != nil {
			return err
		}
	}
	return nil
}

// guardOf keeps on the bus which envelopes came, so that none counts twice.
func guardOf(w *app.World) (*remote.Guard, error) {
	log, ok := w.Store.(interface {
		store.Log
		store.Shrinker
	})
	if !ok {
		return nil, errors.New("the bus is on a server: other buses can only reach one that is a folder")
	}
	return &remote.Guard{Memory: &remote.Ledger{Log: log}}, nil
}

// Serve takes in envelopes until the context ends.
func Serve(ctx context.Context, w *app.World, e Endpoint) error {
	office, err := w.MailService()
	if err != nil {
		return err
	}
	if err := known(&e); err != nil {
		return err
	}
	guard, err := guardOf(w)
	if err != nil {
		return err
	}
	r := remote.Receiver{
		Office: office, Registry: w.Registry, Store: w.Store, Guard: guard, Rates: rates(&e), Unread: e.Unread,
		Open: remote.Recipients(e.Recipients), Endpoints: e.KnownAs, Now: time.Now, Log: e.Log,
	}
	var o listen.Options
	l, err := openListener(&e, &o)
	if err != nil {
		return err
	}
	return r.Serve(ctx, l, o)
}

// ServeMirror shows the agents of other buses until the context ends.
func ServeMirror(ctx context.Context, w *app.World, e Endpoint) error {
	var enrolled []mirror.Enrolled
	var err error
	switch {
	case e.Enrolled != nil:
		enrolled, err = mirror.ParseEnrolled(e.Enrolled)
	case e.Variable != "":
		enrolled, err = mirror.ParseVariable(e.Variable)
	}
	if err == nil {
		err = known(&e)
	}
	if err != nil {
		return err
	}
	guard, err := guardOf(w)
	if err != nil {
		return err
	}
	r := mirror.Receiver{
		Registry: w.Registry, Presence: w.Presence, Mail: w.Mail, Docs: w.Store, Guard: guard, Rates: rates(&e),
		Enrolled: enrolled, Endpoints: e.KnownAs, Halted: halt.Check, Now: time.Now, Log: e.Log,
	}
	var o listen.Options
	l, err := openListener(&e, &o)
	if err != nil {
		return err
	}
	return r.Serve(ctx, l, o)
}

// gate decides on instructions. As h2a specifies it, what the registry says is enough; tutti asks what the user trusts.
func gate(w *app.World, specified bool, now func() time.Time) *instruct.Gate {
	g := &instruct.Gate{Registry: w.Registry, Pins: w.Pins, Guard: &remote.Guard{Memory: &remote.Markers{Docs: w.Store, Kind: store.DriveReplay}}, Now: now}
	if specified {
		g.Pins = nil
	}
	return g
}

// ServeDrive takes instructions for one agent until the context ends.
func ServeDrive(ctx context.Context, w *app.World, e Endpoint) error {
	s := instruct.Server{Gate: gate(w, e.Specified, time.Now), To: e.To, Inject: instruct.Injector(e.Command, e.Environ), Halted: halt.Check, Log: e.Log}
	s.Gate.Rates = rates(&e)
	var o listen.Options
	l, err := openListener(&e, &o)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l, o)
}

// Submit sends a signed body to an endpoint.
func Submit(ctx context.Context, to Destination, body []byte) (status int, answer []byte, err error) {
	pool, err := listen.Roots(to.Roots)
	if err != nil {
		return 0, nil, err
	}
	if err := halt.Check("send to " + to.URL); err != nil {
		return 0, nil, err
	}
	r, err := (&remote.Client{Roots: pool, Away: to.Away}).Submit(ctx, to.URL, body)
	return r.Status, r.Body, err
}

// Seal signs an envelope for one endpoint.
func Seal(raw []byte, by address.Instance, key *signature.Private, url string) ([]byte, error) {
	if err := remote.CheckURL(url); err != nil {
		return nil, err
	}
	return remote.Seal(raw, by, key, url)
}

// Mirror makes a signed push.
func Mirror(ctx context.Context, w *app.World, p Push) ([]byte, error) {
	if err := remote.CheckURL(p.URL); err != nil {
		return nil, err
	}
	s := mirror.Source{Registry: w.Registry, Presence: w.Presence, Instance: p.Instance, Key: p.Key}
	return s.Envelope(ctx, p.URL, time.Now())
}

// Drive gives an instruction. reason is why it may not be given, and then nothing was signed.
func Drive(ctx context.Context, w *app.World, o Order) (done Driven, reason string, err error) {
	g := gate(w, o.Specified, time.Now)
	why, err := g.Bound(ctx, o.From, o.Key.Public())
	if err == nil && why == "" {
		why, err = g.Authorize(ctx, o.From, o.To)
	}
	if err != nil || why != "" {
		return done, string(why), err
	}
	l, err := instruct.Write(o.From, o.To, o.Instruction, o.Nonce, o.At, o.Key, time.Now())
	if err != nil {
		return done, "", err
	}
	done.Line = l.String()
	m := lifecycle.New(lifecycle.Options{Halted: func() error { return halt.Check("drive " + l.To) }, Tell: o.Tell})
	d := instruct.Deliverer{
		Registry: w.Registry, Presence: w.Presence, Manager: m, Halted: halt.Check, Env: o.Environ, Now: time.Now,
		Servers: func() []tmux.Server {
			return observe.Servers(func(name string) string { return lookup(o.Environ, name) })
		},
	}
	way, err := d.Deliver(ctx, l, o.Host, instruct.Way(o.Way))
	done.Way, done.Err = string(way), err
	if _, halted := errors.AsType[*halt.Error](err); halted {
		return done, "", err
	}
	return done, "", nil
}

func lookup(environ []string, name string) string {
	for _, kv := range environ {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:]
		}
	}
	return ""
}

// Heard is the input of a hook: the line in it, and whether it is one. A hook lets the whole prompt through or none of it, so that
// there what is beside a line counts as part of it, and makes it one that was not signed. With whole that goes for every text; else, as
// specified, for what says that it comes from a hook.
func Heard(in []byte, whole bool) (line string, is, hook bool) {
	text, hook := instruct.Prompt(in)
	line = instruct.Find(text)
	is = strings.HasPrefix(line, instruct.Mark)
	if is && (hook || whole) {
		line = strings.Trim(text, "\r\n")
	}
	return line, is, hook
}

// swept is how many old markers go with each instruction that is let through by a program that ends at once. Each costs a sync.
const swept = 4

// Receive judges a line that reached an agent. reason is why it was refused.
func Receive(ctx context.Context, w *app.World, line string, to address.Instance, specified bool, now time.Time) (i Instruction, reason string, err error) {
	g := gate(w, specified, func() time.Time { return now })
	l, why, err := g.Pass(ctx, line, to)
	if err == nil && why == "" {
		_, _ = g.Guard.Sweep(ctx, swept, time.Now()) // what stays is swept the next time
	}
	return Instruction{From: l.From, To: l.To, Text: l.Instruction}, string(why), err
}
