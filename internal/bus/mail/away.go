package mail

import (
	"context"
	"fmt"
	"net/url"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
)

// MaxAway is how large a message to another machine may be, in bytes: an endpoint takes 256 KiB, and the name of the endpoint is added
// to it on the way.
const MaxAway = 252 << 10

// An AwayError refuses a recipient on another machine whose endpoint is not known here.
type AwayError struct{ To address.Instance }

func (e *AwayError) Error() string {
	return fmt.Sprintf("send to %s: it is on another machine, and no endpoint of it is known here", e.To)
}

// Hint says what to type instead.
func (e *AwayError) Hint() string {
	return "tutti remote send --to " + string(e.To) + " --url http://HOST:8787/h2a/envelopes TEXT   # or register it here with an endpoint, see docs/remote.md"
}

// away notes in a receipt that the recipient is on another machine. Mail that came from another machine is not passed on, and an agent
// whose private key is here is an agent of this bus, whatever endpoint it is registered with.
func (c *counter) away(l *Draft, r *Receipt, to *members.Away) error {
	if to == nil || l.Arrived || c.o.Ring.Has(r.To) {
		return nil
	}
	if to.URL == "" {
		return &AwayError{To: r.To}
	}
	r.Away, r.Live = to.URL, 0
	return nil
}

// carriable refuses what no endpoint would take.
func carriable(p *piece) error {
	switch {
	case !p.r.Signed:
		return fmt.Errorf("send to %s: a message to another machine has to be signed", p.r.To)
	case len(p.raw) > MaxAway:
		return fmt.Errorf("send to %s: the message has %d bytes, and another machine takes %d: send the name of a file instead", p.r.To, len(p.raw), MaxAway)
	}
	return nil
}

// lay puts a message where its receipt says: into the mailbox of its reader, or into the queue for another machine.
func lay(ctx context.Context, m *mailbox.Mailbox, r *Receipt, fit mailbox.Fit) (mailbox.Result, error) {
	if r.Away != "" {
		return m.Queue(ctx, r.To, fit)
	}
	return m.PutFit(ctx, r.To, fit)
}

// markOf is the first line of the trail of a message.
func markOf(l *Draft, r *Receipt) mailbox.Mark {
	m := mailbox.Mark{ID: r.ID, Step: mailbox.Stored, By: string(l.From.Instance), At: r.Stored}
	if r.Outcome == Queued {
		// Its time is before that of whatever tutti up does with the message, which may be faster than this line.
		m.Step, m.Result, m.At = mailbox.Queued, Machine(r.Away), r.began
	}
	return m
}

// Machine is what people call the machine of an endpoint: host and port of its URL.
func Machine(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return endpoint
}
