package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"tutti/internal/store"
)

// TestUnreadable: a file that only another user may read is invalid, and hides no other file.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	good, closed := store.Key{Kind: store.Presence, Name: "good"}, store.Key{Kind: store.Presence, Name: "closed"}
	create(t, s, good, string(viewMsg(1, "k", "good")))
	create(t, s, closed, string(viewMsg(2, "k", "closed")))
	if err := os.Chmod(filepath.Join(s.path, closed.Path()), 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, s.path)
	var unfit *store.UnfitError
	if d, err := s.Get(t.Context(), closed); !errors.As(err, &unfit) || unfit.Key != closed {
		t.Errorf("get: %q, %v", d.Data, err)
	}
	if got := get(t, s, good); got != string(viewMsg(1, "k", "good")) {
		t.Errorf("the file beside it is %q", got)
	}
	named, seen := false, false
	p := listing(nil)
	for row, err := range s.View(t.Context(), store.Presence, "", p, store.Query{}) {
		switch {
		case errors.As(err, &unfit):
			named = named || unfit.Key == closed
		case err != nil:
			t.Errorf("view: %v", err)
		default:
			seen = seen || row.Key == good
		}
	}
	if !named || !seen {
		t.Errorf("view: the unreadable one is named: %v, the one beside it shown: %v", named, seen)
	}
}

// asNobody lets the rest of a test look at the files of a store without the rights of the superuser, if it has them.
func asNobody(t *testing.T, root string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the thread ends with the test
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setfsuid(0); err != nil { // to take the folder away
			t.Error(err)
		}
	})
}
