package profile

import (
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
)

// The demands on an artifact. What it does not say is not asked for: the rule of the profile then holds with its default.

// again is the command after which a step can be taken that an artifact stands against.
func (g *gates) again() string {
	if g.step == Offer {
		return "tutti negotiate offer " + quoted(g.f.Negotiation) + " FILE   # with that changed"
	}
	return "tutti negotiate counter " + quoted(g.f.Negotiation) + " FILE --base latest   # with that changed"
}

// word checks a member that, if it is there, is one of some words.
func (g *gates) word(what string, value []byte, allowed []string) {
	if value == nil || canonjson.IsNull(value) {
		return
	}
	if s, ok := canonjson.String(value); !ok || !slices.Contains(allowed, s) {
		g.refuse(g.again(), "%s of the artifact is %s, which %s does not allow: %s", what, brief(value), g.p.ID, strings.Join(allowed, ", "))
	}
}

// brief is a value as a sentence shows it.
func brief(value []byte) string { return shortened(string(canonjson.Compact(value))) }

// get is a member of the artifact, nil when there is none.
func (g *gates) get(name string) []byte {
	v, _ := canonjson.Get(g.f.Artifact, name)
	return v
}

// either of a text or an object with that member.
func within(value []byte, name string) []byte {
	if canonjson.IsObject(value) {
		v, _ := canonjson.Get(value, name)
		return v
	}
	return value
}

func (g *gates) adoption() {
	if declaration.KindOf(g.f.Artifact) == declaration.Policy {
		g.word("adoptionMode", g.get("adoptionMode"), g.p.Adoption)
	}
}

func (g *gates) disclosure() {
	g.word("disclosure", within(g.get("disclosure"), "mode"), g.p.Disclosure.Allowed)
	g.word("disclosureMode", g.get("disclosureMode"), g.p.Disclosure.Allowed)
}

// maxRefusals is how many obligations of one artifact are objected to: who repairs them begins with these.
const maxRefusals = 20

func (g *gates) cadence() {
	before := len(g.list)
	for e := range canonjson.Elements(g.get("obligations")) {
		var v [3][]byte
		canonjson.Pick(e, []string{"cadence", "graceDays", "reportingThresholdDays"}, v[:])
		g.word("cadence of an obligation", v[0], g.p.Obligations.Allowed)
		g.days("grace", v[1], g.p.Obligations.GraceDays)
		g.days("alert", v[2], g.p.Obligations.AlertDays)
		if len(g.list)-before >= maxRefusals {
			return
		}
	}
}

func (g *gates) days(what string, value []byte, most int) {
	if value == nil || canonjson.IsNull(value) {
		return
	}
	if n, ok := canonjson.Int(value); !ok || n < 0 || n > int64(most) {
		g.refuse(g.again(), "days of %s of an obligation are %s, and %s allows 0 to %d", what, brief(value), g.p.ID, most)
	}
}

func (g *gates) jurisdiction() {
	g.word("jurisdiction", within(g.get("jurisdiction"), "kind"), g.p.Jurisdiction.Allowed)
}

func (g *gates) recourse() {
	if r := g.get("recourse"); canonjson.IsObject(r) {
		g.word("decider of the recourse", within(r, "decider"), g.p.Recourse.Deciders)
	}
}

func (g *gates) precedence() {
	if declaration.KindOf(g.f.Artifact) == declaration.Policy {
		g.word("tier", g.get("tier"), g.p.Precedence.Order)
	}
}
