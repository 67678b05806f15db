package trust

import (
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// A RoleMemory knows which roles the user gave an agent, and which registrations the user made or accepted.
type RoleMemory interface {
	Given(i address.Instance) []string
	Accepted(i address.Instance, registration string) bool
}

// Roles are the roles of one agent, as one user counts them.
type Roles struct {
	Count    []string // the user gave them, or accepted the registration that has them; AGENTS always counts
	Claimed  []string // the registration has them, and the user did not accept it: they give no right
	Accepted bool     // the user made or accepted the registration
}

// RolesOf returns the roles of an agent, by its registration, for the user with these pins. Where there are no pins, the registry decides
// and all count. The agent is looked up in the pins by the name that it acts under: a registration can name another one.
func RolesOf(i address.Instance, reg *registry.Registration, pins Memory) Roles {
	if pins == nil {
		return Roles{Count: reg.Roles, Accepted: true}
	}
	var r Roles
	given, _ := pins.(RoleMemory)
	r.Accepted = given != nil && given.Accepted(i, reg.Hash())
	for _, role := range reg.Roles {
		if r.Accepted || role == registry.Agents {
			r.Count = append(r.Count, role)
		} else {
			r.Claimed = append(r.Claimed, role)
		}
	}
	if given != nil {
		for _, role := range given.Given(i) {
			if !slices.Contains(r.Count, role) {
				r.Count = append(r.Count, role)
			}
		}
		r.Claimed = slices.DeleteFunc(r.Claimed, func(role string) bool { return slices.Contains(r.Count, role) })
	}
	return r
}

// Claims tells whether a registration says more than that of any agent that joins: another role than AGENTS, or another scope than the
// default one. Only that needs a user who accepts it.
func Claims(reg *registry.Registration) bool {
	return slices.ContainsFunc(reg.Roles, func(r string) bool { return r != registry.Agents }) ||
		slices.ContainsFunc(reg.Scopes, func(s string) bool { return s != registry.DefaultScope })
}

// AcceptRegistration remembers that the user made or accepted a registration. It says nothing of the keys of the agent.
func (p *Pins) AcceptRegistration(i address.Instance, registration string, now time.Time) error {
	return p.change("accept the registration of "+address.Shown(string(i)), func() ([]byte, error) {
		switch {
		case !address.WellFormed(string(i)):
			return nil, ErrName
		case registration == "" || p.accepts(i.Canonical(), registration):
			return nil, nil
		}
		return acceptance(Pin{Instance: i.Canonical(), Registration: registration, At: now}), nil
	})
}

// Accepted reports whether the user made or accepted the registration with this hash for an agent.
func (p *Pins) Accepted(i address.Instance, registration string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return registration != "" && p.accepts(i.Canonical(), registration)
}

func (p *Pins) accepts(i address.Instance, registration string) bool {
	return p.all[i].Registration == registration || p.made[i].Registration == registration
}

// acceptance is the line of a registration that was accepted without a key.
func acceptance(pin Pin) []byte {
	var o canonjson.Object
	o.Str("instance", string(pin.Instance))
	o.Str("by", ByPerson)
	o.Str("at", envelope.Stamp(pin.At))
	o.Str("registration", pin.Registration)
	return append(o.Bytes(), '\n')
}
