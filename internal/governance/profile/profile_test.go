package profile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/governance/profile"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// The table of the four, as it is published: what each allows, the default first where it has one.
var published = map[string]struct{ track, topology, roles, adoption, disclosure, recourse, cadence, jurisdiction, precedence, days string }{
	"A_ENTERPRISE": {
		"A", "enterprise-hierarchy", "PRINCIPAL EXECUTIF CONDUCTOR AGENTS CONTROL MANDATAIRE", "ratified contractual imposed acknowledged",
		"redacted-view / full-view redacted-view evidence-package attestation hash-only", "PRINCIPAL / PRINCIPAL CONTROL EXTERNAL_AUTHORITY",
		"monthly / daily weekly monthly quarterly yearly on-event", "private-contract / private-contract sectoral functional territorial",
		"public-authority contractual local federated", "7 3",
	},
	"B_ECOSYSTEM": {
		"B", "peer-federation", "PRINCIPAL EXECUTIF CONDUCTOR AGENTS CONTROL MANDATAIRE", "ratified contractual acknowledged",
		"evidence-package / redacted-view evidence-package attestation hash-only", "QUORUM / QUORUM EXTERNAL_AUTHORITY RECOURSE",
		"quarterly / monthly quarterly yearly on-event ad-hoc", "delegated / delegated private-contract sectoral functional territorial",
		"public-authority contractual federated local", "14 7",
	},
	"C_GOVERNMENT_CITIZEN": {
		"C", "public-authority", "PRINCIPAL EXECUTIF CONDUCTOR AGENTS CONTROL MANDATAIRE", "imposed acknowledged ratified",
		"evidence-package / full-view redacted-view evidence-package attestation hash-only", "EXTERNAL_AUTHORITY / EXTERNAL_AUTHORITY RECOURSE PRINCIPAL",
		"yearly / monthly quarterly yearly on-event", "territorial / territorial sectoral functional personal temporal delegated",
		"public-authority contractual federated local", "30 15",
	},
	"D_SAFE": {
		"D", "agile-train", "PRINCIPAL EXECUTIF CONDUCTOR AGENTS CONTROL", "ratified contractual imposed acknowledged",
		"redacted-view / full-view redacted-view evidence-package attestation hash-only", "PRINCIPAL / PRINCIPAL CONTROL EXTERNAL_AUTHORITY",
		"weekly / daily weekly monthly quarterly on-event", "private-contract / private-contract delegated functional sectoral territorial",
		"public-authority contractual federated local", "2 1",
	},
}

func TestPublishedTable(t *testing.T) {
	t.Parallel()
	words := func(def string, list []string) string { return def + " / " + strings.Join(list, " ") }
	if len(profile.All()) != len(published) || len(profile.IDs) != len(published) {
		t.Fatalf("%d profiles, %d ids", len(profile.All()), len(profile.IDs))
	}
	for n, p := range profile.All() {
		want := published[p.ID]
		got := published[p.ID]
		got.track, got.topology, got.roles, got.adoption = p.Track, p.Topology, strings.Join(p.Roles, " "), strings.Join(p.Adoption, " ")
		got.disclosure = words(p.Disclosure.Default, p.Disclosure.Allowed)
		got.recourse = words(p.Recourse.Default, p.Recourse.Deciders)
		got.cadence = words(p.Obligations.Default, p.Obligations.Allowed)
		got.jurisdiction = words(p.Jurisdiction.Default, p.Jurisdiction.Allowed)
		got.precedence = strings.Join(p.Precedence.Order, " ")
		if got != want || p.ID != profile.IDs[n] || p.Rationale == "" || p.Label == "" {
			t.Errorf("%s\n got %+v\nwant %+v", p.ID, got, want)
		}
		if days := [2]int{p.Obligations.GraceDays, p.Obligations.AlertDays}; want.days != strings.Trim(strings.Join(strings.Fields(sprint(days)), " "), "[]") {
			t.Errorf("%s: days %v, want %s", p.ID, days, want.days)
		}
		if !slices.Equal(p.Kinds, []string{"CONTRACT", "POLICY", "ENGAGEMENT", "MANDATE", "AUTHORITY", "SIGNATURE", "ENFORCEMENT_PLAN"}) ||
			len(p.Authorities) != 6 || len(p.Recourse.States) != 7 || !p.Recourse.Appealable {
			t.Errorf("%s: what is common to all: %+v", p.ID, p)
		}
	}
}

func TestCompatibility(t *testing.T) {
	t.Parallel()
	for _, p := range profile.All() {
		c := p.Compatibility()
		if !c.OK || c.Ready || c.ID != p.ID || len(c.Shipped) != 11 || !slices.Equal(c.Partial, []string{"policy-precedence"}) || len(c.Gaps) != 1 {
			t.Errorf("%s: %+v", p.ID, c)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	ctx, s, now := t.Context(), memstore.New(memstore.Options{}), time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)
	key := store.Key{Kind: store.Profile}
	want := func(id, by, before string) {
		t.Helper()
		if c, err := profile.Chosen(ctx, s); err != nil || c.ID() != id || c.By != by || c.Before != before {
			t.Errorf("chosen: %+v, %v; want %s by %q, before %q", c, err, id, by, before)
		}
	}
	want("none", "", "")
	if _, err := profile.Use(ctx, s, "none", "x:y", now); err != nil {
		t.Error(err)
	}
	want("none", "", "")
	if _, err := profile.Use(ctx, s, "d_safe", "human:owner", now); err != nil {
		t.Fatal(err)
	}
	want("D_SAFE", "human:owner", "none")
	doc, _ := s.Get(ctx, key)
	if _, err := profile.Use(ctx, s, "D", "x:y", now); err != nil {
		t.Fatal(err)
	}
	want("D_SAFE", "human:owner", "none")
	if _, err := s.Replace(ctx, key, []byte(strings.Replace(string(doc.Data), "{", `{"mine":1,`, 1)), doc.Rev); err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Use(ctx, s, "B", "x:y", now); err != nil {
		t.Fatal(err)
	}
	want("B_ECOSYSTEM", "x:y", "D_SAFE")
	if doc, _ = s.Get(ctx, key); !strings.Contains(string(doc.Data), `"mine":1`) {
		t.Errorf("the foreign entry is gone: %s", doc.Data)
	}
	if _, err := profile.Use(ctx, s, "none", "x:y", now); err != nil {
		t.Fatal(err)
	}
	want("none", "x:y", "B_ECOSYSTEM")
	if _, err := profile.Use(ctx, s, "Z", "x:y", now); err == nil || !strings.Contains(err.Error(), "D_SAFE") {
		t.Errorf("an unknown profile: %v", err)
	}
}

// TestChoiceFailsClosed: an unknown choice is never treated as none.
func TestChoiceFailsClosed(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{`, `[]`, `7`, ``, `{}`, `{"profile":""}`, `{"profile":7}`, `{"profile":"E_LATER"}`, `{"profile":"D_SAFE","__proto__":{}}`} {
		s := memstore.New(memstore.Options{})
		if _, err := s.Create(t.Context(), store.Key{Kind: store.Profile}, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		c, err := profile.Chosen(t.Context(), s)
		var hint interface{ Hint() string }
		if err == nil || !errors.As(err, &hint) || hint.Hint() == "" {
			t.Errorf("%s: %+v, %v", bad, c, err)
		}
		for _, id := range []string{"none", "A_ENTERPRISE"} {
			if c, err := profile.Use(t.Context(), s, id, "x:y", time.Now()); err != nil || c.ID() != id {
				t.Errorf("%s, then %s: %+v, %v", bad, id, c, err)
			}
		}
	}
}
