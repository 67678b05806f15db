package filestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestCreateRoot: creates the same files as the existing programs, readable by this user only.
func TestCreateRoot(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "above", "bus")
	now := time.Date(2026, 3, 1, 10, 4, 0, 7e6, time.UTC)
	s := open(t, root, Options{Create: true, CreatedBy: "tutti@1.2.3", Now: func() time.Time { return now }})
	const sentinel = "{\n  \"version\": \"1\",\n  \"createdAt\": \"2026-03-01T10:04:00.007Z\",\n  \"createdBy\": \"tutti@1.2.3\"\n}\n"
	if got := content(t, s, ".h2a-schema.json"); got != sentinel {
		t.Errorf("sentinel:\n%q\nwant\n%q", got, sentinel)
	}
	want := []string{".h2a-schema.json", "artifacts", "contracts", "engagements", "inbox", "negotiations", "outbox", "policies", "registry"}
	if got := entries(t, s, ""); !slices.Equal(got, want) {
		t.Errorf("root holds %q, want %q", got, want)
	}
	if got := entries(t, s, "registry"); !slices.Equal(got, []string{"instances.jsonl"}) || content(t, s, "registry/instances.jsonl") != "" {
		t.Errorf("registry holds %q, want an empty instances.jsonl", got)
	}
	before := tree(t, root)
	open(t, root, Options{Create: true})
	wantTree(t, "Open with Create of what is there", root, before)
}

