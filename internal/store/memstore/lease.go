package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tutti/internal/store"
)

// A leaseDoc is the document of a lease.
type leaseDoc struct {
	Holder string        `json:"holder"`
	TTL    time.Duration `json:"ttl"`
}

// Acquire creates the document of a lease, or replaces one whose end has come.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	k := store.Key{Kind: store.NamedLease, Name: name}
	m, err := s.lease(ctx, k, holder, ttl)
	if err != nil {
		return store.Lease{}, fail("acquire", k, err)
	}
	for {
		var stored message
		found := s.last(k)
		if found.seq == 0 || found.deleted {
			stored, err = s.create(k, m, anything)
		} else if err = s.ended(name, found); err == nil {
			stored, err = s.update(k, rev(found.seq), m)
		}
		switch {
		case err == nil:
			return made(name, holder, ttl, stored), nil
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
			// another process was faster: look again
		default:
			return store.Lease{}, fail("acquire", k, err)
		}
	}
}

// lease checks the arguments and makes the document.
func (s *Store) lease(ctx context.Context, k store.Key, holder string, ttl time.Duration) (message, error) {
	if err := s.door(ctx, k, true); err != nil {
		return message{}, err
	}
	if holder == "" || ttl <= 0 {
		return message{}, fmt.Errorf("holder %q for %s: a lease needs a holder and a duration", holder, ttl)
	}
	data, err := json.Marshal(leaseDoc{Holder: holder, TTL: ttl})
	if err != nil {
		return message{}, err
	}
	return message{data: data}, checkSize(k, "data", len(data))
}

// made is the lease that a stored document stands for.
func made(name, holder string, ttl time.Duration, m message) store.Lease {
	return store.Lease{Name: name, Holder: holder, Until: m.at.Add(ttl), Rev: rev(m.seq)}
}

// ended returns a HeldError while the lease in m has not come to its end.
func (s *Store) ended(name string, m message) error {
	var d leaseDoc
	if err := json.Unmarshal(m.data, &d); err != nil {
		k := store.Key{Kind: store.NamedLease, Name: name}
		return &store.UnfitError{Key: k, Where: k.Subject(), Why: err.Error()}
	}
	if until := m.at.Add(d.TTL); s.opt.Now().Before(until) {
		return &store.HeldError{Name: name, Holder: d.Holder, Until: until}
	}
	return nil
}

// Renew replaces the document of a lease that no other process has taken since, whether it has ended or not.
func (s *Store) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Lease, error) {
	k := store.Key{Kind: store.NamedLease, Name: l.Name}
	m, err := s.lease(ctx, k, l.Holder, ttl)
	if err == nil {
		if m, err = s.update(k, l.Rev, m); err != nil {
			err = store.ErrLost
		}
	}
	if err != nil {
		return store.Lease{}, fail("renew", k, err)
	}
	return made(l.Name, l.Holder, ttl, m), nil
}

// Release deletes the document of a lease if it is still this one.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	k := store.Key{Kind: store.NamedLease, Name: l.Name}
	if err := s.door(ctx, k, true); err != nil {
		return fail("release", k, err)
	}
	// An error says that it was lost before, and then there is nothing to give back.
	_, _ = s.update(k, l.Rev, message{deleted: true})
	return nil
}
