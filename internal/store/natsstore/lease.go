package natsstore

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
	for err == nil {
		var found message
		if found, err = s.last(ctx, k); err != nil {
			break
		}
		var stored message
		if !found.there() {
			stored, err = s.create(ctx, m, anything)
		} else if err = s.ended(ctx, found); err == nil {
			stored, err = s.update(ctx, m, store.Rev(found.rev()))
		}
		var l store.Lease
		if err == nil {
			l, err = s.made(ctx, holder, ttl, stored)
		}
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
			err = nil // another process was faster: look again
		}
	}
	return store.Lease{}, fail("acquire", k, err)
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
	return message{key: k, data: data}, s.checkSize(k, "data", len(data))
}

// made is the lease that a stored document stands for. An acknowledgement tells no time, so the document is looked at;
// ErrConflict says that it is another's by now.
func (s *Store) made(ctx context.Context, holder string, ttl time.Duration, m message) (store.Lease, error) {
	found, err := s.last(ctx, m.key)
	if err != nil {
		return store.Lease{}, err
	}
	if found.rev() != m.rev() {
		return store.Lease{}, store.ErrConflict
	}
	return store.Lease{Name: m.key.Name, Holder: holder, Until: found.at.Add(ttl), Rev: store.Rev(found.rev())}, nil
}

// ended returns a HeldError while the lease in m has not come to its end.
func (s *Store) ended(ctx context.Context, m message) error {
	var d leaseDoc
	if err := json.Unmarshal(m.data, &d); err != nil {
		return &store.UnfitError{Key: m.key, Where: m.key.Subject(), Why: err.Error()}
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	if until := m.at.Add(d.TTL); now.Before(until) {
		return &store.HeldError{Name: m.key.Name, Holder: d.Holder, Until: until}
	}
	return nil
}

// now asks the server for the time.
func (s *Store) now(ctx context.Context) (time.Time, error) {
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	stream, err := s.js.Stream(within, homeOf(store.NamedLease).stream(s.opt.Name))
	if err != nil {
		return time.Time{}, s.said(ctx, err)
	}
	return stream.CachedInfo().TimeStamp, nil
}

// Renew replaces the document of a lease that no other process has taken since, whether it has ended or not.
func (s *Store) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Lease, error) {
	k := store.Key{Kind: store.NamedLease, Name: l.Name}
	m, err := s.lease(ctx, k, l.Holder, ttl)
	if err == nil {
		m, err = s.update(ctx, m, l.Rev)
	}
	var renewed store.Lease
	if err == nil {
		renewed, err = s.made(ctx, l.Holder, ttl, m)
	}
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		err = store.ErrLost
	}
	if err != nil {
		return store.Lease{}, fail("renew", k, err)
	}
	return renewed, nil
}

// Release deletes the document of a lease if it is still this one.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	k := store.Key{Kind: store.NamedLease, Name: l.Name}
	err := s.door(ctx, k, true)
	if err == nil {
		_, err = s.update(ctx, message{key: k, deleted: true}, l.Rev)
	}
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil // it was lost before, and then there is nothing to give back
	}
	if err != nil {
		return fail("release", k, err)
	}
	return nil
}
