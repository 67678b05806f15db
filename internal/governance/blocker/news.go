package blocker

import (
	"cmp"
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// The topics of pushes.
const (
	PeerBlocked   = "peer.blocked"   // {"instance","scope","reason","needs"}; without needs if none are given
	PeerUnblocked = "peer.unblocked" // {"instance"}
)

// A Follower is who hears of blockages: an agent, and the scopes that it follows.
type Follower struct {
	Instance address.Instance
	Scopes   []string
}

// concerns reports whether a follower sees a blocker: an active one of another agent, in a scope of its own or naming it.
func (f *Follower) concerns(b *Blockage) bool {
	return b.Active() && b.Instance.Canonical() != f.Instance.Canonical() && (b.Scope != "" && slices.Contains(f.Scopes, b.Scope) || b.Names(f.Instance))
}

// News compares what a follower knew of, by canonical instance, with all blockages there are now. It returns what is news, each
// kind by rising name of the agent, and what the follower knows now. Another reason for a known blocker is not news.
func (f *Follower) News(known map[address.Instance]address.Instance, all []*Blockage) (blocked []*Blockage, unblocked []address.Instance, now map[address.Instance]address.Instance) {
	now = map[address.Instance]address.Instance{}
	for _, b := range all {
		if !f.concerns(b) {
			continue
		}
		i := b.Instance.Canonical()
		if _, was := known[i]; !was && now[i] == "" {
			blocked = append(blocked, b)
		}
		now[i] = b.Instance
	}
	for i, as := range known {
		if now[i] == "" {
			unblocked = append(unblocked, as)
		}
	}
	slices.SortFunc(blocked, func(x, y *Blockage) int { return cmp.Compare(x.Instance, y.Instance) })
	slices.Sort(unblocked)
	return blocked, unblocked, now
}

// maxTold is how much of a text goes into a push, in bytes: the list has the whole.
const maxTold = 1 << 10

// Told is the data of a push that an agent is blocked.
func (b *Blockage) Told() []byte {
	var o canonjson.Object
	o.Str("instance", string(b.Instance))
	o.Str("scope", termsafe.Cut(b.Scope, maxTold))
	o.Str("reason", termsafe.Cut(b.Reason, maxTold))
	o.Opt("needs", termsafe.Cut(b.Needs, maxTold))
	return o.Bytes()
}

// Cleared is the data of a push that an agent is no longer blocked.
func Cleared(i address.Instance) []byte {
	var o canonjson.Object
	o.Str("instance", string(i))
	return o.Bytes()
}
