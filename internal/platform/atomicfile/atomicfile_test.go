package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unfit, absent and invalid are the three ways to refuse; each test names the one it wants.
func refusal(err error) string {
	var unfit *UnfitError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &unfit):
		return "unfit"
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrInvalid):
		return "invalid"
	}
	return err.Error()
}

// tree makes a folder with one of each thing that may lie in a shared one.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "a/b/c"), 0o700))
	must(t, os.WriteFile(filepath.Join(root, "a/b/file"), []byte("hello"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "file"), []byte("hello"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "not\xffutf8"), nil, 0o600))
	must(t, os.Symlink("a", filepath.Join(root, "inside")))
	must(t, os.Symlink("/etc", filepath.Join(root, "outside")))
	must(t, os.Symlink("file", filepath.Join(root, "tofile")))
	must(t, os.Symlink("nowhere", filepath.Join(root, "dangling")))
	must(t, os.Symlink("../file", filepath.Join(root, "a/up")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	return root
}

func TestSub(t *testing.T) {
	d := open(t, tree(t))
	for _, tt := range []struct{ rel, want string }{
		{"a", "none"},
		{"a/b", "none"},
		{"a/b/c", "none"},
		{"", "none"},
		{".", "none"},
		{"inside", "unfit"},
		{"inside/b", "unfit"},
		{"outside", "unfit"},
		{"outside/ssh", "unfit"},
		{"dangling", "unfit"},
		{"file", "unfit"},
		{"file/x", "unfit"},
		{"fifo", "unfit"},
		{"a/none", "absent"},
		{"none/a", "absent"},
		{"none", "absent"},
		{"..", "invalid"},
		{"a/..", "invalid"},
		{"a/../a", "invalid"},
		{"/etc", "invalid"},
		{"a//b", "invalid"},
		{"a/", "invalid"},
		{"a/./b", "invalid"},
		{"a\x00b", "invalid"},
	} {
		sub, err := d.Sub(tt.rel)
		if got := refusal(err); got != tt.want {
			t.Errorf("Sub(%q) refused as %s (%v), want %s", tt.rel, got, err, tt.want)
		}
		if err == nil {
			if want := filepath.Join(d.Path(), tt.rel); sub.Path() != want {
				t.Errorf("Sub(%q).Path() = %q, want %q", tt.rel, sub.Path(), want)
			}
			must(t, sub.Close())
		}
		// The steps that older systems need must judge alike.
		if check(tt.rel) != nil {
			continue
		}
		fd, err := openSteps(d.fd, tt.rel, dirFlags, 0)
		if err != nil {
			err = d.fail("open", tt.rel, err)
		} else {
			unix.Close(fd)
		}
		if got := refusal(err); got != tt.want {
			t.Errorf("step by step %q refused as %s (%v), want %s", tt.rel, got, err, tt.want)
		}
	}
}

func TestOpenChecksFile(t *testing.T) {
	root := tree(t)
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	must(t, err)
	defer l.Close()
	d := open(t, root)
	for _, tt := range []struct {
		name string
		max  int64
		want string
	}{
		{"file", 0, "none"},
		{"file", 5, "none"},
		{"file", 4, "unfit"},
		{"a/b/file", 5, "none"},
		{"not\xffutf8", 1, "none"},
		{"tofile", 0, "unfit"},
		{"dangling", 0, "unfit"},
		{"inside/b/file", 0, "unfit"},
		{"a/up", 0, "unfit"},
		{"outside/passwd", 0, "unfit"},
		{"fifo", 0, "unfit"},
		{"sock", 0, "unfit"},
		{"a", 0, "unfit"},
		{"file/x", 0, "unfit"},
		{"none", 0, "absent"},
		{"../x", 0, "invalid"},
		{"", 0, "invalid"},
		{".", 0, "invalid"},
	} {
		for _, write := range []bool{false, true} {
			f, _, err := d.Open(tt.name, write, tt.max)
			if got := refusal(err); got != tt.want {
				t.Errorf("Open(%q, write %v, max %d) refused as %s (%v), want %s", tt.name, write, tt.max, got, err, tt.want)
			}
			if err == nil {
				must(t, f.Close())
			}
		}
		_, _, err := d.Read(tt.name, tt.max)
		if got := refusal(err); got != tt.want {
			t.Errorf("Read(%q, %d) refused as %s (%v), want %s", tt.name, tt.max, got, err, tt.want)
		}
		if tt.want != "unfit" || tt.name == "file" {
			continue
		}
		if f, _, _, err := d.Append(tt.name, 0); refusal(err) != "unfit" {
			t.Errorf("Append(%q) = %v, %v, want it unfit", tt.name, f, err)
		}
	}
	if data, _, err := d.Read("file", 5); string(data) != "hello" || err != nil {
		t.Errorf("Read(file) = %q, %v", data, err)
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only the superuser can give files away, so a file of another owner is NOT tested")
	}
	root := t.TempDir()
	d := open(t, root)
	must(t, os.WriteFile(filepath.Join(root, "theirs"), nil, 0o644))
	must(t, os.Chown(filepath.Join(root, "theirs"), 12345, 12345))
	if _, _, err := d.Read("theirs", 0); refusal(err) != "unfit" {
		t.Errorf("file of a stranger: %v, want unfit", err)
	}
	must(t, os.Chown(root, 12345, 12345))
	if _, _, err := d.Read("theirs", 0); err != nil {
		t.Errorf("file of the folder's owner: %v, want none", err)
	}
}

func TestStatReportsLinks(t *testing.T) {
	d := open(t, tree(t))
	for _, tt := range []struct {
		name, kind string
	}{
		{"tofile", "is a symbolic link"}, {"a", "is a folder"}, {"fifo", "is a FIFO"}, {"a/up", "is a symbolic link"},
	} {
		if i, err := d.Stat(tt.name); err != nil || i.kind() != tt.kind {
			t.Errorf("Stat(%q) %s, %v, want it %s", tt.name, i.kind(), err, tt.kind)
		}
	}
	if i, err := d.Stat("a/b/file"); err != nil || !i.Regular() || i.Size != 5 || i.Nlink != 1 {
		t.Errorf("Stat(a/b/file) = %+v, %v", i, err)
	}
	if _, err := d.Stat("inside/b/file"); refusal(err) != "unfit" {
		t.Errorf("Stat behind a link: %v, want unfit", err)
	}
	self, err := d.Self()
	if err != nil || !self.Folder() {
		t.Errorf("Self() = %+v, %v", self, err)
	}
}

func TestMakeSub(t *testing.T) {
	root := tree(t)
	d := open(t, root)
	for _, tt := range []struct{ rel, want string }{
		{"x/y/z", "none"},
		{"x/y/z", "none"},
		{"a/b/c/d", "none"},
		{"inside/new", "unfit"},
		{"a/up/new", "unfit"},
		{"file/new", "unfit"},
		{"../new", "invalid"},
		{"dangling", "unfit"},
	} {
		sub, err := d.MakeSub(tt.rel, 0o700)
		if got := refusal(err); got != tt.want {
			t.Errorf("MakeSub(%q) refused as %s (%v), want %s", tt.rel, got, err, tt.want)
		}
		if err != nil {
			continue
		}
		must(t, sub.Create("f", nil, 0o600, true))
		must(t, sub.Remove("f"))
		must(t, sub.Close())
	}
	st, err := os.Stat(filepath.Join(root, "x/y"))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("x/y has mode %v, %v, want 0700", st.Mode(), err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			sub, err := d.MakeSub("m/n/o", 0o700)
			if err != nil {
				t.Errorf("one of eight that make the same folder: %v", err)
				return
			}
			if err := sub.Create(fmt.Sprint(i), nil, 0o600, false); err != nil {
				t.Error(err)
			}
			sub.Close()
		})
	}
	wg.Wait()
	if got, err := os.ReadDir(filepath.Join(root, "m/n/o")); len(got) != 8 {
		t.Errorf("%d files in the folder that eight made, %v, want 8", len(got), err)
	}
}

