package profile

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
)

// A Step is one of a negotiation.
type Step string

// The steps before which a profile is asked. A counter-offer is an offer.
const (
	Open      Step = "open"
	Offer     Step = "offer"
	Accept    Step = "accept"
	Sign      Step = "sign"
	Stabilise Step = "stabilize"
)

// Steps are these, in their order.
var Steps = []Step{Open, Offer, Accept, Sign, Stabilise}

// Facts are what a negotiation knows when a step is about to be taken. What is nil or empty is not known, and a demand that needs
// it is then not met.
type Facts struct {
	Negotiation string
	Actor       string   // who takes the step
	Signers     []string // who is required to sign
	Kind        string   // of the artifact that it is about, where the subject says so; "" else
	Artifact    []byte   // that is offered, accepted, signed or stabilised

	Roles func(instance string) []string // registered and granted
	Held  func(role string) bool         // an agent on this bus has the role
	// Attests tells whether an instance may attest that it has understood; nil: each may. Of a CONDUCTOR, who may sign and may not
	// attest, no attestation is demanded.
	Attests func(instance string) bool

	Dossier    string                    // hash of the present one
	Postures   []declaration.Posture     // of everybody concerned
	Confidence declaration.Confidence    // from the journal as it is
	Escalated  func(subject string) bool // the agent's conflict was escalated, in this journal
}

// A Refusal says what stands against a step.
type Refusal struct {
	Gate    string // which demand is not met
	Reason  string
	Command string // what to type
}

func (r Refusal) String() string { return r.Gate + ": " + r.Reason }

// A Gate is one demand.
type Gate struct {
	Name  string `json:"name"`
	Steps []Step `json:"-"`
	Asks  string `json:"asks"` // in the words of the profile that was asked
	check func(g *gates)
}

// gates is one run of the demands of a profile.
type gates struct {
	p    *Profile
	step Step
	f    Facts
	gate string
	list []Refusal
}

func (g *gates) refuse(command, reason string, args ...any) {
	g.list = append(g.list, Refusal{g.gate, fmt.Sprintf(reason, args...), command})
}

// anyOffer are the steps at which the artifact is looked at: not when it is offered alone, because a party may offer with another
// program that asks nothing.
var anyOffer = []Step{Offer, Accept, Sign, Stabilise}

// Gates returns what the profile demands before a step, in the order in which it is asked.
func (p *Profile) Gates(step Step) []Gate {
	var of []Gate
	for _, g := range p.gates() {
		if slices.Contains(g.Steps, step) {
			of = append(of, g)
		}
	}
	return of
}

// StepGates are the gates of a profile by step of a negotiation.
type StepGates struct {
	Open      []Gate `json:"open"`
	Offer     []Gate `json:"offer"`
	Accept    []Gate `json:"accept"`
	Sign      []Gate `json:"sign"`
	Stabilise []Gate `json:"stabilize"`
}

// StepGates returns all gates of the profile.
func (p *Profile) StepGates() StepGates {
	return StepGates{p.Gates(Open), p.Gates(Offer), p.Gates(Accept), p.Gates(Sign), p.Gates(Stabilise)}
}

func (p *Profile) gates() []Gate {
	words := func(list []string) string { return strings.Join(list, " ") }
	return []Gate{
		{"roles", []Step{Open, Stabilise}, "an agent on this bus holds each of: " + words(p.Roles), (*gates).roles},
		{"signers", []Step{Open}, "each required signer holds a role that may sign an artifact of that kind", (*gates).signers},
		{"adoption", anyOffer, "a policy is adopted as one of: " + words(p.Adoption), (*gates).adoption},
		{"disclosure", anyOffer, "what is shown is shown as one of: " + words(p.Disclosure.Allowed), (*gates).disclosure},
		{
			"cadence", anyOffer, fmt.Sprintf("obligations recur in one of: %s; alerts come no longer ahead than %d days, grace ends after %d",
				words(p.Obligations.Allowed), p.Obligations.AlertDays, p.Obligations.GraceDays), (*gates).cadence,
		},
		{"jurisdiction", anyOffer, "the reach of a rule is one of: " + words(p.Jurisdiction.Allowed), (*gates).jurisdiction},
		{"recourse", anyOffer, "a recourse is decided by one of: " + words(p.Recourse.Deciders), (*gates).recourse},
		{"precedence", anyOffer, "a policy is of one of these tiers, the higher first: " + words(p.Precedence.Order), (*gates).precedence},
		{"conflict", []Step{Accept, Sign, Stabilise}, "an agent with a conflict has declared it, and it was escalated", (*gates).conflict},
		{"attention", []Step{Sign, Stabilise}, "who signs has attested the present dossier, if that is open to their role", (*gates).attention},
	}
}

