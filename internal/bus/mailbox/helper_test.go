package mailbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	alice = address.Instance("claude:api:aaaaaaaaaaaa")
	bob   = address.Instance("codex:web:bbbbbbbbbbbb")
)

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)

// A world is one store and what a foreign program may do to it.
type world struct {
	s     Store
	m     *Mailbox
	plant func(k store.Key, data []byte) // in place, over what lies there
}

// everywhere runs a test on each backend, and on one without its optional parts.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Options{})
		test(t, &world{s, New(s), planter(t, s)})
	})
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Options{})
		plain := struct {
			store.Docs
			store.Log
		}{s, s}
		test(t, &world{plain, New(plain), planter(t, s)})
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s, root := files(t)
		test(t, &world{s, New(s), func(k store.Key, data []byte) {
			t.Helper()
			path := filepath.Join(root, filepath.FromSlash(k.Path()))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}})
	})
}

func planter(t *testing.T, s *memstore.Store) func(store.Key, []byte) {
	return func(k store.Key, data []byte) {
		t.Helper()
		if err := s.Plant(k, data); err != nil {
			t.Fatal(err)
		}
	}
}

func files(t testing.TB) (*filestore.Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "bus")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, root
}

// msg is an envelope from bob. More members begin with a comma.
func msg(id string, at time.Time, text string, more ...string) []byte {
	extra := ""
	for _, m := range more {
		extra += "," + m
	}
	return fmt.Appendf(nil, `{"protocol":"sentropic.h2a","version":"0.1","id":%q,"type":"event","actor":{"instance":%q,"role":"AGENTS","scope":"scope:default"},"body":{"kind":"message","text":%q},"createdAt":%q%s}`,
		id, bob, text, at.UTC().Format(timeLayout), extra)
}

func inboxKey(owner, id string) store.Key {
	return store.Key{Kind: store.Inbox, Owner: owner, Name: address.Segment(id)}
}

func (w *world) put(t *testing.T, to address.Instance, raw []byte) Result {
	t.Helper()
	r, err := w.m.Put(t.Context(), to, raw)
	if err != nil {
		t.Fatalf("Put for %s: %v", to, err)
	}
	return r
}

func (w *world) alias(t *testing.T, who address.Instance, legacy, at string) {
	t.Helper()
	line := fmt.Appendf(nil, `{"instance":%q,"legacyInstance":%q,"adoptedKeyring":false,"at":%q}`, who, legacy, at)
	if _, err := w.s.Append(t.Context(), store.Key{Kind: store.Aliases}, store.AnyEnd, line); err != nil {
		t.Fatal(err)
	}
}

func ids(all []*Message) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

func wantIDs(t *testing.T, what string, all []*Message, want ...string) {
	t.Helper()
	if got := ids(all); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// list is List that fails the test on errors; bad files are returned.
func (w *world) list(t *testing.T, who address.Instance, q Query) ([]*Message, []error) {
	t.Helper()
	all, bad, err := w.m.List(context.Background(), who, q)
	if err != nil {
		t.Fatalf("List of %s: %v", who, err)
	}
	return all, bad
}
