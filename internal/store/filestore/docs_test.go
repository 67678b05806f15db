package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// TestHostileEntries: foreign entries among the documents are named, skipped and kept, by every method.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	good := store.Key{Kind: store.Inbox, Owner: "o", Name: "good"}
	create(t, s, good, "{}")
	dir := filepath.Join(s.path, "inbox", "o")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside.json")
	write(t, outside, []byte("secret"))
	must(os.Symlink(outside, filepath.Join(dir, "link.json")))
	must(os.Symlink("good.json", filepath.Join(dir, "inside.json")))
	must(os.Symlink("nowhere", filepath.Join(dir, "dangling.json")))
	must(unix.Mkfifo(filepath.Join(dir, "fifo.json"), 0o600))
	must(os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	write(t, filepath.Join(dir, "large.json"), make([]byte, store.Inbox.Spec().ReadLimit+1))
	unfit := []string{"dangling", "fifo", "folder", "inside", "large", "link"}
	if os.Geteuid() == 0 {
		write(t, filepath.Join(dir, "foreign.json"), []byte("{}"))
		must(os.Chown(filepath.Join(dir, "foreign.json"), 4711, 4711))
		unfit = append(unfit, "foreign")
		slices.Sort(unfit)
	}
	write(t, filepath.Join(dir, strings.Repeat("n", 201)+".json"), []byte("{}")) // no key can name it
	for _, name := range []string{".flock", "notes.txt", "x.json.tmp-1-2"} {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	before := tree(t, s.path)

	var named []string
	var fit []store.Key
	for e, err := range s.List(t.Context(), store.Inbox, "o") {
		if err == nil {
			fit = append(fit, e.Key)
			continue
		}
		u, ok := errors.AsType[*store.UnfitError](err)
		if !ok || u.Why == "" || u.Where == "" {
			t.Errorf("List: %v, want an UnfitError", err)
			continue
		}
		named = append(named, u.Key.Name)
	}
	slices.Sort(named)
	if want := append(slices.Clone(unfit), strings.Repeat("n", 201)); !slices.Equal(named, slices.Sorted(slices.Values(want))) {
		t.Errorf("List names %q as unfit, want %q", named, want)
	}
	if len(fit) != 1 || fit[0] != good {
		t.Errorf("List yields %v, want %v", fit, good)
	}
	for _, name := range unfit {
		k := store.Key{Kind: store.Inbox, Owner: "o", Name: name}
		to := store.Key{Kind: store.Archive, Owner: "o", Name: name}
		_, err := s.Get(t.Context(), k)
		for what, err := range map[string]error{
			"Get": err, "Delete": s.Delete(t.Context(), k, "r"), "Move": s.Move(t.Context(), k, "r", to),
		} {
			u, ok := errors.AsType[*store.UnfitError](err)
			if !ok || u.Key != k {
				t.Errorf("%s %v: %v, want an UnfitError for it", what, k, err)
			}
		}
		if _, err := s.Create(t.Context(), k, []byte("{}")); !errors.Is(err, store.ErrExists) {
			t.Errorf("Create %v over something unfit: %v", k, err)
		}
	}
	after := tree(t, s.path)
	same := func(line string) bool {
		return !strings.HasPrefix(line, "/inbox/o ") && !strings.Contains(line, "lock ")
	}
	keep := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !same(l) })
	}
	if !slices.Equal(keep(before), keep(after)) {
		t.Errorf("something was touched:\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// TestHostileFolders: a link in place of a mailbox leads nowhere.
func TestHostileFolders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	create(t, s, store.Key{Kind: store.Inbox, Owner: "real", Name: "m"}, "{}")
	other := t.TempDir()
	write(t, filepath.Join(other, "m.json"), []byte("secret"))
	for name, target := range map[string]string{"out": other, "in": "real"} {
		if err := os.Symlink(target, filepath.Join(s.path, "inbox", name)); err != nil {
			t.Fatal(err)
		}
		k := store.Key{Kind: store.Inbox, Owner: name, Name: "m"}
		_, get := s.Get(t.Context(), k)
		k.Name = "new"
		_, make := s.Create(t.Context(), k, []byte("{}"))
		var list error
		for _, err := range s.List(t.Context(), store.Inbox, name) {
			list = err
		}
		for what, err := range map[string]error{"Get": get, "Create": make, "List": list} {
			if !isType[*store.UnfitError](err) {
				t.Errorf("%s behind the link %s: %v, want an UnfitError", what, name, err)
			}
		}
	}
	write(t, filepath.Join(s.path, "inbox", "stray.txt"), nil)
	var owners, bad []string
	for o, err := range s.Owners(t.Context(), store.Inbox) {
		if err != nil {
			bad = append(bad, o)
		} else {
			owners = append(owners, o)
		}
	}
	slices.Sort(bad)
	if !slices.Equal(owners, []string{"real"}) || !slices.Equal(bad, []string{"in", "out"}) {
		t.Errorf("owners %q, unfit %q; want real and the two links", owners, bad)
	}
	if got, err := os.ReadDir(other); err != nil || len(got) != 1 {
		t.Errorf("the folder outside holds %v, error %v", got, err)
	}
}

// TestHalfMoved: a move that was cut between link and removal is one for all who come later.
func TestHalfMoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	in, kept := store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}, store.Key{Kind: store.Archive, Owner: "o", Name: "m"}
	rev := create(t, s, in, "{}")
	if err := os.MkdirAll(filepath.Dir(s.where(kept)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(s.where(in), s.where(kept)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), in); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a message that is also in the archive: %v", err)
	}
	for e, err := range s.List(t.Context(), store.Inbox, "o") {
		t.Errorf("List yields %v, %v", e, err)
	}
	if err := s.Move(t.Context(), in, rev, kept); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Move of a message that is also in the archive: %v", err)
	}
	if got := entries(t, s, "inbox/o"); slices.Contains(got, "m.json") || get(t, s, kept) != "{}" {
		t.Errorf("the mailbox holds %q, want the move ended", got)
	}
}

