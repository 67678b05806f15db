package mailbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

func TestTrace(t *testing.T) {
	t.Parallel()
	files, err := filestore.Open(t.TempDir(), filestore.Options{Create: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for name, s := range map[string]Store{"files": files, "memory": memstore.New(memstore.Options{})} {
		m := New(s)
		const inst = "claude:api:3f2a9c01b7de"
		at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		for n, mark := range []Mark{
			{ID: "a", Step: Stored},
			{ID: "b", Step: Stored},
			{ID: "a", Step: Pushed, Session: "s", Result: "rewake"},
			{ID: "a", Step: Failed, Session: "s", Result: "nudge: no"},
			{ID: "a", Step: Shown},
		} {
			mark.By, mark.At = inst, at.Add(time.Duration(5-n)*time.Second) // clocks differ: they are sorted by time
			if err := m.Step(t.Context(), inst, mark); err != nil {
				t.Fatal(err)
			}
		}
		key := store.Key{Kind: store.Trail, Name: "claude__api__3f2a9c01b7de"}
		for _, line := range []string{`{"id":"a","step":"sung","at":"2026-03-01T10:00:00Z"}`, `{"id":"a","step":"taken","at":"soon"}`} {
			if _, err := s.Append(t.Context(), key, store.AnyEnd, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		all, err := m.Trace(t.Context(), inst, "a")
		var got []string
		for _, mark := range all {
			got = append(got, fmt.Sprintf("%s %d %s%s", mark.Step, mark.At.Second(), mark.Session, mark.Result))
		}
		want := []string{"shown 1 ", "failed 2 snudge: no", "pushed 3 srewake", "stored 5 "}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		if none, err := m.Trace(t.Context(), inst, "c"); err != nil || len(none) > 0 {
			t.Errorf("%s: of nothing: %v, %v", name, none, err)
		}
	}
}
