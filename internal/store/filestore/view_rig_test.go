package filestore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
)

// viewMsg is a document of the tests: an order, a key, and text.
func viewMsg(order int, key, text string) []byte {
	return fmt.Appendf(nil, `{"order":%d,"key":%q,"text":%q}`, order, key, text)
}

// listing is a projection of such documents. Each time it is asked, made counts one.
func listing(made *int) *store.Projection {
	return &store.Projection{Name: "list", Version: 1, Make: func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
		if made != nil {
			*made++
		}
		var order int64
		var key, text string
		n, err := fmt.Sscanf(string(data), `{"order":%d,"key":%q,"text":%q}`, &order, &key, &text)
		if err != nil || n != 3 || !bytes.HasSuffix(data, []byte("}")) {
			return nil, 0, nil, fmt.Errorf("is not a message")
		}
		return []string{key, "any"}, order, []byte(text + stored.Format(time.RFC3339Nano)), nil
	}}
}

// rig is a store with a cache, its inbox of one owner, and a store on the same root that has no cache.
type rig struct {
	t     testing.TB
	s     *Store
	plain *Store
	root  string
	cache string
	inbox string
}

const viewOwner = "claude-api"

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, root: filepath.Join(dir, "root"), cache: filepath.Join(dir, "cache")}
	r.s = r.open(Options{Create: true, CacheDir: r.cache})
	r.plain = r.open(Options{})
	r.inbox = filepath.Join(r.root, "inbox", viewOwner)
	if err := os.MkdirAll(r.inbox, 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) open(o Options) *Store {
	r.t.Helper()
	s, err := Open(r.root, o)
	if err != nil {
		r.t.Fatal(err)
	}
	s.smallLog = 0 // the logs of the tests are small, and tables are what they test
	r.t.Cleanup(func() { s.Close() })
	return s
}

func inboxKey(name string) store.Key {
	return store.Key{Kind: store.Inbox, Owner: viewOwner, Name: name}
}

func (r *rig) path(name string) string { return filepath.Join(r.inbox, name+".json") }

// put writes a file as a foreign program does: in place.
func (r *rig) put(name string, data []byte) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// fill puts n messages with orders 0 to n-1.
func (r *rig) fill(n int) {
	r.t.Helper()
	for i := range n {
		r.put(fmt.Sprintf("m%05d", i), viewMsg(i, fmt.Sprint("k", i), "hello"))
	}
}

// settle waits until nothing of the inbox is unsettled any more.
func (r *rig) settle() {
	r.t.Helper()
	time.Sleep(grainLocal + 10*time.Millisecond)
}

// viewLines collects a view: what is unfit by name, then the rows.
func viewLines(t testing.TB, s store.Reader, p *store.Projection, q store.Query) []string {
	t.Helper()
	return viewLinesOf(t, s, store.Inbox, viewOwner, p, q)
}

func viewLinesOf(t testing.TB, s store.Reader, kind store.Kind, owner string, p *store.Projection, q store.Query) []string {
	t.Helper()
	var bad, rows []string
	for row, err := range store.ViewOf(context.Background(), s, kind, owner, p, q) {
		if store.IsUnfit(err) {
			if len(rows) > 0 {
				t.Errorf("unfit %s after the rows", row.Key)
			}
			bad = append(bad, "unfit "+row.Key.String())
			continue
		}
		if err != nil {
			t.Fatalf("view: %v", err)
		}
		if q.Bare {
			row.Keys = nil // or not
		}
		rows = append(rows, fmt.Sprintf("%s %q %d %q %d %d", row.Key, row.Keys, row.Order, row.Summary, row.Stored.UnixNano(), row.Size))
	}
	slices.Sort(bad)
	return append(bad, rows...)
}

// naive is the answer from the sources.
func (r *rig) naive(q store.Query) []string {
	r.t.Helper()
	return viewLines(r.t, struct{ store.Reader }{r.plain}, listing(nil), q)
}

func sameLines(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\ngot  %d: %s\nwant %d: %s", what, len(got), strings.Join(got, "\n     "), len(want), strings.Join(want, "\n     "))
	}
}

func (r *rig) check(what string, q store.Query) {
	r.t.Helper()
	want := r.naive(q)
	sameLines(r.t, fmt.Sprintf("%s, %+v", what, q), viewLines(r.t, r.s, listing(nil), q), want)
}

var (
	newest3 = store.Query{Newest: 3}
	exact   = store.Query{Exact: true}
	exact3  = store.Query{Newest: 3, Exact: true}
)
