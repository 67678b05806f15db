package declaration

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
)

// A Route is one way up that an enforcement plan lays down. What it leaves empty it says nothing about.
type Route struct{ Target, Scope, Channel, Trigger, Domain, Authority string }

// RoutesOf returns the ways up of an enforcement plan, in its order. An entry that is not a route has an empty target and leads
// nowhere.
func RoutesOf(plan []byte) []Route {
	list, _ := canonjson.Get(plan, "escalations")
	var all []Route
	for e := range canonjson.Elements(list) {
		var v [6][]byte
		canonjson.Pick(e, []string{"target", "scope", "channel", "trigger", "domain", "authorityKind"}, v[:])
		all = append(all, Route{text(v[0]), text(v[1]), text(v[2]), text(v[3]), text(v[4]), text(v[5])})
	}
	return all
}

// A Request is a matter that has to go up.
type Request struct{ Scope, Channel, Trigger, Domain string }

// A Destination is the receiver of a matter.
type Destination struct {
	Request
	OK        bool
	Target    string
	Authority string // one of AuthorityKinds
	Source    string // "enforcement-plan" or "fallback-principal"
	Score     int    // by which the route won, for explanations
	Issues    []string
}

// Weights of what a route and a request have in common. Each is worth more than all that follow it.
const (
	weighsDomain  = 8
	weighsTrigger = 4
	weighsScope   = 2
	weighsChannel = 1
)

// alike compares names in any spelling: who asks would otherwise choose by it whether a route is one for the matter.
func alike(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// score says how well a route fits, and whether it may be taken at all.
func (r Route) score(q Request) (score int, may bool) {
	switch {
	case r.Target == "",
		r.Channel != "" && !alike(r.Channel, q.Channel),
		r.Scope != "" && !alike(r.Scope, q.Scope),
		q.Trigger != "" && !alike(r.Trigger, q.Trigger),
		q.Domain != "" && r.Domain != "" && !alike(r.Domain, q.Domain):
		return 0, false
	}
	if q.Domain != "" && alike(r.Domain, q.Domain) {
		score += weighsDomain
	}
	if q.Trigger != "" && alike(r.Trigger, q.Trigger) {
		score += weighsTrigger
	}
	if q.Scope != "" && alike(r.Scope, q.Scope) {
		score += weighsScope
	}
	if alike(r.Channel, q.Channel) {
		score += weighsChannel
	}
	return score, true
}

// Escalate finds the receiver of a matter: by the route that fits best, of equal ones the first; else the fallback principal,
// if there is one.
func Escalate(routes []Route, q Request, fallback string) Destination {
	d := Destination{Request: q}
	if !slices.Contains(Channels, q.Channel) {
		d.Issues = []string{fmt.Sprintf("channel %s is none of %v", quote(q.Channel), Channels)}
		return d
	}
	best := -1
	for n, r := range routes {
		if s, may := r.score(q); may && (best < 0 || s > d.Score) {
			best, d.Score = n, s
		}
	}
	switch {
	case best >= 0:
		r := routes[best]
		d.OK, d.Target, d.Source = true, r.Target, "enforcement-plan"
		if !alike(r.Domain, q.Domain) {
			d.Domain = "" // the route is not one of that domain, it only does not exclude it
		}
		if d.Authority = r.Authority; !slices.Contains(AuthorityKinds, r.Authority) {
			d.Authority = Principal
		}
	case fallback != "":
		d.OK, d.Target, d.Authority, d.Source, d.Domain = true, fallback, Principal, "fallback-principal", ""
	default:
		d.Issues = []string{fmt.Sprintf("no route for channel %s in scope %s, and no principal to fall back on", q.Channel, quote(q.Scope))}
	}
	return d
}
