package natsstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tutti/internal/store"
)

var (
	inbox   = store.Key{Kind: store.Inbox, Owner: "a", Name: "m"}
	archive = archived(inbox)
)

// want is nil when err is target, else an error that says so.
func want(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return fmt.Errorf("error %w, want %w", err, target)
}

// TestCrashBetween: a move that was interrupted between its two steps is completed by the next reader, with every method.
func TestCrashBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	crash := errors.New("crash")
	looks := map[string]func(ctx context.Context, s *Store, rev store.Rev) error{
		"Get": func(ctx context.Context, s *Store, _ store.Rev) error {
			_, err := s.Get(ctx, inbox)
			return want(err, store.ErrNotFound)
		},
		"List": func(ctx context.Context, s *Store, _ store.Rev) error {
			for e, err := range s.List(ctx, store.Inbox, "a") {
				return fmt.Errorf("%v, %w", e.Key, err)
			}
			return nil
		},
		"Owners": func(ctx context.Context, s *Store, _ store.Rev) error {
			for owner, err := range s.Owners(ctx, store.Inbox) {
				return fmt.Errorf("%q, %w", owner, err)
			}
			return nil
		},
		"Create": func(ctx context.Context, s *Store, _ store.Rev) error {
			_, err := s.Create(ctx, inbox, []byte("{}"))
			return want(err, store.ErrExists)
		},
		"Delete": func(ctx context.Context, s *Store, rev store.Rev) error {
			return want(s.Delete(ctx, inbox, rev), store.ErrNotFound)
		},
		"Move": func(ctx context.Context, s *Store, rev store.Rev) error {
			return want(s.Move(ctx, inbox, rev, archive), store.ErrNotFound)
		},
		"Move elsewhere": func(ctx context.Context, s *Store, rev store.Rev) error {
			to := store.Key{Kind: store.Quarantine, Owner: "a", Name: "m"}
			return want(s.Move(ctx, inbox, rev, to), store.ErrNotFound)
		},
		"Get for reading only": func(ctx context.Context, s *Store, _ store.Rev) error {
			s.opt.ReadOnly = true
			defer func() { s.opt.ReadOnly = false }()
			_, err := s.Get(ctx, inbox)
			if m, lookErr := s.last(ctx, inbox); lookErr != nil || !m.there() {
				return fmt.Errorf("who may only read has deleted it: %+v, %w", m, lookErr)
			}
			return want(err, store.ErrNotFound)
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), r.store(t)
			s.between = func(context.Context) error { return crash }
			rev, err := s.Create(ctx, inbox, []byte(`"mail"`))
			check(t, err)
			if err := s.Move(ctx, inbox, rev, archive); !errors.Is(err, crash) {
				t.Fatalf("Move: %v, want the crash", err)
			}
			s.between = nil
			if err := look(ctx, s, rev); err != nil {
				t.Errorf("%s after the crash: %v", name, err)
			}
			if d, err := s.Get(ctx, archive); err != nil || string(d.Data) != `"mail"` {
				t.Errorf("Get from the archive: %q, %v", d.Data, err)
			}
			if _, err := s.Get(ctx, inbox); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Get from the inbox at last: %v", err)
			}
			if m, err := s.last(ctx, inbox); err != nil || m.there() {
				t.Errorf("the source is still there: %+v, %v", m, err)
			}
		})
	}
}

// TestInterruptedMove: operations of others between the two steps of a move decide once which one has won.
func TestInterruptedMove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source := store.Key{Kind: store.Presence, Name: "p"}
	target := store.Key{Kind: store.Quarantine, Owner: "o", Name: "p"}
	again := func(ctx context.Context, s *Store, rev store.Rev) error {
		return want(s.Move(ctx, source, rev, target), store.ErrNotFound)
	}
	for _, test := range []struct {
		name         string
		from, to     store.Key
		between      func(ctx context.Context, s *Store, rev store.Rev) error
		want         error
		source, kept string // what lies there in the end
	}{
		{"nothing", source, target, func(context.Context, *Store, store.Rev) error { return nil }, nil, "", "old"},
		{"a reader finishes it", inbox, archive, func(ctx context.Context, s *Store, _ store.Rev) error {
			_, err := s.Get(ctx, inbox)
			return want(err, store.ErrNotFound)
		}, nil, "", "old"},
		{"another moves it there", source, target, again, nil, "", "old"},
		{"another moves it there, and a third comes under its name and goes on", source, target, func(ctx context.Context, s *Store, rev store.Rev) error {
			err := again(ctx, s, rev)
			third, createErr := s.Create(ctx, source, []byte("third"))
			_, replaceErr := s.Replace(ctx, source, []byte("third, later"), third)
			return errors.Join(err, createErr, replaceErr)
		}, nil, "third, later", "old"},
		{"it is deleted", source, target, func(ctx context.Context, s *Store, rev store.Rev) error {
			return s.Delete(ctx, source, rev)
		}, store.ErrNotFound, "", ""},
		{"it is rewritten", source, target, func(ctx context.Context, s *Store, rev store.Rev) error {
			_, err := s.Replace(ctx, source, []byte("new"), rev)
			return err
		}, store.ErrConflict, "new", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), r.store(t)
			rev, err := s.Create(ctx, test.from, []byte("old"))
			check(t, err)
			s.between = func(ctx context.Context) error {
				s.between = nil
				return test.between(ctx, s, rev)
			}
			if err := s.Move(ctx, test.from, rev, test.to); !errors.Is(err, test.want) {
				t.Errorf("Move: %v, want %v", err, test.want)
			}
			for k, want := range map[store.Key]string{test.from: test.source, test.to: test.kept} {
				if d, _ := s.Get(ctx, k); string(d.Data) != want {
					t.Errorf("Get %v: %q, want %q", k, d.Data, want)
				}
			}
		})
	}
}

// TestOutsideMarkers: the markers that the NATS tools leave when they delete a key are not documents.
func TestOutsideMarkers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, s := t.Context(), r.store(t)
	_, err := s.Create(ctx, inbox, []byte("old"))
	check(t, err)
	bucket, err := s.js.KeyValue(ctx, s.opt.Name+"-docs")
	check(t, err)
	if e, err := bucket.Get(ctx, inbox.Subject()); err != nil || string(e.Value()) != "old" {
		t.Errorf("the bucket shows %v, %v; want the document", e, err)
	}
	check(t, bucket.Delete(ctx, inbox.Subject()))
	if d, err := s.Get(ctx, inbox); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get what was deleted from outside: %q, %v", d.Data, err)
	}
	_, err = s.Create(ctx, inbox, []byte("new"))
	check(t, err)
	check(t, bucket.Purge(ctx, inbox.Subject()))
	for e, err := range s.List(ctx, store.Inbox, "a") {
		t.Errorf("List what was purged from outside: %v, %v", e, err)
	}
}
