package declaration

import (
	"slices"

	"tutti/internal/core/address"
)

// A Panel is what the postures towards one decision are judged by.
type Panel struct {
	Declarations   []Interest // in the order of the journal; the last one of each counts
	DecisionScopes []string
	Signers        []string                      // who is required to sign
	Flagged        []string                      // whom CONTROL has flagged
	Scopes         func(subject string) []string // roles with a registered agent; nil: unknown
}

// A Posture is an agent's position towards a conflict of interest, and what it is therefore shown of the decision.
type Posture struct {
	Subject         string
	Conflict        string    // NoConflict, Watched or Conflict
	Criteria        []string  // what makes a conflict of it
	Disclosure      string    // attestation, or evidence-package
	Declaration     *Interest // the one that counts; nil: none, or it was taken back
	HidesCollective bool
}

// A judge knows the panel by names.
type judge struct {
	Panel
	latest           map[string]*Interest
	signers, flagged agents
}

func (p Panel) judge() *judge {
	j := &judge{Panel: p, latest: map[string]*Interest{}, signers: setOf(p.Signers), flagged: setOf(p.Flagged)}
	for n := range p.Declarations {
		j.latest[address.Canonical(p.Declarations[n].Subject)] = &p.Declarations[n]
	}
	return j
}

// Of says how one subject stands.
func (p Panel) Of(subject string) Posture { return p.judge().of(subject) }

// Postures says how everybody stands who is concerned: who must sign, who has declared something, who was flagged.
func (p Panel) Postures() []Posture {
	j := p.judge()
	var all []Posture
	for _, s := range Subjects(p.Signers, p.Declarations, p.Flagged) {
		all = append(all, j.of(s))
	}
	return all
}

func (j *judge) of(subject string) Posture {
	p := Posture{Subject: subject, Conflict: NoConflict, Disclosure: "attestation"}
	d := j.latest[address.Canonical(subject)]
	if d == nil || len(d.Interests) == 0 {
		return p
	}
	p.Declaration, p.HidesCollective = d, d.HidesCollective
	var own []string
	if j.Scopes != nil {
		own = j.Scopes(subject)
	}
	if beyond(own, j.DecisionScopes) || beyond(own, d.Bindings) {
		p.Criteria = append(p.Criteria, BeyondOwnScope)
	}
	if j.signers.has(subject) {
		p.Criteria = append(p.Criteria, IsSigner)
	}
	if j.flagged.has(subject) {
		p.Criteria = append(p.Criteria, FlaggedByAudit)
	}
	if len(p.Criteria) == 0 {
		p.Conflict = Watched
		return p
	}
	p.Conflict = Conflict
	if p.HidesCollective || slices.Contains(p.Criteria, BeyondOwnScope) || slices.Contains(p.Criteria, FlaggedByAudit) {
		p.Disclosure = "evidence-package"
	}
	return p
}

// Subjects returns whose posture is judged, each once, in the spelling that came first.
func Subjects(signers []string, declarations []Interest, flagged []string) []string {
	var all []string
	seen := map[string]bool{}
	add := func(name string) {
		if c := address.Canonical(name); !seen[c] {
			seen[c] = true
			all = append(all, name)
		}
	}
	for _, s := range signers {
		add(s)
	}
	for _, d := range declarations {
		add(d.Subject)
	}
	for _, s := range flagged {
		add(s)
	}
	return all
}

// Biased tells whether who presents a matter has a conflict in it.
func Biased(presenter string, postures []Posture) bool {
	return slices.ContainsFunc(postures, func(p Posture) bool { return p.Conflict == Conflict && address.Same(p.Subject, presenter) })
}
