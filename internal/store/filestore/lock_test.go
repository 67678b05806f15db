package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// record is a lock as the existing programs write it in their pid mode, held by a process that lives as long as the test.
func record(t *testing.T) []byte {
	t.Helper()
	started, ok := proc.StartTime(os.Getppid())
	if !ok {
		t.Skip("SKIPPED: the start of the parent process cannot be told here")
	}
	return fmt.Appendf(nil, `{"pid":%d,"hostname":%q,"startedAt":%q}`, os.Getppid(), proc.Hostname(), started.Add(time.Second).UTC().Format(timeFormat))
}

// TestForeignLock: operations that foreign programs lock wait for them; the others do not.
func TestForeignLock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	in := store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}
	nego := store.Key{Kind: store.Negotiation, Name: "n"}
	mail, state := create(t, s, in, "{}"), create(t, s, nego, "{}")
	for _, lock := range []string{"registry/.lock", "inbox/o/.lock", "negotiations/n/.lock"} {
		write(t, filepath.Join(s.path, lock), record(t))
	}
	for what, do := range map[string]func(ctx context.Context) error{
		"Append to the registry": func(ctx context.Context) error {
			_, err := s.Append(ctx, store.Key{Kind: store.Instances}, store.AnyEnd, []byte("{}"))
			return err
		},
		"Move out of a mailbox": func(ctx context.Context) error {
			return s.Move(ctx, in, mail, store.Key{Kind: store.Archive, Owner: "o", Name: "m"})
		},
		"Delete in a mailbox": func(ctx context.Context) error { return s.Delete(ctx, in, mail) },
		"Replace a negotiation": func(ctx context.Context) error {
			_, err := s.Replace(ctx, nego, []byte("{2}"), state)
			return err
		},
		"Append to its journal": func(ctx context.Context) error {
			_, err := s.Append(ctx, store.Key{Kind: store.Journal, Name: "n"}, "", []byte("{}"))
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s under a foreign lock: %v, want to wait until the context ends", what, err)
		}
		cancel()
	}
	if get(t, s, in) != "{}" || get(t, s, nego) != "{}" || content(t, s, "registry/instances.jsonl") != "" || len(temps(t, s)) > 0 {
		t.Errorf("something was written under a foreign lock; left behind: %q", temps(t, s))
	}
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "m2"}, "{}") // sending takes no lock
	create(t, s, store.Key{Kind: store.Presence, Name: "s"}, "{}")
}

// TestLockLost: a writer that finds its lock removed writes nothing.
func TestLockLost(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	k := store.Key{Kind: store.Instances}
	d, err := s.root.Sub("registry")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	h, err := s.lock(t.Context(), k, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.check(); err != nil {
		t.Errorf("check of a lock that we hold: %v", err)
	}
	theirs := record(t)
	write(t, filepath.Join(s.path, "registry/.lock"), theirs)
	if err := h.check(); !errors.Is(err, store.ErrConflict) {
		t.Errorf("check of a lock that was taken: %v, want a conflict", err)
	}
	h.release()
	if got := content(t, s, "registry/.lock"); got != string(theirs) {
		t.Errorf("after our release the lock is %q, want theirs", got)
	}
}
