package reservation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
)

// A Notice is a message to one peer.
type Notice struct {
	// ID is the same no matter which process reports this end: a peer that is notified twice has one message.
	ID   string
	To   address.Instance
	Text string
}

// Notices are what is to be told when a lease has ended: to those who were warned of it or wanted it, and to its holder where he did not
// end it himself. Who was taken out of service gets no mail.
func (l *Lease) Notices(why string) []Notice {
	var all []Notice
	told := map[address.Instance]bool{}
	tell := func(to address.Instance, text string) {
		if c := to.Canonical(); !told[c] {
			told[c] = true
			all = append(all, Notice{ID: l.noticeID(c), To: to, Text: text})
		}
	}
	path, holder, take := shown(l.Path), shown(string(l.Holder)), "tutti reserve list"
	if termsafe.Clean(l.Path) == l.Path {
		take = "tutti reserve take " + termsafe.Word(l.Path)
	}
	switch why {
	case Released, Gone:
	case SessionUp:
		tell(l.Holder, fmt.Sprintf("Your reservation of %s has ended: the session for which it was taken is gone. Others may edit now. To go on: %s", path, take))
	default:
		tell(l.Holder, fmt.Sprintf("Your reservation of %s has ended: %s (it ran until %s). Others may edit now. To go on: %s", path, why, envelope.Stamp(l.Until), take))
	}
	told[l.Holder.Canonical()] = true
	for _, to := range append(slices.Clone(l.Waits), l.Warned...) {
		tell(to, fmt.Sprintf("The reservation of %s on %s has ended: %s. To take it: %s", holder, path, why, take))
	}
	return all
}

// shown is text that another agent has written, for a line of ours: it has no line of its own, and text that is more than a
// name or a path is put in quotes.
func shown(s string) string {
	const most = 300
	return termsafe.Word(termsafe.Head(termsafe.Clean(s), most))
}

// noticeID is the id of the notice to one agent about the end of a lease. One that was taken again, or has another end, is
// another one.
func (l *Lease) noticeID(to address.Instance) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s", l.Path, l.Holder.Canonical(), envelope.Stamp(l.Since), envelope.Stamp(l.Until), to))
	return "env:lease:" + hex.EncodeToString(sum[:16])
}
