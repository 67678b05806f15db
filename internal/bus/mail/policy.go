package mail

import (
	"strings"

	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Withholds says why the user's policy, or that its sender is gone, does not let a message through that was found by other ways
// than Receive, "" when it does. The messages in an outbox are the agent's own.
func (o *Service) Withholds(item *Item) string {
	if item.Key.Kind == store.Outbox {
		return ""
	}
	return o.Policy.refuses(item.Envelope.Actor.Instance, &item.Verdict)
}

// refuses says why the policy does not let a message through, "" when it does. No policy lets through a message in the name of
// a retired agent.
func (p *Policy) refuses(from address.Instance, v *trust.Verdict) string {
	switch {
	case v.Gone:
		return "its sender was taken out of service"
	case matches(p.Block, from):
		return "its sender is blocked"
	case len(p.Allow) > 0 && !matches(p.Allow, from):
		return "its sender is not among those allowed"
	case len(p.Allow) > 0 && !v.Counts(): // anybody can write an allowed name
		return "it claims to be from a sender who is allowed, and is " + v.Said()
	case p.RequireSigned && !v.Counts():
		return "signatures are required, and this is " + v.Said()
	}
	return ""
}

// matches reports whether one of the patterns covers an instance: a full id, a channel host:label, or host:*. A pattern that
// covers a parent covers its subagents.
func matches(patterns []string, who address.Instance) bool {
	id, _, _ := strings.Cut(string(who.Canonical()), "~")
	full := string(who.Canonical())
	host, _, _ := strings.Cut(id, ":")
	for _, p := range patterns {
		switch c := address.Canonical(p); {
		case c == full, c == id, c == address.Instance(id).Channel():
			return true
		case strings.HasSuffix(p, ":*") && strings.EqualFold(p[:len(p)-2], host):
			return true
		}
	}
	return false
}
