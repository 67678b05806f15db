package cli

import (
	"strings"
)

// Flags of send that mean something for one kind of address only, and of those for a project the ones that a header says as well.
var (
	agentFlags   = []string{"thread", "reply-to", "id", "kind", "body", "as", "deposit", "wait", "until"}
	projectFlags = []string{"type", "conversation", "title", "sequence", "release-status", "response", "restamp", "keep-timestamp", "local-fallback", "retries", "dry-run"}
	sketchFlags  = []string{"type", "conversation", "title", "sequence", "release-status", "response"}
)

// An addressee is what somebody who is written to is taken for, by the shape of the address alone.
type addressee uint8

const (
	agentAddress   addressee = iota // host:label, with or without the rest: it has a colon
	projectAddress                  // machine.project: it has a dot, and no colon
	bareAddress                     // neither
)

func addresseeOf(to string) addressee {
	switch {
	case strings.Contains(to, ":"):
		return agentAddress
	case strings.Contains(to, "."):
		return projectAddress
	}
	return bareAddress
}

// toProject tells whether the message goes to another project, and checks that nothing else was asked for beside it. h2a has agents only.
func (c *Call) toProject() (bool, error) {
	if c.under != Tutti || len(c.Args) == 0 || c.isSet("batch") || c.isSet("scope") {
		return false, c.onlyFor(agentAddress)
	}
	var projects, agents []string
	for one := range strings.SplitSeq(c.Args[0], ",") {
		if one = strings.TrimSpace(one); addresseeOf(one) == projectAddress {
			projects = append(projects, one)
		} else {
			agents = append(agents, one)
		}
	}
	switch {
	case len(projects) == 0:
		return false, c.onlyFor(agentAddress)
	case len(projects)+len(agents) > 1:
		return false, usageHint("send to each of them by itself",
			"send: %s was taken for a project on a machine, because it has a dot and no colon; a message to a project goes to that one alone", Clean(projects[0]))
	}
	return true, c.onlyFor(projectAddress)
}

// onlyFor refuses flags that say nothing about a message of this kind.
func (c *Call) onlyFor(to addressee) error {
	if c.under != Tutti {
		return nil
	}
	wrong, taken, other := projectFlags, "an agent, because it has no dot or a colon", "a project (MACHINE.PROJECT)"
	if to == projectAddress {
		wrong, taken, other = agentFlags, "a project on a machine, because it has a dot and no colon", "an agent (HOST:LABEL)"
	}
	for _, flag := range wrong {
		switch {
		case !c.isSet(flag):
		case len(c.Args) == 0 || c.isSet("scope") || c.isSet("batch"):
			return usagef("send: --%s is for %s", flag, other)
		default:
			return usagef("send: %s was taken for %s; --%s is for %s", Clean(c.Args[0]), taken, flag, other)
		}
	}
	return nil
}
