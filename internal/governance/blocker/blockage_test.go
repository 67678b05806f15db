package blocker

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

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	ana = address.Instance("claude:alpha:aaaaaaaaaaa1")
	bob = address.Instance("codex:beta:bbbbbbbbbbb2")
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// each runs a test against files and against the model of the other store.
func each(t *testing.T, f func(t *testing.T, s store.Docs, dir string)) {
	t.Run("files", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), ".h2a")
		s, err := filestore.Open(dir, filestore.Options{Create: true, CreatedBy: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, s, dir)
	})
	t.Run("memory", func(t *testing.T) { f(t, memstore.New(memstore.Options{}), "") })
}

func raise(t *testing.T, b *Blockages, c Call, now time.Time) (made, replaced *Blockage) {
	t.Helper()
	made, replaced, err := b.Raise(t.Context(), c, now)
	if err != nil {
		t.Fatal(err)
	}
	return made, replaced
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s store.Docs, _ string) {
		b := New(s)
		if _, err := b.Get(t.Context(), ana); !errors.Is(err, ErrNone) {
			t.Errorf("before anything: %v, want ErrNone", err)
		}
		if _, err := b.Resolve(t.Context(), ana, bob, noon); !errors.Is(err, ErrNone) {
			t.Errorf("resolve nothing: %v, want ErrNone", err)
		}
		made, replaced := raise(t, b, Call{Instance: ana, Scope: "scope:x", Reason: "schema missing", Needs: "v2", On: []address.Instance{bob}}, noon)
		if replaced != nil || !made.Active() || !made.Names(bob) || made.Names(ana) || made.RaisedAt != "2030-05-01T12:00:00.000Z" {
			t.Errorf("raised %s, replaced %v", made.Raw, replaced)
		}
		if _, replaced = raise(t, b, Call{Instance: ana, Scope: "scope:y", Reason: "another"}, noon.Add(time.Minute)); replaced == nil || replaced.Reason != "schema missing" {
			t.Errorf("replaced %+v, want the first one", replaced)
		}
		got, err := b.Get(t.Context(), "Claude:Alpha:aaaaaaaaaaa1")
		if err != nil || got.Reason != "another" || got.Needs != "" || got.On != nil {
			t.Errorf("in another spelling: %+v, %v", got, err)
		}
		got, err = b.Resolve(t.Context(), "CLAUDE:alpha:aaaaaaaaaaa1", bob, noon.Add(2*time.Minute))
		if err != nil || got.Active() || got.ResolvedBy != string(bob) {
			t.Fatalf("resolved %+v, %v", got, err)
		}
		if got, err = b.Resolve(t.Context(), ana, ana, noon.Add(time.Hour)); err != nil || got.ResolvedBy != string(bob) || got.ResolvedAt != "2030-05-01T12:02:00.000Z" {
			t.Errorf("resolved twice: %+v, %v, want the first one kept", got, err)
		}
		if made, replaced = raise(t, b, Call{Instance: "Claude:Alpha:aaaaaaaaaaa1", Reason: "again"}, noon.Add(time.Hour)); replaced != nil || !made.Active() || made.Instance != ana {
			t.Errorf("raised again %s, replaced %v, want it active and nothing replaced", made.Raw, replaced)
		}
		if all, problems, err := b.List(t.Context(), Filter{}); err != nil || len(problems) != 0 || len(all) != 1 {
			t.Errorf("listed %v, %v, %v, want one", all, problems, err)
		}
	})
}

// TestForeign: records of other programs are read unchanged, unknown members are kept, and an invalid record is named.
func TestForeign(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s store.Docs, dir string) {
		b := New(s)
		plant := func(name, text string) {
			if _, err := s.Create(t.Context(), store.Key{Kind: store.Blockage, Name: name}, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		plant("claude__alpha__aaaaaaaaaaa1", `{"reason":"r","instance":"claude:alpha:aaaaaaaaaaa1","mine":{"a":[1]},"needs":7,"raisedAt":"soon"}`)
		plant("codex__beta__bbbbbbbbbbb2", `{"reason":"r","instance":"claude:alpha:aaaaaaaaaaa1"}`)
		plant("a", `{"reason":"r","instance":"a"`)
		plant("b", `{"reason":1,"instance":"b"}`)
		plant("c", `[]`)
		plant("d", `{"instance":"d","reason":"`+strings.Repeat("x", 6000)+`","scope":"scope:big"}`)
		all, problems, err := b.List(t.Context(), Filter{})
		if err != nil || len(all) != 2 || len(problems) != 4 {
			t.Errorf("listed %d, %d problems %v, %v; want 2 and 4", len(all), len(problems), problems, err)
		}
		if all, _, _ = b.List(t.Context(), Filter{Scope: "scope:big", Active: true}); len(all) != 1 || len(all[0].Reason) != 6000 {
			t.Errorf("the large one: %v", all)
		}
		if _, err := b.Get(t.Context(), bob); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("one under another name: %v, want it called unfit", err)
		}
		raise(t, b, Call{Instance: ana, Reason: "new"}, noon)
		if _, err := b.Resolve(t.Context(), ana, bob, noon); err != nil {
			t.Fatal(err)
		}
		doc, err := s.Get(t.Context(), key(ana))
		mine, _ := canonjson.Get(doc.Data, "mine")
		if _, still := canonjson.Get(doc.Data, "needs"); err != nil || string(canonjson.Compact(mine)) != `{"a":[1]}` || still {
			t.Errorf("kept %s, %v; want the foreign member and no needs", doc.Data, err)
		}
		if dir == "" {
			return
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "blockage", "link.json")); err != nil {
			t.Fatal(err)
		}
		if _, problems, err := b.List(t.Context(), Filter{}); err != nil || len(problems) != 5 {
			t.Errorf("with a link: %v, %v; want it among the problems", problems, err)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	b := New(memstore.New(memstore.Options{}))
	for name, c := range map[string]Call{
		"no reason":         {Instance: ana},
		"bytes":             {Instance: ana, Reason: strings.Repeat("x", MaxReason+1)},
		"needed has":        {Instance: ana, Reason: "r", Needs: strings.Repeat("x", MaxNeeds+1)},
		"agents are named":  {Instance: ana, Reason: "r", On: make([]address.Instance, MaxOn+1)},
		"could help":        {Instance: ana, Reason: "r", On: []address.Instance{"a\n"}},
		"scope":             {Instance: ana, Reason: "r", Scope: "a\x00"},
		"control character": {Instance: "a\x1b[2J", Reason: "r"},
	} {
		if _, _, err := b.Raise(t.Context(), c, noon); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if all, _, err := b.List(t.Context(), Filter{}); len(all) != 0 || err != nil {
		t.Errorf("something was written: %v, %v", all, err)
	}
}

// TestConcurrentUse: each of many concurrent raises and resolves gets an answer, and the record stays valid.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s store.Docs, _ string) {
		b := New(s)
		var all sync.WaitGroup
		for n := range 6 {
			all.Go(func() {
				if _, _, err := b.Raise(context.Background(), Call{Instance: ana, Reason: fmt.Sprint(n)}, noon); err != nil {
					t.Errorf("raise %d: %v", n, err)
				}
				if _, err := b.Resolve(context.Background(), ana, bob, noon); err != nil {
					t.Errorf("resolve %d: %v", n, err)
				}
			})
		}
		all.Wait()
		if got, err := b.Get(t.Context(), ana); err != nil || got.Active() {
			t.Errorf("in the end %+v, %v, want it resolved: each one was after it was raised", got, err)
		}
	})
}