// TestMessageTakenDuringMove: a message that its reader takes between our look into the archive and our link does not come twice.
func TestMessageTakenDuringMove(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	in, kept := store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}, store.Key{Kind: store.Archive, Owner: "o", Name: "m"}
	rev := create(t, s, in, "{}")
	there := create(t, s, kept, `{"as":"taken"}`)
	err := s.takenMeanwhile(t.Context(), in, rev)
	if e, ok := errors.AsType[*store.ExistsError](err); !ok || e.Key != kept || e.Rev != there {
		t.Errorf("after the link: %v, want the archived message", err)
	}
	if _, err := s.Get(t.Context(), in); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the second copy is still there: %v", err)
	}
}

// TestExchange: another program writes between our read and our exchange, once, or again while we put its bytes back. Its newest version is
// kept, and the caller gets an error and its own bytes.
func TestExchange(t *testing.T) {
	t.Parallel()
	k := store.Key{Kind: store.Presence, Name: "s"}
	for _, c := range []struct {
		name    string
		between func(t *testing.T, s *Store, temps, d *atomicfile.Dir, tmp string) error
		want    string
	}{
		{"once", func(t *testing.T, s *Store, temps, d *atomicfile.Dir, tmp string) error {
			return s.exchange(k, temps, tmp, d, "s.json", revOf([]byte("seen")))
		}, "foreign"},
		{"and again while it is put back", func(t *testing.T, s *Store, temps, d *atomicfile.Dir, tmp string) error {
			ours, err := temps.Stat(tmp)
			if err == nil {
				err = temps.Exchange(tmp, d, "s.json")
			}
			if err == nil {
				err = d.Replace("s.json", []byte("newer"), 0o600, false)
			}
			if err == nil {
				err = putBack(temps, tmp, d, "s.json", ours)
			}
			return errors.Join(err, store.ErrConflict)
		}, "newer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			create(t, s, k, "seen")
			d, err := s.root.Sub("presence")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			temps, err := s.makeHome(".tmp")
			if err != nil {
				t.Fatal(err)
			}
			defer temps.Close()
			tmp, err := temps.Stage([]byte("ours"), 0o600, false)
			if err != nil {
				t.Fatal(err)
			}
			write(t, s.where(k), []byte("foreign"))
			if err := c.between(t, s, temps, d, tmp); !errors.Is(err, store.ErrConflict) {
				t.Errorf("exchange over a foreign write: %v, want a conflict", err)
			}
			if got := get(t, s, k); got != c.want {
				t.Errorf("afterwards there is %q, want %q", got, c.want)
			}
		})
	}
}

// TestHeartbeatWakesNoWatcher: a heartbeat leaves one change in the folder of the presence files and its temporary name elsewhere.
func TestHeartbeatWakesNoWatcher(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	k := store.Key{Kind: store.Presence, Name: "s"}
	rev := create(t, s, k, "1")
	for _, data := range []string{"22", "333"} {
		var err error
		if rev, err = s.Replace(t.Context(), k, []byte(data), rev); err != nil {
			t.Fatal(err)
		}
	}
	if got := entries(t, s, "presence"); !slices.Equal(got, []string{"s.json"}) {
		t.Errorf("presence holds %q", got)
	}
	if got := entries(t, s, ".tmp"); !slices.Equal(got, []string{".flock"}) {
		t.Errorf(".tmp holds %q", got)
	}
}

// TestRemoveKeepsForeignHeartbeat: a foreign heartbeat between look and removal is put back.
func TestRemoveKeepsForeignHeartbeat(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	k := store.Key{Kind: store.Drumbeat, Name: "i"}
	rev := create(t, s, k, "seen")
	write(t, s.where(k), []byte("foreign"))
	d, err := s.root.Sub("drumbeat")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := s.takeAway(k, d, "i.json", rev); !errors.Is(err, store.ErrConflict) {
		t.Errorf("removal over a foreign write: %v, want a conflict", err)
	}
	if got := get(t, s, k); got != "foreign" || len(temps(t, s)) > 0 {
		t.Errorf("afterwards there is %q and %q", got, temps(t, s))
	}
}

// TestSweep: leftovers of a crash are removed after an hour, at the sixteenth create in the folder or the first after a listing.
func TestSweep(t *testing.T) {
	t.Parallel()
	const old, young, foreign = ".tutti-1-2-3.tmp", ".tutti-1-2-4.tmp", ".someone.tmp"
	for _, c := range []struct {
		name    string
		list    bool
		creates int
		want    bool // the old one is gone
	}{
		{"one message", false, 1, false},
		{"fifteen", false, sweepAfter - 1, false},
		{"sixteen", false, sweepAfter, true},
		{"one after a listing", true, 1, true},
		{"a listing alone", true, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			for _, name := range []string{old, young, foreign} {
				path := filepath.Join(s.path, "inbox", "o", name)
				write(t, path, []byte("torn"))
				if past := time.Now().Add(-61 * time.Minute); name != young {
					if err := os.Chtimes(path, past, past); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.list {
				for e, err := range s.List(t.Context(), store.Inbox, "o") {
					t.Errorf("List yields %v, %v", e, err)
				}
			}
			for i := range c.creates {
				create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: string(rune('a' + i))}, "{}")
			}
			got := entries(t, s, "inbox/o")
			if slices.Contains(got, old) == c.want || !slices.Contains(got, young) || !slices.Contains(got, foreign) {
				t.Errorf("the folder holds %q; the old one gone: want %v, the others there", got, c.want)
			}
		})
	}
}
