package fast

import (
	"strings"

	"tutti/internal/bus/members"
	"tutti/internal/faces/cli/kit"
)

// forAgents are the flags that mean something for an agent only.
func (opt *sendOptions) forAgents() []any {
	return []any{&opt.Thread, &opt.ReplyTo, &opt.ID, &opt.Kind, &opt.Body, &opt.As, &opt.Deposit, &opt.Wait, &opt.Until}
}

// forProjects are those that mean something for a project only.
func (opt *sendOptions) forProjects() []any {
	return append(opt.sketched(), &opt.Restamp, &opt.KeepTimestamp, &opt.LocalFallback, &opt.Artifact, &opt.Retries, &opt.DryRun, &opt.From)
}

// sketched are those that the header of a draft says as well.
func (opt *sendOptions) sketched() []any {
	return []any{&opt.Type, &opt.Conversation, &opt.Title, &opt.Sequence, &opt.ReleaseStatus, &opt.Response}
}

// toProject tells whether the message goes to another project, and checks that nothing else was asked for beside it. h2a has agents only.
func toProject(c *kit.Call, opt *sendOptions) (bool, error) {
	if c.Under != kit.Tutti || len(c.Args) == 0 || c.IsSet(&opt.Batch) || c.IsSet(&opt.Scope) {
		return false, onlyFor(c, opt, members.AgentAddress)
	}
	var projects, agents []string
	for one := range strings.SplitSeq(c.Args[0], ",") {
		if one = strings.TrimSpace(one); members.AddresseeOf(one) == members.ProjectAddress {
			projects = append(projects, one)
		} else {
			agents = append(agents, one)
		}
	}
	switch {
	case len(projects) == 0:
		return false, onlyFor(c, opt, members.AgentAddress)
	case len(projects)+len(agents) > 1:
		return false, kit.UsageHint("send to each of them by itself",
			"send: %s was taken for a project on a machine, because it has a dot and no colon; a message to a project goes to that one alone", kit.Clean(projects[0]))
	}
	return true, onlyFor(c, opt, members.ProjectAddress)
}

// onlyFor refuses flags that say nothing about a message of this kind.
func onlyFor(c *kit.Call, opt *sendOptions, to members.Addressee) error {
	if c.Under != kit.Tutti {
		return nil
	}
	wrong, taken, other := opt.forProjects(), "an agent, because it has no dot or a colon", "a project (MACHINE.PROJECT)"
	if to == members.ProjectAddress {
		wrong, taken, other = opt.forAgents(), "a project on a machine, because it has a dot and no colon", "an agent (HOST:LABEL)"
	}
	for _, flag := range wrong {
		switch {
		case !c.IsSet(flag):
		case len(c.Args) == 0 || c.IsSet(&opt.Scope) || c.IsSet(&opt.Batch):
			return kit.Usagef("send: --%s is for %s", c.FlagName(flag), other)
		default:
			return kit.Usagef("send: %s was taken for %s; --%s is for %s", kit.Clean(c.Args[0]), taken, c.FlagName(flag), other)
		}
	}
	return nil
}
