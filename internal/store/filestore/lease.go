package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// A lease is a document {"holder","until","nonce"}: until is the end by our clock, RFC 3339 to the millisecond. All users of
// a root on files share one machine's clock, or the clocks of machines that mount the same file system. The nonce gives each
// taking and each renewal a revision of its own. Only the kernel lock guards it; foreign programs do not know the folder.

func leaseKey(name string) store.Key { return store.Key{Kind: store.NamedLease, Name: name} }

// Acquire takes a lease that is free or has ended. One whose document cannot be read is free: nothing would ever free it else.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	var l store.Lease
	err := s.withLease(ctx, "acquire", name, holder, ttl, func(d *atomicfile.Dir, base string, now store.Lease) (err error) {
		if now.Rev != "" && s.now().Before(now.Until) {
			return &store.HeldError{Name: name, Holder: now.Holder, Until: now.Until}
		}
		l, err = s.putLease(d, base, name, holder, ttl)
		return err
	})
	return l, err
}

// Renew moves the end of a lease that no other process has taken since, whether it has ended or not.
func (s *Store) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Lease, error) {
	var longer store.Lease
	err := s.withLease(ctx, "renew", l.Name, l.Holder, ttl, func(d *atomicfile.Dir, base string, now store.Lease) (err error) {
		if l.Rev == "" || now.Rev != l.Rev {
			return store.ErrLost
		}
		longer, err = s.putLease(d, base, l.Name, l.Holder, ttl)
		return err
	})
	return longer, err
}

// Release gives a lease back. Releasing a lost lease is not an error.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	k := leaseKey(l.Name)
	if err := s.checkWrite(ctx, "release", k); err != nil {
		return err
	}
	err := s.remove(ctx, k, l.Rev)
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err = s.failWrite("release", k, err); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// withLease runs step under the lock, with the lease as it is now; its Rev is zero when there is none that can be read.
func (s *Store) withLease(ctx context.Context, op, name, holder string, ttl time.Duration,
	step func(d *atomicfile.Dir, base string, now store.Lease) error,
) error {
	k := leaseKey(name)
	if err := s.checkWrite(ctx, op, k); err != nil {
		return err
	}
	if holder == "" || ttl <= 0 {
		return fmt.Errorf("%s %s for %q and %s: a lease needs a holder and a duration", op, k, holder, ttl)
	}
	rel, base := home(k)
	d, err := s.makeHome(rel)
	if err != nil {
		return s.failWrite(op, k, err)
	}
	defer d.Close()
	h, err := s.lock(ctx, k, d)
	if err != nil {
		return s.failWrite(op, k, err)
	}
	defer h.release()
	now := store.Lease{}
	if data, _, err := s.readAt(d, base, k); err == nil {
		now = parseLease(name, data)
	}
	return s.failWrite(op, k, step(d, base, now))
}

func (s *Store) putLease(d *atomicfile.Dir, base, name, holder string, ttl time.Duration) (store.Lease, error) {
	until := s.now().Add(ttl).UTC().Truncate(time.Millisecond)
	var o canonjson.Object
	o.Str("holder", holder)
	o.Str("until", until.Format(timeFormat))
	o.Str("nonce", rand.Text())
	data := append(o.Bytes(), '\n')
	if err := s.checkSize(leaseKey(name), data); err != nil {
		return store.Lease{}, err
	}
	if err := d.Replace(base, data, filePerm, false); err != nil {
		return store.Lease{}, err
	}
	return store.Lease{Name: name, Holder: holder, Until: until, Rev: revOf(data)}, nil
}

// parseLease reads a lease; its Rev is zero when data is none.
func parseLease(name string, data []byte) store.Lease {
	if !canonjson.Valid(data) || !canonjson.IsObject(data) {
		return store.Lease{}
	}
	holder, _ := canonjson.Get(data, "holder")
	end, _ := canonjson.Get(data, "until")
	who, ok := canonjson.String(holder)
	when, ok2 := canonjson.String(end)
	until, err := time.Parse(time.RFC3339Nano, when)
	if !ok || !ok2 || err != nil {
		return store.Lease{}
	}
	return store.Lease{Name: name, Holder: who, Until: until, Rev: revOf(data)}
}
