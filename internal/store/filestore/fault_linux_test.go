package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tutti/internal/store"
)

// The tests of this file need a process that is limited in some way. They start this program again with the name of a part
// in the environment; the part prints what went wrong, and the test reads it.
const partEnv = "TUTTI_FILESTORE_PART"

var parts = map[string]func(root string) error{
	"read-only": partReadOnly,
	"file-size": partFileSize,
	"disk-full": partDiskFull,
}

func TestMain(m *testing.M) {
	name, root, ok := strings.Cut(os.Getenv(partEnv), "=")
	if !ok {
		os.Exit(m.Run())
	}
	if err := parts[name](root); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// runPart runs a part in a child. ok is false when the system does not allow what the child needs.
func runPart(t *testing.T, name, root string, how *syscall.SysProcAttr) (ok bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), partEnv+"="+name+"="+root)
	cmd.SysProcAttr = how
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false
	}
	if strings.Contains(string(out), "SKIP") {
		t.Log(string(out))
		return false
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	return true
}

// filled makes a store with one message, one state and one line.
func filled(t *testing.T) *Store {
	t.Helper()
	s := newStore(t)
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}, "{}")
	create(t, s, store.Key{Kind: store.Presence, Name: "s"}, "{}")
	if _, err := s.Append(t.Context(), registry, "", []byte(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReadOnlyRoot: where the system does not let us write everything can be read, and each write says why it cannot be.
func TestReadOnlyRoot(t *testing.T) {
	t.Parallel()
	s := filled(t)
	if err := filepath.Walk(s.path, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		filepath.Walk(s.path, func(path string, info os.FileInfo, err error) error { return os.Chmod(path, 0o700) })
	})
	how := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 { // root writes everywhere; somebody else may not
		for dir := s.path; dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o005 != 0o005 {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		how.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	before := tree(t, s.path)
	if !runPart(t, "read-only", s.path, how) {
		t.Skip("SKIPPED: this system does not let the test give up its rights; writing without rights is NOT tested")
	}
	wantTree(t, "a process without rights", s.path, before)
}

func partReadOnly(root string) error {
	s, err := Open(root, Options{})
	if err != nil {
		return err
	}
	ctx, in := context.Background(), store.Key{Kind: store.Inbox, Owner: "o", Name: "m"}
	d, err := s.Get(ctx, in)
	if err != nil {
		return err
	}
	p, err := s.Get(ctx, store.Key{Kind: store.Presence, Name: "s"})
	if err != nil {
		return err
	}
	n := 0
	for _, err := range s.Read(ctx, registry, "") {
		if err != nil {
			return err
		}
		n++
	}
	if n != 1 {
		return fmt.Errorf("%d lines in the registry", n)
	}
	_, create := s.Create(ctx, store.Key{Kind: store.Inbox, Owner: "o", Name: "new"}, []byte("{}"))
	_, first := s.Create(ctx, store.Key{Kind: store.Inbox, Owner: "new", Name: "new"}, []byte("{}"))
	_, replace := s.Replace(ctx, p.Key, []byte("{1}"), p.Rev)
	_, add := s.Append(ctx, registry, store.AnyEnd, []byte("{}"))
	_, acquire := s.Acquire(ctx, "l", "me", 1e9)
	var errs []error
	for what, err := range map[string]error{
		"Create": create, "Create in a new folder": first, "Replace": replace, "Append": add, "Acquire": acquire,
		"Delete": s.Delete(ctx, in, d.Rev), "Move": s.Move(ctx, in, d.Rev, store.Key{Kind: store.Archive, Owner: "o", Name: "m"}),
		"Batch": s.Batch(ctx, func(w store.Writer) error {
			_, err := w.Create(ctx, store.Key{Kind: store.Inbox, Owner: "o", Name: "new"}, []byte("{}"))
			return err
		}),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			errs = append(errs, fmt.Errorf("%s: %v, want ErrReadOnly", what, err))
		}
	}
	return errors.Join(errs...)
}

// TestFileSizeLimit: a write that the system cuts short is an error and leaves nothing that anybody could take for a document
// or a line.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	s := filled(t)
	before := entries(t, s, "inbox/o")
	if !runPart(t, "file-size", s.path, nil) {
		t.Skip("SKIPPED: a limit on the size of files cannot be set here; short writes are NOT tested")
	}
	if got := entries(t, s, "inbox/o"); !slices.Equal(got, before) {
		t.Errorf("the mailbox holds %q, want %q", got, before)
	}
	checkAfterFault(t, s)
}

// checkAfterFault: the one line is there, nothing is left over, and writing goes on.
func checkAfterFault(t *testing.T, s *Store) {
	t.Helper()
	if left := temps(t, s); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if got := content(t, s, registry.Path()); got != "{\"n\":1}\n" {
		t.Errorf("the registry is %q", got)
	}
	if _, err := s.Append(t.Context(), registry, store.AnyEnd, []byte("{}")); err != nil {
		t.Errorf("Append afterwards: %v", err)
	}
	create(t, s, store.Key{Kind: store.Inbox, Owner: "o", Name: "large"}, strings.Repeat("x", 5000))
}

func partFileSize(root string) error {
	signal.Ignore(unix.SIGXFSZ)
	s, err := Open(root, Options{})
	if err != nil {
		return err
	}
	const limit = 1000 // more than a lock record needs
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("SKIP: %w", err)
	}
	return wantFailures(s, unix.EFBIG)
}

