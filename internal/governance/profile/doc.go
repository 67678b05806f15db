// Package profile knows the four built-in profiles of organisation, which of them a bus has chosen, and what a chosen one demands
// before a step of a negotiation is taken.
//
// Without a choice nothing is demanded. With one, [Profile.Check] answers for each step what stands against it, why, and what
// to type. The demands follow from what the profile declares (roles, adoption of policies, disclosure, cadences, jurisdiction,
// recourse) and from its disposition towards conflicts: an agent that has one declares it, it is escalated, and no agent signs
// what it has not understood. A profile adds to the rules of a negotiation and takes none away.
//
// The choice lies on the bus, where everybody who may write there may change it; it says by whom and when. A choice that names a
// profile which is not known here is an error and never the same as none. A negotiation that must not be touched by a later
// choice writes down, when it is opened, which profile holds for it.
package profile

import (
	"fmt"
	"strings"
)

// A Profile is how an organisation of one kind goes about agreements.
type Profile struct {
	ID        string `json:"modelId"`
	Label     string `json:"label"`
	Track     string `json:"track"` // the letter by which it is called
	Topology  string `json:"topology"`
	Rationale string `json:"rationale"`
	Conflicts string `json:"conflictDisposition"`

	Roles       []string `json:"requiredRoles"`            // each is held by at least one party
	Kinds       []string `json:"requiredArtifactKinds"`    // of artifact, that it works with
	Adoption    []string `json:"policyAdoptionModes"`      // how a policy may come to hold
	Authorities []string `json:"escalationAuthorityKinds"` // to which can be escalated

	Precedence   Precedence  `json:"precedence"`
	Disclosure   Choices     `json:"disclosure"`
	Recourse     Recourse    `json:"recourse"`
	Obligations  Obligations `json:"obligations"`
	Jurisdiction Choices     `json:"jurisdiction"`
}

// Choices are the words that a profile allows, in the order in which they are declared, and the one that holds where nothing else is
// said.
type Choices struct {
	Allowed []string `json:"allowed"`
	Default string   `json:"default"`
}

// Precedence is the order of the tiers from which policies come, the highest first.
type Precedence struct {
	Order []string `json:"order"`
}

// Recourse is how a decision can be fought: through which states, and before whom.
type Recourse struct {
	States     []string `json:"states"`
	Appealable bool     `json:"appealable"`
	Deciders   []string `json:"deciders"` // of declaration.AuthorityKinds
	Default    string   `json:"default"`  // who decides where nothing else is said
}

// Obligations is how duties recur.
type Obligations struct {
	Allowed   []string `json:"allowedCadences"`
	Default   string   `json:"defaultCadence"`
	GraceDays int      `json:"defaultGraceDays"`              // after the day on which one is due
	AlertDays int      `json:"defaultReportingThresholdDays"` // before it
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
	OK       bool     `json:"ok"`    // everything in it is known, as it is of the built-in profiles
	Ready    bool     `json:"ready"` // and nothing is done in part
	ID       string   `json:"modelId"`
	Label    string   `json:"label"`
	Issues   []string `json:"issues"`
	Gaps     []string `json:"gaps"`
	Shipped  []string `json:"shipped"`
	Partial  []string `json:"partial"`
	Deferred []string `json:"deferred"`
}

// Compatibility judges the profile.
func (p *Profile) Compatibility() Compatibility {
	c := Compatibility{OK: true, ID: p.ID, Label: p.Label, Issues: []string{}, Shipped: shipped, Partial: partial, Deferred: []string{}}
	for _, part := range partial {
		c.Gaps = append(c.Gaps, part+" is done in part")
	}
	return c
}

// An Audit is what programs find wrong with one rule of a profile: nothing, because the rule leaves something to people.
type Audit struct {
	OK         bool     `json:"ok"`
	Profile    string   `json:"profileId"`
	Issues     []string `json:"issues"`     // always empty
	Unresolved []string `json:"unresolved"` // what the rule leaves to people
}

// Audits are those of the five rules that each profile declares. Beside each audit stands what programs never do with the rule.
type Audits struct {
	Precedence struct {
		Audit
		Resolves bool `json:"resolvesConflicts"`
	} `json:"precedence"`
	Disclosure struct {
		Audit
		Projects bool `json:"producesProjection"`
	} `json:"disclosure"`
	Recourse struct {
		Audit
		Adjudicates bool `json:"adjudicatesDecisions"`
	} `json:"recourse"`
	Obligations struct {
		Audit
		Schedules bool `json:"schedulesExecutions"`
	} `json:"obligations"`
	Jurisdiction struct {
		Audit
		Checks bool `json:"checksMembership"`
	} `json:"jurisdiction"`
}

// Audits returns the audits of the profile.
func (p *Profile) Audits() (all Audits) {
	audit := func(unresolved string) Audit { return Audit{true, p.ID, []string{}, []string{unresolved}} }
	all.Precedence.Audit = audit("which of two policies of one tier holds is left to the authority of the scope")
	all.Disclosure.Audit = audit("the publisher decides what a view leaves out")
	all.Recourse.Audit = audit("who is right is decided by people")
	all.Obligations.Audit = audit("what recurs on an event, or on request, is due when an agent says so")
	all.Jurisdiction.Audit = audit("membership is not looked up anywhere")
	return all
}
