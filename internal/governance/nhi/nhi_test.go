package nhi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/nhi"
	"tutti/internal/governance/subagent"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

const who = address.Instance("claude:api:3f2a9c01b7de")

type backend interface {
	store.Docs
	store.Log
}

// A bus is one with an agent on it that has a key.
type bus struct {
	*nhi.Service
	t     *testing.T
	store backend
	subs  *subagent.Agents
	key   *signature.Private
}

func newBus(t *testing.T, s backend) *bus {
	t.Helper()
	b := &bus{t: t, store: s, key: signature.Generate()}
	r := registry.New(s)
	b.Service = &nhi.Service{Registry: r, Presence: presence.New(s), Log: s}
	b.subs = &subagent.Agents{Registry: r}
	b.register(who, b.key)
	return b
}

func (b *bus) register(i address.Instance, keys ...*signature.Private) {
	b.t.Helper()
	a := registry.Agent{Instance: i, Root: "/r"}
	for _, k := range keys {
		a.PublicKeys = append(a.PublicKeys, k.Public().PEM())
	}
	if err := b.Registry.Register(b.t.Context(), registry.Build(a, now)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bus) line(kind store.Kind, format string, args ...any) {
	b.t.Helper()
	if _, err := b.store.Append(b.t.Context(), store.Key{Kind: kind}, store.AnyEnd, fmt.Appendf(nil, format, args...)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bus) take() *nhi.Snapshot {
	b.t.Helper()
	s, err := nhi.Take(b.t.Context(), b.Registry)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func each(t *testing.T, test func(t *testing.T, b *bus)) {
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s, err := filestore.Open(filepath.Join(t.TempDir(), "root"), filestore.Options{Create: true, CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		test(t, newBus(t, s))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newBus(t, memstore.New(memstore.Options{})))
	})
}

// claims are the active ones, as existing programs fold them: by the instance to the letter, the greatest time, the later line.
func (b *bus) claims() string {
	b.t.Helper()
	last, what := map[string]string{}, map[string]string{}
	for l, err := range b.store.Read(b.t.Context(), store.Key{Kind: store.ConductorClaims}, "") {
		if err != nil {
			b.t.Fatal(err)
		}
		var v [4]string
		for n, name := range []string{"workspaceId", "instance", "at", "type"} {
			raw, _ := canonjson.Get(l.Data, name)
			v[n], _ = canonjson.String(raw)
		}
		if k := v[0] + " " + v[1]; v[2] >= last[k] {
			last[k], what[k] = v[2], v[3]
		}
	}
	var active []string
	for k, w := range what {
		if w == "claim" {
			active = append(active, k)
		}
	}
	slices.Sort(active)
	return strings.Join(active, ", ")
}

func TestOffboard(t *testing.T) {
	each(t, func(t *testing.T, b *bus) {
		ctx := t.Context()
		second := signature.Generate()
		if err := b.Registry.AddKey(ctx, who, second.Public().PEM(), nil, now); err != nil {
			t.Fatal(err)
		}
		for _, s := range []subagent.Spawn{{Parent: who, Name: "a"}, {Parent: who + "~a", Name: "b"}} {
			if _, err := b.subs.Spawn(ctx, s, now); err != nil {
				t.Fatal(err)
			}
		}
		for n, i := range []address.Instance{who, who, who + "~a", "claude:other:000000000000"} {
			if _, err := b.Presence.Open(ctx, presence.Start{SessionID: address.SessionID(fmt.Sprintf("sess:%d", n)), Instance: i, PID: 1}, now); err != nil {
				t.Fatal(err)
			}
		}
		const claim = `{"type":%q,"workspaceId":%q,"instance":%q,"at":%q}`
		b.line(store.ConductorClaims, claim, "claim", "ws:1", who, "2026-06-01T00:00:00.000Z")
		b.line(store.ConductorClaims, claim, "claim", "ws:2", "Claude:API:3f2a9c01b7de", "2036-01-01T00:00:00.000Z") // dated ahead
		b.line(store.ConductorClaims, claim, "claim", "ws:3", who, "2026-06-01T00:00:00.000Z")
		b.line(store.ConductorClaims, claim, "release", "ws:3", who, "2026-06-02T00:00:00.000Z")
		b.line(store.ConductorClaims, claim, "claim", "ws:1", "claude:other:000000000000", "2026-06-01T00:00:00.000Z")
		b.line(store.OrgMembership, `{"instance":%q,"role":"CONTROL","scope":"s","at":"x"}`, who)

		stone, err := b.Offboard(ctx, nhi.Leave{Instance: who, Reason: "over", By: "human:ana:000000000001"}, now)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"instance":"claude:api:3f2a9c01b7de","reason":"over","revokedKeys":2,"revokedSubagents":["claude:api:3f2a9c01b7de~a~b","claude:api:3f2a9c01b7de~a"],` +
			`"at":"2026-06-12T10:00:00.000Z","releasedClaims":["ws:1","ws:2"],"closedSessions":`
		if got := string(render.JSON(nhi.GoneOf(stone))); !strings.HasPrefix(got, want) || len(stone.Sessions) != 3 || len(stone.Grants) != 1 {
			t.Errorf("tombstone %s\nwant %s… with 3 sessions and 1 grant", got, want)
		}
		if got := b.claims(); got != "ws:1 claude:other:000000000000" {
			t.Errorf("active claims %s", got)
		}
		if left, err := b.Presence.Fresh(ctx, now); err != nil || len(left) != 1 {
			t.Errorf("%d sessions are left, %v", len(left), err)
		}
		if roles, scopes, err := b.Registry.Effective(ctx, who); err != nil || len(roles)+len(scopes) > 0 {
			t.Errorf("roles %q, scopes %q, %v", roles, scopes, err)
		}
		var revoked int
		for e, err := range b.Registry.KeyEvents(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == registry.Revoked {
				revoked++
			}
		}
		if revoked != 2 {
			t.Errorf("%d keys are revoked for programs that know no tombstone, want 2", revoked)
		}
		again, err := b.Offboard(ctx, nhi.Leave{Instance: who}, now)
		if err != nil || again.Keys != 0 || len(again.Subagents)+len(again.Claims)+len(again.Sessions) != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := b.Offboard(ctx, nhi.Leave{Instance: "claude:none:000000000000"}, now); !errors.Is(err, registry.ErrNotRegistered) {
			t.Errorf("one that is not registered: %v", err)
		}
	})
}

// failing is a store that fails at the nth write, as a process does that is killed before it.
type failing struct {
	backend
	left int
}

var errCut = errors.New("cut off")

func (f *failing) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	if f.left--; f.left < 0 {
		return "", errCut
	}
	return f.backend.Append(ctx, k, after, line)
}

func (f *failing) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	if f.left--; f.left < 0 {
		return errCut
	}
	return f.backend.Delete(ctx, k, old)
}

// TestOffboardInterrupted cuts it off before each of its writes, and then does it again: it comes to the same end.
func TestOffboardInterrupted(t *testing.T) {
	for n := range 50 {
		f := &failing{backend: memstore.New(memstore.Options{}), left: 1000}
		b := newBus(t, f)
		ctx := t.Context()
		for _, name := range []string{"a", "b"} {
			if _, err := b.subs.Spawn(ctx, subagent.Spawn{Parent: who, Name: name}, now); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Presence.Open(ctx, presence.Start{SessionID: "sess:1", Instance: who, PID: 1}, now); err != nil {
			t.Fatal(err)
		}
		b.line(store.ConductorClaims, `{"type":"claim","workspaceId":"ws:1","instance":%q,"at":"2026-06-01T00:00:00.000Z"}`, who)
		f.left = n
		_, err := b.Offboard(ctx, nhi.Leave{Instance: who}, now)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		done := err == nil
		f.left = 1000
		if _, err := b.Offboard(ctx, nhi.Leave{Instance: who}, now); err != nil {
			t.Fatalf("again, after it was cut off before write %d: %v", n, err)
		}
		left, err := b.Presence.Fresh(ctx, now)
		keys, keyErr := b.Registry.Keys(ctx, who)
		if err != nil || keyErr != nil || len(left)+len(keys.Active) > 0 || b.claims() != "" || b.take().Report(90, now).Summary.ActiveSubagents != 0 {
			t.Errorf("after write %d: %d sessions, keys %v, claims %q, %v, %v", n, len(left), keys.Active, b.claims(), err, keyErr)
		}
		if done {
			return
		}
	}
	t.Error("it never comes to its end")
}

// TestOverprivilege: an agent that bounds a subagent explicitly, or has no rights to pass on, is not warned for ever.
func TestOverprivilege(t *testing.T) {
	parent := func(capabilities ...string) []nhi.Instance {
		return []nhi.Instance{{ID: string(who), Keys: []string{"K"}, Capabilities: append([]string{}, capabilities...)}}
	}
	sub := nhi.Subagent{ID: string(who) + "~x", Parent: string(who), Active: true}
	listed := sub
	listed.Listed = true
	for _, c := range []struct {
		what     string
		parent   []nhi.Instance
		sub      nhi.Subagent
		severity string
		count    int
	}{
		{"no list, and the parent has something", parent("read"), sub, nhi.Medium, 1},
		{"no list, and the parent has nothing", parent(), sub, nhi.Info, 1},
		{"an empty list", parent("read"), listed, nhi.Info, 0},
		{"an empty list, and the parent has nothing", parent(), listed, nhi.Info, 0},
		{"unknown rights of the parent", nil, sub, nhi.Medium, 1},
	} {
		s := nhi.Snapshot{Instances: c.parent, Subagents: []nhi.Subagent{c.sub}}
		if f := s.Report(90, now).Findings[2]; f.Severity != c.severity || len(f.Subjects) != c.count {
			t.Errorf("%s: %s, %q; want %s, %d", c.what, f.Severity, f.Subjects, c.severity, c.count)
		}
	}
}

// TestAgeOfRegistered: a key that came with a registration is as old as that, one that an event tells of as old as the event says. Under h2a
// the first has no age.
func TestAgeOfRegistered(t *testing.T) {
	each(t, func(t *testing.T, b *bus) {
		later := now.Add(100 * 24 * time.Hour)
		added := signature.Generate()
		b.line(store.Keys, `{"instance":%q,"publicKey":%q,"type":"added","at":%q}`, who, added.Public().PEM(), envelope.Stamp(later.Add(-time.Hour)))
		s := b.take()
		for _, c := range []struct {
			specified bool
			want      string
		}{{false, fmt.Sprintf("[%s:%s (100 days)]", who, b.key.Public().Short())}, {true, "[]"}} {
			s.Specified = c.specified
			for _, f := range s.Report(90, later).Findings {
				if f.Risk == nhi.LongLived && fmt.Sprint(f.Subjects) != c.want {
					t.Errorf("specified %v: %v, want %s", c.specified, f.Subjects, c.want)
				}
			}
		}
		s.Specified = false
		if inv := s.Inventory(90, later); inv.Totals.LongLivedKeys != 1 {
			t.Errorf("the inventory counts %d", inv.Totals.LongLivedKeys)
		}
	})
}

// TestReportOfOffboarded: a retired agent is not a finding, and is in the inventory.
func TestReportOfOffboarded(t *testing.T) {
	b := newBus(t, memstore.New(memstore.Options{}))
	other := address.Instance("codex:web:77aa88bb99cc")
	b.register(other, b.key) // the same key
	if f := b.take().Report(90, now).Findings[4]; len(f.Subjects) != 1 {
		t.Errorf("a shared key: %+v", f)
	}
	b.line(store.Offboard, `{"instance":"CODEX:web:77aa88bb99cc","revokedKeys":0,"revokedSubagents":[],"at":"2026-01-01T00:00:00.000Z","reason":"r"}`)
	for _, f := range b.take().Report(90, now).Findings {
		if len(f.Subjects) > 0 {
			t.Errorf("%+v", f)
		}
	}
	inv := b.take().Inventory(90, now)
	raw := render.JSON(inv)
	for _, want := range []string{`"offboarded":true,"offboardedAt":"2026-01-01T00:00:00.000Z","offboardReason":"r"`, `"totals":{"instances":2,"offboarded":1,"activeKeys":1,"reusedKeys":0,`} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("inventory %s\nlacks %s", raw, want)
		}
	}
	if bytes.Contains(raw, []byte("BEGIN")) {
		t.Errorf("the inventory shows a key: %s", raw)
	}
}

func TestAttest(t *testing.T) {
	b := newBus(t, memstore.New(memstore.Options{}))
	ctx := t.Context()
	report := b.take().Report(90, now)
	raw, foreign, err := nhi.Attest(ctx, b.Registry, nhi.Statement{Instance: who, Key: b.key}, report)
	if err != nil || foreign {
		t.Fatal(foreign, err)
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := e.VerifiedBy([]signature.Public{b.key.Public()}); !ok || e.Kind() != "nhi-attestation" || len(e.ID) != len("nhi-attest-")+16 || e.CreatedAt != envelope.Stamp(now) {
		t.Errorf("verified %v: %s", ok, raw)
	}
	changed := bytes.Replace(raw, []byte(`"activeKeys":1`), []byte(`"activeKeys":2`), 1)
	if e, err = envelope.Parse(changed); err != nil || bytes.Equal(raw, changed) {
		t.Fatal(err)
	}
	if _, ok := e.VerifiedBy([]signature.Public{b.key.Public()}); ok {
		t.Error("a changed report verifies")
	}
	if _, foreign, err = nhi.Attest(ctx, b.Registry, nhi.Statement{Instance: who, Key: signature.Generate()}, report); err != nil || !foreign {
		t.Errorf("with another key: foreign %v, %v", foreign, err)
	}
	stranger := nhi.Statement{Instance: "claude:none:000000000000", Key: b.key}
	if _, _, err = nhi.Attest(ctx, b.Registry, stranger, report); !errors.Is(err, nhi.ErrNoActor) {
		t.Errorf("as an unknown agent: %v", err)
	}
	stranger.Role, stranger.Scope = "KING", "s"
	if _, _, err = nhi.Attest(ctx, b.Registry, stranger, report); !errors.Is(err, nhi.ErrRole) {
		t.Errorf("in a role that there is not: %v", err)
	}
	if err := b.Registry.RevokeKey(ctx, who, b.key.Public().PEM(), now); err != nil {
		t.Fatal(err)
	}
	if _, _, err = nhi.Attest(ctx, b.Registry, nhi.Statement{Instance: who, Key: b.key}, report); !errors.Is(err, registry.ErrKeyRevoked) {
		t.Errorf("with a revoked key: %v", err)
	}
	if _, err := b.Offboard(ctx, nhi.Leave{Instance: who}, now); err != nil {
		t.Fatal(err)
	}
	if _, _, err = nhi.Attest(ctx, b.Registry, nhi.Statement{Instance: who, Key: signature.Generate()}, report); !errors.Is(err, registry.ErrGone) {
		t.Errorf("when offboarded: %v", err)
	}
}

// TestHostile: a hostile report is judged in bounded time and memory, without a fault.
func TestHostile(t *testing.T) {
	b := newBus(t, memstore.New(memstore.Options{}))
	tilde := strings.Repeat("~", 20000)
	for _, l := range []struct {
		kind store.Kind
		line string
	}{
		{store.Subagents, `{"id":"` + tilde + `","parentInstance":"` + tilde + `"}`},
		{store.Subagents, `{"id":"a:b~c","parentInstance":"a:b~c","name":"c"}`}, // its own parent
		{store.SubagentAudit, `{"subagent":"` + tilde + `","type":"revoked"}`},
		{store.Offboard, `{"instance":"` + tilde + `"}`},
		{store.Offboard, `{"instance":""}`},
		{store.Keys, `{"instance":"` + string(who) + `","publicKey":"x","type":"added","at":"9999999-99-99"}`},
		{store.Keys, `{"instance":"` + string(who) + `","publicKey":"y","type":"added","at":"-271821-04-20T00:00:00.000Z"}`},
		{store.ConductorClaims, `{"type":"claim","workspaceId":"ws","instance":"` + string(who) + `","at":7}`},
	} {
		b.line(l.kind, "%s", l.line)
	}
	for n := range 8000 { // about 1 MiB
		b.line(store.Subagents, `{"id":"%s~s%d","parentInstance":"%s","name":"s%d","createdAt":"2026-01-01T00:00:00.000Z"}`, who, n, who, n)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	boundtest.Work(t, "report and inventory", 5*time.Second, func() {
		s := b.take()
		render.JSON(s.Report(90, now))
		render.JSON(s.Inventory(90, now))
	})
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 64<<20 {
		t.Errorf("took %d bytes", all)
	}
	if _, err := b.subs.Spawn(t.Context(), subagent.Spawn{Parent: "a:b~c", Name: "x"}, now); !errors.Is(err, subagent.ErrDeep) {
		t.Errorf("a subagent that is its own parent: %v", err)
	}
	if err := b.Registry.Standing(t.Context(), address.Instance(who+"~"+address.Instance(strings.Repeat("x~", 500000)))); err != nil {
		t.Errorf("standing of a mebibyte of tildes: %v", err)
	}
}

func TestDays(t *testing.T) {
	for n, want := range map[float64]int{0: nhi.DefaultDays, 1: 1, 365: 365} {
		if got, err := nhi.Days(n); got != want || err != nil {
			t.Errorf("%v: %d, %v", n, got, err)
		}
	}
	for _, n := range []float64{-1, 0.5, 1.5, 1e300, -1e300} {
		if got, err := nhi.Days(n); err == nil {
			t.Errorf("%v: %d, want an error", n, got)
		}
	}
}

func TestBundle(t *testing.T) {
	b := newBus(t, memstore.New(memstore.Options{}))
	b.line(store.Keys, `{"instance":%q,"publicKey":"no key","type":"added","at":"x"}`, who)
	bundle, err := nhi.Bundle(t.Context(), b.Registry, who, "corp.test")
	raw := render.JSON(bundle)
	if err != nil || strings.Count(string(raw), `"kid"`) != 1 || !strings.Contains(string(raw), `"kty":"OKP","crv":"Ed25519","x":"`) {
		t.Errorf("%s, %v", raw, err)
	}
	for _, i := range []address.Instance{"a\x00b", "..", "ä:b", address.Instance(strings.Repeat("a", 3000))} {
		if id, err := nhi.SPIFFE("corp.test", i); err == nil {
			t.Errorf("%q: %s", i, id)
		}
	}
}
