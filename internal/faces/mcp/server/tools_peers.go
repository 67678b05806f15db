package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// peersList lists the other agents.
func peersList(ctx context.Context, c *call) (any, error) {
	all, _ := canonjson.Bool(c.raw("all"))
	found, err := c.Book.Discover(ctx, members.Filter{Scope: c.text("scope"), Name: c.text("name"), Registered: all}, now())
	if err != nil {
		return nil, err
	}
	var head peers
	if own, err := c.speaker(ctx, c.bus, true); err == nil { // an unknown speaker leaves out no agent
		head.You = string(own.Instance)
		me := own.Instance.Canonical()
		found = slices.DeleteFunc(found, func(r members.Row) bool { return r.Instance.Canonical() == me })
	}
	found = slices.CompactFunc(found, func(a, b members.Row) bool { return a.Instance.Canonical() == b.Instance.Canonical() })
	rows := make([]row[peer], len(found))
	for n := range found {
		r := &found[n]
		rows[n] = row[peer]{key: peerKey(r), id: string(r.Instance), make: func() (peer, error) { return peerView(r), nil }}
	}
	if len(rows) == 0 {
		head.Remark = nobodyElse(all, c.text("scope")+c.text("name") != "")
	}
	return answerPage(c, "its record is too long to be shown", rows, func(p page[peer]) any {
		o := head
		o.Peers, o.pageTail = p.rows, p.pageTail
		return o
	})
}

// peers are a page of the other agents.
type peers struct {
	You    string `json:"you,omitempty"`    // your own agent; absent where this connection has none
	Remark string `json:"remark,omitempty"` // what an empty list means
	Peers  []peer `json:"peers"`            // live ones first
	pageTail
}

// A peer is another agent.
type peer struct {
	Instance   string   `json:"instance"`
	Name       string   `json:"name,omitempty"`
	Host       string   `json:"host"`
	Live       bool     `json:"live"`
	Scopes     []string `json:"scopes"`           // the first five
	Status     string   `json:"status,omitempty"` // what it says that it does
	Workspace  string   `json:"workspace,omitempty"`
	SecondsAgo *int64   `json:"secondsAgo,omitempty"` // since its last heartbeat; absent: not live
}

