// Package remote carries signed envelopes between buses over HTTP: an endpoint that takes them in, and what sends them there.
//
// It promises that a message with the answer 202 is in the mailbox of its target, put there as mail of this machine is,
// survives a power cut, and is not taken a second time by an eavesdropper, also not after a restart. A message with another
// answer was not taken, or had been taken before (409 replayed), or may be there (500); it can be sent again as long as it is
// fresh, and is stored once. Only agents that are registered here with an active key are believed, each within its rate and
// within the number of its messages that may wait unread in a mailbox. While the halt switch is on nothing is taken.
//
// What this machine's readers make of a message (pins, policies) is theirs to decide, as for any mail. Nothing here is secret
// unless the connection is. Presence of agents elsewhere is package mirror, instructions for an agent package instruct; both use the
// guard, the rates and the rule of freshness here.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/halt"
	"tutti/internal/remote/listen"
	"tutti/internal/store"
)

// What an endpoint for envelopes is.
const (
	Path    = "/h2a/envelopes"
	Port    = 8787
	MaxBody = 256 << 10
)

// Recipients says whose mailboxes are open.
type Recipients string

// The choices.
const (
	Registered Recipients = "registered" // agents that are registered here
	Known      Recipients = "known"      // these, and mailboxes that are there already
	Anybody    Recipients = "any"        // any address; a mailbox is made where there is none
)

// MirrorKind is the kind of a body that shows sessions (see package mirror). It is not mail, and no mail is one: a message that
// was signed for one of the endpoints and overheard is useless at the other, also where both know the signer.
const MirrorKind = "mirror.instances"

// A Receiver takes envelopes in.
type Receiver struct {
	Office   *mail.Service
	Registry *registry.Registry
	Store    store.Reader // is asked which mailboxes there are
	Guard    *Guard
	Rates    *Rates
	Unread   int        // how many messages of one signer may wait in one mailbox; 0: any number
	Open     Recipients // "": Known
	// Endpoints are the URLs under which this endpoint is known. An envelope that names another one in its target is not for us; with
	// none all are taken.
	Endpoints []string
	Now       func() time.Time
	Log       func(line string)

	active active
	quota  quota
	queue  chan *parcel
	ended  chan struct{} // closed when nothing is put any more
}

// A parcel is an envelope that was found good, on its way into a mailbox.
type parcel struct {
	e     *envelope.Envelope
	key   signature.Public // under which it was found good
	size  int              // bytes, as they came
	claim *Claim
	done  chan listen.Answer
}

// Serve answers what comes to a listener until the context ends. Of the options path, TLS and Halted count.
func (r *Receiver) Serve(ctx context.Context, l net.Listener, o listen.Options) error {
	r.queue, r.ended = make(chan *parcel, maxGroup), make(chan struct{})
	r.Log = listen.Calm(r.Log) // who can cause one line must not fill a disk with them
	o.MaxBody, o.Handle, o.Log = MaxBody, r.take, r.Log
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // what is in hand when the end comes is put all the same
	var puts, sweep sync.WaitGroup
	puts.Go(func() { r.run(working) })
	sweep.Go(func() { r.Guard.KeepSwept(working, r.Now, r.Log) })
	defer func() { // what is half put must not meet the end of the process
		stop()
		puts.Wait()
		close(r.ended)
		sweep.Wait()
	}()
	return listen.New(o).Serve(ctx, l)
}

