package model

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/profile"
)

// How much a finding weighs.
const (
	Breach = "breach" // something that always holds does not
	Open   = "open"   // not answered, or not yet
	Remark = "remark" // lawful, and worth a thought
)

// MaxFindings is how many findings are returned. A repair of a proposal begins with these.
const MaxFindings = 100

// A Finding is one thing that a check found.
type Finding struct {
	Code    string `json:"code"` // of the invariant, or "unanswered", "unknown", "profile", "draft"
	Weight  string `json:"weight"`
	Subject string `json:"subject"` // what it is about, as the proposal calls it
	Text    string `json:"text"`
}

// A Result is what a check found.
type Result struct {
	Profile  string          // against which it was checked; "" for none
	Answered map[string]bool // by the key of the question
	Findings []Finding
	More     bool // there are more findings than are returned
	Nearest  []Near
}

// OK tells whether there are remarks at most.
func (r *Result) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Weight != Remark })
}

type checker struct {
	*proposal
	r *Result
}

func (c *checker) find(code, weight, subject, format string, args ...any) {
	if len(c.r.Findings) == MaxFindings {
		c.r.More = true
		return
	}
	c.r.Findings = append(c.r.Findings, Finding{code, weight, subject, fmt.Sprintf(format, args...)})
}

// full reports whether no more findings are returned; going on would only cost time.
func (c *checker) full() bool { return len(c.r.Findings) == MaxFindings && c.r.More }

// Check judges a proposal against what always holds and a profile: the one with that id, or if it is "" the one that the proposal
// names.
func Check(raw []byte, id string) (*Result, error) {
	if len(raw) > MaxProposal {
		return nil, fmt.Errorf("the proposal has %d bytes, at most %d are checked", len(raw), MaxProposal)
	}
	if err := canonjson.Check(raw); err != nil {
		return nil, fmt.Errorf("read the proposal: %w", err)
	}
	if !canonjson.IsObject(raw) {
		return nil, ErrNoProposal
	}
	c := &checker{proposal: parse(raw), r: &Result{Answered: map[string]bool{}}}
	if id == "" {
		id = text(get(raw, "profile"))
	}
	var p *profile.Profile
	if id != "" {
		var err error
		if p, err = profile.Named(id); err != nil {
			return nil, err
		}
		c.r.Profile = p.ID
	}
	for _, look := range []func(){c.grid, c.people, c.places, c.mandated, c.agreed, c.upward} {
		look()
	}
	if p != nil {
		for _, d := range c.differences(p) {
			c.find("profile", Open, p.ID, "%s", d)
		}
	}
	c.r.Nearest = c.nearest()
	return c.r, nil
}

// grid looks which questions are answered.
func (c *checker) grid() {
	for _, q := range Grid {
		v, has := canonjson.Get(c.raw, q.Key)
		some := false
		for range canonjson.Elements(v) {
			some = true
			break
		}
		if s := text(v); s != "" {
			some = true
		}
		ok := some || q.Empty && has && string(canonjson.Compact(v)) == "[]"
		c.r.Answered[q.Key] = ok
		if !ok {
			c.find("unanswered", Open, q.Key, "%s", q.Asks)
		}
	}
}

// people looks at the actors.
func (c *checker) people() {
	for n := range c.actors {
		a := &c.actors[n]
		switch {
		case c.full():
			return
		case a.id == "":
			c.find("unknown", Open, "actors", "an actor has no id")
			continue
		case c.actor(a.id) != a:
			c.find("unknown", Breach, a.id, "two actors have this id")
		case len(a.roles) == 0:
			c.find("unanswered", Open, a.id, "has no role")
		}
		for _, r := range a.roles {
			if !slices.Contains(envelope.Roles, r) {
				c.find("coined", Breach, a.id, "role %q is none of %s: name it as a gap", r, strings.Join(envelope.Roles, ", "))
			}
		}
		for _, s := range a.scopes {
			if c.byScope[s] == nil {
				c.find("unknown", Breach, a.id, "scope %q is not among the scopes", s)
			}
		}
		if c.byScope[a.id] != nil && a.signs {
			c.find("scope-signs", Breach, a.id, "is a scope and signs: name the instance that signs for it")
		}
		c.owner(a)
		c.delegated(a)
	}
}

