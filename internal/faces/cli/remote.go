package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/remoting"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// endpoint reads the flags that all endpoints have.
func (c *Call) endpoint(port int, path string) (app.Endpoint, error) {
	text := cmp.Or(c.value("port"), strconv.Itoa(port))
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 65535 {
		return app.Endpoint{}, usagef("--port %s: a number from 0 to 65535 is meant", Clean(text))
	}
	e := app.Endpoint{
		Host: cmp.Or(c.value("host"), "127.0.0.1"), Port: n, Path: cmp.Or(c.value("path"), path), Exposed: c.on("exposed"),
		Cert: c.value("tls-cert"), Key: c.value("tls-key"), Environ: os.Environ(),
		Log: func(line string) { c.warn("%s", Clean(line)) },
	}
	if text := c.value("rate"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return e, usagef("--rate %s: a whole number from 1 on is meant", Clean(text))
		}
		e.Rate = float64(n)
	}
	if all := c.value("known-as"); all != "" {
		e.KnownAs = strings.Split(all, ",")
	}
	e.Ready = func(url string) {
		if c.json && c.under == Tutti {
			var o canonjson.Object
			o.Str("event", "listening")
			o.Str("url", url)
			c.out = append(append(c.out, o.Bytes()...), '\n')
		} else {
			who := c.prefix() // under h2a with the verb
			if c.under == Tutti {
				who += ": " + c.Verb.Name
			}
			c.line(who + ": listening on " + url)
		}
		_ = c.flush() // whoever has gone needs no word; the endpoint goes on
		if e.Exposed && e.Cert == "" {
			c.warn("other machines can reach it, and what they send travels in clear text; --tls-cert and --tls-key change that")
		}
	}
	return e, nil
}

// served runs an endpoint until it is ended. What keeps it from beginning is exit status 1.
func (c *Call) served(ctx context.Context, w *app.World, e app.Endpoint, serve func(context.Context, *app.World, app.Endpoint) error) error {
	err := serve(ctx, w, e)
	var op interface { // of the network, and not of a file: *net.OpError, without the package that the light program has no use for
		error
		Unwrap() error
		Temporary() bool
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &op):
		return refuse("--port 0 takes a free one", "%s", Clean(err.Error()))
	}
	return &fault{code: exitUsage, err: err, hint: hintOf(err)}
}

