package vectortest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/store/memstore"
)

// blockageLifecycle plays what is raised and resolved.
func blockageLifecycle(t *testing.T, c kase) {
	var v struct {
		Name   string
		Ops    [][]string
		Expect struct {
			Results                   []string
			ResolvedBy, Reason, Scope string
			ActiveCount, Exit         int
		}
	}
	c.into(t, &v)
	all := blocker.New(memstore.New(memstore.Options{}))
	var last *blocker.Blockage
	for n, op := range v.Ops {
		var err error
		now := time.Unix(1_900_000_000+int64(n), 0)
		if op[0] == "raise" {
			last, _, err = all.Raise(t.Context(), blocker.Call{Instance: address.Instance(op[1]), Reason: op[2], Scope: op[3]}, now)
		} else {
			last, err = all.Resolve(t.Context(), address.Instance(op[1]), address.Instance(op[2]), now)
		}
		got := "resolved"
		switch {
		case errors.Is(err, blocker.ErrNone):
			got = "not-found"
		case err != nil:
			got = err.Error()
		case last.Active():
			got = "active"
		}
		if got != v.Expect.Results[n] {
			t.Errorf("%v: %s, want %s", op, got, v.Expect.Results[n])
		}
	}
	if active, _, err := all.List(t.Context(), blocker.Filter{Active: true}); err != nil || len(active) != v.Expect.ActiveCount {
		t.Errorf("%d active, %v, want %d", len(active), err, v.Expect.ActiveCount)
	}
	if last != nil && (last.ResolvedBy != v.Expect.ResolvedBy || v.Expect.Reason != "" && last.Reason != v.Expect.Reason || v.Expect.Scope != "" && last.Scope != v.Expect.Scope) {
		t.Errorf("in the end %s, want %+v", last.Raw, v.Expect)
	}
}

// blockagePush compares what is news to a session.
func blockagePush(t *testing.T, c kase) {
	var v struct {
		Name     string
		Previous []address.Instance
		Session  struct {
			Instance       address.Instance
			Scopes, Topics []string
		}
		Blockages []struct{ Instance, Scope, Reason, ResolvedAt string }
		Expect    struct {
			Events   []struct{ Topic, Instance string }
			Snapshot []address.Instance
		}
	}
	c.into(t, &v)
	var all []*blocker.Blockage
	for _, b := range v.Blockages {
		all = append(all, &blocker.Blockage{Instance: address.Instance(b.Instance), Scope: b.Scope, Reason: b.Reason, ResolvedAt: b.ResolvedAt})
	}
	known := map[address.Instance]address.Instance{}
	for _, i := range v.Previous {
		known[i.Canonical()] = i
	}
	f := blocker.Follower{Instance: v.Session.Instance, Scopes: v.Session.Scopes}
	blocked, unblocked, now := f.News(known, all)
	var got, want []string
	for _, b := range blocked {
		got = append(got, blocker.PeerBlocked+" "+string(b.Instance))
	}
	for _, i := range unblocked {
		got = append(got, blocker.PeerUnblocked+" "+string(i))
	}
	got = slices.DeleteFunc(got, func(e string) bool {
		return !slices.ContainsFunc(v.Session.Topics, func(t string) bool { return len(e) > len(t) && e[:len(t)+1] == t+" " })
	})
	for _, e := range v.Expect.Events {
		want = append(want, e.Topic+" "+e.Instance)
	}
	if !slices.Equal(got, want) || len(now) != len(v.Expect.Snapshot) {
		t.Errorf("told %q, knows %v; want %q, %v", got, now, want, v.Expect.Snapshot)
	}
	for _, i := range v.Expect.Snapshot {
		if now[i.Canonical()] == "" {
			t.Errorf("%s is not known afterwards", i)
		}
	}
}
