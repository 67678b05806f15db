package filestore

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestCopies: what a batch copies is there when it is finished and not before the batch is safe, whoever writes it, and how many
// files may be open meanwhile.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name             string
		processors, most int
		docs             int
	}{
		{"few", 2, 0, 3},
		{"many", 2, 0, 3 * makeRoomAt},
		{"one processor", 1, 0, 3 * makeRoomAt},
		{"more than may be open", 3, makeRoomAt + 1, 3 * makeRoomAt},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.processors))
			s := newStore(t)
			create(t, s, copyKey(1), "foreign")
			before := openFiles(t)
			var b *batch
			err := s.Batch(t.Context(), func(w store.Writer) error {
				b = w.(*batch)
				for i := range c.docs {
					data := fmt.Append(nil, `{"n":`, i, `}`)
					if _, err := w.Create(t.Context(), mailKey(i), data); err != nil {
						return err
					}
					if err := b.Copy(t.Context(), copyKey(i), data); err != nil {
						return err
					}
				}
				if c.most > 0 {
					b.copies.most = c.most
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := entries(t, s, "outbox/me"); len(got) != 1 {
				t.Errorf("%d copies before Finish", len(got)-1)
			}
			b.Finish()
			for i := range c.docs {
				want := fmt.Sprint(`{"n":`, i, `}`)
				if i == 1 {
					want = "foreign"
				}
				if got := get(t, s, copyKey(i)); got != want {
					t.Errorf("copy %d holds %q, want %q", i, got, want)
				}
			}
			if left := temps(t, s); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if after := openFiles(t); after > before {
				t.Errorf("%d files are open, %d were before", after, before)
			}
			if err := b.Copy(t.Context(), copyKey(-1), nil); !errors.Is(err, errBatch) {
				t.Errorf("Copy in a batch that is over: %v", err)
			}
		})
	}
}

// TestCopiesOfAFailedBatch: they are not made, and nothing of them is left.
func TestCopiesOfAFailedBatch(t *testing.T) {
	s := newStore(t)
	mine := errors.New("mine")
	for name, fail := range map[string]func(s *Store) error{
		"function": func(*Store) error { return mine },
		"name taken meanwhile": func(s *Store) error {
			write(t, s.where(mailKey(7)), []byte("foreign"))
			return nil
		},
	} {
		before := openFiles(t)
		var b *batch
		err := s.Batch(t.Context(), func(w store.Writer) error {
			b = w.(*batch)
			for i := range 2 * makeRoomAt {
				if _, err := w.Create(t.Context(), mailKey(i), []byte("{}")); err != nil {
					return err
				}
				if err := b.Copy(t.Context(), copyKey(i), []byte("{}")); err != nil {
					return err
				}
			}
			return fail(s)
		})
		b.Finish()
		if got := entries(t, s, "outbox/me"); err == nil || len(got) > 0 {
			t.Errorf("%s: %v, %d copies", name, err, len(got))
		}
		if after := openFiles(t); after > before {
			t.Errorf("%s: %d files are open, %d were before", name, after, before)
		}
		if err := os.RemoveAll(s.where(store.Key{Kind: store.Inbox, Owner: "you", Name: "x"}) + "/.."); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyRefuses: a kind that must survive a power cut, or that has a lock, is not for copies.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	err := s.Batch(t.Context(), func(w store.Writer) error {
		for _, k := range []store.Key{mailKey(1), {Kind: store.Negotiation, Name: "n"}, {Kind: store.Presence, Name: "s"}, {Kind: store.Outbox, Owner: "me", Name: ".."}} {
			if w.(store.Copier).Copy(t.Context(), k, []byte("{}")) == nil {
				t.Errorf("Copy of %v: no error", k)
			}
		}
		if w.(store.Copier).Copy(t.Context(), copyKey(1), make([]byte, 2<<20)) == nil {
			t.Error("Copy of too much: no error")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBatchSweeps: a batch counts for the sweep as so many documents, and its own temporary files are no part of it.
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

func copyKey(i int) store.Key {
	return store.Key{Kind: store.Outbox, Owner: "me", Name: fmt.Sprint("m", i)}
}

// openFiles counts what this process has open, where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	found, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(found)
}
