package keyring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

const ana address.Instance = "claude:api:3f2a9c01b7de"

func TestGenerateAndLoad(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := Open(root)
	if r.Has(ana) {
		t.Error("has a key before there is one")
	}
	if _, err := r.Load(ana); !errors.Is(err, ErrNoKey) {
		t.Errorf("Load before: %v", err)
	}
	made, err := r.Generate(ana, false)
	if err != nil {
		t.Fatal(err)
	}
	for path, perm := range map[string]fs.FileMode{
		filepath.Join(root, "keys"):                                    0o700 | fs.ModeDir,
		filepath.Join(root, "keys", "claude-api-3f2a9c01b7de.key.pem"): 0o600,
		filepath.Join(root, "keys", "claude-api-3f2a9c01b7de.pub.pem"): 0o644,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != perm {
			t.Errorf("%s: got %v, %v; want %v", path, info, err, perm)
		}
	}
	private, public, err := r.Files(ana)
	if err != nil || private != made.Private || public != made.Public {
		t.Errorf("Files: %s, %s, %v; want %+v", private, public, err, made)
	}
	key, err := r.Load(ana)
	if err != nil || key.Public() != made.Key.Public() || !r.Has(ana) {
		t.Errorf("Load: %v, %v", key, err)
	}
	if p, err := r.Public(ana); err != nil || p != key.Public() {
		t.Errorf("Public: %x, %v", p, err)
	}
	if text, _ := os.ReadFile(made.Public); string(text) != key.Public().PEM() {
		t.Errorf("public key file: %q", text)
	}
	if names, _ := os.ReadDir(filepath.Join(root, "keys")); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
	if err := os.Remove(made.Public); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Public(ana); err != nil || p != key.Public() {
		t.Errorf("Public without its file: %x, %v", p, err)
	}
}

// TestLoadRereadsChangedFile: a cached key must not outlive its file.
func TestLoadRereadsChangedFile(t *testing.T) {
	t.Parallel()
	r := Open(t.TempDir())
	first, err := r.Generate(ana, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if key, err := r.Load(ana); err != nil || key.Public() != first.Key.Public() {
			t.Fatalf("Load: %v, %v; want %v", key, err, first.Key)
		}
	}
	second, err := r.Generate(ana, true)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := r.Load(ana); err != nil || key.Public() != second.Key.Public() {
		t.Errorf("Load after another key was made: %v, %v; want %v", key, err, second.Key)
	}
	if err := os.Chmod(second.Private, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load(ana); !errors.Is(err, ErrExposed) {
		t.Errorf("Load of what the group may read: %v", err)
	}
	if err := os.Remove(second.Private); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load(ana); !errors.Is(err, ErrNoKey) {
		t.Errorf("Load after the file was removed: %v", err)
	}
}

func TestGenerateReplacesOnlyIfForced(t *testing.T) {
	t.Parallel()
	r := Open(t.TempDir())
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []KeyFiles
	for range 20 {
		wg.Go(func() {
			made, err := r.Generate(ana, false)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winners = append(winners, made)
			case !errors.Is(err, ErrKeyExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	key, err := r.Load(ana)
	if len(winners) != 1 || err != nil || key.Public() != winners[0].Key.Public() {
		t.Fatalf("%d of 20 made a key, the file has %v, %v", len(winners), key, err)
	}
	// The names of the files are alike, so the key of the other agent is not made either.
	if _, err := r.Generate("claude-api:3f2a9c01b7de", false); !errors.Is(err, ErrKeyExists) {
		t.Errorf("an agent with the same file name: %v", err)
	}
	made, err := r.Generate(ana, true)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := r.Load(ana); err != nil || key.Public() != made.Key.Public() || key.Public() == winners[0].Key.Public() {
		t.Errorf("forced: %v, %v", key, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	other := signature.Generate()
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string) error
		want string
	}{
		"group may read": {func(t *testing.T, p string) error { return os.Chmod(p, 0o640) }, "its mode is 0640"},
		"all may read":   {func(t *testing.T, p string) error { return os.Chmod(p, 0o604) }, "its mode is 0604"},
		"all may write":  {func(t *testing.T, p string) error { return os.Chmod(p, 0o602) }, "its mode is 0602"},
		"a link": {func(t *testing.T, p string) error {
			to := filepath.Join(t.TempDir(), "key")
			return errors.Join(os.WriteFile(to, other.PEM(), 0o600), os.Remove(p), os.Symlink(to, p))
		}, "is a link"},
		"a pipe":     {func(t *testing.T, p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, "is not a key file"},
		"a folder":   {func(t *testing.T, p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "is not a key file"},
		"large":      {func(t *testing.T, p string) error { return os.Truncate(p, maxFile+1) }, "is not a key file"},
		"empty":      {func(t *testing.T, p string) error { return os.Truncate(p, 0) }, "not an Ed25519 key"},
		"a half":     {func(t *testing.T, p string) error { return os.Truncate(p, 60) }, "not an Ed25519 key"},
		"public key": {func(t *testing.T, p string) error { return os.WriteFile(p, []byte(other.Public().PEM()), 0o600) }, "not an Ed25519 key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Open(t.TempDir())
			made, err := r.Generate(ana, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.do(t, made.Private); err != nil {
				t.Fatal(err)
			}
			key, err := r.Load(ana)
			if key != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", key, err, c.want)
			}
			if strings.Contains(c.want, "mode") != errors.Is(err, ErrExposed) {
				t.Errorf("ErrExposed: %v", err)
			}
		})
	}
}

func TestExposedKeyHint(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "it's a home")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	r := Open(root)
	made, err := r.Generate(ana, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(made.Private, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = r.Load(ana)
	var e *ExposedError
	const want = "make a new one" // a key that others could read is not to be used again
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), want) || strings.Contains(e.Hint(), "chmod") || e.Path != made.Private || e.Mode != 0o644 {
		t.Errorf("got %+v, hint %q; want %q", err, e.Hint(), want)
	}
	if (&ExposedError{UID: 12}).Hint() != "" {
		t.Error("a hint that cannot help")
	}
}

func TestRefusedNames(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := Open(filepath.Join(root, "bus"))
	for _, i := range []address.Instance{"", "..", "a\\b", "a..b", "a\x00b", address.Instance(strings.Repeat("x", 300))} {
		if _, err := r.Generate(i, true); err == nil {
			t.Errorf("Generate(%q): no error", i)
		}
		if _, err := r.Load(i); err == nil || errors.Is(err, ErrNoKey) {
			t.Errorf("Load(%q): %v", i, err)
		}
		if _, err := r.Public(i); err == nil || r.Has(i) {
			t.Errorf("Public(%q): %v, Has %v", i, err, r.Has(i))
		}
	}
	if _, err := r.Generate(ana, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bus that is not there: %v", err)
	}
	if names, _ := os.ReadDir(root); len(names) != 0 {
		t.Errorf("made %v", names)
	}
}

func BenchmarkLoad(b *testing.B) {
	r := Open(b.TempDir())
	if _, err := r.Generate(ana, false); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Load(ana); err != nil {
			b.Fatal(err)
		}
	}
}
