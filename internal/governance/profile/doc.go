// Package profile knows the four built-in profiles of organisation, which of them a bus has chosen, and what a chosen one demands
// before a step of a negotiation is taken.
//
// Without a choice nothing is demanded. With one, [Profile.Check] answers for each step what stands against it, why, and what to
// type. The demands follow from what the profile declares (roles, adoption of policies, disclosure, cadences, jurisdiction,
// recourse) and from its disposition towards conflicts: who has one declares it, it is put before somebody above, and nobody signs
// what they have not understood. A profile adds to the rules of a negotiation and takes none away.
//
// The choice lies on the bus, where everybody who may write there may change it; it says by whom and when. A choice that names a
// profile which is not known here is an error and never the same as none. A negotiation that must not be touched by a later
// choice writes down, when it is opened, which profile holds for it.
package profile

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
)

// A Profile is how an organisation of one kind goes about agreements.
type Profile struct {
	ID        string
	Label     string
	Track     string // the letter by which it is called
	Topology  string
	Rationale string

	Roles       []string // that somebody must hold
	Kinds       []string // of artifact, that it works with
	Adoption    []string // how a policy may come to hold
	Authorities []string // to which can be escalated

	Precedence   declaration.Precedence
	Disclosure   declaration.Disclosure
	Recourse     declaration.Recourse
	Obligations  declaration.Obligations
	Jurisdiction declaration.Jurisdiction

	Shipped, Partial, Deferred []string // what of it programs can do, and how far
}

// IDs are those of the profiles, in the order of their letters.
var IDs = []string{"A_ENTERPRISE", "B_ECOSYSTEM", "C_GOVERNMENT_CITIZEN", "D_SAFE"}

// An UnknownError reports a profile that there is none of.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no profile is called %q: there are %s", shortened(e.ID), strings.Join(IDs, ", "))
}

// Hint says what to type.
func (e *UnknownError) Hint() string { return "tutti profile list" }

func shortened(s string) string {
	const most = 80 // of a line
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Named returns the profile with that id, in any case, or with that letter; an *UnknownError when there is none.
func Named(id string) (*Profile, error) {
	for _, p := range All() {
		if strings.EqualFold(p.ID, id) || strings.EqualFold(p.Track, id) {
			return p, nil
		}
	}
	return nil, &UnknownError{id}
}

// A Compatibility says how far programs can do what a profile asks for.
type Compatibility struct {
	OK    bool // everything in it is known
	Ready bool // and nothing is done in part, or later
	ID    string
	Label string

	Issues, Gaps, Shipped, Partial, Deferred []string
}

// Audit judges the profile with that id.
func Audit(id string) Compatibility {
	i := slices.Index(IDs, id)
	if i < 0 {
		return Compatibility{Issues: []string{(&UnknownError{id}).Error()}}
	}
	return All()[i].audit()
}

func (p *Profile) audit() Compatibility {
	c := Compatibility{ID: p.ID, Label: p.Label, Shipped: p.Shipped, Partial: p.Partial, Deferred: p.Deferred}
	known := func(what string, all, used []string) {
		for _, u := range used {
			if !slices.Contains(all, u) {
				c.Issues = append(c.Issues, fmt.Sprintf("%s: %q is none of %v", what, u, all))
			}
		}
	}
	known("roles", roles, p.Roles)
	known("artifact kinds", declaration.Kinds, p.Kinds)
	known("policy adoption", declaration.AdoptionModes, p.Adoption)
	known("escalation authorities", declaration.AuthorityKinds, p.Authorities)
	for _, partial := range p.Partial {
		c.Gaps = append(c.Gaps, partial+" is done in part")
	}
	for _, deferred := range p.Deferred {
		c.Gaps = append(c.Gaps, deferred+" is not done yet")
	}
	c.OK = len(c.Issues) == 0
	c.Ready = c.OK && len(c.Gaps) == 0
	return c
}

// JSON returns the judgement as programs read it.
func (c Compatibility) JSON() []byte {
	var o canonjson.Object
	o.Bool("ok", c.OK)
	o.Bool("ready", c.Ready)
	o.Opt("modelId", c.ID)
	o.Opt("label", c.Label)
	o.Strs("issues", c.Issues)
	o.Strs("gaps", c.Gaps)
	o.Strs("shipped", c.Shipped)
	o.Strs("partial", c.Partial)
	o.Strs("deferred", c.Deferred)
	return o.End()
}

// A Rule is the audit of one of the five rules of a profile, with the word by which the rule is called.
type Rule struct {
	Name  string
	Audit declaration.Audit
}

// Rules returns the audits of the five rules of the profile.
func (p *Profile) Rules() []Rule {
	return []Rule{
		{"precedence", p.Precedence.Audit()},
		{"disclosure", p.Disclosure.Audit()},
		{"recourse", p.Recourse.Audit()},
		{"obligations", p.Obligations.Audit()},
		{"jurisdiction", p.Jurisdiction.Audit()},
	}
}
