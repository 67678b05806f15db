package org_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/org"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

const team = `scope: org:t
instances:
  - {instance: x}
`

const teamYAML = `scope: org:t
instances:
  - instance: human:owner:000000000001
    role: PRINCIPAL
    scopes: [org:t]
  - instance: Claude:Lead:000000000002
    role: CONDUCTOR
    scopes: [org:t, scope:a]
  - instance: codex:api:000000000003
    role: AGENTS
    scopes: [scope:default, scope:a]
  - instance: gemini:docs:000000000004
    role: AGENTS
    scopes: [scope:default]
`

// bus is a registry with three of the four, and a stranger.
func bus(t *testing.T) (*registry.Registry, store.Log) {
	t.Helper()
	log := memstore.New(memstore.Options{})
	r := registry.New(log)
	for _, a := range []registry.Agent{
		{Instance: "claude:lead:000000000002"},
		{Instance: "codex:api:000000000003"},
		{Instance: "gemini:docs:000000000004"},
		{Instance: "claude:stranger:000000000009"},
	} {
		if err := r.Register(t.Context(), registry.Build(a, now)); err != nil {
			t.Fatal(err)
		}
	}
	return r, log
}

func lines(t *testing.T, log store.Log) (n int) {
	t.Helper()
	for _, err := range log.Read(t.Context(), store.Key{Kind: store.OrgMembership}, "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func names(all []org.Standing) string {
	var s []string
	for _, a := range all {
		s = append(s, string(a.Instance))
	}
	return strings.Join(s, " ")
}

func compare(t *testing.T, r *registry.Registry, o *org.Org) *org.Diff {
	t.Helper()
	d, err := org.Compare(o, r.Everybody(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestProvision(t *testing.T) {
	t.Parallel()
	if _, err := org.Parse([]byte(team)); err == nil {
		t.Error("a mapping in braces was read")
	}
	o := parse(t, teamYAML)
	r, log := bus(t)
	d := compare(t, r, o)
	if names(d.Matched) != "gemini:docs:000000000004" || names(d.Missing) != "human:owner:000000000001" ||
		names(d.Undeclared) != "claude:stranger:000000000009" || names(d.RoleMismatch) != "Claude:Lead:000000000002" ||
		names(d.ScopeGaps) != "Claude:Lead:000000000002 codex:api:000000000003" || d.InSync() {
		t.Errorf("before: %s", render.JSON(d.View()))
	}
	p, err := org.Provision(t.Context(), r, o, "human:owner:000000000001", now)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ok":true,"scope":"org:t","applied":[{"instance":"Claude:Lead:000000000002","role":"CONDUCTOR","grantedScopes":["org:t","scope:a"]},` +
		`{"instance":"codex:api:000000000003","role":"AGENTS","grantedScopes":["scope:a"]}],"unchanged":["gemini:docs:000000000004"],` +
		`"pending":[{"instance":"human:owner:000000000001","reason":"not-registered"}]}`
	if got := string(render.JSON(p.View())); got != want {
		t.Errorf("Provision:\n got %s\nwant %s", got, want)
	}
	n := lines(t, log)
	if p, err = org.Provision(t.Context(), r, o, "", now); err != nil || len(p.Applied) != 0 || len(p.Unchanged) != 3 || lines(t, log) != n {
		t.Errorf("again: %s, %v; %d lines after %d", render.JSON(p.View()), err, lines(t, log), n)
	}
	if d = compare(t, r, o); len(d.Matched) != 3 || len(d.RoleMismatch)+len(d.ScopeGaps) != 0 {
		t.Errorf("after: %s", render.JSON(d.View()))
	}
	// Who comes later gets the rest.
	if err := r.Register(t.Context(), registry.Build(registry.Agent{Instance: "human:owner:000000000001"}, now)); err != nil {
		t.Fatal(err)
	}
	if p, err = org.Provision(t.Context(), r, o, "", now); err != nil || len(p.Applied) != 1 || len(p.Pending) != 0 {
		t.Errorf("with the last one: %s, %v", render.JSON(p.View()), err)
	}
	if _, err := org.Provision(t.Context(), r, parse(t, `{"scope":"s","instances":[]}`), "", now); err == nil {
		t.Error("a manifest without a principal was carried out")
	}
}

// failing is a log that fails at one append, before or after it was made.
type failing struct {
	store.Log
	at    int
	after bool
}

var errCut = errors.New("cut off")

func (f *failing) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	f.at--
	if f.at == 0 && !f.after {
		return "", errCut
	}
	p, err := f.Log.Append(ctx, k, after, line)
	if f.at == 0 && err == nil {
		return "", errCut
	}
	return p, err
}

// Broken off at any step and run again, it ends where it would have, and nothing is granted twice.
func TestProvisionResumed(t *testing.T) {
	t.Parallel()
	o := parse(t, teamYAML)
	for at := 1; at <= 3; at++ {
		for _, after := range []bool{false, true} {
			r, log := bus(t)
			p, err := org.Provision(t.Context(), registry.New(&failing{log, at, after}), o, "", now)
			if !errors.Is(err, errCut) {
				t.Fatalf("cut off at %d: %s, %v", at, render.JSON(p.View()), err)
			}
			if _, err := org.Provision(t.Context(), r, o, "", now); err != nil {
				t.Fatal(err)
			}
			if d := compare(t, r, o); len(d.Matched) != 3 {
				t.Errorf("cut off at %d (after: %v): %s", at, after, render.JSON(d.View()))
			}
			if got := lines(t, log); got > 3 {
				t.Errorf("cut off at %d (after: %v): %d lines", at, after, got)
			}
		}
	}
}

// Several at a time grant each thing once.
func TestConcurrentProvision(t *testing.T) {
	t.Parallel()
	o := parse(t, teamYAML)
	r, log := bus(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := org.Provision(t.Context(), r, o, "", now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if d := compare(t, r, o); len(d.Matched) != 3 || lines(t, log) > 3 {
		t.Errorf("%d lines, %s", lines(t, log), render.JSON(d.View()))
	}
}

func TestRatifies(t *testing.T) {
	t.Parallel()
	o := parse(t, demo)
	owner := envelope.Actor{Instance: "human:owner", Role: "PRINCIPAL", Scope: "org:demo"}
	draft := func(o *org.Org, kind string, by envelope.Actor) *envelope.Envelope {
		t.Helper()
		d, err := org.Draft(o, kind, by, now)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := d.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	good := draft(o, org.KindRatified, owner)
	hash, err := canonjson.Hash([]byte(`{"by":"human:owner","body":{"kind":"org-ratified","manifest":` + demoJSON + `},"createdAt":"2026-06-12T10:00:00.000Z"}`))
	if err != nil || good.ID != "org-"+hash[:16] {
		t.Errorf("id: got %s, want that of %s (%v)", good.ID, hash, err)
	}
	if err := org.Ratifies(good, o); err != nil {
		t.Errorf("a ratified manifest: %v", err)
	}
	other := parse(t, strings.Replace(demo, "[org:demo]", "[org:demo, org:more]", 1))
	lead := envelope.Actor{Instance: "claude:lead", Role: "PRINCIPAL", Scope: "org:demo"}
	asAgent := envelope.Actor{Instance: "human:owner", Role: "AGENTS", Scope: "org:demo"}
	for name, e := range map[string]*envelope.Envelope{
		"a proposal":         draft(o, org.KindProposal, owner),
		"another manifest":   draft(other, org.KindRatified, owner),
		"no principal of it": draft(o, org.KindRatified, lead),
		"another role":       draft(o, org.KindRatified, asAgent),
		"another person":     draft(o, org.KindRatified, envelope.Actor{Instance: "human:eve", Role: "PRINCIPAL", Scope: "org:demo"}),
		"a body of another":  {Body: []byte(`{"kind":"org-ratified","manifest":[]}`), Actor: owner},
		"a hostile manifest": {Body: []byte(`{"kind":"org-ratified","manifest":{"scope":"\u0007"}}`), Actor: owner},
	} {
		if org.Ratifies(e, o) == nil {
			t.Errorf("%s ratifies", name)
		}
	}
}

func TestGrantsWithdrawn(t *testing.T) {
	t.Parallel()
	r, log := bus(t)
	const lead = address.Instance("claude:lead:000000000002")
	give := func(role string, scopes ...string) {
		t.Helper()
		if _, err := r.GrantMissing(t.Context(), lead, role, scopes, "human:o", now); err != nil {
			t.Fatal(err)
		}
	}
	is := func(roles, scopes string) {
		t.Helper()
		gotRoles, gotScopes, err := r.Effective(t.Context(), lead)
		if err != nil || strings.Join(gotRoles, " ") != roles || strings.Join(gotScopes, " ") != scopes {
			t.Errorf("got %q, %q, %v; want %q, %q", gotRoles, gotScopes, err, roles, scopes)
		}
		for e, err := range r.Everybody(t.Context()) {
			if err == nil && e.Instance == lead && (!slices.Equal(e.Roles, gotRoles) || !slices.Equal(e.Scopes, gotScopes)) {
				t.Errorf("Everybody has %+v", e)
			}
		}
	}
	give("CONDUCTOR", "a", "b")
	give("CONTROL", "a")
	is("AGENTS CONDUCTOR CONTROL", "scope:default a b")
	if gone, err := r.Withdraw(t.Context(), "Claude:LEAD:000000000002", "CONDUCTOR", "", "human:o", now); err != nil || len(gone) != 2 {
		t.Errorf("Withdraw: %+v, %v", gone, err)
	}
	is("AGENTS CONTROL", "scope:default a")
	n := lines(t, log)
	if gone, err := r.Withdraw(t.Context(), lead, "CONDUCTOR", "", "", now); err != nil || len(gone) != 0 || lines(t, log) != n {
		t.Errorf("Withdraw of nothing: %+v, %v", gone, err)
	}
	give("CONDUCTOR", "b")
	is("AGENTS CONTROL CONDUCTOR", "scope:default a b")
	if gone, err := r.Withdraw(t.Context(), lead, "", "", "", now); err != nil || len(gone) != 2 {
		t.Errorf("Withdraw of all: %+v, %v", gone, err)
	}
	is("AGENTS", "scope:default")
	if _, err := r.GrantMissing(t.Context(), "claude:nobody:000000000000", "AGENTS", []string{"a"}, "", now); !errors.Is(err, registry.ErrNotRegistered) {
		t.Errorf("a grant for an unknown agent: %v", err)
	}
}