// TestModes: everything that we make is for its owner alone, and what exists keeps its rights.
func TestModes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	shared := filepath.Join(s.path, "inbox", "shared")
	if err := os.Mkdir(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o2775); err != nil {
		t.Fatal(err)
	}
	for _, k := range []store.Key{
		{Kind: store.Inbox, Owner: "shared", Name: "m"},
		{Kind: store.Inbox, Owner: "o", Name: "m"},
		{Kind: store.Presence, Name: "s"},
		{Kind: store.Negotiation, Name: "n"},
		{Kind: store.Blockage, Name: "b"},
	} {
		rev := create(t, s, k, `{"a":1}`)
		if k.Kind.Spec().Class != store.Once {
			if _, err := s.Replace(t.Context(), k, []byte(`{"a":2}`), rev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Append(t.Context(), store.Key{Kind: store.Journal, Name: "n"}, "", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if path == shared {
			want = 0o775
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCreateRootTogether: many processes that create one store at once all get it, with one sentinel.
func TestCreateRootTogether(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "bus")
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			s, err := Open(root, Options{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	s := open(t, root, Options{})
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	long := `{"version":"1","pad":"` + string(make([]byte, 5000)) + `"}`
	for _, c := range []struct{ name, sentinel, found string }{
		{"ours", `{"version":"1"}`, ""},
		{"later member", `{"x":{"version":"2"},"version":"1","y":[1]}`, ""},
		{"another", `{"version":"2"}`, "2"},
		{"number", `{"version":1}`, "missing"},
		{"none", `{}`, "missing"},
		{"null", `{"version":null}`, "missing"},
		{"array", `["version","1"]`, "unparseable"},
		{"empty", ``, "unparseable"},
		{"torn", `{"version":"1"`, "unparseable"},
		{"too large", long, "unparseable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := bare(t)
			write(t, filepath.Join(root, ".h2a-schema.json"), []byte(c.sentinel))
			before := tree(t, root)
			for _, o := range []Options{{}, {ReadOnly: true}, {Create: true}} {
				s, err := Open(root, o)
				if c.found == "" && err == nil {
					s.Close()
					continue
				}
				e, ok := errors.AsType[*SchemaError](err)
				if !ok || e.Found != c.found || e.Want != "1" || e.Path != root {
					t.Errorf("Open %q: %v, want version %q found and 1 wanted", c.sentinel, err, c.found)
				}
			}
			open(t, root, Options{AllowVersionMismatch: true})
			wantTree(t, "Open", root, before)
		})
	}
	t.Run("a link", func(t *testing.T) {
		t.Parallel()
		root := bare(t)
		if err := os.Symlink("elsewhere", filepath.Join(root, ".h2a-schema.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(root, Options{}); !isType[*SchemaError](err) {
			t.Errorf("Open of a store whose sentinel is a link: %v", err)
		}
	})
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestNoStore: a folder that is none is named and nothing is made there.
func TestNoStore(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(parent, "file"), []byte("x"))
	before := tree(t, parent)
	for _, o := range []Options{{}, {ReadOnly: true}, {ReadOnly: true, Create: true}} {
		for _, name := range []string{"missing", "other"} {
			_, err := Open(filepath.Join(parent, name), o)
			if !isType[*NotStoreError](err) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open %s with %+v: %v, want a NotStoreError", name, o, err)
			}
		}
		if _, err := Open(filepath.Join(parent, "file"), o); err == nil {
			t.Errorf("Open of a plain file with %+v: no error", o)
		}
	}
	wantTree(t, "Open", parent, before)
}

// TestReadingWritesNothing: no method of a reader leaves a trace, whether the store was opened for reading or for both.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}, "{}")
	create(t, s, store.Key{Kind: store.Negotiation, Name: "n"}, "{}")
	if _, err := s.Append(t.Context(), store.Key{Kind: store.Instances}, "", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s.path)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		r := open(t, s.path, o)
		ctx, cancel := context.WithCancel(t.Context())
		changes, err := r.Watch(ctx, []store.Scope{{Kind: store.Inbox}, {Kind: store.Presence}, {Kind: store.Trail, Name: "box"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range store.Kinds() {
			k := store.Key{Kind: kind, Owner: "o", Name: "m"}
			if !kind.Spec().HasOwner() {
				k.Owner = ""
			}
			if !kind.Spec().HasName() {
				k.Name = ""
			}
			_, _ = r.Get(ctx, k)
			for range r.List(ctx, kind, k.Owner) {
			}
			for range r.Owners(ctx, kind) {
			}
			for range r.Read(ctx, k, "") {
			}
		}
		if _, err := r.MigratePaths(ctx, true); err != nil {
			t.Error(err)
		}
		cancel()
		for range changes {
		}
	}
	wantTree(t, "reading", s.path, before)
}

// TestPaths: the paths that are put together here are those of the key space, and names lead back to keys.
func TestPaths(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, kind := range store.Kinds() {
		for _, part := range []string{"x", "{name}", "{owner}", ".lock", "a.json"} {
			k := store.Key{Kind: kind, Owner: part, Name: part + "2"}
			if !kind.Spec().HasOwner() {
				k.Owner = ""
			}
			if !kind.Spec().HasName() {
				k.Name = ""
			}
			if got := pathOf(k); got != k.Path() {
				t.Errorf("path of %v: %q, want %q", k, got, k.Path())
			}
			listed := fileName(k)
			if nested(kind) {
				listed = k.Name
			}
			if back, ok := s.keyOf(kind, k.Owner, listed); !ok || back != k {
				t.Errorf("key of %q: %v, %v, want %v", listed, back, ok, k)
			}
		}
		for _, name := range []string{".tutti-1-2-3.tmp", ".flock", ".lock", "x.json.tmp-12-34", ".x.json.swp"} {
			if k, ok := s.keyOf(kind, "", name); ok && !nested(kind) && kind != store.Quarantine {
				t.Errorf("%q is taken for %v", name, k)
			}
		}
	}
}

// TestRev: a revision is the start of the SHA-256 of the bytes, which other programs of ours may compute.
func TestRev(t *testing.T) {
	t.Parallel()
	if got := revOf([]byte("abc")); got != "ba7816bf8f01cfea414140de5dae2223" {
		t.Errorf("revision of abc: %s", got)
	}
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(string(revOf(nil))) {
		t.Errorf("revision of nothing: %q", revOf(nil))
	}
}

// TestStored: a program cannot put the arrival of its mail into the future.
func TestStored(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	k := store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}
	create(t, s, k, "{}")
	future, past := time.Now().Add(1000*time.Hour), time.Now().Add(-1000*time.Hour).Truncate(time.Second)
	for _, set := range []time.Time{future, past} {
		if err := os.Chtimes(s.where(k), set, set); err != nil {
			t.Fatal(err)
		}
		d, err := s.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if set == past && !d.Stored.Equal(past) || d.Stored.After(time.Now().Add(time.Second)) {
			t.Errorf("written at %v by what the file says: arrived %v", set, d.Stored)
		}
	}
}
