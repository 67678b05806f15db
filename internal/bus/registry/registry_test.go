package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

// each runs a test on files, on the model of a server, and on a log that can only be read and appended to.
func each(t *testing.T, test func(t *testing.T, log store.Log)) {
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s, err := filestore.Open(filepath.Join(t.TempDir(), "root"), filestore.Options{Create: true, CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memstore.New(memstore.Options{}))
	})
	t.Run("least", func(t *testing.T) {
		t.Parallel()
		test(t, struct{ store.Log }{memstore.New(memstore.Options{})})
	})
}

// foreign adds a line as a program does that checks nothing.
func foreign(t *testing.T, log store.Log, kind store.Kind, line string) {
	t.Helper()
	if _, err := log.Append(t.Context(), store.Key{Kind: kind}, store.AnyEnd, []byte(line)); err != nil {
		t.Fatal(err)
	}
}

func agent(instance string, keys ...string) []byte {
	return registry.Build(registry.Agent{
		Instance: address.Instance(instance), PublicKeys: keys, Root: "/w/.h2a",
		Workspace: &registry.Workspace{ID: "ws:1", Path: "/w", Host: "claude", Label: "w"},
	}, now)
}

func register(t *testing.T, r *registry.Registry, raw []byte) {
	t.Helper()
	if err := r.Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	raw := registry.Build(registry.Agent{
		Instance: "claude:api:0a1b2c3d4e5f", Root: "/w/.h2a", PublicKeys: []string{"K\n"}, AgentUUID: "u",
		Workspace: &registry.Workspace{ID: "ws:1", Path: "/w", Host: "claude", Label: "w"}, Name: "api",
	}, now)
	want := `{"id":"claude:api:0a1b2c3d4e5f","instance":"claude:api:0a1b2c3d4e5f","roles":["AGENTS"],"scopes":["scope:default"],` +
		`"capabilities":[],"endpoints":[{"kind":"local-files","uri":"file:///w/.h2a"}],"publicKeys":["K\n"],"acceptedPolicies":[],` +
		`"agentUuid":"u","workspace":{"id":"ws:1","path":"/w","host":"claude","label":"w"},"name":"api","createdAt":"2026-06-12T10:00:00.000Z"}`
	if string(raw) != want {
		t.Errorf("Build:\n got %s\nwant %s", raw, want)
	}
	if err := registry.Check(raw); err != nil {
		t.Errorf("Check of what Build made: %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := agent("claude:api:0a1b2c3d4e5f")
	for _, c := range []struct{ member, value, want string }{
		{"x", `1`, ""},
		{"repo", `null`, ""},
		{"id", `""`, "id"},
		{"id", `null`, "id"},
		{"id", `"a\u0001"`, "id"},
		{"instance", `5`, "instance"},
		{"roles", `["AGENTS","KING"]`, "KING"},
		{"roles", `"AGENTS"`, "roles"},
		{"scopes", `[1]`, "scopes"},
		{"capabilities", `null`, "capabilities"},
		{"publicKeys", `{}`, "publicKeys"},
		{"acceptedPolicies", `[null]`, "acceptedPolicies"},
		{"createdAt", `"soon"`, "createdAt"},
		{"createdAt", `5`, "createdAt"},
		{"principal", `null`, "principal"},
		{"name", `["a"]`, "name"},
		{"endpoints", `[{"kind":"phone","uri":"x"}]`, "phone"},
		{"endpoints", `[{"kind":"mcp"}]`, "uri"},
		{"endpoints", `[5]`, "endpoint"},
		{"endpoints", `{}`, "endpoints"},
		{"workspace", `{"id":"a","path":"b","host":"c"}`, "label"},
		{"workspace", `null`, "workspace"},
		{"workspace", `{"id":"a","path":"b","host":"c","label":"d","repo":1}`, "repo"},
		{"__proto__", `{}`, "__proto__"},
	} {
		raw := canonjson.Set(good, c.member, []byte(c.value))
		err := registry.Check(raw)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check with %s = %s: %v, want %q", c.member, c.value, err, c.want)
		}
	}
	for _, raw := range []string{``, `[]`, `null`, `{`, `"x"`} {
		if registry.Check([]byte(raw)) == nil {
			t.Errorf("Check(%s) finds nothing", raw)
		}
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		first := canonjson.Set(agent("claude:api:0a1b2c3d4e5f"), "extra", []byte(`{ "kept" : true }`))
		register(t, r, canonjson.Indent(first))
		if err := r.Register(t.Context(), agent("claude:api:0a1b2c3d4e5f", "other")); !errors.Is(err, registry.ErrRegistered) {
			t.Errorf("a second registration: %v", err)
		}
		register(t, r, agent("Claude:API:0a1b2c3d4e5f")) // another id
		if err := r.Register(t.Context(), []byte(`{"id":"x"}`)); err == nil {
			t.Error("a registration without anything was written")
		}
		got, err := r.Get(t.Context(), "claude:api:0a1b2c3d4e5f")
		if err != nil {
			t.Fatal(err)
		}
		if extra, _ := canonjson.Get(got.Raw, "extra"); string(extra) != `{"kept":true}` || got.Workspace.Label != "w" || len(got.Endpoints) != 1 {
			t.Errorf("Get: %s, %+v", got.Raw, got)
		}
		if _, err := r.Get(t.Context(), "Claude:api:0a1b2c3d4e5f"); !errors.Is(err, registry.ErrNotRegistered) {
			t.Errorf("an id in another spelling: %v", err)
		}
		if got, err := r.ByInstance(t.Context(), "CLAUDE:api:0A1B2C3D4E5F"); err != nil || got.ID != "claude:api:0a1b2c3d4e5f" {
			t.Errorf("an instance in another spelling: %+v, %v; want the first", got, err)
		}
	})
}

