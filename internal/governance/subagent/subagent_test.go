package subagent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/subagent"
	"tutti/internal/store"
	"tutti/internal/store/bothtest"
	"tutti/internal/store/storetest"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

const who = address.Instance("claude:api:3f2a9c01b7de")

func each(t *testing.T, test func(t *testing.T, log store.Log, a *subagent.Agents)) {
	bothtest.Each(t, func(t *testing.T, log storetest.Store) {
		r := registry.New(log)
		line := fmt.Sprintf(`{"id":%q,"instance":%q,"roles":["AGENTS"],"scopes":["s"],"capabilities":["read","write"],"endpoints":[],"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`, who, who)
		if err := r.Register(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
		test(t, log, &subagent.Agents{Registry: r})
	})
}

func spawn(t *testing.T, a *subagent.Agents, parent address.Instance, name string, caps ...string) address.Instance {
	t.Helper()
	b, err := a.Spawn(t.Context(), subagent.Spawn{Parent: parent, Name: name, Capabilities: caps, Bounded: caps != nil}, now)
	if err != nil {
		t.Fatal(err)
	}
	return address.Instance(b.ID)
}

func statuses(t *testing.T, a *subagent.Agents, parent address.Instance) string {
	t.Helper()
	rows, err := a.List(t.Context(), parent)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range rows {
		all = append(all, strings.TrimPrefix(r.ID, string(who))+" "+r.Status)
	}
	return strings.Join(all, ", ")
}

func TestSpawn(t *testing.T) {
	each(t, func(t *testing.T, _ store.Log, a *subagent.Agents) {
		scout := spawn(t, a, who, "scout", "read")
		for _, c := range []struct {
			what string
			s    subagent.Spawn
			want error
		}{
			{"again", subagent.Spawn{Parent: who, Name: "scout"}, registry.ErrBound},
			{"nobody's", subagent.Spawn{Parent: "claude:none:000000000000", Name: "x"}, registry.ErrNotRegistered},
			{"no name", subagent.Spawn{Parent: who}, subagent.ErrRule},
			{"more than its parent", subagent.Spawn{Parent: who, Name: "x", Capabilities: []string{"admin"}, Bounded: true}, subagent.ErrRule},
			{"more than its parent, which is one itself", subagent.Spawn{Parent: scout, Name: "x", Capabilities: []string{"write"}, Bounded: true}, subagent.ErrRule},
			{"a control character", subagent.Spawn{Parent: who, Name: "a\nb"}, nil},
			{"a long name", subagent.Spawn{Parent: who, Name: strings.Repeat("n", 300)}, nil},
		} {
			if _, err := a.Spawn(t.Context(), c.s, now); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.what, err, c.want)
			}
		}
		spawn(t, a, scout, "deeper", "read")
		if got, want := statuses(t, a, who), "~scout active, ~scout~deeper active"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		deep := scout
		for range 20 {
			b, err := a.Spawn(t.Context(), subagent.Spawn{Parent: deep, Name: "d"}, now)
			if errors.Is(err, subagent.ErrDeep) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			deep = address.Instance(b.ID)
		}
		t.Error("there is no end to subagents of subagents")
	})
}

func TestRevoke(t *testing.T) {
	each(t, func(t *testing.T, log store.Log, a *subagent.Agents) {
		one := spawn(t, a, who, "one")
		spawn(t, a, one, "a")
		spawn(t, a, one+"~a", "b")
		spawn(t, a, who, "two")
		spawn(t, a, who, "one2")
		revoked, err := a.Revoke(t.Context(), one, "done", now)
		if want := []string{string(one) + "~a~b", string(one) + "~a", string(one)}; err != nil || !slices.Equal(revoked, want) {
			t.Errorf("revoked %q, %v; want the lowest first: %q", revoked, err, want)
		}
		if got, want := statuses(t, a, ""), "~one revoked, ~one~a revoked, ~one~a~b revoked, ~two active, ~one2 active"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		if _, err := a.Revoke(t.Context(), one, "", now); !errors.Is(err, registry.ErrGone) {
			t.Errorf("again: %v", err)
		}
		if _, err := a.Revoke(t.Context(), who+"~none", "", now); !errors.Is(err, registry.ErrNotBound) {
			t.Errorf("an unbound subagent: %v", err)
		}
		for _, s := range []subagent.Spawn{{Parent: who, Name: "one"}, {Parent: one, Name: "new"}} {
			if _, err := a.Spawn(t.Context(), s, now); err == nil {
				t.Errorf("%+v is given out again", s)
			}
		}
		lines, err := a.Audit(t.Context(), one, false)
		if err != nil || len(lines) != 2 || lines[1].Type != registry.SubRevoked || lines[1].Reason != "done" {
			t.Errorf("record of %s: %+v, %v", one, lines, err)
		}
		if lines, err = a.Audit(t.Context(), who, true); err != nil || len(lines) != 8 {
			t.Errorf("record of all: %d lines, %v; want 5 registered and 3 revoked", len(lines), err)
		}
	})
}

// TestRevokedOnce: of many concurrent revocations of one subagent, one succeeds.
func TestRevokedOnce(t *testing.T) {
	each(t, func(t *testing.T, _ store.Log, a *subagent.Agents) {
		one := spawn(t, a, who, "one")
		var wg sync.WaitGroup
		var done atomic.Int32
		for range 8 {
			wg.Go(func() {
				if _, err := a.Revoke(t.Context(), one, "", now); err == nil {
					done.Add(1)
				} else if !errors.Is(err, registry.ErrGone) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if done.Load() != 1 {
			t.Errorf("%d have revoked it", done.Load())
		}
	})
}

// TestForeignLines: lines of other programs are read and checked, and cannot restore a revoked subagent.
func TestForeignLines(t *testing.T) {
	each(t, func(t *testing.T, log store.Log, a *subagent.Agents) {
		one := spawn(t, a, who, "one")
		if _, err := a.Revoke(t.Context(), one, "", now); err != nil {
			t.Fatal(err)
		}
		for _, l := range []struct {
			kind store.Kind
			line string
		}{
			{store.Subagents, `{"id":"` + string(one) + `","parentInstance":"` + string(who) + `","name":"one","createdAt":"2027-01-01T00:00:00.000Z"}`},
			{store.SubagentAudit, `{"subagent":"` + string(one) + `","type":"registered","at":"2027-01-01T00:00:00.000Z"}`},
			{store.Subagents, `{"id":7}`},
			{store.Subagents, `{"id":"x~y","capabilities":"all"}`},
			{store.SubagentAudit, `[]`},
			{store.Offboard, `"nobody"`},
		} {
			if _, err := log.Append(t.Context(), store.Key{Kind: l.kind}, store.AnyEnd, []byte(l.line)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := statuses(t, a, who), "~one revoked"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		spelled := address.Instance("CLAUDE:API:3f2a9c01b7de~one")
		if err := a.Registry.Standing(t.Context(), spelled); !errors.Is(err, registry.ErrGone) {
			t.Errorf("%s: %v", spelled, err)
		}
		if _, err := a.May(t.Context(), one); !errors.Is(err, registry.ErrGone) {
			t.Errorf("mail for %s: %v", one, err)
		}
	})
}
