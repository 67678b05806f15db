package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// TestBatchOnOtherFileSystem: documents on another file system than the root are not covered by the root's sync, and are synced separately.
func TestBatchOnOtherFileSystem(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.self = func() (atomicfile.Info, error) { return atomicfile.Info{}, nil }
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for i := range syncAllFrom + 1 {
			if _, err := w.Create(t.Context(), mailKey(i), []byte("{}")); err != nil {
				return err
			}
		}
		last := w.(*batch).staged[syncAllFrom]
		return last.at.Remove(last.tmp)
	})
	if fault, ok := errors.AsType[*fs.PathError](err); !ok || fault.Op != "open" {
		t.Errorf("%v, want that the last file is not there to be synced", err)
	}
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestBatchPanics: a batch whose function panics leaves nothing.
func TestBatchPanics(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	func() {
		defer func() { _ = recover() }()
		_ = s.Batch(t.Context(), func(w store.Writer) error {
			if _, err := w.Create(t.Context(), mailKey(0), []byte("{}")); err != nil {
				t.Error(err)
			}
			panic("in the middle")
		})
	}()
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestBatchSweeps: a batch counts for the sweep as its number of documents, and the sweep skips its own temporary files.
func TestBatchSweeps(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	create(t, s, mailKey(-1), "{}")
	old := s.where(store.Key{Kind: store.Inbox, Owner: "you", Name: "x"})
	old = old[:len(old)-len("x.json")] + ".tutti-1-2-3.tmp"
	write(t, old, nil)
	then := time.Now().Add(-2 * tempAge)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for i := range sweepAfter {
			if _, err := w.Create(t.Context(), mailKey(i), []byte("{}")); err != nil {
				return err
			}
		}
		return nil
	})
	if got := temps(t, s); err != nil || len(got) > 0 {
		t.Errorf("Batch: %v; left %q", err, got)
	}
}

func mailKey(i int) store.Key {
	return store.Key{Kind: store.Inbox, Owner: "you", Name: fmt.Sprint("m", i)}
}
