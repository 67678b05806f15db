package presence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

// each runs a test on files and on the model of a server.
func each(t *testing.T, test func(t *testing.T, docs store.Docs)) {
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s, _ := files(t)
		test(t, s)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memstore.New(memstore.Options{}))
	})
}

func files(t *testing.T) (*filestore.Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, root
}

func open(t *testing.T, p *presence.Presence, o presence.Start, at time.Time) *presence.Session {
	t.Helper()
	s, err := p.Open(t.Context(), o, at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(id, instance string) presence.Start {
	return presence.Start{SessionID: address.SessionID(id), Instance: address.Instance(instance), PID: 4242}
}

func keyOf(id string) store.Key {
	return store.Key{Kind: store.Presence, Name: address.Segment(id)}
}

// foreign changes a record as another program does: it reads, changes a member and writes.
func foreign(t *testing.T, docs store.Docs, id, member, value string) {
	t.Helper()
	d, err := docs.Get(t.Context(), keyOf(id))
	if err == nil {
		_, err = docs.Replace(t.Context(), d.Key, canonjson.Set(d.Data, member, []byte(value)), d.Rev)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sweep deletes a record as another program does.
func sweep(t *testing.T, docs store.Docs, id string) {
	t.Helper()
	d, err := docs.Get(t.Context(), keyOf(id))
	if err == nil {
		err = docs.Delete(t.Context(), d.Key, d.Rev)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func member(t *testing.T, docs store.Docs, id, name string) string {
	t.Helper()
	d, err := docs.Get(t.Context(), keyOf(id))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := presence.Parse(d.Data); err != nil {
		t.Errorf("the stored file would be deleted: %v\n%s", err, d.Data)
	}
	v, _ := canonjson.Get(d.Data, name)
	return string(v)
}

func ids(list []*presence.Session) []string {
	all := []string{}
	for _, s := range list {
		all = append(all, string(s.SessionID))
	}
	return all
}

func TestOpen(t *testing.T) {
	t.Parallel()
	docs, root := files(t)
	p := presence.New(docs)
	s := open(t, p, presence.Start{
		SessionID: "sess:1", Instance: "claude:api:0a1b2c3d4e5f", Host: "claude", PID: 7,
		Interests: presence.Interests{Scopes: []string{"scope:default"}}, Topics: []string{"peer.blocked", "x.y"}, WorkStatus: presence.Working,
		Launch:    &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Session: "m", Pane: "%3"}},
		Workspace: &presence.Workspace{ID: "ws:1", Path: "/w", Host: "claude", Label: "w"}, Name: "api", Version: &presence.Version{CLI: "1"},
	}, now)
	want := `{"sessionId":"sess:1","instance":"claude:api:0a1b2c3d4e5f","host":"claude","pid":7,"startedAt":"2026-06-12T10:00:00.000Z",` +
		`"heartbeatAt":"2026-06-12T10:00:00.000Z","state":"live","interests":{"scopes":["scope:default"],"negotiations":[]},` +
		`"subscribedTopics":["peer.blocked"],"workStatus":"working","launchContext":{"cwd":"/w","command":"claude","tmux":{"session":"m","pane":"%3"}},` +
		`"workspace":{"id":"ws:1","path":"/w","host":"claude","label":"w"},"name":"api","version":{"cli":"1"}}`
	data, err := os.ReadFile(filepath.Join(root, "presence", "sess__1.json"))
	if err != nil || string(data) != string(canonjson.Indent([]byte(want)))+"\n" {
		t.Errorf("record: %v\n%s", err, data)
	}
	got, err := p.Get(t.Context(), "sess:1")
	if err != nil || got.PID != 7 || got.Launch.Tmux.Pane != "%3" || got.Workspace.ID != "ws:1" || got.Version.CLI != "1" || got.WorkStatus != "working" {
		t.Errorf("Get: %+v, %v", got, err)
	}
	if _, err := p.Get(t.Context(), "sess__1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another id with that file name: %v", err)
	}
	if s := open(t, p, presence.Start{Instance: "a:b"}, now); !s.SessionID.Minted() || len(s.Topics) != 6 {
		t.Errorf("opened without an id: %+v", s)
	}
	for what, o := range map[string]presence.Start{
		"no instance":    {},
		"unknown status": {Instance: "a:b", WorkStatus: "busy"},
		"bad id":         {Instance: "a:b", SessionID: "a\x00b"},
		"another agent":  start("sess:1", "codex:api:0a1b2c3d4e5f"),
		"another id":     start("sess__1", "claude:api:0a1b2c3d4e5f"),
	} {
		if s, err := p.Open(t.Context(), o, now); err == nil {
			t.Errorf("Open with %s: %s", what, s.Raw)
		}
	}
	// The same agent begins anew.
	foreign(t, docs, "sess:1", "theirs", `1`)
	again := open(t, p, start("sess:1", "Claude:api:0a1b2c3d4e5f"), now.Add(time.Hour))
	if again.WorkStatus != "" || again.Name != "" || member(t, docs, "sess:1", "theirs") != "1" || again.StartedAt == s.StartedAt {
		t.Errorf("opened again: %s", again.Raw)
	}
}

// TestBeat: whatever others did to the record, the owner's heartbeat comes in and what they wrote stays.
func TestBeat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what         string
		do           func(t *testing.T, docs store.Docs)
		member, want string
	}{
		{"nothing", func(*testing.T, store.Docs) {}, "state", `"live"`},
		{"a prober wrote a heartbeat", func(t *testing.T, d store.Docs) { foreign(t, d, "s", "heartbeatAt", `"2026-06-12T10:00:01.000Z"`) }, "pid", `4242`},
		{"a member came", func(t *testing.T, d store.Docs) { foreign(t, d, "s", "theirs", `{"a":[1]}`) }, "theirs", "{\n    \"a\": [\n      1\n    ]\n  }"},
		{"a status came", func(t *testing.T, d store.Docs) { foreign(t, d, "s", "workStatus", `"done"`) }, "workStatus", `"done"`},
		{"it was said to be expired", func(t *testing.T, d store.Docs) { foreign(t, d, "s", "state", `"expired"`) }, "state", `"expired"`},
		{"it was swept", func(t *testing.T, d store.Docs) { sweep(t, d, "s") }, "instance", `"claude:api:0a1b2c3d4e5f"`},
		{"it was made unfit", func(t *testing.T, d store.Docs) {
			foreign(t, d, "s", "state", `"dreaming"`)
			foreign(t, d, "s", "theirs", `1`)
		}, "theirs", `1`},
		{"it was broken", func(t *testing.T, d store.Docs) {
			doc, err := d.Get(t.Context(), keyOf("s"))
			if err == nil {
				_, err = d.Replace(t.Context(), doc.Key, []byte(`{"sess`), doc.Rev)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "state", `"live"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			each(t, func(t *testing.T, docs store.Docs) {
				p := presence.New(docs)
				s := open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now)
				for n := range 3 { // each with what the one before returned
					if n == 1 {
						c.do(t, docs)
					}
					var err error
					if s, err = p.Beat(t.Context(), s, now.Add(time.Duration(n)*time.Minute)); err != nil {
						t.Fatal(err)
					}
				}
				if got := member(t, docs, "s", "heartbeatAt"); got != `"2026-06-12T10:02:00.000Z"` {
					t.Errorf("heartbeat %s", got)
				}
				if got := member(t, docs, "s", c.member); got != c.want {
					t.Errorf("%s: %s, want %s", c.member, got, c.want)
				}
			})
		})
	}
}

// reads counts what is read.
type reads struct {
	*filestore.Store
	n int
}

func (r *reads) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	r.n++
	return r.Store.Get(ctx, k)
}

// TestCost: a heartbeat reads nothing, and a question about one agent among 200 reads its sessions only.
func TestCost(t *testing.T) {
	t.Parallel()
	s, _ := files(t)
	r := &reads{Store: s}
	p := presence.New(r)
	var all []*presence.Session
	for i := range 200 {
		all = append(all, open(t, p, start(fmt.Sprint("s", i), fmt.Sprintf("claude:api:%012d", i/2)), now))
	}
	if _, err := p.Of(t.Context(), "claude:api:000000000007", now); err != nil {
		t.Fatal(err)
	}
	r.n = 0
	for i, one := range all {
		next, err := p.Beat(t.Context(), one, now.Add(time.Duration(i)*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = next
	}
	if r.n != 0 {
		t.Errorf("200 heartbeats read %d documents", r.n)
	}
	got, err := p.Of(t.Context(), "claude:API:000000000007", now)
	if err != nil || !slices.Equal(ids(got), []string{"s15", "s14"}) || r.n != 2 {
		t.Errorf("Of: %q, %v after reading %d documents", ids(got), err, r.n)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p, ctx := presence.New(docs), t.Context()
		s := open(t, p, start("s", "claude:api:0a1b2c3d4e5f"), now)
		status, name := presence.Working, "api"
		s, err := p.Patch(ctx, s, presence.Change{
			State: presence.Draining, WorkStatus: &status, Name: &name, Topics: []string{"x", "peer.blocked"},
			Interests: &presence.Interests{Scopes: []string{"a"}}, MirroredAt: "t", Version: &presence.Version{CLI: "2", Skill: "3"},
			Launch: &presence.Launch{Cwd: "/", Command: "c"}, Extra: map[string][]byte{"ours": []byte(`{"b":1}`)},
		}, now.Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Get(ctx, "s")
		if err != nil || got.State != "draining" || got.WorkStatus != "working" || got.Name != "api" || !slices.Equal(got.Topics, []string{"peer.blocked"}) ||
			!slices.Equal(got.Interests.Scopes, []string{"a"}) || got.MirroredAt != "t" || got.Version.Skill != "3" || got.Launch.Command != "c" ||
			got.HeartbeatAt != "2026-06-12T10:00:01.000Z" || !strings.Contains(string(got.Raw), `"ours"`) {
			t.Errorf("patched: %+v, %v", got, err)
		}
		none := ""
		foreign(t, docs, "s", "lastMcpActivityAt", `"x"`)
		if s, err = p.Patch(ctx, s, presence.Change{WorkStatus: &none, Name: &none, Extra: map[string][]byte{"ours": nil}}, now); err != nil {
			t.Fatal(err)
		}
		if s.WorkStatus != "" || s.Name != "" || strings.Contains(string(s.Raw), "ours") || s.MCPActivityAt != "x" {
			t.Errorf("taken away: %s", s.Raw)
		}
		for what, c := range map[string]presence.Change{
			"state":      {State: "idle"},
			"status":     {WorkStatus: new("busy")},
			"known":      {Extra: map[string][]byte{"state": []byte(`"live"`)}},
			"proto":      {Extra: map[string][]byte{"__proto__": []byte(`1`)}},
			"not JSON":   {Extra: map[string][]byte{"x": []byte(`{`)}},
			"not for us": {Extra: map[string][]byte{"lastMcpActivityAt": []byte(`1`)}},
		} {
			if _, err := p.Patch(ctx, s, c, now); err == nil {
				t.Errorf("Patch with a bad %s", what)
			}
		}
		if got := member(t, docs, "s", "state"); got != `"draining"` {
			t.Errorf("state after what was refused: %s", got)
		}
		if _, err := p.Amend(ctx, "s", presence.Change{State: presence.Live}); err != nil || member(t, docs, "s", "heartbeatAt") != `"2026-06-12T10:00:00.000Z"` {
			t.Errorf("Amend: %v, heartbeat %s", err, member(t, docs, "s", "heartbeatAt"))
		}
		if _, err := p.Keep(ctx, "s", now.Add(time.Minute)); err != nil || member(t, docs, "s", "heartbeatAt") != `"2026-06-12T10:01:00.000Z"` {
			t.Errorf("Keep: %v, heartbeat %s", err, member(t, docs, "s", "heartbeatAt"))
		}
		for range 2 { // also of what is gone
			if err := p.Close(ctx, s); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		_, amend := p.Amend(ctx, "s", presence.Change{State: presence.Live})
		_, keep := p.Keep(ctx, "s", now)
		if !errors.Is(amend, store.ErrNotFound) || !errors.Is(keep, store.ErrNotFound) {
			t.Errorf("Amend and Keep of a closed session: %v, %v", amend, keep)
		}
		open(t, p, start("s", "codex:api:0a1b2c3d4e5f"), now)
		if err := p.Close(ctx, s); !errors.Is(err, presence.ErrTaken) {
			t.Errorf("Close of a session with a new owner: %v", err)
		}
		if _, err := p.Beat(ctx, s, now); !errors.Is(err, presence.ErrTaken) {
			t.Errorf("Beat of a session with a new owner: %v", err)
		}
	})
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p, ctx := presence.New(docs), t.Context()
		in := func(o presence.Start, ws string) presence.Start {
			o.Workspace = &presence.Workspace{ID: ws, Path: "/w", Host: "claude", Label: "w"}
			return o
		}
		open(t, p, in(start("old", "claude:api:0a1b2c3d4e5f"), "ws:A"), now.Add(-presence.Expiry-time.Millisecond))
		open(t, p, in(start("edge", "claude:api:0a1b2c3d4e5f"), "ws:A"), now.Add(-presence.Expiry))
		open(t, p, in(start("new", "Claude:API:0a1b2c3d4e5f"), "ws:a"), now)
		open(t, p, start("other", "claude:api:111111111111"), now.Add(-time.Second))
		open(t, p, start("future", "codex:api:111111111111"), now.Add(time.Hour))
		if _, err := docs.Create(ctx, keyOf("unfit"), []byte(`{"sessionId":"unfit","instance":"claude:api:0a1b2c3d4e5f"}`)); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			ask  func() ([]*presence.Session, error)
			want []string
		}{
			"Fresh":                         {func() ([]*presence.Session, error) { return p.Fresh(ctx, now) }, []string{"edge", "other", "new", "future"}},
			"Of":                            {func() ([]*presence.Session, error) { return p.Of(ctx, "claude:Api:0A1B2C3D4E5F", now) }, []string{"new", "edge"}},
			"Of an agent without a session": {func() ([]*presence.Session, error) { return p.Of(ctx, "claude:api", now) }, []string{}},
			"InChannel":                     {func() ([]*presence.Session, error) { return p.InChannel(ctx, "Claude:api", now) }, []string{"new", "other", "edge"}},
			"InWorkspace":                   {func() ([]*presence.Session, error) { return p.InWorkspace(ctx, "ws:A", now) }, []string{"new", "edge"}},
			"Of, much later":                {func() ([]*presence.Session, error) { return p.Of(ctx, "codex:api:111111111111", now.Add(3*time.Hour)) }, []string{}},
		} {
			if got, err := c.ask(); err != nil || !slices.Equal(ids(got), c.want) {
				t.Errorf("%s: %q, %v; want %q", what, ids(got), err, c.want)
			}
		}
		all, problems, err := p.All(ctx)
		if err != nil || len(all) != 5 || len(problems) != 1 || !store.IsUnfit(problems[0]) {
			t.Errorf("All: %q, %v, %v", ids(all), problems, err)
		}
		if _, err := docs.Get(ctx, keyOf("unfit")); err != nil {
			t.Errorf("what is not a session was deleted by reading: %v", err)
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, docs store.Docs) {
		p, ctx := presence.New(docs), t.Context()
		const dead, living = 1111, 2222
		put := func(id string, pid int, age time.Duration, mirrored string) {
			o := start(id, "claude:api:0a1b2c3d4e5f")
			o.PID, o.MirroredAt = pid, mirrored
			open(t, p, o, now.Add(-age))
		}
		limit := presence.Expiry + 10*time.Minute
		put("fresh", dead, 0, "")
		put("dead, at the limit", dead, limit, "")
		put("dead", dead, limit+time.Millisecond, "")
		put("living", living, 23*time.Hour, "")
		put("living, a day", living, 24*time.Hour, "")
		put("living, more", living, 24*time.Hour+time.Millisecond, "")
		put("no pid", 0, 23*time.Hour, "")
		put("mirrored", dead, 23*time.Hour, "t")
		put("no time", dead, 48*time.Hour, "")
		foreign(t, docs, "no time", "heartbeatAt", `"soon"`)
		if _, err := docs.Create(ctx, keyOf("unfit"), []byte(`{"sessionId":"unfit","heartbeatAt":"2001-01-01T00:00:00.000Z","pid":1111}`)); err != nil {
			t.Fatal(err)
		}
		swept, err := p.Sweep(ctx, now, func(pid int) bool { return pid == living })
		got := ids(swept)
		slices.Sort(got)
		if want := []string{"dead", "living, more"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("swept %q, %v; want %q", got, err, want)
		}
		if all, problems, err := p.All(ctx); err != nil || len(all) != 7 || len(problems) != 1 {
			t.Errorf("left: %q, %v, %v", ids(all), problems, err)
		}
	})
}