func TestStale(t *testing.T) {
	t.Parallel()
	b := &Blockage{Instance: ana, Reason: "r", RaisedAt: "2030-05-01T12:00:00.000Z"}
	for _, v := range []struct {
		after, seen time.Duration
		want        bool
	}{
		{time.Hour, 0, false},
		{StaleAfter, 0, false},
		{StaleAfter + time.Second, 0, true},
		{StaleAfter + time.Hour, time.Hour, false},
		{2*StaleAfter + time.Hour, time.Hour, true},
	} {
		seen := time.Time{}
		if v.seen != 0 {
			seen = noon.Add(v.seen)
		}
		if got := b.Stale(seen, noon.Add(v.after)); got != v.want {
			t.Errorf("%v after it was raised, seen %v: stale %v, want %v", v.after, seen, got, v.want)
		}
	}
	done := *b
	done.ResolvedAt = "x"
	if done.Stale(time.Time{}, noon.Add(9*StaleAfter)) {
		t.Error("a resolved one is stale")
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	f := Follower{Instance: bob, Scopes: []string{"scope:x"}}
	all := []*Blockage{
		{Instance: "claude:z:1", Scope: "scope:x", Reason: "r"},
		{Instance: "claude:a:1", Scope: "scope:x", Reason: "r"},
		{Instance: "claude:named:1", Scope: "scope:y", Reason: "r", On: []address.Instance{"codex:beta"}},
		{Instance: "claude:other:1", Scope: "scope:y", Reason: "r"},
		{Instance: "CODEX:Beta:bbbbbbbbbbb2", Scope: "scope:x", Reason: "its own"},
		{Instance: "claude:done:1", Scope: "scope:x", Reason: "r", ResolvedAt: "x"},
	}
	names := func(all []*Blockage) (out []string) {
		for _, b := range all {
			out = append(out, string(b.Instance))
		}
		return out
	}
	blocked, cleared, known := f.News(nil, all)
	if got, want := names(blocked), []string{"claude:a:1", "claude:named:1", "claude:z:1"}; !slices.Equal(got, want) || len(cleared) != 0 {
		t.Errorf("first look: %v, %v, want %v", got, cleared, want)
	}
	if blocked, cleared, known = f.News(known, all); len(blocked)+len(cleared) != 0 {
		t.Errorf("second look: %v, %v, want no news", blocked, cleared)
	}
	all[0].Scope, all[1].ResolvedAt = "scope:y", "x"
	if blocked, cleared, _ = f.News(known, all); len(blocked) != 0 || !slices.Equal(cleared, []address.Instance{"claude:a:1", "claude:z:1"}) {
		t.Errorf("after: %v, %v", blocked, cleared)
	}
	long := &Blockage{Instance: ana, Reason: strings.Repeat("é", 2*maxTold)}
	if data := long.Told(); len(data) > 2*maxTold || !canonjson.Valid(data) {
		t.Errorf("told %d bytes, valid %v", len(data), canonjson.Valid(data))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"instance":"a:b","scope":"s","reason":"r","needs":"n","on":["c:d"],"raisedAt":"2030-05-01T12:00:00.000Z"}`))
	f.Add([]byte(`{"instance":"a:b","reason":"\ud800"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Parse(raw)
		if err != nil {
			return
		}
		next := (&Call{Instance: b.Instance, Reason: "r"}).over(raw, noon)
		if _, err := Parse(next); err != nil {
			t.Errorf("%q raised again is %q: %v", raw, next, err)
		}
	})
}
