package agreement

import (
	"context"
	"errors"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

// A demand is what a profile asks for before a negotiation is settled, for readers of a journal that says so. Keys count that
// were in use when an entry was written: what was settled well stays so when an agent changes its keys or leaves. For that
// reason it also ignores which agent holds which role on the bus today.
type demand struct {
	bus     *Bus
	profile *profile.Profile
	view    *View
	g       *gatherer
}

// demands are those that held for a negotiation at a time. One that was opened without a profile is under the choice that the bus
// had made by then.
func (b *Bus) demands(ctx context.Context, r *negotiation.Record, at time.Time) (negotiation.Demand, error) {
	if _, named := canonjson.Get(r.Raw, mProfile); !named {
		choice, err := profile.Chosen(ctx, b.store)
		if err != nil {
			return nil, err
		}
		if made, ok := envelope.ParseTime(choice.At); ok && made.After(at) {
			return nil, nil
		}
	}
	p, err := b.holds(ctx, r)
	if unknown, is := errors.AsType[*profile.UnknownError](err); is {
		return unmet(unknown.Error()), nil
	}
	if err != nil || p == nil {
		return nil, err
	}
	v, g := b.begin(ctx, &negotiation.Material{Record: r})
	g.back = true
	return &demand{b, p, v, g}, nil
}

// unmet is the demand of a profile that is not known here: nothing meets it.
type unmet string

func (unmet) Add(*journal.Entry) {}

func (u unmet) Against(string, []byte, []address.Instance) []string { return []string{string(u)} }

func (d *demand) Add(e *journal.Entry) { d.view.add(d.g, e) }

func (d *demand) Against(hash string, artifact []byte, signers []address.Instance) []string {
	v := *d.view
	m := *v.Material
	m.Hash, m.Artifact = hash, artifact
	v.Material = &m
	if err := v.conclude(d.g); err != nil {
		return []string{err.Error()}
	}
	deciders := address.Texts(m.Record.RequiredSigners)
	if m.Record.Quorum != nil {
		deciders = address.Texts(signers)
	}
	return told(d.profile.Check(profile.Stabilise, profile.Facts{
		Negotiation: m.Record.ID, Signers: address.Texts(m.Record.RequiredSigners), Kind: declaration.KindFor(m.Record.Subject), Artifact: artifact,
		Held:    func(string) bool { return true },
		Attests: func(i string) bool { return d.bus.attests(d.g.ctx, i) },
		Dossier: v.DossierHash, Postures: v.Postures, Escalated: v.Escalated,
		Confidence: declaration.Rely(deciders, v.DossierHash, v.attested, v.Postures, v.Flagged),
	}))
}
