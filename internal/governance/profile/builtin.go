package profile

import (
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/governance/declaration"
)

var roles = envelope.Roles

// What the four have in common.
var (
	kinds = []string{
		declaration.Contract, declaration.Policy, declaration.Engagement, declaration.Mandate, declaration.Authority,
		declaration.Signature, declaration.EnforcementPlan,
	}
	shipped = []string{
		"scope-first-class", "policy-first-class", "contract-engagement-separation", "mandated-signature", "deterministic-negotiation",
		"scope-authority-escalation", "external-authority", "controlled-disclosure", "recurring-obligations", "recourse", "jurisdiction",
	}
	partial = []string{"policy-precedence"}
)

const (
	publicAuthority = "public-authority"
	contractual     = "contractual"
	federated       = "federated"
	local           = "local"
)

// All returns the profiles, in the order of their letters.
func All() []*Profile {
	all := []*Profile{enterprise(), ecosystem(), government(), safe()}
	for _, p := range all {
		p.Conflicts, p.Kinds, p.Authorities = declaration.EscalateNotResolve, kinds, declaration.AuthorityKinds
		p.Recourse.States, p.Recourse.Appealable = declaration.RecourseStates, true
	}
	return all
}

func enterprise() *Profile {
	return &Profile{
		ID: "A_ENTERPRISE", Label: "Enterprise", Track: "A", Topology: "enterprise-hierarchy",
		Rationale: "One head, who hands down mandates; rules come from above, and within the house everybody may see much.",
		Roles:     roles, Adoption: declaration.AdoptionModes,
		Precedence: Precedence{Order: []string{publicAuthority, contractual, local, federated}},
		Disclosure: Choices{
			Allowed: []string{"full-view", "redacted-view", "evidence-package", "attestation", "hash-only"}, Default: "redacted-view",
		},
		Recourse: Recourse{Deciders: []string{"PRINCIPAL", "CONTROL", "EXTERNAL_AUTHORITY"}, Default: "PRINCIPAL"},
		Obligations: Obligations{
			Allowed: []string{"daily", "weekly", "monthly", "quarterly", "yearly", "on-event"}, Default: "monthly", GraceDays: 7, AlertDays: 3,
		},
		Jurisdiction: Choices{
			Allowed: []string{"private-contract", "sectoral", "functional", "territorial"}, Default: "private-contract",
		},
	}
}

func ecosystem() *Profile {
	return &Profile{
		ID: "B_ECOSYSTEM", Label: "Ecosystem of organisations", Track: "B", Topology: "peer-federation",
		Rationale: "Peers without a head: no peer imposes a rule on another, a quorum decides, and evidence stands in for insight.",
		Roles:     roles, Adoption: []string{"ratified", "contractual", "acknowledged"},
		Precedence: Precedence{Order: []string{publicAuthority, contractual, federated, local}},
		Disclosure: Choices{
			Allowed: []string{"redacted-view", "evidence-package", "attestation", "hash-only"}, Default: "evidence-package",
		},
		Recourse: Recourse{Deciders: []string{"QUORUM", "EXTERNAL_AUTHORITY", "RECOURSE"}, Default: "QUORUM"},
		Obligations: Obligations{
			Allowed: []string{"monthly", "quarterly", "yearly", "on-event", "ad-hoc"}, Default: "quarterly", GraceDays: 14, AlertDays: 7,
		},
		Jurisdiction: Choices{
			Allowed: []string{"delegated", "private-contract", "sectoral", "functional", "territorial"}, Default: "delegated",
		},
	}
}

func government() *Profile {
	return &Profile{
		ID: "C_GOVERNMENT_CITIZEN", Label: "Government and citizen", Track: "C", Topology: publicAuthority,
		Rationale: "An authority that imposes rules and is bound by them; recourse leads outside of it, and nothing rests on a private contract.",
		Roles:     roles, Adoption: []string{"imposed", "acknowledged", "ratified"},
		Precedence: Precedence{Order: []string{publicAuthority, contractual, federated, local}},
		Disclosure: Choices{
			Allowed: []string{"full-view", "redacted-view", "evidence-package", "attestation", "hash-only"}, Default: "evidence-package",
		},
		Recourse: Recourse{Deciders: []string{"EXTERNAL_AUTHORITY", "RECOURSE", "PRINCIPAL"}, Default: "EXTERNAL_AUTHORITY"},
		Obligations: Obligations{
			Allowed: []string{"monthly", "quarterly", "yearly", "on-event"}, Default: "yearly", GraceDays: 30, AlertDays: 15,
		},
		Jurisdiction: Choices{
			Allowed: []string{"territorial", "sectoral", "functional", "personal", "temporal", "delegated"}, Default: "territorial",
		},
	}
}

func safe() *Profile {
	return &Profile{
		ID: "D_SAFE", Label: "Agile train", Track: "D", Topology: "agile-train",
		Rationale:  "One owner and many streams of work in short cadence; there is no one between the owner and the workers.",
		Roles:      slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == declaration.Mandataire }),
		Adoption:   declaration.AdoptionModes,
		Precedence: Precedence{Order: []string{publicAuthority, contractual, federated, local}},
		Disclosure: Choices{
			Allowed: []string{"full-view", "redacted-view", "evidence-package", "attestation", "hash-only"}, Default: "redacted-view",
		},
		Recourse: Recourse{Deciders: []string{"PRINCIPAL", "CONTROL", "EXTERNAL_AUTHORITY"}, Default: "PRINCIPAL"},
		Obligations: Obligations{
			Allowed: []string{"daily", "weekly", "monthly", "quarterly", "on-event"}, Default: "weekly", GraceDays: 2, AlertDays: 1,
		},
		Jurisdiction: Choices{
			Allowed: []string{"private-contract", "delegated", "functional", "sectoral", "territorial"}, Default: "private-contract",
		},
	}
}
