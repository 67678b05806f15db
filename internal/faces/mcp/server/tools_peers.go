package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// peersList lists the other agents.
func peersList(ctx context.Context, c *call) (*canonjson.Object, error) {
	all, _ := canonjson.Bool(c.raw("all"))
	found, err := c.Book.Discover(ctx, members.Filter{Scope: c.text("scope"), Name: c.text("name"), Registered: all}, now())
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	if own, err := c.speaker(ctx, c.bus, true); err == nil { // where nobody can be told, nobody is left out
		o.Str("you", string(own.Instance))
		me := own.Instance.Canonical()
		found = slices.DeleteFunc(found, func(r members.Row) bool { return r.Instance.Canonical() == me })
	}
	found = slices.CompactFunc(found, func(a, b members.Row) bool { return a.Instance.Canonical() == b.Instance.Canonical() })
	rows := make([]row, len(found))
	for n := range found {
		r := &found[n]
		rows[n] = row{key: peerKey(r), id: string(r.Instance), make: func() ([]byte, error) { return peerJSON(r), nil }}
	}
	if len(rows) == 0 {
		o.Str("remark", nobodyElse(all, c.text("scope")+c.text("name") != ""))
	}
	return c.page(&o, "peers", "its record is too long to be shown", rows)
}

// nobodyElse says what an empty list means.
func nobodyElse(all, filtered bool) string {
	switch {
	case all && filtered:
		return "nobody else is known by that scope or name"
	case all:
		return "nobody else is known on this bus; do the others use the same one?"
	case filtered:
		return `nobody else who is live fits; {"all":true} lists those who are registered, too`
	}
	return `nobody else is live; not live is not idle: {"all":true} lists those who are registered, and mail waits for them`
}

// peerKey puts those who are live first.
func peerKey(r *members.Row) string {
	rank := "1"
	if r.Session != nil {
		rank = "0"
	}
	return rank + " " + word(r.Host) + " " + termsafe.Cut(string(r.Instance), maxWord) + " " + termsafe.Cut(string(r.SessionID), maxWord)
}

// maxScopes is how many scopes of a peer are listed.
const maxScopes = 5

func peerJSON(r *members.Row) []byte {
	var o canonjson.Object
	o.Str("instance", name(r.Instance))
	o.Opt("name", word(r.Name))
	o.Str("host", word(r.Host))
	o.Bool("live", r.Session != nil)
	var scopes []string
	for _, s := range r.Scopes[:min(len(r.Scopes), maxScopes)] {
		scopes = append(scopes, word(s))
	}
	o.Strs("scopes", scopes)
	if s := r.Session; s != nil {
		o.Opt("status", s.WorkStatus)
		if s.Workspace != nil {
			o.Opt("workspace", word(s.Workspace.Path))
		}
		o.Int("secondsAgo", int64(r.Age/time.Second))
	}
	return o.Bytes()
}

// status says who one is, what waits, and what is wrong. It answers without a bus, too.
func status(ctx context.Context, c *call) (*canonjson.Object, error) {
	var o canonjson.Object
	if c.noBus != nil {
		o.Bool("ok", false)
		o.Str("problem", termsafe.Cut(c.noBus.Error(), maxError))
		o.Opt("hint", termsafe.Cut(hintOf(c.noBus), maxError))
		if root, err := c.app.Root(); err == nil { // where it would be
			o.Str("root", word(root.Path))
			o.Str("rootSource", string(root.Source))
		}
	} else if err := c.describe(ctx, &o); err != nil {
		return nil, err
	}
	o.Bool("halted", halt.Read().Halted)
	o.Str("release", c.cli)
	return &o, nil
}

func (c *call) describe(ctx context.Context, o *canonjson.Object) error {
	live, err := c.Presence.Fresh(ctx, now())
	if err != nil {
		return err
	}
	own, err := c.speaker(ctx, c.bus, true)
	nobody, unknown := errors.AsType[*nobodyError](err)
	if err != nil && !unknown {
		return err
	}
	o.Bool("ok", !unknown)
	if unknown {
		o.Null("instance")
		o.Str("problem", termsafe.Cut(nobody.Error(), maxError))
		o.Str("hint", nobody.Hint())
	} else if err := c.describeOwn(ctx, o, own); err != nil {
		return err
	}
	others := map[string]bool{}
	for _, s := range live {
		if own == nil || s.Instance.Canonical() != own.Instance.Canonical() {
			others[string(s.Instance.Canonical())] = true
		}
	}
	o.Int("live", int64(len(others)))
	o.Str("root", word(c.Root.Path))
	o.Str("rootSource", string(c.Root.Source))
	return nil
}

// describeOwn says what is known of the agent of this connection.
func (c *call) describeOwn(ctx context.Context, o *canonjson.Object, own *identity.Speaker) error {
	o.Str("instance", string(own.Instance))
	if key, err := c.Ring.Load(own.Instance); err == nil {
		o.Str("fingerprint", key.Public().Short())
	} else {
		o.Str("keyFault", word(err.Error())+": nothing can be sent")
	}
	var sessions []string
	for _, s := range c.attend.Sessions() {
		sessions = append(sessions, word(string(s.SessionID)))
	}
	o.Strs("sessions", sessions[:min(len(sessions), maxScopes)])
	who := mailbox.Reader{By: own.Instance, Session: c.session(c.bus, own)}
	found, unfit, err := c.Mail.List(ctx, own.Instance, mailbox.Query{Brief: true, States: true})
	if err != nil {
		return err
	}
	unread := 0
	for _, m := range found {
		if m.State.Free(who, now()) {
			unread++
		}
	}
	o.Int("unread", int64(unread))
	o.Int("waiting", int64(len(found)))
	if len(unfit) > 0 {
		o.Int("unfit", int64(len(unfit)))
	}
	if err := c.waitsOnYou(ctx, o, own); err != nil {
		return err
	}
	switch {
	case unread > 0:
		o.Str("next", "tutti_receive shows the new mail")
	case len(found) > 0:
		o.Str("next", "shown before and not acknowledged: tutti_reply answers, tutti_ack puts away, "+
			`tutti_receive {"unacknowledged":true} lists`)
	}
	return nil
}
