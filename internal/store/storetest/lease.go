package storetest

import (
	"errors"
	"fmt"
	"time"

	"tutti/internal/store"
)

// near is how far the end of a lease may be from what the test's clock says.
const near = 3 * time.Second

// testLease: taken, held, renewed, given back.
func testLease(f *fixture) {
	before := time.Now()
	l := f.acquire("watch", "a", time.Minute)
	if l.Name != "watch" || l.Holder != "a" || l.Rev == "" {
		f.Errorf("Acquire: %+v, want the name watch, the holder a and a revision", l)
	}
	if d := l.Until.Sub(before.Add(time.Minute)); f.b.Advance == nil && d.Abs() > near {
		f.Errorf("Acquire for 1m at %v: until %v", before, l.Until)
	}
	for _, holder := range []string{"b", "a"} {
		f.wantHeld(fmt.Sprintf("Acquire by %s what a holds", holder), "watch", holder, l)
	}
	longer, err := f.s.Renew(f.ctx, l, 2*time.Minute)
	if err != nil {
		f.Fatalf("Renew: %v", err)
	}
	if d := longer.Until.Sub(l.Until); d < time.Minute-near || d > time.Minute+near || longer.Name != l.Name || longer.Holder != l.Holder {
		f.Errorf("Renew %+v for 2m instead of 1m: %+v", l, longer)
	}
	f.wantHeld("Acquire what a renewed", "watch", "b", longer)
	f.acquire("drum", "b", time.Minute) // another name is another lease
	if err := f.s.Release(f.ctx, longer); err != nil {
		f.Errorf("Release: %v", err)
	}
	if err := f.s.Release(f.ctx, longer); err != nil {
		f.Errorf("Release twice: %v", err)
	}
	_, err = f.s.Renew(f.ctx, longer, time.Minute)
	f.wantErr("Renew what was released", err, store.ErrLost)
	next := f.acquire("watch", "b", time.Minute)
	_, err = f.s.Renew(f.ctx, longer, time.Minute)
	f.wantErr("Renew what b holds", err, store.ErrLost)
	if err := f.s.Release(f.ctx, longer); err != nil {
		f.Errorf("Release what b holds: %v", err)
	}
	f.wantHeld("Acquire what b holds", "watch", "a", next)
	_, err = f.s.Renew(f.ctx, store.Lease{Name: "never", Holder: "a", Rev: "no such revision"}, time.Minute)
	f.wantErr("Renew a lease that was not taken", err, store.ErrLost)
}

func (f *fixture) acquire(name, holder string, ttl time.Duration) store.Lease {
	f.Helper()
	l, err := f.s.Acquire(f.ctx, name, holder, ttl)
	if err != nil {
		f.Fatalf("Acquire %s by %s for %s: %v", name, holder, ttl, err)
	}
	return l
}

// wantHeld checks that a lease is not to be had, and that the error names who has it.
func (f *fixture) wantHeld(what, name, holder string, by store.Lease) {
	f.Helper()
	_, err := f.s.Acquire(f.ctx, name, holder, time.Minute)
	h, ok := errors.AsType[*store.HeldError](err)
	if !ok {
		f.Errorf("%s: error %v, want a HeldError", what, err)
		return
	}
	if h.Holder != by.Holder || h.Until.Sub(by.Until).Abs() > near {
		f.Errorf("%s: held by %q until %v, want %q until %v", what, h.Holder, h.Until, by.Holder, by.Until)
	}
}

// testLeaseEnd: a lease that has ended is free, and who had it learns that at the next step.
func testLeaseEnd(f *fixture) {
	const ttl = 50 * time.Millisecond
	old := f.acquire("watch", "a", ttl)
	if f.b.Advance != nil {
		f.wantHeld("Acquire before the end", "watch", "b", old)
		f.b.Advance(f, f.s, ttl)
	}
	var l store.Lease
	for began := time.Now(); ; time.Sleep(ttl / 5) {
		var err error
		if l, err = f.s.Acquire(f.ctx, "watch", "b", time.Minute); err == nil {
			break
		}
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Since(began) > patience {
			f.Fatalf("Acquire after the end of a lease of %s: %v", ttl, err)
		}
	}
	if l.Holder != "b" {
		f.Errorf("Acquire after the end: %+v", l)
	}
	_, err := f.s.Renew(f.ctx, old, time.Minute)
	f.wantErr("Renew after another took it", err, store.ErrLost)
	if err := f.s.Release(f.ctx, old); err != nil {
		f.Errorf("Release after another took it: %v", err)
	}
	f.wantHeld("Acquire after the old holder's Release", "watch", "a", l)
}

// testLeaseRace: one of many gets it.
func testLeaseRace(f *fixture) {
	for round := range 4 {
		name := fmt.Sprint("race", round)
		const n = 16
		var leases [n]store.Lease
		var errs [n]error
		together(n, func(i int) { leases[i], errs[i] = f.s.Acquire(f.ctx, name, fmt.Sprint("h", i), time.Minute) })
		winner := -1
		for i, err := range errs {
			if err != nil {
				if _, held := errors.AsType[*store.HeldError](err); !held {
					f.Errorf("Acquire %s by %d: %v", name, i, err)
				}
				continue
			}
			if winner >= 0 {
				f.Errorf("Acquire %s: both %d and %d got it", name, winner, i)
			}
			winner = i
		}
		if winner < 0 {
			f.Fatalf("Acquire %s: no caller got it: %v", name, errs)
		}
		f.wantHeld("Acquire after the race", name, "late", leases[winner])
	}
}
