package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

var (
	inbox   = store.Key{Kind: store.Inbox, Owner: "a", Name: "m"}
	archive = store.Key{Kind: store.Archive, Owner: "a", Name: "m"}
)

// TestCrashBetween: a move that was interrupted between its two steps is completed by the next reader, with every method.
func TestCrashBetween(t *testing.T) {
	t.Parallel()
	crash := errors.New("crash")
	looks := map[string]func(ctx context.Context, s *memstore.Store, rev store.Rev) error{
		"Get": func(ctx context.Context, s *memstore.Store, _ store.Rev) error {
			_, err := s.Get(ctx, inbox)
			return want(err, store.ErrNotFound)
		},
		"List": func(ctx context.Context, s *memstore.Store, _ store.Rev) error {
			for e, err := range s.List(ctx, store.Inbox, "a") {
				return fmt.Errorf("%v, %w", e.Key, err)
			}
			return nil
		},
		"Owners": func(ctx context.Context, s *memstore.Store, _ store.Rev) error {
			for owner, err := range s.Owners(ctx, store.Inbox) {
				return fmt.Errorf("%q, %w", owner, err)
			}
			return nil
		},
		"Create": func(ctx context.Context, s *memstore.Store, _ store.Rev) error {
			_, err := s.Create(ctx, inbox, []byte("{}"))
			return want(err, store.ErrExists)
		},
		"Delete": func(ctx context.Context, s *memstore.Store, rev store.Rev) error {
			return want(s.Delete(ctx, inbox, rev), store.ErrNotFound)
		},
		"Move": func(ctx context.Context, s *memstore.Store, rev store.Rev) error {
			return want(s.Move(ctx, inbox, rev, archive), store.ErrNotFound)
		},
		"Move elsewhere": func(ctx context.Context, s *memstore.Store, rev store.Rev) error {
			to := store.Key{Kind: store.Quarantine, Owner: "a", Name: "m"}
			return want(s.Move(ctx, inbox, rev, to), store.ErrNotFound)
		},
		"Get for reading only": func(ctx context.Context, s *memstore.Store, _ store.Rev) error {
			_, err := s.ReadOnly().Get(ctx, inbox)
			return want(err, store.ErrNotFound)
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			crashed := memstore.New(memstore.Options{Between: func(_, _ store.Key) error { return crash }})
			rev, err := crashed.Create(ctx, inbox, []byte(`"mail"`))
			check(t, err)
			if err := crashed.Move(ctx, inbox, rev, archive); !errors.Is(err, crash) {
				t.Fatalf("Move: %v, want the crash", err)
			}
			s := crashed.Reopen()
			if err := look(ctx, s, rev); err != nil {
				t.Errorf("%s after the crash: %v", name, err)
			}
			if d, err := s.Get(ctx, archive); err != nil || string(d.Data) != `"mail"` {
				t.Errorf("Get from the archive: %q, %v", d.Data, err)
			}
			if _, err := s.Get(ctx, inbox); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Get from the inbox at last: %v", err)
			}
		})
	}
}

func want(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return fmt.Errorf("error %w, want %w", err, target)
}

