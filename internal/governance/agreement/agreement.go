// Package agreement joins what one bus knows of a negotiation: its journal, who is registered with which roles and keys, what was
// declared and understood in it, and what the profile demands that the bus has chosen.
//
// Its parts judge for themselves: package negotiation what counts in a journal, package declaration what declarations mean,
// package profile what is demanded. Here they are asked about each other, so that every face of the program gets the same answer.
// An entry whose seal does not hold, or that its writer has not sealed although it seals others, declares nothing here either; behind a sealed
// opening, neither does any entry of a party without a seal.
//
// A Bus is safe for concurrent use if its store is.
package agreement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

// A Bus is where agreements are made.
type Bus struct {
	store    negotiation.Store
	registry *registry.Registry
	journals *journal.Journal

	// Persons are the people that this user knows, with their keys; nil: none. To be set before the bus is used. What a person
	// answers counts only under a key that they have.
	Persons escalation.Persons
	// Pins are the keys that this user knows others by; nil: the registry decides, as h2a specifies it. Likewise.
	Pins trust.Keeper
	// Seen is how far this user had read each negotiation; nil: it is not remembered. Likewise.
	Seen negotiation.Memory
	// AnySubject lets negotiations be opened about free text. Likewise.
	AnySubject bool
}

// New returns the agreements of a bus.
func New(s negotiation.Store, r *registry.Registry) *Bus {
	return &Bus{store: s, registry: r, journals: journal.New(s)}
}

// Negotiations are those of the bus, for looking at: reading makes no demands.
func (b *Bus) Negotiations() *negotiation.Negotiations {
	n := negotiation.New(b.store, b.journals, b.registry)
	n.Advise, n.Demands, n.Pins, n.Seen, n.AnySubject = b.advise, b.demands, b.Pins, b.Seen, b.AnySubject
	return n
}

// person asks the registry and the pins about an instance.
func (b *Bus) person(ctx context.Context, i address.Instance) (*negotiation.Person, error) {
	return negotiation.PersonOf(ctx, b.registry, b.Pins, i)
}

// mProfile is the member of a record that says which profile holds for the negotiation. It is one of its terms.
const mProfile = "profile"

// holds is the profile of a negotiation, nil for none: the one with which it was opened, whatever the bus has chosen since, else
// the choice of the bus.
func (b *Bus) holds(ctx context.Context, r *negotiation.Record) (*profile.Profile, error) {
	v, named := canonjson.Get(r.Raw, mProfile)
	if !named {
		choice, err := profile.Chosen(ctx, b.store)
		return choice.Profile, err
	}
	id, _ := canonjson.String(v)
	if id == profile.None {
		return nil, nil
	}
	return profile.Named(id)
}

// For returns the negotiations for one step of an agent: the chosen profile is checked before the step.
func (b *Bus) For(ctx context.Context, step profile.Step, by address.Instance) (*negotiation.Negotiations, error) {
	n := b.Negotiations()
	n.Gate = func(act negotiation.Event, r *negotiation.Record, artifact []byte) []string {
		p, err := b.holds(ctx, r)
		if err != nil {
			return []string{err.Error()}
		}
		if p == nil {
			return nil
		}
		at := step
		switch act {
		case negotiation.Offer, negotiation.Counter:
			at = profile.Offer
		case negotiation.Stabilize:
			at = profile.Stabilise
		}
		f, err := b.facts(ctx, at, by, r, artifact)
		if err != nil {
			return []string{err.Error()}
		}
		return told(p.Check(at, f))
	}
	return n, nil
}

// Open begins a negotiation, if the profile has nothing against it. A profile that was chosen is written into the record and with it
// into the first entry, so that a later choice does not change what was agreed. With a key, a.By seals the terms.
func (b *Bus) Open(ctx context.Context, record []byte, a negotiation.Act, now time.Time) (*negotiation.Record, error) {
	choice, err := profile.Chosen(ctx, b.store)
	if err != nil {
		return nil, err
	}
	if choice.By != "" && canonjson.IsObject(record) {
		if _, named := canonjson.Get(record, mProfile); !named {
			record = canonjson.Set(record, mProfile, canonjson.AppendString(nil, choice.ID()))
		}
	}
	if r, err := negotiation.ParseRecord(record); err == nil {
		p, err := b.holds(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("open: %w", err)
		}
		if choice.Profile != nil && (p == nil || p.ID != choice.Profile.ID) {
			return nil, fmt.Errorf("open: %w", &negotiation.RefusedError{
				Why: []string{"the record names another profile than " + choice.Profile.ID + ", which this bus has chosen"}, Hint: "leave the member profile out",
			})
		}
		if p != nil {
			f, err := b.facts(ctx, profile.Open, a.By, r, nil)
			if err != nil {
				return nil, err
			}
			if why := told(p.Check(profile.Open, f)); len(why) > 0 {
				return nil, fmt.Errorf("open: %w", &negotiation.RefusedError{Why: why})
			}
		}
	}
	return b.Negotiations().Open(ctx, record, a, now)
}

// told are refusals for people.
func told(all []profile.Refusal) []string {
	var out []string
	for _, r := range all {
		s := r.String()
		if r.Command != "" {
			command, note, _ := strings.Cut(r.Command, "   # ")
			s += "; type `" + command + "`"
			if note != "" {
				s += " (" + note + ")"
			}
		}
		out = append(out, s)
	}
	return out
}

