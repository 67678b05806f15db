package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// A listening is the first line of an endpoint.
type listening struct {
	Event string `json:"event"` // "listening"
	URL   string `json:"url"`   // what a sender names
}

// A peerRow is an agent that an endpoint leads to.
type peerRow struct {
	Instance address.Instance `json:"instance"`
	Name     string           `json:"name,omitempty"`
	URL      string           `json:"url"` // of the endpoint
}

// A reply is what an endpoint answered.
type reply struct {
	Status int             `json:"status"`          // of HTTP; 0 if no answer came
	Body   json.RawMessage `json:"body,omitempty"`  // of the answer, if it is JSON
	Error  string          `json:"error,omitempty"` // why no answer came
}

type serveOptions struct {
	Host, Path, TLSCert, TLSKey string
	Exposed                     bool
	Port, Rate                  int
}

// endpoint reads the flags that all endpoints have.
func endpoint(c *kit.Call, opt *serveOptions, port int, path string) (Endpoint, error) {
	n := kit.Or(c, &opt.Port, port)
	if n > 65535 {
		return Endpoint{}, kit.Usagef("--port %d: must be between 0 and 65535", n)
	}
	e := Endpoint{
		Host: cmp.Or(opt.Host, "127.0.0.1"), Port: n, Path: cmp.Or(opt.Path, path), Exposed: opt.Exposed,
		Cert: opt.TLSCert, Key: opt.TLSKey, Environ: os.Environ(),
		Log: func(line string) { c.Warn("%s", kit.Clean(line)) },
	}
	if c.IsSet(&opt.Rate) {
		if opt.Rate < 1 {
			return e, kit.Usagef("--rate %d: must be a whole number, at least 1", opt.Rate)
		}
		e.Rate = float64(opt.Rate)
	}
	if c.Under == kit.Tutti {
		e.Unread = remote.DefaultUnread
	}
	e.Ready = func(url string) {
		if c.JSON && c.Under == kit.Tutti {
			c.ResultLine(listening{"listening", url})
		} else {
			who := c.Prefix() // under h2a with the verb
			if c.Under == kit.Tutti {
				who += ": " + c.Verb.Name
			}
			c.Line(who + ": listening on " + url)
		}
		_ = c.Flush() // the reader may have gone; the endpoint goes on
		if e.Exposed && e.Cert == "" {
			c.Warn("other machines can reach it, and what they send travels in clear text; --tls-cert and --tls-key change that")
		}
	}
	return e, nil
}

// served runs an endpoint until it is ended. What keeps it from beginning is exit status 1.
func served(ctx context.Context, c *kit.Call, w *app.World, e Endpoint, serve func(context.Context, *app.World, Endpoint) error) error {
	err := serve(ctx, w, e)
	var op *net.OpError // of the network, and not of a file
	switch {
	case err == nil:
		return nil
	case errors.As(err, &op):
		return kit.Refuse("--port 0 takes a free one", "%s", kit.Clean(err.Error()))
	}
	return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
}

type remoteServeOptions struct {
	serveOptions
	Recipients, KnownAs string
	Unread              int
}

