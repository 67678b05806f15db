package filestore

import (
	"fmt"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestFrozenReadsNewNames counts the documents that a view of a frozen projection makes rows of, while all are replaced.
func TestFrozenReadsNewNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := 0
	p := &store.Projection{Name: "frozen", Version: 1, Frozen: true, Make: func([]byte, time.Time) ([]string, int64, []byte, error) {
		made++
		return []string{"k"}, 0, nil, nil
	}}
	const sessions = 200
	revs := make([]store.Rev, sessions)
	named := func(i int) store.Key { return store.Key{Kind: store.Presence, Name: fmt.Sprint("s", i)} }
	for i := range revs {
		rev, err := r.s.Create(t.Context(), named(i), []byte(`{"beat":0}`))
		if err != nil {
			t.Fatal(err)
		}
		revs[i] = rev
	}
	beat := func() {
		for i, rev := range revs {
			next, err := r.s.Replace(t.Context(), named(i), fmt.Appendf(nil, `{"beat":%q}`, rev), rev)
			if err != nil {
				t.Fatal(err)
			}
			revs[i] = next
		}
	}
	for _, c := range []struct {
		what string
		do   func()
		q    store.Query
		want int
		rows int
	}{
		{"first", func() {}, store.Query{}, sessions, sessions},
		{"all were replaced", beat, store.Query{}, 0, sessions},
		{"the newest of them", beat, store.Query{Newest: 3}, 0, 3},
		{"one more", func() {
			if _, err := r.s.Create(t.Context(), named(sessions), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}, store.Query{}, 1, sessions + 1},
		{"and all were replaced", beat, store.Query{}, 0, sessions + 1},
		{"exact", beat, store.Query{Exact: true}, sessions + 1, sessions + 1},
	} {
		c.do()
		made = 0
		rows := 0
		for _, err := range r.s.View(t.Context(), store.Presence, "", p, c.q) {
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			rows++
		}
		if rows != c.rows || made != c.want {
			t.Errorf("%s: %d rows, %d documents read; want %d and %d", c.what, rows, made, c.rows, c.want)
		}
	}
}
