package server

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/attention/live"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// A companion is what goes with one session: it wakes the agent, and learns what the agent sends from a command line.
type companion struct {
	k    *knocker // nil: nothing wakes it
	stop context.CancelFunc
}

// companion makes one, nil when there would be nothing in it.
func (v *server) companion(b *bus, s *presence.Session, may func() bool) live.Waker {
	c := companion{k: v.knocker(b, s, may)}
	if v.tells() {
		var ctx context.Context
		ctx, c.stop = context.WithCancel(context.Background())
		if !b.absent.Work(func() { v.follow(ctx, b, s.Instance.Canonical()) }) {
			c.stop()
		}
	}
	if c.k == nil && c.stop == nil {
		return nil
	}
	return c
}

func (c companion) Mail() {
	if c.k != nil {
		c.k.ladder.Mail()
	}
}

// Halt leaves the hook that waits where it is: without it the agent could not be woken after the halt.
func (c companion) Halt() {
	if c.k != nil {
		c.k.ladder.Halt()
	}
}

func (c companion) Close() {
	if c.k != nil {
		c.k.close()
	}
	if c.stop != nil {
		c.stop()
	}
}

const (
	// followAfter is how long to wait for further signs after the first one. Notices of mail take longer than that.
	followAfter = 250 * time.Millisecond
	// maxFollowed is how many messages are looked at then, the newest. A sender of more sends to many, or one of the
	// newest is for the same reader.
	maxFollowed = 64
	// overlap is by how much two looks overlap: files have the time of when they were begun.
	overlap = 2 * time.Second
)

// follow learns from the outbox what the agent sends by other programs than this one, and does for it what is done for what is
// sent here. It ends with ctx.
func (v *server) follow(ctx context.Context, b *bus, own address.Instance) {
	scope := store.Scope{Kind: store.Outbox, Owner: own.Mailbox()}
	since := time.Now()
	changes, err := b.Store.Watch(ctx, []store.Scope{scope})
	if err != nil {
		v.log(fmt.Sprintf("cannot watch for agents that are written to from a command line and are away, so their mail wakes no one: %v", err))
		return
	}
	known := map[string]bool{}
	var due <-chan time.Time
	for {
		select {
		case _, ok := <-changes:
			if !ok {
				return
			}
			if due == nil {
				due = time.After(followAfter)
			}
		case <-due:
			due = nil
			began := time.Now()
			known = v.outgoing(ctx, b, own, since.Add(-overlap), known)
			since = began
		}
	}
}

// outgoing looks at what was sent since then and is not known, and returns what is known of that time.
func (v *server) outgoing(ctx context.Context, b *bus, own address.Instance, since time.Time, known map[string]bool) map[string]bool {
	now := map[string]bool{}
	last, err := halt.Memory()
	if err != nil {
		return now // what came before a halt is unknown
	}
	for row, err := range store.ViewOf(ctx, b.Store, store.Outbox, own.Mailbox(), b.Mail.Projection, store.Query{Newest: maxFollowed}) {
		if err != nil || row.Stored.Before(since) {
			continue // not a message
		}
		now[row.Key.Name] = true
		if known[row.Key.Name] || last.Count > 0 && !row.Stored.After(last.Seen) {
			continue // messages from before a halt are not reported after it
		}
		doc, err := b.Store.Get(ctx, row.Key)
		if err != nil {
			continue
		}
		e, err := envelope.Parse(doc.Data)
		if err != nil || e.Target == "" {
			continue
		}
		found, err := b.office.Book.Resolve(ctx, string(e.Target), time.Now())
		if err != nil || found.Live > 0 || found.Kind == members.Refuse || found.Kind == members.DeliverHint {
			continue
		}
		b.absent.Mail(e.Target, own, e.ID, last.Count)
	}
	return now
}
