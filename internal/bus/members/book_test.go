package members

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type backend interface {
	store.Docs
	store.Log
}

func onBoth(t *testing.T, test func(t *testing.T, b *Book)) {
	t.Helper()
	run := func(name string, s backend) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &Book{Registry: registry.New(s), Presence: presence.New(s)})
		})
	}
	run("memory", memstore.New(memstore.Options{LiveTTL: time.Hour}))
	s, err := filestore.Open(filepath.Join(t.TempDir(), "bus"), filestore.Options{Create: true, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	run("files", s)
}

func register(t *testing.T, b *Book, i address.Instance, name string, scopes ...string) {
	t.Helper()
	if err := b.Registry.Register(t.Context(), registry.Build(registry.Agent{Instance: i, Name: name, Scopes: scopes}, noon)); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, b *Book, id address.SessionID, i address.Instance, ago time.Duration, name string, scopes ...string) {
	t.Helper()
	o := presence.Start{SessionID: id, Instance: i, Name: name, Interests: presence.Interests{Scopes: scopes, Negotiations: []string{}}}
	if _, err := b.Presence.Open(t.Context(), o, noon.Add(-ago)); err != nil {
		t.Fatal(err)
	}
}

func TestBookResolve(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *Book) {
		register(t, b, apiA, "api")
		register(t, b, webC, "web")
		register(t, b, "codex:x:dddddddddddd", "x")
		open(t, b, "sess:1", apiA, time.Second, "")
		open(t, b, "sess:2", "Claude:api:AAAAAAAAAAAA", 2*time.Second, "")
		open(t, b, "sess:3", webC, presence.Expiry+time.Second, "")
		open(t, b, "sess:4", "remote:s1", 0, "")
		open(t, b, "sess:5", "codex:twins:aaaaaaaaaaaa", 0, "")
		open(t, b, "sess:6", "codex:twins:bbbbbbbbbbbb", 0, "")
		open(t, b, "sess:7", "codex:foreign:aaaaaaaaaaaa", 0, "")
		for _, tt := range []struct {
			target    string
			kind      Kind
			why       Why
			candidate address.Instance
			live      int
			unknown   bool
		}{
			{target: string(apiA), kind: Deliver, live: 2},
			{target: "CLAUDE:API:aaaaaaaaaaaa", kind: Deliver, live: 2},
			{target: string(webC), kind: Deliver},
			{target: string(apiB), kind: Deliver, unknown: true},
			{target: "codex:foreign:aaaaaaaaaaaa", kind: Deliver, live: 1}, // live is known, registered or not
			{target: string(apiA) + "~scout", kind: Deliver},
			{target: string(apiB) + "~scout", kind: Deliver, unknown: true},
			{target: "claude:web~scout", kind: Deliver},
			{target: "claude:nobody~scout", kind: Deliver, unknown: true},
			{target: "claude:api", kind: DeliverHint, candidate: apiA},
			{target: "claude:web", kind: DeliverDormant},
			{target: "Codex:X", kind: DeliverDormant},
			{target: "remote:s1", kind: DeliverHint, candidate: "remote:s1", live: 1},
			{target: "codex:twins", kind: Refuse, why: Ambiguous},
			{target: "codex:api", kind: Refuse, why: Phantom},
			{target: "claude:api:main", kind: Refuse, why: Malformed},
			{target: "api", kind: Refuse, why: NotHostQualified},
		} {
			got, err := b.Resolve(t.Context(), tt.target, noon)
			// Which spelling of an instance with two sessions is named does not matter.
			if err != nil || got.Kind != tt.kind || got.Why != tt.why || got.LiveCandidate.Canonical() != tt.candidate ||
				got.Live != tt.live || got.Unknown != tt.unknown {
				t.Errorf("Resolve(%q)\n got %+v, %v\nwant %+v", tt.target, got, err, tt)
			}
		}
		if got, _ := b.Resolve(t.Context(), "codex:twins", noon); len(got.Candidates) != 2 {
			t.Errorf("candidates of an ambiguous address: %v", got.Candidates)
		}
	})
}

// TestMirroredChannel: agents that another bus shows under a label make no address of an agent of this bus ambiguous; among themselves they do.
func TestMirroredChannel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *Book) {
		show := func(id address.SessionID, i address.Instance) {
			if _, err := b.Presence.Open(t.Context(), presence.Start{SessionID: id, Instance: i, MirroredAt: "2026-03-01T12:00:00.000Z"}, noon); err != nil {
				t.Fatal(err)
			}
		}
		show("sess:1", "claude:api:eeeeeeeeeee1")
		show("sess:2", "claude:api:eeeeeeeeeee2")
		if f, err := b.Resolve(t.Context(), "claude:api", noon); err != nil || f.Why != Ambiguous || len(f.Candidates) != 2 {
			t.Errorf("with no agent here: %+v %v, want it ambiguous", f, err)
		}
		open(t, b, "sess:3", apiA, time.Second, "")
		if f, err := b.Resolve(t.Context(), "claude:api", noon); err != nil || f.Kind != DeliverHint || f.LiveCandidate != apiA {
			t.Errorf("with one here: %+v %v, want %s", f, err, apiA)
		}
	})
}