// facts are what a profile asks for. Only the steps by which a party agrees need the journal.
func (b *Bus) facts(ctx context.Context, step profile.Step, by address.Instance, r *negotiation.Record, artifact []byte) (profile.Facts, error) {
	f := profile.Facts{
		Negotiation: r.ID, Actor: string(by), Signers: address.Texts(r.RequiredSigners), Kind: declaration.KindFor(r.Subject), Artifact: artifact,
		Roles: func(i string) []string {
			if b.Pins == nil {
				roles, _, _ := b.registry.Effective(ctx, address.Instance(i)) // no agent has no role
				return roles
			}
			roles, _ := b.RolesOf(ctx, address.Instance(i))
			return roles.Count
		},
		Attests: func(i string) bool { return b.attests(ctx, i) },
		Held:    func(role string) bool { return b.held(ctx, role) },
	}
	if step == profile.Open || step == profile.Offer {
		return f, nil
	}
	v, err := b.View(ctx, r.ID)
	if err != nil {
		return f, err
	}
	deciders := f.Signers
	if r.Quorum != nil { // of a quorum those decide who sign
		if deciders, err = b.deciders(ctx, r.ID, by, step); err != nil {
			return f, err
		}
	}
	f.Dossier, f.Postures, f.Escalated = v.DossierHash, v.Postures, v.Escalated
	f.Confidence = declaration.Rely(deciders, v.DossierHash, v.attested, v.Postures, v.Flagged)
	return f, nil
}

// held reports whether an agent on this bus has a role that counts for this user.
func (b *Bus) held(ctx context.Context, role string) bool {
	for e, err := range b.registry.Everybody(ctx) {
		if err != nil || !slices.Contains(e.Roles, role) {
			continue
		}
		if b.Pins == nil {
			return true
		}
		if reg, err := b.registry.Registered(ctx, e.Instance); err == nil && b.has(e.Instance, reg, role) {
			return true
		}
	}
	return false
}

// has tells whether a role of an agent counts for this user.
func (b *Bus) has(i address.Instance, reg *registry.Registration, role string) bool {
	return slices.Contains(b.counted(i, reg).Count, role)
}

// counted are the roles of an agent as this user counts them.
func (b *Bus) counted(i address.Instance, reg *registry.Registration) trust.Roles {
	return trust.RolesOf(i, reg, b.Pins)
}

// attests reports whether an agent's roles let it attest, which they do for good. It is required of a stranger.
func (b *Bus) attests(ctx context.Context, i string) bool {
	r, err := b.registry.Registered(ctx, address.Instance(i))
	return err != nil || b.MayAttest(address.Instance(i), r)
}

// MayAttest tells whether an agent may attest that it has understood, by the roles of its registration that count for this user.
func (b *Bus) MayAttest(i address.Instance, r *registry.Registration) bool {
	return declaration.MayAttest(b.counted(i, r).Count, r.Capabilities)
}

// RolesOf returns the roles of an agent as this user counts them; none where it is not registered.
func (b *Bus) RolesOf(ctx context.Context, i address.Instance) (trust.Roles, error) {
	p, err := b.person(ctx, i)
	return trust.Roles{Count: p.Roles, Claimed: p.Claimed}, err
}

// deciders are those who have signed what was offered last, those who still have to, and who signs now.
func (b *Bus) deciders(ctx context.Context, id string, by address.Instance, step profile.Step) ([]string, error) {
	s, err := b.Negotiations().Status(ctx, id, time.Time{})
	if err != nil {
		return nil, err
	}
	all := address.Texts(s.Must)
	for _, o := range s.Signed {
		all = append(all, string(o.By))
	}
	if step != profile.Stabilise {
		all = append(all, string(by))
	}
	return all, nil
}

// advise are the escalations that stand in a journal before the end of a stabilisation: one for each required signer who has a
// conflict, and one when the decision cannot be relied on as a whole. They advise and hold nothing up.
func (b *Bus) advise(ctx context.Context, m negotiation.Material) ([][]byte, error) {
	v, err := b.view(ctx, &m)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	required := address.Texts(m.Record.RequiredSigners)
	for _, p := range v.Postures {
		if p.Conflict == declaration.Conflict && slices.ContainsFunc(required, func(s string) bool { return address.Same(s, p.Subject) }) {
			all = append(all, p.Escalation())
		}
	}
	if v.Confidence.Level != declaration.Established {
		all = append(all, v.Confidence.Escalation())
	}
	return all, nil
}

// DeclareInterest adds a declaration of interest to a journal. a.By is whose interest it is.
func (b *Bus) DeclareInterest(ctx context.Context, id string, a negotiation.Act, i declaration.Interest, now time.Time) (*journal.Entry, error) {
	if !address.Same(string(a.By), i.Subject) {
		return nil, declaration.ErrForeign
	}
	return b.Negotiations().Note(ctx, id, a, "event", b.role(ctx, a.By), i.JSON(), now)
}

// role is the role of a declaration: the first of the declarer's registration.
func (b *Bus) role(ctx context.Context, i address.Instance) string {
	if r, err := b.registry.Registered(ctx, i); err == nil && len(r.Roles) > 0 && slices.Contains(envelope.Roles, r.Roles[0]) {
		return r.Roles[0]
	}
	return declaration.Conductor
}