func TestNames(t *testing.T) {
	d := open(t, t.TempDir())
	var want []string
	for i := range 3000 { // several system calls' worth
		name := fmt.Sprintf("a name of some length, number %d", i)
		must(t, d.Create(name, nil, 0o600, false))
		want = append(want, name)
	}
	slices.Sort(want)
	var wg sync.WaitGroup
	for range 4 { // one handle, listed by many at a time
		wg.Go(func() {
			got, err := d.Names()
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("Names() gave %d names, %v, want %d", len(got), err, len(want))
			}
		})
	}
	wg.Wait()
}

func TestCloseWhileInUse(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root)
	must(t, err)
	must(t, d.Create("f", []byte("x"), 0o600, false))
	var wg sync.WaitGroup
	started := make(chan bool, 4)
	for range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				data, _, err := d.Read("f", 0)
				if errors.Is(err, fs.ErrClosed) {
					return
				}
				if err != nil || string(data) != "x" {
					t.Errorf("Read during Close = %q, %v", data, err)
					return
				}
				if n == 10 {
					started <- true
				}
			}
		})
	}
	for range 4 {
		<-started
	}
	must(t, d.Close())
	wg.Wait()
	must(t, d.Close())
	if _, err := d.Names(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Names after Close: %v, want fs.ErrClosed", err)
	}
	if err := d.Create("g", nil, 0o600, true); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Create after Close: %v, want fs.ErrClosed", err)
	}
}

func TestHandlesAreNotInherited(t *testing.T) {
	d := open(t, tree(t))
	sub, err := d.Sub("a/b")
	must(t, err)
	defer sub.Close()
	f, _, err := d.Open("a/b/file", true, 0)
	must(t, err)
	defer f.Close()
	g, _, _, err := d.Append("log", 0)
	must(t, err)
	defer g.Close()
	for name, fd := range map[string]int{"OpenDir": d.FD(), "Sub": sub.FD(), "Open": f.FD(), "Append": g.FD()} {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("handle of %s has flags %#x, %v: a child would inherit it", name, flags, err)
		}
	}
}