// Check says what stands against a step, nothing when it may be taken. Every demand is asked, so that all can be met at once.
func (p *Profile) Check(step Step, f Facts) []Refusal {
	g := &gates{p: p, step: step, f: f}
	for _, gate := range p.Gates(step) {
		g.gate = gate.Name
		gate.check(g)
	}
	return g.list
}

func (g *gates) roles() {
	for _, r := range g.p.Roles {
		if g.f.Held == nil || !g.f.Held(r) {
			g.refuse("tutti role AGENT "+r+"   # the user gives a role, in a terminal of their own",
				"%s asks for a %s, and no agent on this bus is one", g.p.ID, r)
		}
	}
}

func (g *gates) rolesOf(instance string) []string {
	if g.f.Roles == nil {
		return nil
	}
	return g.f.Roles(instance)
}

func (g *gates) signers() {
	if g.f.Kind == "" {
		return
	}
	for _, s := range g.f.Signers {
		if has := g.rolesOf(s); !declaration.MaySign(g.f.Kind, has...) {
			may := declaration.Signers(g.f.Kind)
			g.refuse("tutti role "+quoted(s)+" "+fitRole(may)+"   # the user gives a role, in a terminal of their own",
				"%q may not sign a %s: it is %s, and %s may", s, g.f.Kind, either(has, "in no role"), strings.Join(may, ", "))
		}
	}
}

// fitRole is the role to give an agent so that it can sign: CONDUCTOR where that may sign, because PRINCIPAL is a person's.
func fitRole(may []string) string {
	if len(may) == 0 || slices.Contains(may, declaration.Conductor) {
		return declaration.Conductor
	}
	return may[len(may)-1]
}

func either(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

// conflict looks at who takes the step, and before stabilising at everybody.
func (g *gates) conflict() {
	for _, p := range g.f.Postures {
		if g.step != Stabilise && !address.Same(p.Subject, g.f.Actor) {
			continue
		}
		undisclosed := slices.ContainsFunc(g.f.Confidence.Undisclosed, func(s string) bool { return address.Same(s, p.Subject) })
		switch {
		case undisclosed:
			g.refuse(g.line("declare-interest", p.Subject, "--interets WHAT"),
				"%q was flagged as having a conflict, and has declared nothing", p.Subject)
		case p.Conflict == declaration.Conflict && (g.f.Escalated == nil || !g.f.Escalated(p.Subject)):
			g.refuse(g.line("escalate", p.Subject, "--channel decide"),
				"the conflict of %q (%s) was not escalated: a conflict is escalated, not resolved", p.Subject, strings.Join(p.Criteria, ", "))
		}
	}
}

// attention looks at who signs, and before stabilising at everybody who had to.
func (g *gates) attention() {
	for _, s := range g.f.Confidence.Missing {
		if g.step != Stabilise && !address.Same(s, g.f.Actor) || g.f.Attests != nil && !g.f.Attests(s) {
			continue
		}
		why := "has not attested that it has understood the dossier"
		if slices.ContainsFunc(g.f.Confidence.Stale, func(o string) bool { return address.Same(o, s) }) {
			why = "has attested an older dossier than the present one"
		}
		g.refuse(g.line("attest-comprehension", s, "--dossier "+g.f.Dossier), "%q %s", s, why)
	}
}

// line is a command of the negotiate family in the name of an agent.
func (g *gates) line(verb, instance, rest string) string {
	return "tutti " + verb + " --negotiation " + quoted(g.f.Negotiation) + " --instance " + quoted(instance) + " " + rest
}

// quoted makes a word that a shell takes as one. A stranger chose it: what would not be shown as it is is left out.
func quoted(s string) string {
	if s == "" || s[0] == '-' || termsafe.Clean(s) != s {
		return "..."
	}
	return termsafe.Word(s)
}