// owner looks at what an actor owns.
func (c *checker) owner(a *actor) {
	switch {
	case len(a.owns) == 0:
	case a.only("CONTROL"):
		c.find("control-owns", Breach, a.id, "is CONTROL and owns %s", strings.Join(a.owns, ", "))
	case !a.is("PRINCIPAL"):
		c.find("unowned", Breach, a.id, "owns %s and is not a PRINCIPAL", strings.Join(a.owns, ", "))
	}
}

// delegated looks at agents that work is delegated to, and at subagents.
func (c *checker) delegated(a *actor) {
	parent := a.parent
	if at := strings.LastIndexByte(a.id, '~'); parent == "" && at > 0 {
		parent = a.id[:at]
	}
	if parent != "" && c.actor(parent) == nil {
		c.find("unknown", Breach, a.id, "its parent %q is not an actor", parent)
	}
	if !a.is("AGENTS") || a.kind == "person" {
		return
	}
	bound, maySign := parent != "", false
	for _, m := range c.given[a] {
		bound = true
		maySign = maySign || slices.Contains(m.rights, "sign")
	}
	if !bound {
		c.find("agent-signs", Open, a.id, "does delegated work without a mandate or a parent")
	}
	if a.signs && !maySign {
		c.find("agent-signs", Breach, a.id, "signs, and no mandate gives it the right to sign")
	}
}

// places looks at the scopes.
func (c *checker) places() {
	for n := range c.scopes {
		s := &c.scopes[n]
		switch {
		case c.full():
			return
		case s.id == "":
			c.find("unknown", Open, "scopes", "a scope has no id")
			continue
		case c.byScope[s.id] != s:
			c.find("unknown", Breach, s.id, "two scopes have this id")
		case s.within != "" && c.byScope[s.within] == nil:
			c.find("unknown", Breach, s.id, "is in %q, which is not among the scopes", s.within)
		}
		if len(s.principals) == 0 {
			c.find("unowned", Breach, s.id, "has no principal")
		}
		if len(s.principals) > 1 {
			c.find("fork", Remark, s.id, "has %d principals: show beside it what two scopes would be, and leave the choice open", len(s.principals))
		}
		for _, p := range s.principals {
			switch a := c.actor(p); {
			case a == nil:
				c.find("unknown", Breach, s.id, "its principal %q is not an actor", p)
			case !a.is("PRINCIPAL"):
				c.find("unowned", Breach, s.id, "its principal %q does not hold the role PRINCIPAL", p)
			}
		}
	}
	c.rings()
}

// rings finds scopes that lie in themselves. Each scope is walked through once.
func (c *checker) rings() {
	const walking, done = 1, 2
	state := map[string]int{}
	for n := range c.scopes {
		var path []string
		id := c.scopes[n].id
		for id != "" && state[id] == 0 && c.byScope[id] != nil {
			state[id] = walking
			path = append(path, id)
			id = c.byScope[id].within
		}
		if state[id] == walking {
			c.find("unknown", Breach, id, "is inside itself, by way of the scopes around it")
		}
		for _, p := range path {
			state[p] = done
		}
	}
}

// mandated looks at the mandates.
func (c *checker) mandated() {
	for _, m := range c.mandates {
		switch {
		case c.full():
			return
		case m.instance == "":
			continue // an authority that is expressed in other words
		case c.actor(m.instance) == nil:
			c.find("unknown", Breach, m.instance, "has a mandate and is not an actor")
		case m.role != "" && !slices.Contains(envelope.Roles, m.role):
			c.find("coined", Breach, m.instance, "its mandate is for role %q, which there is not", m.role)
		case m.scope != "" && c.byScope[m.scope] == nil:
			c.find("unknown", Breach, m.instance, "its mandate is for scope %q, which is not among the scopes", m.scope)
		}
	}
}