func runRemoteServe(ctx context.Context, c *kit.Call, opt *remoteServeOptions) error {
	e, err := endpoint(c, &opt.serveOptions, 8787, "/h2a/envelopes")
	if err != nil {
		return err
	}
	e.KnownAs = kit.Split(opt.KnownAs)
	if c.IsSet(&opt.Unread) {
		if e.Unread = opt.Unread; e.Unread < 1 {
			return kit.Usagef("--unread %d: must be a whole number from 1", opt.Unread)
		}
	}
	if e.Recipients = cmp.Or(opt.Recipients, "known"); e.Recipients != "registered" && e.Recipients != "known" && e.Recipients != "any" {
		return kit.Usagef("--recipients %s: must be registered, known or any", kit.Clean(e.Recipients))
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return served(ctx, c, w, e, Serve)
}

type mirrorServeOptions struct {
	serveOptions
	EnrolledKeysFile, KnownAs string
}

func runMirrorServe(ctx context.Context, c *kit.Call, opt *mirrorServeOptions) error {
	e, err := endpoint(c, &opt.serveOptions, 8788, "/h2a/mirror")
	if err != nil {
		return err
	}
	e.KnownAs = kit.Split(opt.KnownAs)
	if file := opt.EnrolledKeysFile; file != "" {
		if e.Enrolled, err = c.Body("@" + file); err != nil {
			return kit.Refuse("", "read the enrolled keys: %s", kit.Clean(err.Error()))
		}
	} else {
		e.Variable = os.Getenv("H2A_MIRROR_ENROLLED_KEYS")
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	return served(ctx, c, w, e, ServeMirror)
}

// Signer is who signs, and the key, by the two flags. Under h2a both have to be named. A person's own key signs at a terminal, or where its file is named.
func Signer(ctx context.Context, c *kit.Call, w *app.World, instance, privateKey *string) (who address.Instance, key *signature.Private, err error) {
	if err := c.Requires(instance, privateKey); err != nil {
		return "", nil, err
	}
	named := *instance
	switch {
	case named == "":
		s, err := c.Peek(ctx, w, "")
		if err != nil {
			return "", nil, err
		}
		who = s.Instance
	case address.Check(named) != nil:
		return "", nil, kit.Usagef("--%s: %s", c.FlagName(instance), kit.Clean(address.Check(named).Error()))
	default:
		if who, err = c.Meant(ctx, w, named); err == nil {
			err = c.InName(ctx, w, who)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if *privateKey != "" {
		key, err = c.KeyFile(*privateKey)
		return who, key, err
	}
	if who.Canonical().Host() == identity.Human {
		s, err := w.Identity.Speak(ctx, kit.FactsOf(c.App), identity.Ask{As: string(who), Peek: true}, time.Now())
		if err != nil {
			return "", nil, err
		}
		if s.Via == identity.Unattended {
			return "", nil, kit.Refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"a person's key signs only at a terminal, and this is not one")
		}
	}
	key, err = w.Ring.Load(who)
	return who, key, err
}

// remotePeers are the agents that an endpoint leads to.
func remotePeers(ctx context.Context, c *kit.Call, w *app.World, each func(r *registry.Registration, url string)) error {
	for r, err := range w.Registry.All(ctx) {
		if errors.As(err, new(*store.UnfitError)) {
			continue
		}
		if err != nil {
			return err
		}
		if u := r.Away(); u != "" && w.Registry.Standing(ctx, r.Instance) == nil {
			each(r, u)
		}
	}
	return nil
}

func runRemotePeers(ctx context.Context, c *kit.Call) error {
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	var all []peerRow
	err = remotePeers(ctx, c, w, func(r *registry.Registration, url string) {
		all = append(all, peerRow{r.Instance, r.Name, url})
	})
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(render.List(all))
		return nil
	}
	if len(all) == 0 {
		c.Nothing("no agent on this bus has an endpoint")
		return nil
	}
	c.Rows(render.Each(all, func(p peerRow) []string { return []string{string(p.Instance), p.Name, p.URL} }))
	return nil
}

// destination is where an envelope goes: --url, else the endpoint of its target.
func destination(ctx context.Context, c *kit.Call, opt *remoteSendOptions, w *app.World, target address.Instance) (to Destination, err error) {
	to.URL, to.Roots = opt.URL, opt.CA
	if to.URL != "" {
		return to, nil
	}
	if c.Under == kit.H2A || target == "" {
		return to, c.Missing(&opt.URL)
	}
	r, err := w.Registry.Registered(ctx, target)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return to, err
	}
	if err == nil {
		if to.URL, to.Away = r.Away(), r.Mirrored(); to.URL != "" {
			return to, nil
		}
	}
	return to, kit.UsageHint("--url http://HOST:8787/h2a/envelopes names it; tutti remote peers lists those that are known", "no endpoint is known for %s", kit.Name(target))
}

type remoteSendOptions struct {
	URL, Instance, PrivateKey, CA, To, JSON string
}

func runRemoteSend(ctx context.Context, c *kit.Call, opt *remoteSendOptions) error {
	if err := c.Requires(&opt.URL, &opt.Instance, &opt.PrivateKey, &opt.JSON); err != nil {
		return err
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, key, err := Signer(ctx, c, w, &opt.Instance, &opt.PrivateKey)
	if err != nil {
		return err
	}
	if err := w.Registry.Standing(ctx, who); err != nil {
		return err
	}
	raw, err := remoteLetter(ctx, c, opt, w, who)
	if err != nil {
		return err
	}
	target, _ := canonjson.Get(raw, "target")
	named, _ := canonjson.Get(target, "instance")
	to, _ := canonjson.String(named)
	end, err := destination(ctx, c, opt, w, address.Instance(to))
	if err != nil {
		return err
	}
	if raw, err = Seal(raw, who, key, end.URL); err != nil {
		return kit.Refuse("", "%s", kit.Clean(err.Error()))
	}
	status, answer, err := Submit(ctx, end, raw)
	if err != nil {
		return unanswered(ctx, c, err)
	}
	if status/100 == 2 {
		if e, err := envelope.Parse(raw); err == nil {
			_ = w.Mail.KeepCopy(ctx, who, e.ID, raw) // it serves memory only
		}
	}
	return answered(c, status, answer)
}

// remoteLetter is the envelope that is to be signed.
func remoteLetter(ctx context.Context, c *kit.Call, opt *remoteSendOptions, w *app.World, who address.Instance) ([]byte, error) {
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
	if to := opt.To; to != "" && c.Under == kit.Tutti {
		if err := address.Check(to); err != nil {
			return nil, kit.Usagef("--to: %s", kit.Clean(err.Error()))
		}
		text, err := c.Words(ctx, c.Arg(0))
		if err != nil {
			return nil, err
		}
		d := envelope.Draft{Actor: a, Target: address.Instance(to), ThreadID: string(address.NewThread(now)), Created: now, Text: text}
		return d.Bytes()
	}
	raw, signed, err := c.Given(ctx, opt.JSON)
	if err != nil {
		return nil, err
	}
	if signed {
		return raw, nil
	}
	if raw, err = envelope.Fill(raw, a, now); err != nil {
		return nil, kit.Refuse("", "%s", kit.Clean(err.Error()))
	}
	return raw, nil
}

// unanswered is exit status 1 for an endpoint that has said nothing; a halt and an interrupt keep their own.
func unanswered(ctx context.Context, c *kit.Call, err error) error {
	if _, halted := errors.AsType[*halt.Error](err); halted || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		serve := "remote serve"
		if c.Verb.Name == "remote mirror" {
			serve = "remote mirror-serve"
		}
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: "nothing listens there, so it was not taken; \"tutti " + serve + "\" on that machine does, and prints its URL"}
	}
	return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: cmp.Or(kit.HintOf(err), "it is unknown whether the message was taken; you can send the same envelope again")}
}

