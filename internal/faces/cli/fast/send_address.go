package fast

import (
	"strings"

	"tutti/internal/faces/cli/kit"
)

// Flags of send that mean something for one kind of address only, and of those for a project the ones that a header says as well.
var (
	agentFlags   = []string{"thread", "reply-to", "id", "kind", "body", "as", "deposit", "wait", "until"}
	projectFlags = []string{"type", "conversation", "title", "sequence", "release-status", "response", "restamp", "keep-timestamp", "local-fallback", "artifact", "retries", "dry-run", "from"}
	sketchFlags  = []string{"type", "conversation", "title", "sequence", "release-status", "response"}
)

// An Addressee is the kind of a recipient, by the shape of the address alone.
type Addressee uint8

const (
	AgentAddress   Addressee = iota // host:label, with or without the rest: it has a colon
	ProjectAddress                  // machine.project: it has a dot, and no colon
	BareAddress                     // neither
)

func AddresseeOf(to string) Addressee {
	switch {
	case strings.Contains(to, ":"):
		return AgentAddress
	case strings.Contains(to, "."):
		return ProjectAddress
	}
	return BareAddress
}

// toProject tells whether the message goes to another project, and checks that nothing else was asked for beside it. h2a has agents only.
func toProject(c *kit.Call) (bool, error) {
	if c.Under != kit.Tutti || len(c.Args) == 0 || c.IsSet("batch") || c.IsSet("scope") {
		return false, onlyFor(c, AgentAddress)
	}
	var projects, agents []string
	for one := range strings.SplitSeq(c.Args[0], ",") {
		if one = strings.TrimSpace(one); AddresseeOf(one) == ProjectAddress {
			projects = append(projects, one)
		} else {
			agents = append(agents, one)
		}
	}
	switch {
	case len(projects) == 0:
		return false, onlyFor(c, AgentAddress)
	case len(projects)+len(agents) > 1:
		return false, kit.UsageHint("send to each of them by itself",
			"send: %s was taken for a project on a machine, because it has a dot and no colon; a message to a project goes to that one alone", kit.Clean(projects[0]))
	}
	return true, onlyFor(c, ProjectAddress)
}

// onlyFor refuses flags that say nothing about a message of this kind.
func onlyFor(c *kit.Call, to Addressee) error {
	if c.Under != kit.Tutti {
		return nil
	}
	wrong, taken, other := projectFlags, "an agent, because it has no dot or a colon", "a project (MACHINE.PROJECT)"
	if to == ProjectAddress {
		wrong, taken, other = agentFlags, "a project on a machine, because it has a dot and no colon", "an agent (HOST:LABEL)"
	}
	for _, flag := range wrong {
		switch {
		case !c.IsSet(flag):
		case len(c.Args) == 0 || c.IsSet("scope") || c.IsSet("batch"):
			return kit.Usagef("send: --%s is for %s", flag, other)
		default:
			return kit.Usagef("send: %s was taken for %s; --%s is for %s", kit.Clean(c.Args[0]), taken, flag, other)
		}
	}
	return nil
}
