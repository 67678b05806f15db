package negotiation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

// LatestBase is a base that fits in any case: for callers whose protocol has no way to name one.
const LatestBase = "latest"

// An Offering is an artifact to offer to the parties.
type Offering struct {
	Artifact []byte
	// Base is the hash of the offer that it answers, LatestBase, or "": then what the artifact names as its baseArtifactHash.
	Base string
	// Force offers it although the guards refuse it. The entry says so.
	Force bool
}

// Offer offers an artifact to the parties. Every offer but the first names the one it answers, so that no party overwrites an
// offer that it has not seen: a *StaleError names the latest.
func (n *Negotiations) Offer(ctx context.Context, id string, a Act, o Offering, now time.Time) (*journal.Entry, error) {
	return n.propose(ctx, id, a, o, Offer, now)
}

// Counter answers an offer with another one.
func (n *Negotiations) Counter(ctx context.Context, id string, a Act, o Offering, now time.Time) (*journal.Entry, error) {
	return n.propose(ctx, id, a, o, Counter, now)
}

func (n *Negotiations) propose(ctx context.Context, id string, a Act, o Offering, ev Event, now time.Time) (*journal.Entry, error) {
	typ := "propose"
	if ev == Counter {
		typ = "counter"
	}
	if err := canonjson.Whole(o.Artifact); err != nil {
		return nil, fmt.Errorf("%s %s: the artifact cannot be signed: %w", ev, id, err)
	}
	faults := guards(o.Artifact)
	if len(faults) > 0 && !o.Force {
		if err := n.There(ctx, id, now); err != nil {
			return nil, fmt.Errorf("%s %s: %w", ev, id, err)
		}
		return nil, fmt.Errorf("%s %s: %w", ev, id, &RefusedError{Why: faults, Hint: MendHint})
	}
	e, p, err := n.write(ctx, id, a, now, func(p *place, state State) (draft, error) {
		if err := p.may(a, string(ev), ev, state, now); err != nil {
			return draft{}, err
		}
		base, err := p.base(a.By, o, ev)
		if err != nil {
			return draft{}, err
		}
		if err := n.gate(ev, p.f.record, o.Artifact); err != nil {
			return draft{}, err
		}
		forced := faults
		if kind := declaration.KindFor(p.f.record.Subject); kind != "" && kind != declaration.KindOf(o.Artifact) {
			why := fmt.Sprintf("the negotiation is about a %s, and the artifact is a %s", kind, cmp.Or(declaration.KindOf(o.Artifact), "thing without a kind"))
			if !o.Force {
				return draft{}, refuse("", "%s", why)
			}
			forced = append(slices.Clip(faults), why)
		}
		var body canonjson.Object
		body.Raw("artifact", o.Artifact)
		return draft{kind: typ, typ: typ, role: "CONDUCTOR", body: body.End(), base: base, forced: forced}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", ev, id, err)
	}
	n.follow(ctx, p, now)
	return e, nil
}

// base is what an offer answers, or a *StaleError.
func (p *place) base(by address.Instance, o Offering, ev Event) (string, error) {
	given := cmp.Or(o.Base, member(o.Artifact, "baseArtifactHash"))
	last := p.f.last()
	switch {
	case last == nil && (o.Base == "" || o.Base == LatestBase):
		return p.f.firstBase(), nil
	case last == nil && o.Base != p.f.firstBase():
		return "", refuse("leave --base out", "nothing was offered yet that could be its base")
	case last == nil:
		return o.Base, nil
	case o.Base == LatestBase || given == last.Hash:
		return last.Hash, nil
	}
	return "", &StaleError{ID: p.id, By: by, Given: given, Latest: *last, Event: string(ev), Retry: string(ev)}
}

func (n *Negotiations) gate(ev Event, r *Record, artifact []byte) error {
	if n.Gate == nil {
		return nil
	}
	if why := n.Gate(ev, r, artifact); len(why) > 0 {
		return &RefusedError{Why: why}
	}
	return nil
}

// Sign signs the latest offer. hash names the artifact that the signer has looked at, so that no party signs another one that
// came meanwhile; "" means whatever is the latest. See HashOf for an artifact.
func (n *Negotiations) Sign(ctx context.Context, id string, a Act, hash string, now time.Time) (*journal.Entry, error) {
	return n.sign(ctx, id, a, hash, "event", "sign", now)
}

// Accept is Sign by an entry that also says, to readers of types, that the offer is accepted.
func (n *Negotiations) Accept(ctx context.Context, id string, a Act, hash string, now time.Time) (*journal.Entry, error) {
	return n.sign(ctx, id, a, hash, "accept", "accept", now)
}

// HashOf is the name of an artifact.
func HashOf(artifact []byte) (string, error) {
	return canonjson.HashWhole(artifact)
}

func (n *Negotiations) sign(ctx context.Context, id string, a Act, hash, typ, verb string, now time.Time) (*journal.Entry, error) {
	if a.Key == nil {
		return nil, fmt.Errorf("%s %s: %w", verb, id, refuse("see `tutti keys list`", "there is no private key of %s to sign with", a.By))
	}
	e, p, err := n.write(ctx, id, a, now, func(p *place, state State) (draft, error) {
		hash, err := p.maySign(a, hash, state, now)
		if err != nil {
			return draft{}, err
		}
		if n.Gate != nil {
			artifact, err := n.artifactAt(ctx, id, p.f.last().At, hash)
			if err == nil {
				err = n.gate(Accept, p.f.record, artifact)
			}
			if err != nil {
				return draft{}, err
			}
		}
		var body canonjson.Object
		body.Str("kind", bodySignature)
		body.Str("artifactHash", hash)
		body.Raw("signature", envelope.SignatureJSON(a.Key.Object(string(a.By), signedText(hash))))
		body.Raw("context", envelope.SignatureJSON(a.Key.Object(string(a.By), contextText(hash, id, p.f.record.Scope, a.By))))
		return draft{kind: verb, typ: typ, role: "CONDUCTOR", body: body.End()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, id, err)
	}
	n.follow(ctx, p, now)
	return e, nil
}

// maySign refuses a signature that would not count, and returns what is signed.
func (p *place) maySign(a Act, hash string, state State, now time.Time) (string, error) {
	last := p.f.last()
	if last == nil && !state.Terminal() {
		return "", refuse("put something before them: `"+command("offer", p.id, "FILE"+as(a.By))+"`", "nothing was offered yet")
	}
	if err := p.may(a, "sign", Accept, state, now); err != nil {
		return "", err
	}
	r := p.f.record
	if !r.MaySign(a.By) {
		return "", refuse("", "the agreement does not ask for a signature of %s; it asks for %v", a.By, address.Texts(r.RequiredSigners))
	}
	if hash == "" {
		hash = last.Hash
	}
	if hash != last.Hash {
		for _, o := range p.f.offers {
			if o.Hash == hash {
				return "", refuse("see `"+command("diff", p.id, "--from", hash, "--to", last.Hash)+"`; sign the later one, or counter with the earlier one",
					"%s was superseded by %s of entry %d", hash, last.Hash, last.Index)
			}
		}
		return "", refuse("see `"+command("show", p.id)+"`", "no offer/counter event matches %s", hash)
	}
	who := p.f.b.person(a.By)
	if declaration.Signers(last.Kind) != nil && !declaration.MaySign(last.Kind, who.Roles...) {
		return "", refuse(RoleHint(a.By, last.Kind, who.Claimed), "%s", who.unfit(a.By, last.Kind))
	}
	return hash, nil
}

// Reject says that a party does not agree to the latest offer. The negotiation ends with it when no agreement is possible without
// that party.
func (n *Negotiations) Reject(ctx context.Context, id string, a Act, reason string, now time.Time) (*journal.Entry, error) {
	return n.close(ctx, id, a, Reject, "reject", "", reason, now)
}

// Withdraw ends a negotiation: for the party that made the latest offer, or for any party as long as there is none.
func (n *Negotiations) Withdraw(ctx context.Context, id string, a Act, reason string, now time.Time) (*journal.Entry, error) {
	return n.close(ctx, id, a, Withdraw, "withdraw", "", reason, now)
}

// Move ends a negotiation in one of the other ways: expired, once the deadline has passed, and abandoned.
func (n *Negotiations) Move(ctx context.Context, id string, a Act, to State, reason string, now time.Time) (*journal.Entry, error) {
	switch to {
	case Rejected:
		return n.Reject(ctx, id, a, reason, now)
	case Withdrawn:
		return n.Withdraw(ctx, id, a, reason, now)
	case Expired:
		return n.close(ctx, id, a, Expire, "event", bodyExpired, reason, now)
	case Abandoned:
		return n.close(ctx, id, a, Abandon, "event", bodyAbandoned, reason, now)
	case Stabilized:
		return nil, fmt.Errorf("status %s: %w", id, refuse("type `"+command("stabilize", id)+"`", "a negotiation is stabilized by its signatures, and not by being called so"))
	case Draft, Proposed, Countered, Accepted:
		return nil, fmt.Errorf("status %s: %w", id, refuse("offer, counter or sign something", "%s follows from what the parties do, and is not set", to))
	}
	return nil, fmt.Errorf("status %s: %w", id, refuse("", "unknown state %q; one of %s", to, join(States)))
}

func (n *Negotiations) close(ctx context.Context, id string, a Act, ev Event, typ, kind, reason string, now time.Time) (*journal.Entry, error) {
	e, p, err := n.write(ctx, id, a, now, func(p *place, state State) (draft, error) {
		if err := p.mayClose(a, ev, state, now); err != nil {
			return draft{}, err
		}
		var body canonjson.Object
		body.Str("kind", cmp.Or(kind, typ))
		if last := p.f.last(); last != nil {
			body.Str("artifactHash", last.Hash)
		}
		body.Opt("reason", reason)
		return draft{kind: string(ev), typ: typ, role: "CONDUCTOR", body: body.End()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", ev, id, err)
	}
	n.follow(ctx, p, now)
	return e, nil
}

func (p *place) mayClose(a Act, ev Event, state State, now time.Time) error {
	if ev == Expire && state == Expired && !p.f.state.Terminal() {
		state = p.f.state // told already by the clock, and now written down
	}
	if err := p.may(a, string(ev), ev, state, now); err != nil {
		return err
	}
	if why := p.f.mayEnd(a.By, ev, envelope.Stamp(now)); why != "" {
		return refuse("to refuse it, type `"+command("reject", p.id)+as(a.By)+"`", "%s", why)
	}
	return nil
}

// Artifact returns what was offered.
func (n *Negotiations) Artifact(ctx context.Context, id string, o *Offered) ([]byte, error) {
	return n.artifactAt(ctx, id, o.At, o.Hash)
}

// artifactAt reads what was offered at a place of the journal.
func (n *Negotiations) artifactAt(ctx context.Context, id string, at Pos, hash string) ([]byte, error) {
	e, err := n.journals.Entry(ctx, id, at)
	if err != nil {
		return nil, err
	}
	artifact, ok := canonjson.Get(e.Body, "artifact")
	if ok {
		if got, err := canonjson.Hash(artifact); err == nil && got == hash {
			return artifact, nil
		}
	}
	return nil, fmt.Errorf("the offer %s is no longer where it was: see `%s`", hash, command("verify", id))
}