// nobodyElse says what an empty list means.
func nobodyElse(all, filtered bool) string {
	switch {
	case all && filtered:
		return "no other agent is known by that scope or name"
	case all:
		return "no other agent is known on this bus; do the others use the same one?"
	case filtered:
		return `no other agent who is live fits; {"all":true} lists those who are registered, too`
	}
	return `no other agent is live; not live is not idle: {"all":true} lists those who are registered, and mail waits for them`
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

func peerView(r *members.Row) peer {
	p := peer{Instance: name(r.Instance), Name: word(r.Name), Host: word(r.Host), Live: r.Session != nil}
	p.Scopes = render.Each(r.Scopes[:min(len(r.Scopes), maxScopes)], word)
	if s := r.Session; s != nil {
		ago := int64(r.Age / time.Second)
		p.Status, p.SecondsAgo = s.WorkStatus, &ago
		if s.Workspace != nil {
			p.Workspace = word(s.Workspace.Path)
		}
	}
	return p
}

// A statusAnswer says who one is, what waits, and what is wrong.
type statusAnswer struct {
	OK          bool     `json:"ok"`                    // there is a bus, and the connection has an agent
	Instance    **string `json:"instance,omitempty"`    // null: this connection has no agent; absent: there is no bus
	Problem     string   `json:"problem,omitempty"`     // what is wrong
	Hint        string   `json:"hint,omitempty"`        // what to do about it
	Fingerprint string   `json:"fingerprint,omitempty"` // of the key of the agent
	KeyFault    string   `json:"keyFault,omitempty"`    // why there is no key
	*ownMail
	Live       *int       `json:"live,omitempty"` // other agents that are live
	Root       string     `json:"root,omitempty"`
	RootSource app.Source `json:"rootSource,omitempty"` // what chose that bus
	Halted     bool       `json:"halted"`
	Release    string     `json:"release"` // version of tutti
}

// An ownMail is what waits for the agent of a connection.
type ownMail struct {
	Sessions   []string    `json:"sessions"`                  // the first five
	Unread     int         `json:"unread"`                    // messages that were not shown yet
	Waiting    int         `json:"waiting"`                   // messages in the mailbox
	Unfit      int         `json:"unfit,omitempty"`           // files that are not messages
	WaitsFault string      `json:"waitsOnYouFault,omitempty"` // why the next two are not known
	WaitsOnYou int         `json:"waitsOnYou,omitempty"`      // what else waits for you
	Waits      []todo.View `json:"waits,omitempty"`           // the first ten
	Next       string      `json:"next,omitempty"`
}

// status says who one is, what waits, and what is wrong. It answers without a bus, too.
func status(ctx context.Context, c *call) (any, error) {
	o := statusAnswer{Halted: halt.Read().Halted, Release: c.cli}
	if c.noBus == nil {
		return o, c.describe(ctx, &o)
	}
	o.Problem, o.Hint = termsafe.Cut(c.noBus.Error(), maxError), termsafe.Cut(hintOf(c.noBus), maxError)
	if root, err := c.app.Root(); err == nil { // where it would be
		o.Root, o.RootSource = word(root.Path), root.Source
	}
	return o, nil
}

func (c *call) describe(ctx context.Context, o *statusAnswer) error {
	live, err := c.Presence.Fresh(ctx, now())
	if err != nil {
		return err
	}
	own, err := c.speaker(ctx, c.bus, true)
	nobody, unknown := errors.AsType[*nobodyError](err)
	if err != nil && !unknown {
		return err
	}
	o.OK, o.Instance = !unknown, new(*string)
	if unknown {
		o.Problem, o.Hint = termsafe.Cut(nobody.Error(), maxError), nobody.Hint()
	} else if err := c.describeOwn(ctx, o, own); err != nil {
		return err
	}
	others := map[string]bool{}
	for _, s := range live {
		if own == nil || s.Instance.Canonical() != own.Instance.Canonical() {
			others[string(s.Instance.Canonical())] = true
		}
	}
	n := len(others)
	o.Live, o.Root, o.RootSource = &n, word(c.Root.Path), c.Root.Source
	return nil
}

// describeOwn says what is known of the agent of this connection.
func (c *call) describeOwn(ctx context.Context, o *statusAnswer, own *identity.Speaker) error {
	id := string(own.Instance)
	*o.Instance = &id
	if key, err := c.Ring.Load(own.Instance); err == nil {
		o.Fingerprint = key.Public().Short()
	} else {
		o.KeyFault = word(err.Error()) + ": nothing can be sent"
	}
	var sessions []string
	for _, s := range c.attend.Sessions() {
		sessions = append(sessions, word(string(s.SessionID)))
	}
	m := &ownMail{Sessions: render.List(sessions[:min(len(sessions), maxScopes)])}
	o.ownMail = m
	who := mailbox.Reader{By: own.Instance, Session: c.session(c.bus, own)}
	found, unfit, err := c.Mail.List(ctx, own.Instance, mailbox.Query{Brief: true, States: true})
	if err != nil {
		return err
	}
	for _, one := range found {
		if one.State.Free(who, now()) {
			m.Unread++
		}
	}
	m.Waiting, m.Unfit = len(found), len(unfit)
	if err := c.waitsOnYou(ctx, m, own); err != nil {
		return err
	}
	switch {
	case m.Unread > 0:
		m.Next = "tutti_receive shows the new mail"
	case m.Waiting > 0:
		m.Next = "shown before and not acknowledged: tutti_reply answers, tutti_ack puts away, " +
			`tutti_receive {"unacknowledged":true} lists`
	}
	return nil
}