// take judges a body in the order in which existing programs do, so that they understand why something is not taken.
func (r *Receiver) take(ctx context.Context, body []byte) listen.Answer {
	e, reason := Read(body)
	switch {
	case reason != "":
	case e.Kind() == MirrorKind:
		reason = NotMail
	case e.Target == "":
		reason = NoTarget
	}
	if reason != "" {
		return reason.Answer()
	}
	own := e.Own()
	if len(own) == 0 {
		return NoSignature.Answer()
	}
	key, reason, err := r.proven(ctx, e, own)
	if err != nil {
		return r.failed(err)
	}
	now := r.Now()
	if reason == "" {
		reason = Fresh(e.CreatedAt, now)
	}
	if reason == "" && !For(e, r.Endpoints) {
		reason = Elsewhere
	}
	if reason != "" {
		return reason.Answer()
	}
	signer := e.Actor.Instance
	claim, err := r.Guard.Hold(ctx, Thing{Name: Name(signer, e.ID), ID: e.ID, CreatedAt: e.CreatedAt})
	if err != nil {
		return r.failed(err)
	}
	if r.Guard.Known(claim.thing) { // here, so that what is overheard and comes again takes no share; the group is asked once more
		claim.End()
		return Replayed.Answer()
	}
	if wait, ok := r.Rates.Take(signer, len(body), now); !ok {
		claim.End()
		return TooMany(wait)
	}
	if r.Unread > 0 {
		room, err := r.quota.take(ctx, r.Office.Mail, signer, e.Target, r.Unread, now)
		if err != nil || !room {
			claim.End()
			r.Rates.Give(signer, len(body))
		}
		if err != nil {
			return r.failed(err)
		}
		if !room {
			return Full()
		}
	}
	p := &parcel{e: e, key: key, size: len(body), claim: claim, done: make(chan listen.Answer, 1)}
	select {
	case r.queue <- p:
	case <-ctx.Done():
		r.Rates.Give(signer, p.size)
		claim.End()
		return listen.Answer{}
	}
	select { // it is put whether or not the client is still there
	case a := <-p.done:
		return a
	case <-r.ended:
	}
	select {
	case a := <-p.done: // it was put last of all
		return a
	default:
		return listen.Answer{}
	}
}

// Read reads an envelope that comes from outside. What is not wholly one is Malformed, and so is one that has a member twice: the signature
// covers the last one, and a program that goes by the first would show what was not signed.
func Read(body []byte) (*envelope.Envelope, Reason) {
	if canonjson.Whole(body) != nil || len(envelope.Problems(body)) > 0 {
		return nil, Malformed
	}
	e, err := envelope.Parse(body)
	if err != nil || address.Check(string(e.Actor.Instance)) != nil {
		return nil, Malformed
	}
	if e.Target != "" && address.Check(string(e.Target)) != nil {
		return nil, Malformed
	}
	return e, ""
}

// For tells whether an envelope that names an endpoint names one of these, or there are none. It is covered by the signature, so that one
// that was overheard on the way elsewhere is of no use here.
func For(e *envelope.Envelope, endpoints []string) bool {
	named := endpointOf(e.Raw)
	if named == "" || len(endpoints) == 0 {
		return true
	}
	for _, u := range endpoints {
		if sameURL(u, named) {
			return true
		}
	}
	return false
}

// failed is the answer when something of ours is at fault; what it was is for the operator alone.
func (r *Receiver) failed(err error) listen.Answer {
	if _, halted := errors.AsType[*halt.Error](err); halted {
		return listen.Halted()
	}
	if errors.Is(err, ErrCrowded) {
		return Crowded()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return listen.Answer{}
	}
	r.tell("an envelope was not taken: " + err.Error())
	return listen.Error(http.StatusInternalServerError, "apply-failed")
}

func (r *Receiver) tell(line string) {
	if r.Log != nil {
		r.Log(line)
	}
}

// accepted is the answer for an envelope that is in a mailbox.
func accepted(to, signer address.Instance) listen.Answer {
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("deliveredTo", string(to))
	o.Str("signer", string(signer))
	return listen.Answer{Status: http.StatusAccepted, Body: o.Bytes()}
}

// refused is the answer for one that found no mailbox.
func (r *Receiver) refused(err error) listen.Answer {
	var (
		nobody  *mail.RefusedError
		unknown *mail.UnknownError
		taken   *mailbox.TakenIDError
		invalid *envelope.InvalidError
	)
	switch {
	case errors.As(err, &nobody), errors.As(err, &unknown):
		return Unknown.Answer()
	case errors.As(err, &taken):
		return Occupied.Answer()
	case errors.As(err, &invalid):
		return Malformed.Answer()
	case errors.Is(err, registry.ErrGone):
		return Unknown.Answer()
	}
	return r.failed(fmt.Errorf("deliver: %w", err))
}
