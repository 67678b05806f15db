package negotiation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

// An Act is by whom something is done, and how the entry is called.
type Act struct {
	By      address.Instance
	Key     *signature.Private // nil: the entry bears no seal
	Mandate string             // id of the mandate under which it is done, "" for none
	EventID string             // "": a new one is minted

	CausationID   string // "": the entry before
	CorrelationID string // "": that of the entry before
}

// actor writes who acts. The role is a constant of the agreed format; which roles count is asked of the registry.
func actor(by address.Instance, role, scope, mandate string) []byte {
	var o canonjson.Object
	o.Str("instance", string(by))
	o.Str("role", role)
	o.Str("scope", scope)
	o.Opt("mandate", mandate)
	return o.End()
}

// A draft is an entry to be: what is behind its type and body.
type draft struct {
	kind   string // for a minted id
	typ    string
	role   string
	body   []byte
	base   string
	forced []string
}

// write adds an entry of ours. judge looks at the place as it is then and returns the draft, or why not.
func (n *Negotiations) write(ctx context.Context, id string, a Act, now time.Time, judge func(p *place, state State) (draft, error)) (*journal.Entry, *place, error) {
	p, err := n.find(ctx, id, now)
	if err != nil {
		return nil, nil, err
	}
	var refused error // of the rules, which is checked without the journal
	e, err := n.journals.Append(ctx, id, p.f, journal.Seal{By: a.By, Key: a.Key}, func(tip journal.Tip) (raw []byte, err error) {
		defer func() { refused = err }()
		p.tip = tip
		if err := p.known(); err != nil {
			return nil, err
		}
		if p.f.record == nil {
			return nil, refuse(openAnew, "%s and the journal does not hold its terms", p.note)
		}
		if p.f.differ() {
			return nil, fmt.Errorf("%w: see `%s`", ErrTerms, command("verify", id))
		}
		if lost := p.lost(); lost != "" {
			return nil, refuse("see `"+command("verify", id)+"`", "%s", lost)
		}
		state, _ := p.state(now)
		d, err := judge(p, state)
		if err == nil {
			err = p.f.b.err
		}
		if err == nil {
			err = n.unused(ctx, id, a.EventID)
		}
		if err != nil {
			return nil, err
		}
		return p.payload(d, a, tip, now), nil
	})
	if refused != nil {
		err = refused
	}
	if err != nil {
		return nil, nil, err
	}
	p.tip = e.Tip()
	p.keep(now)
	_ = n.pin(p.f.b, now) // the entry is written; what could not be pinned now is pinned by the next one
	return e, p, nil
}

// unused refuses the id that a caller wants for an entry when another entry has it already: who looks for it later would find two.
// All of the journal is read for it. "" is none.
func (n *Negotiations) unused(ctx context.Context, id, eventID string) error {
	if eventID == "" {
		return nil
	}
	for e, err := range n.journals.Read(ctx, id) {
		if err != nil {
			return err
		}
		if e.ID == eventID {
			return taken(e)
		}
	}
	return nil
}

func taken(e *journal.Entry) error {
	return refuse("leave the id out, and a new one is made", "entry %d has the id %s already", e.Sequence, e.ID)
}

// payload writes an entry.
func (p *place) payload(d draft, a Act, tip journal.Tip, now time.Time) []byte {
	var o canonjson.Object
	eventID := a.EventID
	if eventID == "" {
		eventID = address.NewEvent(d.kind, now)
	}
	o.Str("id", eventID)
	o.Str("type", d.typ)
	o.Raw("actor", actor(a.By, d.role, p.f.record.Scope, a.Mandate))
	o.Raw("body", d.body)
	o.Str("createdAt", envelope.Stamp(now))
	o.Str("negotiationId", p.id)
	o.Opt("baseArtifactHash", d.base)
	o.Opt("causationId", cmp.Or(a.CausationID, tip.ID))
	o.Opt("correlationId", cmp.Or(a.CorrelationID, tip.CorrelationID))
	if p.f.terms == nil {
		o.Raw(mTerms, p.f.record.terms())
	}
	if len(d.forced) > 0 {
		o.Strs(mForced, d.forced)
	}
	return o.End()
}

// may refuses who has no part in the negotiation, and what the state does not allow.
func (p *place) may(a Act, act string, ev Event, state State, now time.Time) error {
	if _, ok := Next(state, ev); !ok {
		if state == Stabilized {
			return fmt.Errorf("negotiation %s is %w", p.id, ErrStabilized)
		}
		return refuse("see `"+command("show", p.id)+"`", "negotiation %s is %s, which allows no %s", p.id, state, ev)
	}
	if p.f.final != nil {
		return refuse("complete it with `"+command("stabilize", p.id)+"`", "negotiation %s is being stabilised since entry %d", p.id, p.f.final.Index)
	}
	if ev == Offer || ev == Counter || ev == Accept {
		if err := p.f.clock(now); err != nil {
			return err
		}
	}
	r := p.f.record
	if err := p.f.b.here(a.By); err != nil {
		return err
	}
	if a.Mandate != "" {
		if why := p.f.b.mandate(a.Mandate, a.By, r.Scope, act, now); why != "" {
			return refuse("", "%s", why)
		}
	} else if !r.Involved(a.By) {
		return refuse(fmt.Sprintf("the parties are %s; act as one of them, or name a mandate with --mandate", strings.Join(address.Texts(r.Parties), " ")),
			"%s is not a party of %s", a.By, p.id)
	}
	return p.mayKey(a)
}

// mayKey refuses an entry that every reader would take for a forgery.
func (p *place) mayKey(a Act) error {
	if a.Key == nil {
		if p.f.seals(a.By) {
			return refuse("give its private key", "%s has sealed its earlier entries here, so one without a seal would not count", a.By)
		}
		if p.f.opening != nil && p.f.record.Involved(a.By) {
			return refuse("give its private key", "the negotiation was opened under a seal, so an entry of %s without one would not count", a.By)
		}
		return nil
	}
	return p.f.b.mayKey(a)
}

// mayKey refuses a key that is not the writer's.
func (b *bench) mayKey(a Act) error {
	person := b.person(a.By)
	switch pub := a.Key.Public(); {
	case slices.Contains(person.Keys.Revoked, pub):
		return refuse("make a new one with `tutti keys generate"+as(a.By)+"`", "the key of %s was revoked", a.By)
	case !person.registered:
		return refuse("register it with `tutti connect`", "%s is not registered", a.By)
	case slices.Contains(person.Keys.Doubted, pub):
		code, why := person.doubts(a.By, pub)
		return refuse("", "%s: %s", code, why)
	case !slices.Contains(person.Keys.Active, pub):
		return refuse("see `tutti keys list`", "the key does not belong to %s: fingerprint %s is not among its active ones", a.By, pub.Short())
	}
	return nil
}

// guards are what may be said against an artifact by its form alone.
func guards(artifact []byte) (problems []string) {
	problems = declaration.Guard(artifact)
	switch declaration.KindOf(artifact) {
	case "CONTRACT", "POLICY", "ENGAGEMENT":
		for _, issue := range declaration.Separate(artifact).Issues {
			if !slices.Contains(problems, issue) {
				problems = append(problems, issue)
			}
		}
	}
	return problems
}