// wantFailures writes what does not fit.
func wantFailures(s *Store, want error) error {
	ctx := context.Background()
	large := []byte(strings.Repeat("x", 5000))
	p := store.Key{Kind: store.Presence, Name: "s"}
	d, err := s.Get(ctx, p)
	if err != nil {
		return err
	}
	in := store.Key{Kind: store.Inbox, Owner: "o", Name: "large"}
	_, create := s.Create(ctx, in, large)
	_, replace := s.Replace(ctx, p, large, d.Rev)
	_, add := s.Append(ctx, registry, store.AnyEnd, []byte(`{"pad":"`+string(large)+`"}`))
	var errs []error
	for what, err := range map[string]error{
		"Create": create, "Replace": replace, "Append": add,
		"Batch": s.Batch(ctx, func(w store.Writer) error {
			_, err := w.Create(ctx, in, large)
			return err
		}),
	} {
		if err == nil || !errors.Is(err, want) && !strings.Contains(err.Error(), "short write") {
			errs = append(errs, fmt.Errorf("%s: %v, want %v", what, err, want))
		}
	}
	if got, err := s.Get(ctx, p); err != nil || got.Rev != d.Rev {
		errs = append(errs, fmt.Errorf("the presence is %v now, error %v", got, err))
	}
	return errors.Join(errs...)
}

// TestDiskFull is TestFileSizeLimit on a small file system of its own that is full.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if !runPart(t, "disk-full", t.TempDir(), &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}) {
		t.Skip("SKIPPED: no file system can be mounted here; a full disk is NOT tested")
	}
}

func partDiskFull(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("SKIP: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		return fmt.Errorf("SKIP: %w", err)
	}
	defer unix.Unmount(root, unix.MNT_DETACH)
	s, err := Open(root, Options{Create: true})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := s.Create(ctx, store.Key{Kind: store.Presence, Name: "s"}, []byte("{}")); err != nil {
		return err
	}
	if _, err := s.Append(ctx, registry, "", []byte(`{"n":1}`)); err != nil {
		return err
	}
	fill, err := os.Create(filepath.Join(root, "fill"))
	if err != nil {
		return err
	}
	for ; err == nil; _, err = fill.Write(make([]byte, 4096)) {
	}
	if err := wantFailures(s, unix.ENOSPC); err != nil {
		return err
	}
	if got, err := os.ReadFile(s.where(registry)); string(got) != "{\"n\":1}\n" {
		return fmt.Errorf("the registry is %.60q, %v", got, err)
	}
	if found, err := os.ReadDir(filepath.Join(root, "inbox", "o")); err == nil && len(found) > 0 {
		return fmt.Errorf("left behind: %v", found)
	}
	if err := os.Remove(fill.Name()); err != nil {
		return err
	}
	fill.Close()
	if _, err := s.Append(ctx, registry, store.AnyEnd, []byte("{}")); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	return nil
}