func TestLookups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		register(t, r, agent("claude:api:0a1b2c3d4e5f"))
		register(t, r, agent("codex:api:0a1b2c3d4e5f"))
		foreign(t, log, store.Instances, `{"id":"Claude:API:111111111111","roles":"none","publicKeys":[1,"K"]}`) // no instance
		foreign(t, log, store.Instances, `{"id":"claude:api:0a1b2c3d4e5f","instance":"claude:api:0a1b2c3d4e5f","roles":["PRINCIPAL"]}`)
		foreign(t, log, store.Instances, `{"instance":"claude:api:222222222222"}`)
		foreign(t, log, store.Instances, `[]`)
		register(t, r, agent("claude:other:0a1b2c3d4e5f"))

		got, err := r.Channel(t.Context(), "CLAUDE:Api:anything")
		if want := []address.Instance{"claude:api:0a1b2c3d4e5f", "Claude:API:111111111111"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("Channel: %q, %v; want %q", got, err, want)
		}
		odd, err := r.ByInstance(t.Context(), "claude:api:111111111111")
		if err != nil || len(odd.Roles) != 0 || !slices.Equal(odd.PublicKeys, []string{"K"}) {
			t.Errorf("a line that lacks nearly everything: %+v, %v", odd, err)
		}
		if first, err := r.ByInstance(t.Context(), "claude:api:0a1b2c3d4e5f"); err != nil || !slices.Equal(first.Roles, []string{"AGENTS"}) {
			t.Errorf("two lines with one id: %+v, %v; want the first", first, err)
		}
		if all, err := r.ByWorkspacePath(t.Context(), "/w"); err != nil || len(all) != 3 || all[0].ID != "claude:api:0a1b2c3d4e5f" {
			t.Errorf("ByWorkspacePath: %d, %v", len(all), err)
		}
		var ids []string
		var bad int
		for reg, err := range r.All(t.Context()) {
			if err != nil {
				bad++
				continue
			}
			ids = append(ids, reg.ID)
		}
		want := []string{"claude:api:0a1b2c3d4e5f", "codex:api:0a1b2c3d4e5f", "Claude:API:111111111111", "claude:other:0a1b2c3d4e5f"}
		if !slices.Equal(ids, want) || bad != 3 {
			t.Errorf("All: %q and %d bad lines; want %q and 3", ids, bad, want)
		}
		foreign(t, log, store.Keys, `{"instance":"a:b","publicKey":"K","type":"lost"}`)
		foreign(t, log, store.OrgMembership, `{"role":"AGENTS"}`)
		if problems, err := r.Problems(t.Context()); err != nil || len(problems) != 5 {
			t.Errorf("Problems: %v, %v; want 5", problems, err)
		}
	})
}

