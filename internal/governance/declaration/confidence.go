package declaration

import (
	"slices"

	"tutti/internal/core/address"
)

// How far a decision can be relied on.
const (
	Established    = "etablie"
	Reserved       = "reservee" // all that is against it lies open
	NotEstablished = "non-etablie"
)

// Confidence is how far a decision can be relied on: everybody who decides has understood the present dossier, and no conflict
// is hidden.
type Confidence struct {
	Level       string
	Dossier     string   // hash of the present one
	Missing     []string // deciders who have not attested the present dossier
	Stale       []string // those of them who have attested another one
	Disclosed   []string // who has a conflict and has declared it
	Undisclosed []string // who has a conflict and has not
	Reasons     []string
}

// Attested is an attestation that was found valid.
type Attested struct{ Subject, Dossier string }

// Rely judges how far the deciders, who are the required signers, can rely on the decision.
func Rely(deciders []string, dossier string, valid []Attested, postures []Posture, flagged []string) Confidence {
	present, other := agents{}, agents{}
	for _, a := range valid {
		if a.Dossier == dossier {
			present[address.Canonical(a.Subject)] = true
		} else {
			other[address.Canonical(a.Subject)] = true
		}
	}
	c := Confidence{Level: Established, Dossier: dossier}
	deciders = slices.Clone(deciders)
	slices.Sort(deciders)
	for _, d := range slices.Compact(deciders) {
		if present.has(d) {
			continue
		}
		c.Missing = append(c.Missing, d)
		if other.has(d) {
			c.Stale = append(c.Stale, d)
		}
	}
	suspect := setOf(flagged)
	for _, p := range postures {
		switch {
		case p.Conflict == Conflict && p.Declaration != nil:
			c.Disclosed = append(c.Disclosed, p.Subject)
		case p.Conflict == Conflict || suspect.has(p.Subject) && p.Declaration == nil:
			c.Undisclosed = append(c.Undisclosed, p.Subject)
		}
	}
	c.weigh()
	return c
}

func (c *Confidence) weigh() {
	if len(c.Missing) > 0 {
		c.Reasons = append(c.Reasons, "attention-not-attested")
	}
	if len(c.Undisclosed) > 0 {
		c.Reasons = append(c.Reasons, "undisclosed-collective-conflict")
	}
	if len(c.Reasons) > 0 {
		c.Level = NotEstablished
	}
	if len(c.Disclosed) > 0 {
		c.Reasons = append(c.Reasons, "disclosed-collective-conflict")
		if c.Level == Established {
			c.Level = Reserved
		}
	}
}
