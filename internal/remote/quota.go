package remote

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/remote/listen"
)

const (
	// DefaultUnread is how many messages of one signer may wait in one mailbox unless a setting says otherwise.
	DefaultUnread = 1000

	countAgain    = time.Minute // how old a count may be
	maxCountedFor = 4096        // of how many mailboxes it is remembered
)

// Full is the answer to a signer who has too many unread messages in a mailbox. The message can be sent again once some of them were
// acknowledged.
func Full() listen.Answer {
	a := listen.Error(http.StatusInsufficientStorage, "mailbox-full")
	a.Retry = countAgain
	return a
}

// A quota bounds how many messages of one signer wait in one mailbox. What waits is counted once a minute; what comes in
// between is added to the count, so that the bound is never passed. After messages were acknowledged it takes up to a minute until there is
// room again.
type quota struct {
	mu  sync.Mutex // guards all; held while a mailbox is counted
	all map[string]*tally
}

// A tally is how many messages of each signer a mailbox has.
type tally struct {
	at time.Time
	by map[address.Instance]int
}

// take counts one message more, unless there are most already.
func (q *quota) take(ctx context.Context, m *mailbox.Mailbox, signer, to address.Instance, most int, now time.Time) (ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	name := to.Mailbox()
	c := q.all[name]
	if c == nil || now.Sub(c.at).Abs() >= countAgain {
		if c, err = count(ctx, m, to, now); err != nil {
			return false, err
		}
		if q.all == nil || len(q.all) >= maxCountedFor {
			q.all = map[string]*tally{}
		}
		q.all[name] = c
	}
	if c.by[signer.Canonical()] >= most {
		return false, nil
	}
	c.by[signer.Canonical()]++
	return true, nil
}

func count(ctx context.Context, m *mailbox.Mailbox, to address.Instance, now time.Time) (*tally, error) {
	lines, _, err := m.Lines(ctx, to, mailbox.Query{})
	if err != nil {
		return nil, err
	}
	c := &tally{at: now, by: map[address.Instance]int{}}
	for i := range lines {
		if msg, err := lines[i].Message(); err == nil {
			c.by[msg.Summary.Actor.Instance.Canonical()]++
		}
	}
	return c, nil
}
