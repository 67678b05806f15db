package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tutti/internal/store"
)

// TestGetAll compares what is read in bulk with what is read one by one, traps among it.
func TestGetAll(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "bus")
	s, err := Open(root, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const owner, size = "o", 500
	key := func(name string) store.Key { return store.Key{Kind: store.Inbox, Owner: owner, Name: name} }
	for i := range size {
		if _, err := s.Create(t.Context(), key(fmt.Sprint("m", i)), bytes.Repeat([]byte{'a' + byte(i%26)}, 100*(i%300))); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, "inbox", owner, name) }
	for _, err := range []error{
		os.Symlink(at("m1.json"), at("link.json")), syscall.Mkfifo(at("fifo.json"), 0o600), os.Mkdir(at("folder.json"), 0o700),
		os.WriteFile(at("large.json"), make([]byte, store.Inbox.Spec().ReadLimit+1), 0o600), os.WriteFile(at("plain.txt"), nil, 0o600),
		os.Mkdir(filepath.Join(root, "archive"), 0o700), os.Mkdir(filepath.Join(root, "archive", owner), 0o700),
		os.Link(at("m7.json"), filepath.Join(root, "archive", owner, "m7.json")), // half of a move
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var docs []store.Doc
	var errs []error
	var calls atomic.Int64
	err = s.GetAll(t.Context(), store.Inbox, owner, func(n int) {
		docs, errs = make([]store.Doc, n), make([]error, n)
	}, func(i int, d store.Doc, err error) {
		calls.Add(1)
		docs[i], errs[i] = d, err
	})
	if err != nil || len(docs) != size+4 || calls.Load() != size+4 {
		t.Fatalf("%v, %d numbers, %d calls; want %d", err, len(docs), calls.Load(), size+4)
	}
	unfit := 0
	for i, d := range docs {
		if u, ok := errors.AsType[*store.UnfitError](errs[i]); ok {
			unfit++
			if _, err := s.Get(t.Context(), u.Key); err == nil || err.Error() != u.Error() {
				t.Errorf("%s: %v, Get says %v", u.Key, u, err)
			}
			continue
		}
		if errors.Is(errs[i], store.ErrNotFound) {
			docs[i].Key = key("m7")
			continue
		}
		one, err := s.Get(t.Context(), d.Key)
		if err != nil || errs[i] != nil || !bytes.Equal(one.Data, d.Data) || !one.Stored.Equal(d.Stored) || cap(d.Data) != len(d.Data) {
			t.Errorf("%s: %v, %d bytes of %v; Get: %v, %d bytes of %v", d.Key, errs[i], len(d.Data), d.Stored, err, len(one.Data), one.Stored)
		}
	}
	docs = slices.DeleteFunc(docs, func(d store.Doc) bool { return d.Key == store.Key{} })
	if sorted := slices.IsSortedFunc(docs, func(a, b store.Doc) int { return strings.Compare(a.Key.Name, b.Key.Name) }); unfit != 4 || !sorted || len(docs) != size {
		t.Errorf("%d unfit, want 4; sorted by name %v; %d documents, want %d", unfit, sorted, len(docs), size)
	}
}

func TestGetAllEnds(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "bus"), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := -1
	none := func(i int, d store.Doc, err error) { t.Errorf("document %d: %v, %v", i, d.Key, err) }
	if err := s.GetAll(t.Context(), store.Inbox, "nobody", func(n int) { began = n }, none); err != nil || began != 0 {
		t.Errorf("missing folder: %v, %d numbers", err, began)
	}
	if err := s.GetAll(t.Context(), store.Instances, "", func(int) { t.Error("a log began") }, none); err == nil {
		t.Error("a log was read as documents")
	}
	for i := range 2000 {
		if _, err := s.Create(t.Context(), store.Key{Kind: store.Outbox, Owner: "o", Name: fmt.Sprint(i)}, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int64
	err = s.GetAll(ctx, store.Outbox, "o", func(int) {}, func(int, store.Doc, error) {
		calls.Add(1)
		cancel()
	})
	if !errors.Is(err, context.Canceled) || calls.Load() == 2000 {
		t.Errorf("%v after %d calls, want context.Canceled before all", err, calls.Load())
	}
}
