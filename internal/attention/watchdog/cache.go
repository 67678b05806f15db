package watchdog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/store"
)

// A cache keeps the documents of a kind as they were read, by name. A document is read again when its size or its time is another one; and,
// because clocks of file systems stand still for some milliseconds, also when it was written just before it was read. It serves to find out
// what is to be looked at: whatever is done is judged on the document itself.
type cache[T any] struct {
	kind  store.Kind
	parse func(d store.Doc) (*T, error)
	rows  map[string]*row[T]
	turn  uint64
	// changed: since the look before a document came, went, or was read again.
	changed bool
}

type row[T any] struct {
	size   int64
	stored time.Time
	fresh  bool // it may have changed since without another time
	turn   uint64
	doc    *T // nil: it is none
}

// unsettled is how long after a write the time of a document says nothing: coarser clocks of file systems are not known locally.
const unsettled = 50 * time.Millisecond

// look reads what has changed.
func (c *cache[T]) look(ctx context.Context, s store.Reader) error {
	if c.rows == nil {
		c.rows = map[string]*row[T]{}
	}
	c.turn++
	c.changed = false
	for e, err := range s.List(ctx, c.kind, "") {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", c.kind, err)
		}
		r := c.rows[e.Key.Name]
		if r == nil || r.fresh || r.size != e.Size || !r.stored.Equal(e.Stored) {
			if r == nil {
				r = &row[T]{}
				c.rows[e.Key.Name] = r
			}
			c.changed = true
			if err := c.read(ctx, s, e, r); err != nil {
				r.fresh = true
				return err
			}
		}
		r.turn = c.turn
	}
	for name, r := range c.rows {
		if r.turn != c.turn {
			delete(c.rows, name)
			c.changed = true
		}
	}
	return nil
}

// each calls f for every document that is one, in no order.
func (c *cache[T]) each(f func(*T)) {
	for _, r := range c.rows {
		if r.doc != nil {
			f(r.doc)
		}
	}
}

func (c *cache[T]) read(ctx context.Context, s store.Reader, e store.Entry, r *row[T]) error {
	r.size, r.stored, r.doc = e.Size, e.Stored, nil
	r.fresh = time.Since(e.Stored) < unsettled
	d, err := s.Get(ctx, e.Key)
	_, unfit := errors.AsType[*store.UnfitError](err)
	switch {
	case unfit, errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", e.Key, err)
	}
	if doc, err := c.parse(d); err == nil {
		r.doc = doc
	}
	return nil
}

// A stopped is an entry as it is kept in memory.
type stopped struct {
	*Entry
	who   address.Instance // canonical
	turn  uint64           // of the room in which it was judged last
	until time.Time        // it waits as long, in that room; zero: it does not
}

func parseStopped(d store.Doc) (*stopped, error) {
	e, err := ParseEntry(d.Data)
	if err != nil {
		return nil, err
	}
	if err := address.Check(string(e.Instance)); err != nil {
		return nil, err
	}
	if address.Segment(string(e.Instance)) != d.Key.Name {
		return nil, errNotOwn
	}
	return &stopped{Entry: e, who: e.Instance.Canonical()}, nil
}

// A member is a session as it is kept in memory.
type member struct {
	*presence.Session
	who      address.Instance // canonical
	beat, at time.Time        // heartbeat and last call, zero where it does not say
}

func parseMember(d store.Doc) (*member, error) {
	s, err := presence.ParseDoc(d)
	if err != nil {
		return nil, err
	}
	m := &member{Session: s, who: s.Instance.Canonical()}
	m.beat, _ = envelope.ParseTime(s.HeartbeatAt)
	m.at, _ = envelope.ParseTime(s.MCPActivityAt)
	return m, nil
}

// present tells whether a session counts at a time.
func (m *member) present(now time.Time) bool {
	return !presence.Absent(m.Session, now, presence.Expiry)
}

// there tells whether a session lives on this machine, or once did.
func (m *member) there() bool { return m.MirroredAt == "" }

// A told is what an agent has said that it is blocked by, as far as that is kept in memory.
type told struct{ who address.Instance } // canonical; "": that is resolved

func parseTold(d store.Doc) (*told, error) {
	b, err := blocker.Parse(d.Data)
	switch {
	case err != nil:
		return nil, err
	case address.Segment(string(b.Instance)) != d.Key.Name:
		return nil, errNotOwn
	case !b.Active():
		return &told{}, nil
	}
	return &told{b.Instance.Canonical()}, nil
}

// errNotOwn reports a document that lies under the name of another agent: it speaks for nobody.
var errNotOwn = errors.New("is that of another agent than its name says")
