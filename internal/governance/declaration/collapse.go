package declaration

import (
	"slices"

	"tutti/internal/core/canonjson"
)

// An Own says what is peculiar to one of the three kinds that must not be run together.
type Own struct {
	Kind, Profile string
	Fields        []string // that the other two must not carry
}

// Owns are the three: what parties owe each other, a rule that lasts, and work that is done.
var Owns = []Own{
	{
		Kind: Contract, Profile: "normative-container",
		Fields: []string{"parties", "clauses", "engagements", "signatures", "obligations", "rights"},
	},
	{Kind: Policy, Profile: "durable-rule", Fields: []string{"rule", "sourceAuthority", "adoptionMode", "parameters"}},
	{
		Kind: Engagement, Profile: "operational-executable",
		Fields: []string{"charter", "roleBindings", "controls", "successCriteria", "contractId", "amendments", "status"},
	},
}

// A Separation is the answer to whether contract, policy and engagement were kept apart.
type Separation struct {
	OK            bool
	Kind, Profile string // "" when the kind is none of the three
	Issues        []string
}

// Separate judges whether an artifact of one of the three kinds is only that: a contract that carries a charter, or an
// engagement that lays down a rule, is two things at once, one of which would have a signer that may not sign it.
func Separate(artifact []byte) Separation {
	f, object := open(artifact)
	if !object {
		return Separation{Issues: f.all()}
	}
	kind := KindOf(artifact)
	at := slices.IndexFunc(Owns, func(o Own) bool { return o.Kind == kind })
	switch {
	case kind == "":
		return Separation{Issues: []string{"kind is missing"}}
	case at < 0:
		return Separation{Kind: kind, Issues: []string{"kind " + quote(kind) + " is none of CONTRACT, POLICY and ENGAGEMENT"}}
	}
	shapes[kind].guard(&f, artifact)
	for _, o := range Owns {
		for _, field := range o.Fields {
			if o.Kind == kind || slices.Contains(Owns[at].Fields, field) {
				continue
			}
			if _, has := canonjson.Get(artifact, field); has {
				f.add("%s belongs into a %s of its own", field, o.Kind)
			}
		}
	}
	return Separation{OK: len(f.list) == 0, Kind: kind, Profile: Owns[at].Profile, Issues: f.all()}
}
