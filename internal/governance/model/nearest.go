package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/profile"
)

// A Near says how far a proposal is from a profile.
type Near struct {
	Profile     string   `json:"profile"`
	Differences []string `json:"differences"`
}

// maxDifferences is how many differences from one profile are returned.
const maxDifferences = 20

// nearest returns all profiles, the one with the fewest differences first; of equals the one with the lower letter.
func (c *checker) nearest() []Near {
	var all []Near
	for _, p := range profile.All() {
		all = append(all, Near{p.ID, c.differences(p)})
	}
	slices.SortStableFunc(all, func(a, b Near) int { return cmp.Compare(len(a.Differences), len(b.Differences)) })
	return all
}

// differences says what of the proposal a profile does not allow, or asks for in vain.
func (c *checker) differences(p *profile.Profile) (all []string) {
	add := func(format string, args ...any) {
		if len(all) < maxDifferences {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	allowed := func(what, value string, words []string) {
		if value != "" && !slices.Contains(words, value) {
			add("%s %q is none of %s", what, value, strings.Join(words, ", "))
		}
	}
	held := map[string]bool{}
	for _, a := range c.actors {
		for _, r := range a.roles {
			held[r] = true
		}
	}
	for _, r := range p.Roles {
		if !held[r] {
			add("no actor is %s; a slot for it will do", r)
		}
	}
	for _, a := range c.agreements {
		if text(get(a, "kind")) == declaration.Policy {
			allowed("adoption of "+text(get(a, "id")), text(get(a, "adoptionMode")), p.Adoption)
		}
	}
	for e := range canonjson.Elements(get(c.raw, "duties")) {
		allowed("cadence of a duty", text(get(e, "cadence")), p.Obligations.Allowed)
	}
	v := pick(c.raw, "disclosure", "jurisdiction", "recourse", "precedence")
	allowed("disclosure", text(v[0]), p.Disclosure.Allowed)
	for _, j := range words(v[1]) {
		allowed("jurisdiction", j, p.Jurisdiction.Allowed)
	}
	allowed("decider of the recourse", text(get(v[2], "decider")), p.Recourse.Deciders)
	if order := words(v[3]); v[3] != nil && !slices.Equal(order, p.Precedence.Order) {
		add("precedence is not %s", strings.Join(p.Precedence.Order, " > "))
	}
	return all
}

// A View is what a check found, for programs.
type View struct {
	OK       bool       `json:"ok"`      // there are remarks at most
	Profile  *string    `json:"profile"` // null: it was checked against none
	Grid     []Answered `json:"grid"`
	Findings []Finding  `json:"findings"`
	More     bool       `json:"more"`    // there are more findings
	Nearest  []Near     `json:"nearest"` // the profiles that are nearest, with what differs
}

// An Answered says whether a question of the grid is answered.
type Answered struct {
	Key      string `json:"key"`
	Answered bool   `json:"answered"`
}

// View returns what was found for programs.
func (r *Result) View() View {
	v := View{OK: r.OK(), Profile: render.OrNull(r.Profile), Findings: render.List(r.Findings), More: r.More, Nearest: []Near{}}
	v.Grid = render.Each(Grid[:], func(q Question) Answered { return Answered{q.Key, r.Answered[q.Key]} })
	for _, near := range r.Nearest {
		v.Nearest = append(v.Nearest, Near{near.Profile, render.List(near.Differences)})
	}
	return v
}