// answered prints what an endpoint has said.
func answered(c *kit.Call, status int, answer []byte) error {
	word, _ := canonjson.Get(answer, "reason")
	if word == nil {
		word, _ = canonjson.Get(answer, "error")
	}
	reason, _ := canonjson.String(word)
	if c.JSON {
		c.Result(reply{Status: status, Body: answer})
	} else if status/100 == 2 {
		to, _ := canonjson.Get(answer, "deliveredTo")
		name, _ := canonjson.String(to)
		c.Line(strings.TrimSpace("taken " + map[bool]string{true: "into the mailbox of " + kit.Clean(name)}[name != ""]))
	}
	if status/100 == 2 {
		return nil
	}
	if c.JSON {
		return &kit.Fault{Code: kit.ExitUsage} // it is said
	}
	return kit.Refuse(remoteHint(reason), "not taken: %s", kit.Clean(strings.TrimSpace(fmt.Sprintf("%s (status %d)", reason, status))))
}

// remoteHint says what to do about a reason.
func remoteHint(reason string) string {
	switch reason {
	case "no-public-key", "unauthorized-key":
		return "register the signer there: \"tutti register -\" there takes what \"tutti remote card --url URL\" prints here, with the roles [\"AGENTS\"]"
	case "bad-signature", "instance-key-mismatch":
		return "the key is not the one that is known there: tutti keys list shows which there are"
	case "unknown-recipient":
		return "no agent is registered there under the target's name"
	case "expired", "future", "invalid-timestamp":
		return "compare the clocks of both machines; an envelope counts for five minutes"
	case "replayed":
		return "it had been taken before; nothing is left to do"
	case "id-taken":
		return "another message is stored there under this id: send yours with a new id"
	case "rate-limited", "busy", "halted":
		return "the same envelope can be sent again in a while"
	case "wrong-endpoint":
		return "--url has to be one of those that the endpoint is known as"
	}
	return ""
}
