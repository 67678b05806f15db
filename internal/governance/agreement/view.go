package agreement

import (
	"context"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// A View is what a negotiation comes to as a decision: who has a conflict in it, what everybody has to look at, and how far it can
// be relied on.
type View struct {
	Material     *negotiation.Material
	Flagged      []string // by CONTROL
	Postures     []declaration.Posture
	Dossier      declaration.Dossier
	DossierHash  string
	Confidence   declaration.Confidence
	Attestations []*journal.Entry // all entries that are one by their form

	artifacts [][]byte // that were offered
	declared  []declaration.Interest
	valid     map[int]bool // attestations that their subject has signed, by their place
	attested  []declaration.Attested
	lastSaid  map[string]int // by canonical subject, where the declaration stands that counts
	escalated map[string]int // likewise, where a conflict was last escalated
}

// View reads a negotiation as a decision. A journal that is broken is an error that is a *journal.Fault.
func (b *Bus) View(ctx context.Context, id string) (*View, error) {
	m, err := b.Negotiations().Material(ctx, id)
	if err != nil {
		return nil, err
	}
	if m.Record == nil {
		return nil, &negotiation.RefusedError{
			Why: []string{"state.json is gone, and the journal does not hold the terms"}, Hint: "write it anew with `tutti negotiate open RECORD`",
		}
	}
	return b.view(ctx, m)
}

func (b *Bus) view(ctx context.Context, m *negotiation.Material) (*View, error) {
	v, g := b.begin(ctx, m)
	for _, e := range m.Entries {
		v.add(g, e)
	}
	return v, v.conclude(g)
}

// begin is a view of nothing yet.
func (b *Bus) begin(ctx context.Context, m *negotiation.Material) (*View, *gatherer) {
	return &View{Material: m, lastSaid: map[string]int{}, valid: map[int]bool{}, escalated: map[string]int{}},
		&gatherer{b: b, ctx: ctx, people: map[string]*negotiation.Person{}, sealers: map[string]bool{}}
}

// add takes an entry behind those before it.
func (v *View) add(g *gatherer, e *journal.Entry) {
	sound, former := g.sound(e, v.Material.Record)
	if !sound {
		return
	}
	if a, ok := canonjson.Get(e.Body, "artifact"); ok && (e.Type == "propose" || e.Type == "counter") {
		v.artifacts = append(v.artifacts, a)
	}
	v.take(g, e, former)
}

// conclude says what the entries that were added come to.
func (v *View) conclude(g *gatherer) error {
	if g.err != nil {
		return g.err
	}
	m := v.Material
	panel := declaration.Panel{
		Declarations: v.declared, DecisionScopes: declaration.DecisionScopes(m.Record.Scope, v.artifacts...),
		Signers: address.Texts(m.Record.RequiredSigners), Flagged: v.Flagged,
		Scopes: func(i string) []string { return g.person(address.Instance(i)).Scopes },
	}
	v.Postures = panel.Postures()
	v.Dossier = declaration.Compile(declaration.Subject{
		ID: m.Record.ID, Scope: m.Record.Scope, Artifact: m.Artifact, Hash: m.Hash, Panel: panel,
	})
	var err error
	if v.DossierHash, err = v.Dossier.Hash(); err != nil {
		return err
	}
	v.Confidence = declaration.Rely(panel.Signers, v.DossierHash, v.attested, v.Postures, v.Flagged)
	return g.err
}

// take looks at what an entry declares. Under a former key, which may be in other hands, an interest can be declared and not taken
// back.
func (v *View) take(g *gatherer, e *journal.Entry, former bool) {
	if i, err := declaration.InterestBy(string(e.Actor.Instance), e.Body); err == nil {
		if former && len(i.Interests) == 0 {
			return
		}
		v.declared = append(v.declared, i)
		v.lastSaid[address.Canonical(i.Subject)] = e.Sequence
		return
	}
	if who, yes := declaration.Flag(e.Actor.Role, e.Body); yes && g.may(e, declaration.Control) {
		v.Flagged = append(v.Flagged, who)
		return
	}
	if _, err := declaration.ParseAttestation(e.Body); err == nil {
		v.Attestations = append(v.Attestations, e)
		if a, ok := declaration.Attests(e.Body, e.Signatures, g.attesting(e)); ok {
			v.valid[e.Sequence] = true
			v.attested = append(v.attested, declaration.Attested{Subject: a.Subject, Dossier: a.Dossier})
		}
		return
	}
	if e.Type != "escalate" {
		return
	}
	p, _ := canonjson.Get(e.Body, "payload")
	var of [2][]byte
	canonjson.Pick(p, []string{"kind", "subject"}, of[:])
	if who, ok := canonjson.String(of[1]); ok && canonjson.Is(of[0], "postureConflit") {
		v.escalated[address.Canonical(who)] = e.Sequence
	}
}

// Valid tells whether an entry of Attestations is signed with an active key of its subject.
func (v *View) Valid(e *journal.Entry) bool { return v.valid[e.Sequence] }

// Escalated reports whether an agent's conflict, as it was declared last, was escalated.
func (v *View) Escalated(subject string) bool {
	at, yes := v.escalated[address.Canonical(subject)]
	return yes && at > v.lastSaid[address.Canonical(subject)]
}

// Posture is an agent's position; false: no one has asked about it.
func (v *View) Posture(of address.Instance) (declaration.Posture, bool) {
	for _, p := range v.Postures {
		if address.Same(p.Subject, string(of)) {
			return p, true
		}
	}
	return declaration.Posture{}, false
}

// A gatherer asks the registry, once for each instance.
type gatherer struct {
	b       *Bus
	ctx     context.Context
	people  map[string]*negotiation.Person
	sealers map[string]bool // who has sealed an entry so far
	strict  bool            // the negotiation was opened under a seal: what bears none in the name of a party declares nothing
	back    bool            // it is asked how things stood when the entries were written
	tried   int             // verifications
	err     error
}

func (g *gatherer) person(i address.Instance) *negotiation.Person {
	c := string(i.Canonical())
	p := g.people[c]
	if p == nil {
		var err error
		if p, err = g.b.person(g.ctx, i); err != nil && g.err == nil {
			g.err = err
		}
		g.people[c] = p
	}
	return p
}

// attesting are the keys under which an attestation in an entry is believed.
func (g *gatherer) attesting(e *journal.Entry) func(i string) []signature.Public {
	return func(i string) []signature.Public {
		p := g.person(address.Instance(i))
		return append(slices.Clip(p.Keys.Active), g.then(p, e)...)
	}
}

// then are the keys that were in use when an entry was written, by its date, and were revoked since. Only who looks back asks.
func (g *gatherer) then(p *negotiation.Person, e *journal.Entry) (keys []signature.Public) {
	at, ok := envelope.ParseTime(e.CreatedAt)
	if !g.back || !ok {
		return nil
	}
	for _, k := range p.Keys.Revoked {
		if end, known := p.Gone[k]; known && at.Sub(end) <= envelope.MaxSkew {
			keys = append(keys, k)
		}
	}
	return keys
}

// may tells whether the writer of an entry holds a role. Who is not registered holds the one that he names: existing programs
// journal without registering anybody, and a flag only makes others look.
func (g *gatherer) may(e *journal.Entry, role string) bool {
	p := g.person(e.Actor.Instance)
	if len(p.Roles)+len(p.Claimed) == 0 {
		return true
	}
	for _, r := range p.Roles {
		if r == role {
			return true
		}
	}
	return false
}

// sound tells whether an entry may be taken for one of its writer, in this negotiation, and whether its seal is under a key that
// was revoked since.
func (g *gatherer) sound(e *journal.Entry, r *negotiation.Record) (yes, former bool) {
	if e.NegotiationID != "" && e.NegotiationID != r.ID {
		return false, false
	}
	who := string(e.Actor.Instance.Canonical())
	switch g.seal(e) {
	case journal.SealGood:
		g.sealers[who] = true
		g.strict = g.strict || negotiation.Opens(e)
		return true, false
	case journal.SealRevoked:
		g.strict = g.strict || negotiation.Opens(e)
		return true, true
	case journal.SealBad:
		return false, false
	}
	return !g.sealers[who] && !(g.strict && r.Involved(e.Actor.Instance)), false
}

// maxTried is how many verifications one look makes for entries that say nothing reliable: half a second.
const maxTried = 8192

// seal says what the signatures of an entry prove about its writer.
func (g *gatherer) seal(e *journal.Entry) journal.Seals {
	if len(e.Signatures) == 0 {
		return journal.SealOf(e, journal.Keys{})
	}
	p := g.person(e.Actor.Instance)
	keys := p.Keys
	if then := g.then(p, e); len(then) > 0 {
		keys.Active = append(slices.Clip(keys.Active), then...)
	}
	if g.tried += len(keys.Active) + len(keys.Revoked); g.tried > maxTried && !e.Linked() {
		return journal.SealElsewhere
	}
	return journal.SealOf(e, keys)
}
