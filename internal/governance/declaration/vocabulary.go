package declaration

import (
	"slices"

	"tutti/internal/bus/envelope"
)

// The kinds of artifact.
const (
	Contract        = "CONTRACT"
	Policy          = "POLICY"
	Engagement      = "ENGAGEMENT"
	Amendment       = "AMENDMENT"
	Mandate         = "MANDATE"
	Authority       = "AUTHORITY"
	Signature       = "SIGNATURE"
	EnforcementPlan = "ENFORCEMENT_PLAN"
)

// The roles.
const (
	Principal  = "PRINCIPAL"
	Executive  = "EXECUTIF"
	Conductor  = "CONDUCTOR"
	Agents     = "AGENTS"
	Control    = "CONTROL"
	Mandataire = "MANDATAIRE"
)

// AttestRight is the capability by which agents may attest that they have understood; PRINCIPAL, EXECUTIF and MANDATAIRE may
// without it.
const AttestRight = "attester-comprehension"

// EscalateNotResolve is the one disposition towards conflicts that there is: a program says that there is one, and who receives
// it. It never settles it.
const EscalateNotResolve = "escalate-not-resolve"

// Channels are the ways of escalating a matter.
var Channels = []string{"advise", "decide", "alert"}

// AuthorityKinds are the kinds of authority to which a matter can be escalated.
var AuthorityKinds = []string{"PRINCIPAL", "EXECUTIF", "QUORUM", "CONTROL", "EXTERNAL_AUTHORITY", "RECOURSE"}

// AdoptionModes are the ways in which a policy comes to hold.
var AdoptionModes = []string{"ratified", "contractual", "imposed", "acknowledged"}

// RecourseStates are the states of a recourse against a decision.
var RecourseStates = []string{"requested", "accepted", "dismissed", "adjudicating", "decided", "appealed", "closed"}

// Kinds are the kinds of artifact, in the order of their tables.
var Kinds = []string{Contract, Policy, Engagement, Amendment, Mandate, Authority, Signature, EnforcementPlan}

// signers are the roles that may sign a kind, in the order of the roles.
var signers = map[string][]string{
	Contract:        {Principal, Executive, Conductor},
	Policy:          {Principal, Executive, Control},
	Engagement:      {Principal, Executive, Conductor},
	Amendment:       {Principal, Executive, Conductor, Control},
	Mandate:         {Principal, Executive},
	Authority:       {Principal, Executive},
	Signature:       envelope.Roles,
	EnforcementPlan: {Principal, Executive, Control},
}

// Signers returns the roles that may sign an artifact of a kind, nil for an unknown kind.
func Signers(kind string) []string { return slices.Clone(signers[kind]) }

// MaySign reports whether an agent with these roles may sign an artifact of a kind. An unknown kind cannot be signed; whether
// that stops a reader of a foreign journal is the reader's rule.
func MaySign(kind string, roles ...string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(signers[kind], r) })
}

// MayAttest reports whether an agent with these roles and capabilities may attest that it has understood: PRINCIPAL, EXECUTIF
// and MANDATAIRE by their role, AGENTS with the capability, and no others.
func MayAttest(roles, capabilities []string) bool {
	for _, r := range roles {
		switch r {
		case Principal, Executive, Mandataire:
			return true
		case Agents:
			if slices.Contains(capabilities, AttestRight) {
				return true
			}
		}
	}
	return false
}

// KindFor returns the kind of artifact that a negotiation with that subject is about, "" for a subject that names none.
func KindFor(subject string) string {
	switch subject {
	case "contract":
		return Contract
	case "policy":
		return Policy
	case "engagement":
		return Engagement
	case "amendment":
		return Amendment
	}
	return ""
}