// TestMirroredLabel: a label belongs to the agent registered here, even while only mirrored agents are live under it.
func TestMirroredLabel(t *testing.T) {
	t.Parallel()
	const other, third = address.Instance("claude:api:eeeeeeeeeee1"), address.Instance("claude:api:eeeeeeeeeee2")
	onBoth(t, func(t *testing.T, b *Book) {
		mirror := func(id address.SessionID, i address.Instance) {
			t.Helper()
			raw := canonjson.Set(registry.Build(registry.Agent{Instance: i}, noon), "mirroredAt", []byte(`"2026-03-01T12:00:00.000Z"`))
			if err := b.Registry.Register(t.Context(), raw); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Presence.Open(t.Context(), presence.Start{SessionID: id, Instance: i, MirroredAt: "2026-03-01T12:00:00.000Z"}, noon); err != nil {
				t.Fatal(err)
			}
		}
		wants := func(what string, kind Kind, candidate address.Instance) {
			t.Helper()
			if f, err := b.Resolve(t.Context(), "claude:api", noon); err != nil || f.Kind != kind || f.LiveCandidate != candidate {
				t.Errorf("%s: %+v %v, want %s %s", what, f, err, kind, candidate)
			}
		}
		mirror("sess:1", other)
		wants("one that is mirrored alone", DeliverHint, other)
		register(t, b, apiA, "api")
		wants("beside one of this bus", DeliverDormant, "")
		mirror("sess:2", third)
		wants("two beside one of this bus", DeliverDormant, "")
		if _, err := b.Presence.Open(t.Context(), presence.Start{SessionID: "sess:3", Instance: "Claude:API:AAAAAAAAAAAA", MirroredAt: "2026-03-01T12:00:00.000Z"}, noon); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Resolve(t.Context(), "claude:api", noon); err != nil || f.LiveCandidate.Canonical() != apiA {
			t.Errorf("the agent of this bus lives elsewhere: %+v %v", f, err)
		}
		if err := b.Registry.Offboard(t.Context(), registry.Tombstone{Instance: apiA, At: "2026-03-01T12:00:00.000Z"}); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Resolve(t.Context(), "claude:api", noon); err != nil || f.Why != Ambiguous {
			t.Errorf("with the agent of this bus gone: %+v %v", f, err)
		}
	})
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *Book) {
		register(t, b, apiA, "API")
		register(t, b, apiB, "sleeping API", "scope:pay")
		open(t, b, "sess:own", webC, 0, "me", "scope:pay")
		open(t, b, "sess:b", apiA, 5*time.Second, "API", "scope:pay", "scope:default")
		open(t, b, "sess:a", apiA, 9*time.Second, "Old API", "scope:default")
		open(t, b, "sess:c", "codex:x:dddddddddddd", -time.Minute, "", "scope:pay")
		open(t, b, "sess:gone", "agy:x:dddddddddddd", 2*presence.Expiry, "")
		for _, tt := range []struct {
			name string
			f    Filter
			want []string
		}{
			{"all that are live, own left out", Filter{Own: "sess:own"}, []string{"sess:b", "sess:a", "sess:c"}},
			{"own too", Filter{}, []string{"sess:b", "sess:a", "sess:own", "sess:c"}},
			{"scope", Filter{Own: "sess:own", Scope: "scope:pay"}, []string{"sess:b", "sess:c"}},
			{"part of a scope", Filter{Scope: "scope:p"}, nil},
			{"part of a name", Filter{Name: "old"}, []string{"sess:a"}},
			{"name in other case", Filter{Name: "aPi"}, []string{"sess:b", "sess:a"}},
			{"registered ones", Filter{Own: "sess:own", Registered: true}, []string{"sess:b", "sess:a", string(apiB), "sess:c"}},
			{"registered ones of a scope", Filter{Own: "sess:own", Registered: true, Scope: "scope:pay", Name: "api"}, []string{"sess:b", string(apiB)}},
		} {
			rows, err := b.Discover(t.Context(), tt.f, noon)
			var got []string
			for _, r := range rows {
				if r.SessionID == "" {
					got = append(got, string(r.Instance))
				} else {
					got = append(got, string(r.SessionID))
				}
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %v, %v; want %v", tt.name, got, err, tt.want)
			}
		}
		rows, _ := b.Discover(t.Context(), Filter{}, noon)
		if r := rows[0]; r.Age != 5*time.Second || r.Host != "claude" || r.Name != "API" || len(r.Scopes) != 2 {
			t.Errorf("row of sess:b: %+v", r)
		}
		if r := rows[3]; r.Age != 0 {
			t.Errorf("a heartbeat of the future has the age %v", r.Age)
		}
	})
}

// failing is a store in which nothing can be read.
type failing struct{ *memstore.Store }

var errDisk = errors.New("disk on fire")

func (failing) View(context.Context, store.Kind, string, *store.Projection, store.Query) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) { yield(store.Row{}, errDisk) }
}

func (failing) List(context.Context, store.Kind, string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errDisk) }
}

// TestBookReportsErrors: a store that cannot be read is an error and not an empty store; otherwise a live agent would be called unknown.
func TestBookReportsErrors(t *testing.T) {
	t.Parallel()
	s := failing{memstore.New(memstore.Options{})}
	b := &Book{Registry: registry.New(s), Presence: presence.New(s)}
	for _, target := range []string{"claude:api", string(apiA)} {
		if got, err := b.Resolve(t.Context(), target, noon); !errors.Is(err, errDisk) {
			t.Errorf("Resolve(%s): got %+v, %v; want the fault", target, got, err)
		}
	}
	if _, err := b.Discover(t.Context(), Filter{}, noon); !errors.Is(err, errDisk) {
		t.Errorf("Discover: got %v, want the fault", err)
	}
}
