package session

import (
	"context"
	"iter"
	"slices"
	"strings"

	"tutti/internal/attention/hookmark"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// AgentOf returns the agent of the session of that name: of one in this folder, or of one that runs in another. "" means that there is no such
// session, or that it has no agent on a bus.
func AgentOf(ctx context.Context, c *kit.Call, name string) (string, error) {
	s, err := SessionsHere(c, Location{})
	if err != nil {
		return "", err
	}
	parts, err := s.Parts(ctx, false)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range parts {
		for n := range parts[i].Rows {
			r := &parts[i].Rows[n]
			if r.Name == name && address.Check(r.Instance) == nil && !slices.Contains(found, r.Instance) {
				found = append(found, r.Instance)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", kit.Refuse("write the full id: "+strings.Join(found, ", "), "%s: %s is the name of several sessions", c.Verb.Name, kit.Clean(name))
}

// Ended returns the name of the session in which an agent ran last, if that has ended and the agent runs nowhere else. "" means that the agent
// may run.
func Ended(ctx context.Context, c *kit.Call, instance string) (name string) {
	s, err := SessionsHere(c, Location{})
	if err != nil {
		return ""
	}
	parts, err := s.Parts(ctx, true)
	if err != nil {
		return ""
	}
	is := func(other string) bool {
		return other != "" && address.Instance(other).Canonical() == address.Instance(instance).Canonical()
	}
	for i := range parts {
		for n := range parts[i].Rows {
			r := &parts[i].Rows[n]
			if !is(r.Instance) {
				continue
			}
			if sight := observe.Look(ctx, r); sight.State != observe.Absent && sight.State != observe.Dead {
				return ""
			}
			name = r.Name
		}
	}
	if name == "" {
		return ""
	}
	state, err := c.App.StateDir()
	if err != nil {
		return ""
	}
	marks, err := hookmark.All(state)
	if err != nil || slices.ContainsFunc(marks, func(m hookmark.Mark) bool { return is(m.Instance) }) {
		return ""
	}
	return name
}

// rowsHere are the rows of all sessions of this machine that can be read.
func rowsHere(ctx context.Context, c *kit.Call) iter.Seq[*registry.Row] {
	return func(yield func(*registry.Row) bool) {
		s, err := SessionsHere(c, Location{})
		if err != nil {
			return
		}
		parts, _ := s.Parts(ctx, false) // without them, less is known
		for i := range parts {
			for n := range parts[i].Rows {
				if !yield(&parts[i].Rows[n]) {
					return
				}
			}
		}
	}
}

// OwnPrograms are the names of the sessions in which a program of the user's own runs. Sessions with one of the agents are none of these.
func OwnPrograms(ctx context.Context, c *kit.Call, agents []agentproc.Agent) (names []string) {
	for r := range rowsHere(ctx, c) {
		if r.Kind() != "custom" || r.Status != registry.Running || slices.ContainsFunc(agents, func(a agentproc.Agent) bool {
			return r.OwnerID != "" && a.Getenv(observe.Variable) == r.OwnerID
		}) {
			continue
		}
		if sight := observe.Look(ctx, r); sight.State != observe.Absent && sight.State != observe.Dead {
			names = append(names, r.Name)
		}
	}
	return names
}

// NamesByOwner are the names of the sessions of this machine, by owner.
func NamesByOwner(ctx context.Context, c *kit.Call) map[string]string {
	names := map[string]string{}
	for r := range rowsHere(ctx, c) {
		if r.OwnerID != "" {
			names[r.OwnerID] = r.Name
		}
	}
	return names
}
