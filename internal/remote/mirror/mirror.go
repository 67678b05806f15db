// Package mirror shows the sessions of an agent on another bus, where it does not live.
//
// An agent pushes its own registration, its fresh sessions and its subagents, signed, from time to time; the other bus shows
// them as indirect sessions as long as the pushes come. It promises that only signers are shown: a key speaks for the agent for
// which it was enrolled, or is registered, and for no other. A mirrored agent gets no right and reaches no one: roles beyond
// AGENTS, capabilities, a principal or conductor, processes and panes are left out. A push counts once, and none that is older
// than the last.
//
// The order of pushes is kept by a fence, a number for each agent that only grows. It cannot be pushed into the future, where it would
// lock its agent out. Ends are not told: sessions that are not pushed any more expire as all do.
package mirror

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
	"tutti/internal/remote/listen"
	"tutti/internal/store"
)

// What an endpoint for mirrored sessions is.
const (
	Path = "/h2a/mirror"
	Port = 8788
	Kind = remote.MirrorKind // of the body

	maxSessions  = 32 // of one push; an agent has a few
	maxSubagents = 64
)

// The reasons that are known here beside those of package remote.
const (
	NotMirror   remote.Reason = "not-mirror"
	NoAuthority remote.Reason = "unauthorized-key"
	Mismatch    remote.Reason = "instance-key-mismatch"
	StaleSeq    remote.Reason = "stale-sequence"
)

// answer is the text for a client about a reason.
func answer(r remote.Reason) listen.Answer {
	if r == NoAuthority {
		return listen.Reason(http.StatusUnauthorized, string(r))
	}
	return r.Answer()
}

// An Enrolled key may push. Of one that is bound the agent is known; one that is not speaks for the first agent that it registers.
type Enrolled struct {
	Key      signature.Public
	Instance address.Instance // "": not bound
}

// A Receiver shows what is pushed.
type Receiver struct {
	Registry *registry.Registry
	Presence *presence.Presence
	Mail     *mailbox.Mailbox // is asked for aliases
	Docs     store.Docs
	Guard    *remote.Guard
	Rates    *remote.Rates
	Enrolled []Enrolled
	Halted   func(action string) error
	Now      func() time.Time
	Log      func(line string)
	// Endpoints are the URLs under which this endpoint is known. A push that names another one in its target is not for us; with none all
	// are taken.
	Endpoints []string

	fence sync.Mutex // is held while a number is moved
	first sync.Mutex // is held while an agent is registered
}

// Serve answers what comes to a listener until the context ends. Of the options path, TLS and Halted count.
func (r *Receiver) Serve(ctx context.Context, l net.Listener, o listen.Options) error {
	r.Log = listen.Calm(r.Log) // who can cause one line must not fill a disk with them
	o.MaxBody, o.Handle, o.Log = remote.MaxBody, r.take, r.Log
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.Guard.KeepSwept(working, r.Now, r.Log)
	return listen.New(o).Serve(ctx, l)
}

// A push is what was sent, as far as it is believed.
type push struct {
	e    *envelope.Envelope
	who  address.Instance // canonical
	seq  int64
	has  bool // a sequence that is a number
	body struct{ registrations, presence, subagents []byte }
	key  signature.Public
	reg  []byte // the registration of the signer
}

// take judges a body in the order in which existing programs do.
func (r *Receiver) take(ctx context.Context, body []byte) listen.Answer {
	if !canonjson.Valid(body) {
		return listen.Error(http.StatusBadRequest, string(remote.Malformed))
	}
	p, reason := read(body)
	if reason == "" {
		var err error
		if reason, err = r.believe(ctx, p); err != nil {
			return r.failed(err)
		}
	}
	now := r.Now()
	if reason == "" {
		reason = remote.Fresh(p.e.CreatedAt, now)
	}
	if reason == "" && !remote.For(p.e, r.Endpoints) {
		reason = remote.Elsewhere
	}
	if reason != "" {
		return answer(reason)
	}
	claim, seen, err := r.Guard.Claim(ctx, remote.Thing{Name: remote.Name(p.who, p.e.ID), ID: p.e.ID, CreatedAt: p.e.CreatedAt})
	if err != nil {
		return r.failed(err)
	}
	defer claim.End()
	if seen {
		return answer(remote.Replayed)
	}
	if wait, ok := r.Rates.Take(p.who, len(body), now); !ok {
		return remote.TooMany(wait)
	}
	a := r.apply(context.WithoutCancel(ctx), p, claim, now)
	if a.Status/100 != 2 { // it may have been overheard and replayed
		r.Rates.Give(p.who, len(body))
	}
	return a
}

// apply shows what was pushed. The fence comes first: what fails after it is made good by the next push.
func (r *Receiver) apply(ctx context.Context, p *push, claim *remote.Claim, now time.Time) listen.Answer {
	if r.Halted != nil && r.Halted("show mirrored sessions") != nil {
		return listen.Halted()
	}
	if !p.has {
		return answer(StaleSeq)
	}
	reason, err := r.pass(ctx, p.who, p.seq, now)
	if err == nil && reason == "" {
		if err = r.show(ctx, p, now); err == nil {
			_, err = claim.Take(ctx)
		}
	}
	switch {
	case errors.Is(err, errNotIts):
		return answer(Mismatch)
	case err != nil:
		return r.failed(err)
	case reason != "":
		return answer(reason)
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Strs("applied", []string{string(p.e.Actor.Instance)})
	o.Str("signer", string(p.e.Actor.Instance))
	return listen.Answer{Status: http.StatusAccepted, Body: o.Bytes()}
}

func (r *Receiver) failed(err error) listen.Answer {
	if errors.Is(err, remote.ErrCrowded) {
		return remote.Crowded()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return listen.Answer{}
	}
	if r.Log != nil {
		r.Log("a push was not shown: " + err.Error())
	}
	return listen.Error(http.StatusInternalServerError, "apply-failed")
}

// read reads a push, without a look at who it is from.
func read(body []byte) (*push, remote.Reason) {
	e, reason := remote.Read(body)
	if reason != "" {
		return nil, reason
	}
	if !nameable(string(e.Actor.Instance)) {
		return nil, remote.Malformed
	}
	p := &push{e: e, who: e.Actor.Instance.Canonical()}
	var v [5][]byte
	canonjson.Pick(e.Body, []string{"kind", "registrations", "presence", "subagents", "seq"}, v[:])
	if !canonjson.Is(v[0], Kind) || canonjson.Kind(v[1]) != canonjson.TypeArray || e.Type != "event" || e.Target.Canonical() != p.who {
		return nil, NotMirror // a push is an event for its own agent: mail to another agent never becomes one
	}
	for _, list := range v[2:4] {
		if list != nil && canonjson.Kind(list) != canonjson.TypeArray {
			return nil, NotMirror
		}
	}
	p.body.registrations, p.body.presence, p.body.subagents = v[1], v[2], v[3]
	p.seq, p.has = canonjson.Int(v[4])
	if len(e.Own()) == 0 {
		return nil, remote.NoSignature
	}
	return p, ""
}