// TestBadLine: a line that is not JSON, in the middle or at the end, hides no entry and blocks no registration.
func TestBadLine(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := registry.New(s)
	plant := func(text string) {
		f, err := os.OpenFile(filepath.Join(root, "registry", "instances.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	register(t, r, agent("claude:a:0a1b2c3d4e5f"))
	plant("{\"id\":\n")
	register(t, r, agent("claude:b:0a1b2c3d4e5f"))
	plant(`{"id":"claude:t`)
	register(t, r, agent("claude:c:0a1b2c3d4e5f"))
	for _, id := range []string{"claude:a:0a1b2c3d4e5f", "claude:b:0a1b2c3d4e5f", "claude:c:0a1b2c3d4e5f"} {
		if _, err := r.Get(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	problems, err := r.Problems(t.Context())
	if err != nil || len(problems) != 1 {
		t.Errorf("Problems: %v, %v; want the inner line", problems, err)
	}
}

// TestConcurrentRegister: of many concurrent registrations of one id, among others, exactly one succeeds.
func TestConcurrentRegister(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		const ids, tries = 6, 5
		won := make([]int, ids)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range ids * tries {
			wg.Go(func() {
				id := i % ids
				err := registry.New(log).Register(t.Context(), agent(fmt.Sprintf("claude:api:00000000000%d", id)))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won[id]++
				case !errors.Is(err, registry.ErrRegistered):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for id, n := range won {
			if n != 1 {
				t.Errorf("id %d was registered %d times", id, n)
			}
		}
		if problems, err := registry.New(log).Problems(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("Problems: %v, %v", problems, err)
		}
	})
}

// late is a log to which somebody adds a line between the search and the append.
type late struct {
	*memstore.Store
	line string
}

func (l *late) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	if add := l.line; add != "" {
		l.line = ""
		if _, err := l.Store.Append(ctx, k, store.AnyEnd, []byte(add)); err != nil {
			return "", err
		}
	}
	return l.Store.Append(ctx, k, after, line)
}

func TestRegisterAfterConflict(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]error{
		`{"id":"claude:api:0a1b2c3d4e5f"}`: registry.ErrRegistered,
		`{"id":"another"}`:                 nil,
	} {
		r := registry.New(&late{memstore.New(memstore.Options{}), line})
		if err := r.Register(t.Context(), agent("claude:api:0a1b2c3d4e5f")); !errors.Is(err, want) {
			t.Errorf("another writer adds %s meanwhile: %v, want %v", line, err, want)
		}
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		register(t, r, agent("claude:api:0a1b2c3d4e5f"))
		foreign(t, log, store.OrgMembership, `{"instance":"Claude:api:0a1b2c3d4e5f","role":"CONDUCTOR","scope":"scope:x","at":"t"}`)
		foreign(t, log, store.OrgMembership, `{"instance":"claude:api:0a1b2c3d4e5f","role":"AGENTS","scope":"scope:x","by":"p","at":"t"}`)
		foreign(t, log, store.OrgMembership, `{"instance":"claude:other:0a1b2c3d4e5f","role":"CONTROL","scope":"scope:y","at":"t"}`)
		roles, scopes, err := r.Effective(t.Context(), "claude:API:0a1b2c3d4e5f")
		if err != nil || !slices.Equal(roles, []string{"AGENTS", "CONDUCTOR"}) || !slices.Equal(scopes, []string{"scope:default", "scope:x"}) {
			t.Errorf("Effective: %q, %q, %v", roles, scopes, err)
		}
		if given, err := r.Grants(t.Context(), "claude:api:0a1b2c3d4e5f"); err != nil || len(given) != 2 || given[1].By != "p" {
			t.Errorf("Grants: %+v, %v", given, err)
		}
		if _, _, err := r.Effective(t.Context(), "claude:none:0a1b2c3d4e5f"); !errors.Is(err, registry.ErrNotRegistered) {
			t.Errorf("Effective of an unregistered agent: %v", err)
		}
	})
}