// agreed looks at the agreements.
func (c *checker) agreed() {
	uses := map[string]int{}
	for _, a := range c.agreements {
		for _, p := range words(get(a, "policies")) {
			uses[p]++
		}
	}
	for _, a := range c.agreements {
		if c.full() {
			return
		}
		v := pick(a, "kind", "id", "scope", "signers", "adoptionMode")
		kind, id := text(v[0]), text(v[1])
		if kind == "" || id == "" {
			continue // something outside of the protocol
		}
		if !slices.Contains(declaration.Kinds, kind) {
			c.find("coined", Breach, id, "kind %q is none of %s", kind, strings.Join(declaration.Kinds, ", "))
			continue
		}
		c.place(id, kind, text(v[2]))
		c.written(id, kind, a)
		for _, s := range words(v[3]) {
			c.signer(id, kind, s)
		}
		if mode := text(v[4]); kind == declaration.Policy && mode != "imposed" && uses[id] == 1 {
			c.find("rule-apart", Remark, id, "holds for one agreement alone and is not imposed: it could be a clause of that one")
		}
	}
}

// place looks at the scope of an agreement.
func (c *checker) place(id, kind, scope string) {
	switch {
	case scope == "" && kind == declaration.Engagement:
		c.find("engagement-is-scope", Breach, id, "is an engagement without a scope")
	case scope == "":
	case c.byScope[scope] == nil:
		c.find("unknown", Breach, id, "its scope %q is not among the scopes", scope)
	}
	switch {
	case c.byScope[id] == nil:
	case kind == declaration.Policy:
		c.find("policy-layer", Breach, id, "is a policy and a scope at once")
	default:
		c.find("engagement-is-scope", Breach, id, "is the name of an agreement and of a scope: give each its own")
	}
}

// written looks at the text of an agreement.
func (c *checker) written(id, kind string, artifact []byte) {
	for _, issue := range declaration.Guard(artifact) {
		c.find("draft", Open, id, "%s", issue)
	}
	for _, issue := range declaration.Separate(artifact).Issues {
		if strings.Contains(issue, " belongs into a ") {
			c.find("collapse", Breach, id, "is a %s, and %s", kind, issue)
		}
	}
}

// signer looks at an expected signer.
func (c *checker) signer(id, kind, who string) {
	a := c.actor(who)
	switch {
	case a == nil && c.byScope[who] != nil:
		c.find("scope-signs", Breach, id, "is signed by the scope %q: name the instance that signs for it", who)
	case a == nil:
		c.find("unknown", Breach, id, "its signer %q is not an actor", who)
	case !declaration.MaySign(kind, a.roles...):
		c.find("agent-signs", Breach, id, "%q may not sign a %s: %s may", who, kind, strings.Join(declaration.Signers(kind), ", "))
	}
}

// upward looks at controls and escalations.
func (c *checker) upward() {
	for e := range canonjson.Elements(get(c.raw, "controls")) {
		if by := text(get(e, "by")); by != "" && c.actor(by) == nil && !c.full() {
			c.find("unknown", Breach, by, "controls something and is not an actor")
		}
	}
	for e := range canonjson.Elements(get(c.raw, "escalations")) {
		v := pick(e, "target", "authorityKind", "scope", "channel")
		target, kind, in, channel := text(v[0]), text(v[1]), text(v[2]), text(v[3])
		if target == "" || c.full() {
			continue
		}
		if kind != "" && !slices.Contains(declaration.AuthorityKinds, kind) {
			c.find("coined", Breach, target, "authority %q is none of %s", kind, strings.Join(declaration.AuthorityKinds, ", "))
		}
		if channel != "" && !slices.Contains(declaration.Channels, channel) {
			c.find("coined", Breach, target, "channel %q is none of %s", channel, strings.Join(declaration.Channels, ", "))
		}
		c.competent(target, kind, in)
	}
	if by := text(get(get(c.raw, "recourse"), "by")); by != "" && c.actor(by).is("MANDATAIRE") && c.actor(by).only("MANDATAIRE") {
		c.find("mandataire-judges", Breach, by, "is MANDATAIRE and decides a recourse")
	}
}

// competent looks at a receiver of matters.
func (c *checker) competent(target, kind, in string) {
	a := c.actor(target)
	switch {
	case a == nil && (kind == "EXTERNAL_AUTHORITY" || kind == "QUORUM" || kind == "RECOURSE"):
	case a == nil:
		c.find("unknown", Breach, target, "matters go to it, and it is not an actor")
	case a.only("MANDATAIRE"):
		c.find("mandataire-judges", Breach, target, "is MANDATAIRE, and matters go to it to be decided")
	case in != "" && len(a.scopes) > 0 && !c.reaches(a, in):
		c.find("incompetent-authority", Breach, target, "matters of %q go to it, which is in none of its scopes", in)
	}
}