func runRemoteServe(ctx context.Context, c *Call) error {
	e, err := c.endpoint(8787, "/h2a/envelopes")
	if err != nil {
		return err
	}
	if e.Recipients = cmp.Or(c.value("recipients"), "known"); e.Recipients != "registered" && e.Recipients != "known" && e.Recipients != "any" {
		return usagef("--recipients %s: registered, known or any is meant", Clean(e.Recipients))
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return c.served(ctx, w, e, remoting.Serve)
}

func runMirrorServe(ctx context.Context, c *Call) error {
	e, err := c.endpoint(8788, "/h2a/mirror")
	if err != nil {
		return err
	}
	if file := c.value("enrolled-keys-file"); file != "" {
		if e.Enrolled, err = c.body("@" + file); err != nil {
			return refuse("", "read the enrolled keys: %s", Clean(err.Error()))
		}
	} else {
		e.Variable = os.Getenv("H2A_MIRROR_ENROLLED_KEYS")
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return c.served(ctx, w, e, remoting.ServeMirror)
}

// signer is who signs, and the key. Under h2a both have to be named. A person's own key signs at a terminal, or where its file is named.
func (c *Call) signer(ctx context.Context, w *app.World, flag string) (who address.Instance, key *signature.Private, err error) {
	if c.under == H2A {
		for _, name := range []string{flag, "private-key"} {
			if c.value(name) == "" {
				return "", nil, c.missing(name)
			}
		}
	}
	named := c.value(flag)
	switch {
	case named == "":
		s, err := c.peek(ctx, w)
		if err != nil {
			return "", nil, err
		}
		who = s.Instance
	case address.Check(named) != nil:
		return "", nil, usagef("--%s: %s", flag, Clean(address.Check(named).Error()))
	default:
		if who, err = c.meant(ctx, w, named); err != nil {
			return "", nil, err
		}
	}
	if path := c.value("private-key"); path != "" {
		key, err = c.keyFile(path)
		return who, key, err
	}
	if who.Canonical().Host() == identity.Human {
		s, err := w.Identity.Speak(ctx, factsOf(c.App), identity.Ask{As: string(who), Peek: true}, time.Now())
		if err != nil {
			return "", nil, err
		}
		if s.Via != "" {
			return "", nil, refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"the key of a person signs at a terminal, and nobody is at this one")
		}
	}
	key, err = w.Ring.Load(who)
	return who, key, err
}

// peers are the agents that an endpoint leads to.
func (c *Call) remotePeers(ctx context.Context, w *app.World, each func(r *registry.Registration, url string)) error {
	for r, err := range w.Registry.All(ctx) {
		if errors.As(err, new(*store.UnfitError)) {
			continue
		}
		if err != nil {
			return err
		}
		if u := endpointURL(r); u != "" && w.Registry.Standing(ctx, r.Instance) == nil {
			each(r, u)
		}
	}
	return nil
}

// endpointURL is the first endpoint of the kind remote, "" for none.
func endpointURL(r *registry.Registration) string {
	for _, e := range r.Endpoints {
		if e.Kind == registry.Remote && e.URI != "" {
			return e.URI
		}
	}
	return ""
}

func runRemotePeers(ctx context.Context, c *Call) error {
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	var all list
	var rows [][]string
	err = c.remotePeers(ctx, w, func(r *registry.Registration, url string) {
		var o canonjson.Object
		o.Str("instance", string(r.Instance))
		o.Opt("name", r.Name)
		o.Str("url", url)
		all.raw(o.Bytes())
		rows = append(rows, []string{string(r.Instance), r.Name, url})
	})
	if err != nil {
		return err
	}
	if c.json {
		c.emit(all.bytes())
		return nil
	}
	if len(rows) == 0 {
		c.nothing("no agent here is reached by an endpoint")
		return nil
	}
	c.table(rows)
	return nil
}

// destination is where an envelope goes: --url, else the endpoint of its target.
func (c *Call) destination(ctx context.Context, w *app.World, target address.Instance) (to app.Destination, err error) {
	to.URL, to.Roots = c.value("url"), c.value("ca")
	if to.URL != "" {
		return to, nil
	}
	if c.under == H2A || target == "" {
		return to, c.missing("url")
	}
	r, err := w.Registry.Registered(ctx, target)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return to, err
	}
	if err == nil {
		if to.URL, to.Away = endpointURL(r), r.Mirrored(); to.URL != "" {
			return to, nil
		}
	}
	return to, usageHint("--url http://HOST:8787/h2a/envelopes names it; tutti remote peers lists those that are known", "no endpoint is known for %s", Clean(string(target)))
}

