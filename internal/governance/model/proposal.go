package model

import (
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// A proposal is what is checked, read leniently: what has another form than expected is missing, and the grid says so.
type proposal struct {
	raw        []byte
	actors     []actor
	scopes     []scope
	mandates   []mandate
	agreements [][]byte
	byID       map[string]*actor
	byScope    map[string]*scope
	given      map[*actor][]mandate // the mandates of an actor
}

type actor struct {
	id, kind string
	roles    []string
	scopes   []string
	in       map[string]bool // scopes, as a set
	owns     []string
	signs    bool
	parent   string
}

type scope struct {
	id, within string
	principals []string
}

type mandate struct {
	instance, role, scope string
	rights                []string
}

func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

// words is a text or a list of texts.
func words(raw []byte) []string {
	if s, ok := canonjson.String(raw); ok {
		return []string{s}
	}
	all, _ := canonjson.Strings(raw)
	return all
}

func pick(raw []byte, names ...string) [][]byte {
	v := make([][]byte, len(names))
	canonjson.Pick(raw, names, v)
	return v
}

func get(raw []byte, name string) []byte {
	v, _ := canonjson.Get(raw, name)
	return v
}

func parse(raw []byte) *proposal {
	p := &proposal{raw: raw, byID: map[string]*actor{}, byScope: map[string]*scope{}, given: map[*actor][]mandate{}}
	for e := range canonjson.Elements(get(raw, "actors")) {
		v := pick(e, "id", "kind", "role", "roles", "scopes", "owns", "signs", "parent")
		a := actor{id: text(v[0]), kind: text(v[1]), roles: append(words(v[2]), words(v[3])...), scopes: words(v[4]), owns: words(v[5]), parent: text(v[7])}
		a.signs, _ = canonjson.Bool(v[6])
		a.in = make(map[string]bool, len(a.scopes))
		for _, s := range a.scopes {
			a.in[s] = true
		}
		p.actors = append(p.actors, a)
	}
	for e := range canonjson.Elements(get(raw, "scopes")) {
		v := pick(e, "id", "within", "principal")
		s := scope{id: text(v[0]), within: text(v[1]), principals: words(v[2])}
		if s.id == "" {
			s.id = text(e) // a scope of which nothing else is said
		}
		p.scopes = append(p.scopes, s)
	}
	for e := range canonjson.Elements(get(raw, "authority")) {
		v := pick(e, "instance", "role", "scope", "rights")
		p.mandates = append(p.mandates, mandate{text(v[0]), text(v[1]), text(v[2]), words(v[3])})
	}
	for e := range canonjson.Elements(get(raw, "agreements")) {
		p.agreements = append(p.agreements, e)
	}
	for n := len(p.actors) - 1; n >= 0; n-- { // the first one with an id counts
		p.byID[address.Canonical(p.actors[n].id)] = &p.actors[n]
	}
	for n := len(p.scopes) - 1; n >= 0; n-- {
		p.byScope[p.scopes[n].id] = &p.scopes[n]
	}
	for _, m := range p.mandates {
		if a := p.actor(m.instance); a != nil {
			p.given[a] = append(p.given[a], m)
		}
	}
	return p
}

func (p *proposal) actor(id string) *actor { return p.byID[address.Canonical(id)] }

func (a *actor) is(role string) bool { return a != nil && slices.Contains(a.roles, role) }

// only tells whether the actor has that role and no other.
func (a *actor) only(role string) bool { return a.is(role) && len(a.roles) == 1 }

// maxNesting is how many scopes lie in each other in a real organisation, and some. Those in a ring are reported elsewhere.
const maxNesting = 100

// reaches tells whether a scope, or one in which it lies, is one of the actor's.
func (p *proposal) reaches(a *actor, id string) bool {
	for range maxNesting {
		s := p.byScope[id]
		if a.in[id] || s == nil {
			return a.in[id]
		}
		id = s.within
	}
	return false
}