// TestInterruptedMove: operations of others between the two steps of a move decide once which one has won.
func TestInterruptedMove(t *testing.T) {
	t.Parallel()
	source := store.Key{Kind: store.Presence, Name: "p"}
	target := store.Key{Kind: store.Quarantine, Owner: "o", Name: "p"}
	var s *memstore.Store
	var rev store.Rev
	for _, test := range []struct {
		name         string
		from, to     store.Key
		between      func(ctx context.Context) error
		want         error
		source, kept string // what lies there in the end
	}{
		{"nothing", source, target, func(context.Context) error { return nil }, nil, "", "old"},
		{"a reader finishes it", inbox, archive, func(ctx context.Context) error {
			_, err := s.Get(ctx, inbox)
			return want(err, store.ErrNotFound)
		}, nil, "", "old"},
		{"another moves it there", source, target, func(ctx context.Context) error {
			return want(s.Move(ctx, source, rev, target), store.ErrNotFound)
		}, nil, "", "old"},
		{"another moves it there, and a third comes under its name", source, target, func(ctx context.Context) error {
			_ = s.Move(ctx, source, rev, target)
			_, err := s.Create(ctx, source, []byte("third"))
			return err
		}, nil, "third", "old"},
		{"it is deleted", source, target, func(ctx context.Context) error { return s.Delete(ctx, source, rev) }, store.ErrNotFound, "", ""},
		{"it is rewritten", source, target, func(ctx context.Context) error {
			_, err := s.Replace(ctx, source, []byte("new"), rev)
			return err
		}, store.ErrConflict, "new", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			inner := false
			s = memstore.New(memstore.Options{Between: func(_, _ store.Key) error {
				if inner {
					return nil
				}
				inner = true
				return test.between(ctx)
			}})
			var err error
			rev, err = s.Create(ctx, test.from, []byte("old"))
			check(t, err)
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

// TestLive: live documents expire by age, which each write resets.
func TestLive(t *testing.T) {
	t.Parallel()
	c, ctx := newClock(), t.Context()
	s := memstore.New(memstore.Options{Now: c.Now, LiveTTL: time.Minute})
	p := store.Key{Kind: store.Presence, Name: "p"}
	rev, err := s.Create(ctx, p, []byte("1"))
	check(t, err)
	c.advance(59 * time.Second)
	rev, err = s.Replace(ctx, p, []byte("2"), rev)
	check(t, err)
	c.advance(59 * time.Second)
	if _, err := s.Get(ctx, p); err != nil {
		t.Errorf("Get 59 s after the last write: %v", err)
	}
	c.advance(time.Second)
	if _, err := s.Get(ctx, p); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get 1 min after the last write: %v", err)
	}
	for e, err := range s.List(ctx, store.Presence, "") {
		t.Errorf("List 1 min after the last write: %v, %v", e, err)
	}
	if _, err := s.Replace(ctx, p, []byte("3"), rev); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Replace of what went away: %v", err)
	}
	_, err = s.Create(ctx, p, []byte("4"))
	check(t, err)
}

// TestTrailAge: lines of the trail leave after 30 days, and a position before which all left is known no more.
func TestTrailAge(t *testing.T) {
	t.Parallel()
	c, ctx := newClock(), t.Context()
	s := memstore.New(memstore.Options{Now: c.Now})
	trail, other := store.Key{Kind: store.Trail, Name: "box"}, store.Key{Kind: store.Aliases}
	first, err := s.Append(ctx, trail, "", []byte("1"))
	check(t, err)
	_, err = s.Append(ctx, other, "", []byte("1"))
	check(t, err)
	c.advance(29 * 24 * time.Hour)
	second, err := s.Append(ctx, trail, first, []byte("2"))
	check(t, err)
	c.advance(24 * time.Hour)
	for _, test := range []struct {
		log  store.Key
		from store.Pos
		want []string
		err  error
	}{
		{trail, "", []string{"2"}, nil},
		{trail, second, nil, nil},
		{trail, first, nil, store.ErrConflict},
		{other, "", []string{"1"}, nil},
	} {
		var got []string
		var first error
		for line, err := range s.Read(ctx, test.log, test.from) {
			if err != nil {
				first = err
				break
			}
			got = append(got, string(line.Data))
		}
		if !slices.Equal(got, test.want) || !errors.Is(first, test.err) {
			t.Errorf("Read %v from %q: %q, %v; want %q, %v", test.log, test.from, got, first, test.want, test.err)
		}
	}
	c.advance(30 * 24 * time.Hour)
	if _, err := s.Append(ctx, trail, second, []byte("3")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append after a line that has left: %v", err)
	}
	_, err = s.Append(ctx, trail, "", []byte("3"))
	check(t, err)
}

// TestReopen: the old connection is dead, and so are its watchers.
func TestReopen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	old := memstore.New(memstore.Options{})
	changes, err := old.Watch(ctx, []store.Scope{{Kind: store.Inbox}})
	check(t, err)
	s := old.Reopen()
	if _, open := <-changes; open {
		t.Error("a change from a connection that was closed")
	}
	if _, err := old.Create(ctx, inbox, []byte("{}")); err == nil {
		t.Error("Create through a connection that was closed: accepted")
	}
	_, err = s.Create(ctx, inbox, []byte("{}"))
	check(t, err)
}

// TestSlowWatcher: a watcher that does not read in time gets a rescan event.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := memstore.New(memstore.Options{})
	changes, err := s.Watch(ctx, []store.Scope{{Kind: store.Aliases}})
	check(t, err)
	for range 2000 {
		_, err := s.Append(ctx, store.Key{Kind: store.Aliases}, store.AnyEnd, []byte("{}"))
		check(t, err)
	}
	for range 2000 {
		if (<-changes).Rescan {
			return
		}
	}
	t.Error("no rescan after 2000 unread changes")
}
