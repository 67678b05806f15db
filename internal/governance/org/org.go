// Package org is the manifest of an organisation: who takes part, in which role and with which scopes, and which members write
// to which.
//
// A manifest is JSON, or a small part of YAML that one parser here reads in one way. Reading promises that what comes out is
// fit to be compared, granted, signed and drawn: texts have bounds and no invisible character, ids fit a bus, and nothing is
// guessed. It is refused otherwise, with every place that is wrong (see [Refused]). Whether the result is an organisation, one
// with a principal and without doubles, is a second question, and [Org.Problems] answers it.
//
// From there on the package compares a manifest with a bus, grants what is missing there, writes it into the envelopes by which it
// is proposed and ratified, judges a ratified one, and draws it. Signing, sending and whose key is believed are the callers'.
package org

import (
	"slices"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
)

// DefaultFile is the name under which a manifest is looked for.
const DefaultFile = "org.h2a.yaml"

// MaxManifest is the most bytes that a manifest may have: those that the body of an envelope may have, by which it travels.
const MaxManifest = 256 << 10

// Roles are those that a member can have, the one with the most authority first.
var Roles = []string{
	registry.Principal, registry.Executif, registry.Conductor, registry.Control, registry.Mandataire, registry.Agents,
}

// An Org is a manifest. Its edges, and the rights of a member, are nil where the text has none.
type Org struct {
	Scope   string
	Version string // "" where there is none
	Members []Member
	Edges   []Edge
	// Ignored are members of the text that mean nothing here, as paths. They are in no envelope that is made of it.
	Ignored []string

	versioned bool // the member version is there, empty or not
}

// A Member is one instance of the organisation.
type Member struct {
	Instance address.Instance `json:"instance"`
	Role     string           `json:"role"`
	Scopes   []string         `json:"scopes"`
	Rights   []string         `json:"mandateRights,omitzero"` // what its mandate allows
}

// An Edge says that one member speaks to another.
type Edge struct {
	From address.Instance `json:"from"`
	To   address.Instance `json:"to"`
}

// The codes of what is wrong with an organisation.
const (
	InstanceEmpty     = "instance-empty"
	DuplicateInstance = "duplicate-instance"
	BadRole           = "instance-bad-role"
	NoScope           = "instance-no-scope"
	NoPrincipal       = "no-principal"
	UnknownInstance   = "edge-unknown-instance"
)

// Problems returns the codes of what is wrong, each once, in the order in which they come up. Ids are compared in their canonical
// form.
func (o *Org) Problems() []string {
	codes := []string{}
	unless := func(ok bool, code string) {
		if !ok && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	known := make(map[address.Instance]bool, len(o.Members))
	principal := false
	for i := range o.Members {
		m := &o.Members[i]
		c := m.Instance.Canonical()
		unless(m.Instance != "", InstanceEmpty)
		unless(m.Instance == "" || !known[c], DuplicateInstance)
		unless(slices.Contains(Roles, m.Role), BadRole)
		unless(len(m.Scopes) > 0, NoScope)
		known[c] = true
		principal = principal || m.Role == registry.Principal
	}
	unless(principal, NoPrincipal)
	for _, e := range o.Edges {
		unless(known[e.From.Canonical()] && known[e.To.Canonical()], UnknownInstance)
	}
	return codes
}

// Explain says what a code means, for people.
func Explain(code string) string {
	switch code {
	case InstanceEmpty:
		return "a member has no id"
	case DuplicateInstance:
		return "an id stands there more than once"
	case BadRole:
		return "a role is none of PRINCIPAL, EXECUTIF, CONDUCTOR, CONTROL, MANDATAIRE, AGENTS"
	case NoScope:
		return "a member has no scope"
	case NoPrincipal:
		return "there is no PRINCIPAL: ownership needs one"
	case UnknownInstance:
		return "commEdges names an id that is not a member"
	}
	return code
}

// member returns the member that an id in any spelling names, nil for none.
func (o *Org) member(i address.Instance) *Member {
	c := i.Canonical()
	for n := range o.Members {
		if o.Members[n].Instance.Canonical() == c {
			return &o.Members[n]
		}
	}
	return nil
}

// A View is a manifest as JSON, in the order in which existing programs write it.
type View struct {
	Scope   string   `json:"scope"`
	Version *string  `json:"version,omitempty"`
	Members []Member `json:"instances"`
	Edges   []Edge   `json:"commEdges,omitzero"`
}

// View returns the manifest without what it ignores.
func (o *Org) View() View {
	v := View{o.Scope, nil, render.List(o.Members), o.Edges}
	if o.versioned {
		v.Version = &o.Version
	}
	return v
}

// JSON returns the manifest as JSON.
func (o *Org) JSON() []byte { return render.JSON(o.View()) }
