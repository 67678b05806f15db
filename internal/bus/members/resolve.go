// Package members is the address book: which mailbox an address means, and who is there to be written to.
//
// [Resolve] is the rule that every message passes before it is sent, a pure function of the address and of the agents that are
// live and registered under its channel. [Book] asks registry and presence for just what one address needs, so that the cost of
// a send does not grow with the number of agents. Neither ever changes where a message goes: they say what is there, and
// package mail decides.
//
// Not live means that no push reaches the agent now. It does not mean idle: an agent that works without a session reads as
// not live, and no text of this package says otherwise.
package members

import (
	"fmt"
	"strings"

	"tutti/internal/core/address"
)

// A Kind is what becomes of a message to an address. The words stand in the output of existing programs.
type Kind string

// The kinds.
const (
	Deliver        Kind = "deliver"         // the address names one mailbox, whichever agents are there
	DeliverHint    Kind = "deliver-hint"    // a channel with exactly one live agent
	DeliverDormant Kind = "deliver-dormant" // a channel whose agents are registered, none of them live
	Refuse         Kind = "refuse"          // the address names no agent, or several
)

// A Why is the reason of a refusal. The first three words stand in the output of existing programs.
type Why string

// The reasons.
const (
	Malformed        Why = "malformed"          // the third part is not a uuid
	Ambiguous        Why = "ambiguous"          // several live agents answer to the channel
	Phantom          Why = "phantom"            // neither presence nor registry knows the channel
	NotHostQualified Why = "not-host-qualified" // the host of the label is unknown
	Gone             Why = "gone"               // the agent was offboarded, or the subagent revoked
)

// A Decision is what Resolve says of an address.
type Decision struct {
	Kind          Kind
	Why           Why                // of a refusal only
	Candidates    []address.Instance // of an ambiguous one: each live agent once, in the order of the input
	LiveCandidate address.Instance   // of DeliverHint
	Reason        string             // one sentence for people; empty for Deliver
	Hint          string             // what to type instead; empty when there is nothing better
}

// uuidDigits is the length of the third part of a full id.
const uuidDigits = 12

// Resolve judges an address. live holds the instances of the fresh sessions, registered those of the registrations; only
// those of the address's own channel matter, and others may be among them. An instance with several sessions counts once.
func Resolve(target string, live, registered []address.Instance) Decision {
	if !address.HostQualified(target) {
		return Decision{
			Kind: Refuse, Why: NotHostQualified,
			Reason: fmt.Sprintf("%q is not host-qualified: without a host the recipient cannot be told", target),
			Hint:   `write HOST:LABEL, or find the full id with "tutti discover"`,
		}
	}
	if strings.Contains(target, "~") || address.Instance(target).Perennial() {
		return Decision{Kind: Deliver}
	}
	if strings.Count(target, ":") > 1 {
		return Decision{
			Kind: Refuse, Why: Malformed,
			Reason: fmt.Sprintf("malformed: %q has a 3rd segment that is not a uuid (%d hex digits)", target, uuidDigits),
			Hint:   fmt.Sprintf(`write %s, or the full id as "tutti discover" shows it`, address.Instance(target).Channel()),
		}
	}
	return resolveChannel(address.Instance(target).Channel(), live, registered)
}

// resolveChannel judges an address of two parts.
func resolveChannel(channel string, live, registered []address.Instance) Decision {
	there := under(channel, live)
	switch {
	case len(there) > 1:
		return Decision{
			Kind: Refuse, Why: Ambiguous, Candidates: there,
			Reason: fmt.Sprintf("ambiguous: %d live agents answer to %s", len(there), channel),
			Hint:   "write the full id of one of them: " + list(there),
		}
	case len(there) == 1:
		return Decision{
			Kind: DeliverHint, LiveCandidate: there[0],
			Reason: fmt.Sprintf("%s is the one live agent under %s", there[0], channel),
		}
	case len(under(channel, registered)) > 0:
		return Decision{
			Kind:   DeliverDormant,
			Reason: fmt.Sprintf("no agent under %s has a live session now; the message waits for its wake", channel),
		}
	}
	return Decision{
		Kind: Refuse, Why: Phantom,
		Reason: fmt.Sprintf("no agent %s is here, live or registered (phantom/invented id)", channel),
		Hint:   `"tutti discover --all" lists who is known here; look at the spelling, and whether both use the same root`,
	}
}

// under returns the instances that work under a channel, each once, as they were spelled first.
func under(channel string, all []address.Instance) []address.Instance {
	var found []address.Instance
	seen := map[address.Instance]bool{}
	for _, i := range all {
		c := i.Canonical()
		if i.Channel() != channel || seen[c] {
			continue
		}
		seen[c] = true
		found = append(found, i)
	}
	return found
}

// list joins the names of agents for a message; more than eight are counted.
func list(all []address.Instance) string {
	const most = 8
	var b strings.Builder
	for n, i := range all {
		if n == most {
			fmt.Fprintf(&b, " and %d more", len(all)-most)
			break
		}
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(i))
	}
	return b.String()
}
