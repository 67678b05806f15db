package negotiation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
)

// A Standing is where a negotiation stands, as people want to know it.
type Standing struct {
	Record  *Record // made from the journal when state.json is gone; nil when that holds no terms
	Found   bool    // state.json is there
	Note    string  // what is odd about the record
	State   State
	Why     string
	Entries int
	Offers  []Offered // the latest ones, oldest first
	Total   int       // of all offers

	Signed  []Signed // of the latest offer, or of what was settled: those that count
	Ignored []Judgement
	Opening *Opening // nil: it was opened without a seal
	Lost    bool     // this user had read more of the journal than is there
	Refused []address.Instance
	Must    []address.Instance // who has to sign and has not
	More    int                // how many more
	Of      []address.Instance // of these
	Final   *Final
	Next    []Step
}

// Latest is the offer in question, nil when there is none.
func (s *Standing) Latest() *Offered {
	if len(s.Offers) == 0 {
		return nil
	}
	return &s.Offers[len(s.Offers)-1]
}

// A Step is a command that a user or agent can type to go on.
type Step struct {
	Who     string // whose turn it is, "" for anybody
	Command string // fit to be pasted
	Note    string // what it does, where that is not plain
}

// Status tells where a negotiation stands, from the journal; state.json may be gone.
func (n *Negotiations) Status(ctx context.Context, id string, now time.Time) (*Standing, error) {
	p, err := n.look(ctx, id, now)
	if err != nil {
		return nil, fmt.Errorf("status of %s: %w", id, err)
	}
	s := n.standing(p, now)
	if p.f.b.err != nil {
		return nil, fmt.Errorf("status of %s: %w", id, p.f.b.err)
	}
	return s, nil
}

func (n *Negotiations) standing(p *place, now time.Time) *Standing {
	f := p.f
	s := &Standing{
		Record: f.record, Found: p.doc != nil, Note: p.note, Entries: p.tip.Count, Offers: f.offers, Total: f.total,
		Refused: f.refusers(), Final: f.final, Opening: f.opening,
	}
	s.State, s.Why = p.state(now)
	s.Lost = p.lost() != ""
	for _, why := range []string{p.claims(now), p.lost()} {
		if why != "" {
			s.Note = why
		}
	}
	if f.record != nil && f.record.ID == "" {
		f.record.ID = p.id
	}
	if f.differ() {
		s.Note = ErrTerms.Error() + ": see `" + command("verify", p.id) + "`"
	}
	if last := f.last(); last != nil {
		hash := last.Hash
		if f.final != nil {
			hash = f.final.Hash
		}
		s.signatures(f, hash)
	}
	s.Ignored = append(s.Ignored, f.void...)
	s.Next = s.steps(p)
	return s
}

func (s *Standing) signatures(f *fold, hash string) {
	var signed []address.Instance
	for i := range f.signed {
		o := &f.signed[i]
		v := f.check(o, f.final != nil)
		if v != nil && !v.Counts || o.Hash != hash {
			if v != nil {
				s.Ignored = append(s.Ignored, *v)
			}
			continue
		}
		s.Signed = append(s.Signed, *o)
		signed = append(signed, o.By)
	}
	if f.record != nil {
		s.Must, s.More, s.Of = f.record.Missing(signed)
	}
}

// steps are the next commands.
func (s *Standing) steps(p *place) []Step {
	id := p.id
	switch {
	case s.Record == nil:
		return []Step{{"", "tutti negotiate open RECORD", "state.json is gone, and the journal does not hold the terms"}}
	case p.f.differ() || p.lost() != "":
		return []Step{{"", command("verify", id), ""}}
	case s.State == Stabilized && (!s.Found || p.kept.Status != Stabilized):
		return []Step{{"", command("stabilize", id), "writes state.json again"}}
	case s.State == Expired && !p.f.state.Terminal():
		return []Step{{"", command("status", id, string(Expired)), ""}}
	case s.State.Terminal(), s.Record.AreQuestions():
		return nil
	case s.Final != nil || s.State == Accepted:
		return []Step{{"", command("stabilize", id), ""}}
	case s.Latest() == nil:
		var out []Step
		for _, i := range s.Record.Parties {
			out = append(out, Step{string(i), command("offer", id, "FILE"+as(i)), ""})
		}
		return out
	}
	var out []Step
	for _, i := range append(append([]address.Instance{}, s.Must...), s.Of...) {
		kind := s.Latest().Kind
		if who := p.f.b.person(i); who.mayNotSign(kind) { // it is not asked to
			hint, note, _ := strings.Cut(RoleHint(i, kind, who.Claimed), "   # ")
			out = append(out, Step{"", hint, note})
			continue
		}
		out = append(out, Step{string(i), command("accept", id) + as(i), ""})
	}
	return out
}