func runRemoteSend(ctx context.Context, c *Call) error {
	if err := c.requires("url", "instance", "private-key", "json"); err != nil {
		return err
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, key, err := c.signer(ctx, w, "instance")
	if err != nil {
		return err
	}
	if err := w.Registry.Standing(ctx, who); err != nil {
		return err
	}
	raw, err := c.remoteLetter(ctx, w, who)
	if err != nil {
		return err
	}
	target, _ := canonjson.Get(raw, "target")
	named, _ := canonjson.Get(target, "instance")
	to, _ := canonjson.String(named)
	end, err := c.destination(ctx, w, address.Instance(to))
	if err != nil {
		return err
	}
	if raw, err = remoting.Seal(raw, who, key, end.URL); err != nil {
		return refuse("", "%s", Clean(err.Error()))
	}
	status, answer, err := remoting.Submit(ctx, end, raw)
	if err != nil {
		return c.unanswered(ctx, err)
	}
	if status/100 == 2 {
		if e, err := envelope.Parse(raw); err == nil {
			_ = w.Mail.KeepCopy(ctx, who, e.ID, raw) // it serves memory only
		}
	}
	return c.answered(status, answer)
}

// remoteLetter is the envelope that is to be signed.
func (c *Call) remoteLetter(ctx context.Context, w *app.World, who address.Instance) ([]byte, error) {
	a := envelope.Actor{Instance: who, Role: registry.Agents, Scope: registry.DefaultScope}
	if r, err := w.Registry.Registered(ctx, who); err == nil {
		if len(r.Roles) > 0 {
			a.Role = r.Roles[0]
		}
		if len(r.Scopes) > 0 {
			a.Scope = r.Scopes[0]
		}
	}
	now := time.Now()
	if to := c.value("to"); to != "" && c.under == Tutti {
		if err := address.Check(to); err != nil {
			return nil, usagef("--to: %s", Clean(err.Error()))
		}
		text, err := c.words(ctx, c.arg(0))
		if err != nil {
			return nil, err
		}
		d := envelope.Draft{Actor: a, Target: address.Instance(to), ThreadID: string(address.NewThread(now)), Created: now, Text: text}
		return d.Bytes()
	}
	raw, signed, err := c.given(ctx)
	if err != nil {
		return nil, err
	}
	if signed {
		return raw, nil
	}
	if raw, err = envelope.Fill(raw, a, now); err != nil {
		return nil, refuse("", "%s", Clean(err.Error()))
	}
	return raw, nil
}

// unanswered is exit status 1 for an endpoint that has said nothing; a halt and an interrupt keep their own.
func (c *Call) unanswered(ctx context.Context, err error) error {
	if _, halted := errors.AsType[*halt.Error](err); halted || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		serve := "remote serve"
		if c.Verb.Name == "remote mirror" {
			serve = "remote mirror-serve"
		}
		return &fault{code: exitUsage, err: err, hint: "nothing listens there, so it was not taken; \"tutti " + serve + "\" on that machine does, and prints its URL"}
	}
	return &fault{code: exitUsage, err: err, hint: cmp.Or(hintOf(err), "nobody knows whether it was taken; the same envelope can be sent again")}
}

// answered prints what an endpoint has said.
func (c *Call) answered(status int, answer []byte) error {
	word, _ := canonjson.Get(answer, "reason")
	if word == nil {
		word, _ = canonjson.Get(answer, "error")
	}
	reason, _ := canonjson.String(word)
	if c.json {
		var o canonjson.Object
		o.Int("status", int64(status))
		o.Raw("body", answer)
		c.emit(o.Bytes())
	} else if status/100 == 2 {
		to, _ := canonjson.Get(answer, "deliveredTo")
		name, _ := canonjson.String(to)
		c.line(strings.TrimSpace("taken " + map[bool]string{true: "into the mailbox of " + Clean(name)}[name != ""]))
	}
	if status/100 == 2 {
		return nil
	}
	if c.json {
		return &fault{code: exitUsage} // it is said
	}
	return refuse(remoteHint(reason), "not taken: %s", Clean(strings.TrimSpace(fmt.Sprintf("%s (status %d)", reason, status))))
}

// remoteHint says what to do about a reason.
func remoteHint(reason string) string {
	switch reason {
	case "no-public-key", "unauthorized-key":
		return "register the signer there, with its id, instance, publicKeys and scopes as its line of \"tutti store log instances\" has them here, and the roles [\"AGENTS\"] " +
			"unless it is to have a say there: \"tutti register -\" takes that"
	case "bad-signature", "instance-key-mismatch":
		return "the key is not the one that is known there: tutti keys list shows which there are"
	case "unknown-recipient":
		return "nobody is registered there under the name of the target"
	case "expired", "future", "invalid-timestamp":
		return "compare the clocks of both machines; an envelope counts for five minutes"
	case "replayed":
		return "it had been taken before; nothing is left to do"
	case "id-taken":
		return "another message lies there under this id: send yours with an id of its own"
	case "rate-limited", "busy", "halted":
		return "the same envelope can be sent again in a while"
	case "wrong-endpoint":
		return "--url has to be one of those that the endpoint is known as"
	}
	return ""
}