// Event adds an entry of the caller's own making. It may be added to a negotiation of which there is no record. What it does to
// the negotiation is judged like any other entry: it may do nothing.
func (n *Negotiations) Event(ctx context.Context, id string, a Act, payload []byte, now time.Time) (*journal.Entry, error) {
	if err := n.mayAdd(ctx, a, payload); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	e, err := n.journals.Append(ctx, id, nil, journal.Seal{By: a.By, Key: a.Key}, func(journal.Tip) ([]byte, error) { return payload, nil })
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

// mayAdd refuses an entry of the caller's own making that would be taken for something else: for our word on what was opened or
// what the guards said, or for a forgery, of which every later verification would tell.
func (n *Negotiations) mayAdd(ctx context.Context, a Act, payload []byte) error {
	for _, ours := range []string{mTerms, mForced} {
		if _, there := canonjson.Get(payload, ours); there {
			return refuse("take it out", "%s: a member that is written with an offer alone", ours)
		}
	}
	if err := mayBeRaw(payload); err != nil {
		return err
	}
	b := n.bench(ctx, time.Time{})
	if err := b.here(writerOf(payload)); err != nil {
		return err
	}
	if a.Key != nil {
		if err := b.mayKey(a); err != nil {
			return err
		}
	} else if err := b.mayBear(payload); err != nil {
		return err
	}
	return b.err
}

// writerOf is who a payload says to be by.
func writerOf(payload []byte) address.Instance {
	actor, _ := canonjson.Get(payload, "actor")
	return address.Instance(member(actor, "instance"))
}

// verbs are the words for what moves a negotiation, by the type of the entry or the kind of its body.
var verbs = map[string]string{
	bodyOpened: "open", "propose": "offer", "counter": "counter", "accept": "accept", "reject": "reject", "withdraw": "withdraw",
	bodySignature: "sign", bodyStabilizing: "stabilize", bodyStabilized: "stabilize", bodyExpired: "status ID expired", bodyAbandoned: "status ID abandoned",
}

// mayBeRaw refuses an entry that moves the negotiation: the checks of its verb would be skipped.
func mayBeRaw(payload []byte) error {
	body, _ := canonjson.Get(payload, "body")
	for _, word := range []string{member(payload, "type"), member(body, "kind")} {
		if verb, moves := verbs[word]; moves {
			if !strings.Contains(verb, " ") {
				verb += " ID"
			}
			return refuse("type `tutti negotiate "+verb+"`", "an entry of the kind %s moves the negotiation, and is written by its verb alone", word)
		}
	}
	return nil
}

// mayBear refuses a signature in the name of the writer that covers neither the entry nor its body.
func (b *bench) mayBear(payload []byte) error {
	e, err := journal.Parse(payload)
	if err != nil || len(e.Own()) == 0 {
		return nil // the journal reports what is wrong with it
	}
	keys := b.person(e.Actor.Instance).Keys
	if len(keys.Active)+len(keys.Revoked) == 0 || journal.SealOf(e, keys) == journal.SealGood {
		return nil
	}
	if body, err := canonjson.Canonical(e.Body); err == nil && slices.ContainsFunc(e.Own(), func(o signature.Object) bool { return under(o, body, keys.Active) }) {
		return nil
	}
	return refuse("sign the entry anew, or leave the signature out and give the private key", "no active key of %s has made its signature", e.Actor.Instance)
}

// Note adds an entry of a kind that moves nothing: a declaration, an attestation, an escalation. body is an object, and extra are
// members of the payload beside the usual ones.
func (n *Negotiations) Note(ctx context.Context, id string, a Act, typ, role string, body []byte, now time.Time) (*journal.Entry, error) {
	return n.NoteIf(ctx, id, a, typ, role, body, now, func() error { return nil })
}

// NoteIf is Note if still says so, which is asked whenever the journal has grown since: of several programs that write at once one
// does.
func (n *Negotiations) NoteIf(ctx context.Context, id string, a Act, typ, role string, body []byte, now time.Time, still func() error) (*journal.Entry, error) {
	e, _, err := n.write(ctx, id, a, now, func(p *place, _ State) (draft, error) {
		if err := still(); err != nil {
			return draft{}, err
		}
		switch member(body, "kind") {
		case bodySignature, bodyStabilizing, bodyStabilized, bodyExpired, bodyAbandoned:
			return draft{}, refuse("", "an entry of the kind %s moves the negotiation; use the verb for it", member(body, "kind"))
		}
		if typ != "event" && typ != "escalate" {
			return draft{}, refuse("", "an entry of the type %s moves the negotiation; use the verb for it", typ)
		}
		if err := p.f.b.here(a.By); err != nil {
			return draft{}, err
		}
		if err := p.mayKey(a); err != nil {
			return draft{}, err
		}
		return draft{kind: member(body, "kind"), typ: typ, role: role, body: body}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("add to %s: %w", id, err)
	}
	return e, nil
}
