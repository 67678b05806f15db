package full

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tutti/internal/governance/journal"
)

// TestMemoryOnDisk: what is kept comes back to another process as it was, or not at all.
func TestMemoryOnDisk(t *testing.T) {
	t.Parallel()
	d := &onDisk{dir: filepath.Join(t.TempDir(), "cache", "journals"), root: "/bus"}
	if d.Recall("n") != nil {
		t.Error("something is known of nothing")
	}
	what := []byte(`{"form":1,"count":7}`)
	d.Keep("n", what)
	if got := (&onDisk{dir: d.dir, root: "/bus"}).Recall("n"); !bytes.Equal(got, what) {
		t.Errorf("%s", got)
	}
	if (&onDisk{dir: d.dir, root: "/other"}).Recall("n") != nil || d.Recall("m") != nil {
		t.Error("it is known of another journal")
	}
	path := filepath.Join(d.dir, d.name("n"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		bad := bytes.Clone(whole)
		bad[n] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if d.Recall("n") != nil {
			t.Fatalf("byte %d was changed, and it is believed", n)
		}
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil || d.Recall("n") != nil {
			t.Fatalf("cut at %d, it is believed (%v)", n, err)
		}
	}
	for name, lay := range map[string]func() error{
		"folder": func() error { return os.Mkdir(path, 0o700) },
		"link":   func() error { return os.Symlink(filepath.Join(d.dir, "x"), path) },
		"FIFO":   func() error { return syscall.Mkfifo(path, 0o600) },
	} {
		os.RemoveAll(path)
		if err := lay(); err != nil {
			t.Fatal(err)
		}
		if d.Recall("n") != nil {
			t.Errorf("a %s is believed", name)
		}
		d.Keep("n", what)
	}
	os.RemoveAll(path)
	d.Keep("n", make([]byte, journal.MaxRemembered+1))
	if d.Recall("n") != nil {
		t.Error("too much was kept")
	}
	d.Keep("n", what)
	if err := os.Chmod(d.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if d.Recall("n") != nil {
		t.Error("a folder in which everybody may write is believed")
	}
}

// TestMemoryOnDiskIsSmall: of however many journals, something is kept of a limited number.
func TestMemoryOnDiskIsSmall(t *testing.T) {
	t.Parallel()
	d := &onDisk{dir: filepath.Join(t.TempDir(), "journals"), root: "/bus"}
	for n := range 3 * maxJournals {
		d.Keep(fmt.Sprint(n), []byte("{}"))
	}
	names, err := os.ReadDir(d.dir)
	if err != nil || len(names) > maxJournals || d.Recall(fmt.Sprint(3*maxJournals-1)) == nil {
		t.Errorf("%d files (%v)", len(names), err)
	}
}

// counting is a memory that counts what is given to it.
type counting struct {
	journal.InProcess
	kept int
}

func (c *counting) Keep(id string, what []byte) {
	c.kept++
	c.InProcess.Keep(id, what)
}

// TestMemoryIsLazy: this process knows the latest, and the disk what is no more than a few entries behind.
func TestMemoryIsLazy(t *testing.T) {
	t.Parallel()
	at := func(n int) []byte { return fmt.Appendf(nil, `{"form":1,"id":"n","count":%d}`, n) }
	disk := &counting{}
	l := &lazily{disk: disk}
	for n := 1; n <= 10*behind; n++ {
		l.Keep("n", at(n))
		if got := l.Recall("n"); !bytes.Equal(got, at(n)) {
			t.Fatalf("after %d: %s", n, got)
		}
		if on := journal.Known(disk.Recall("n")); on > n || on <= n-behind {
			t.Fatalf("after %d the disk stands at %d", n, on)
		}
	}
	if disk.kept > 11 {
		t.Errorf("written %d times", disk.kept)
	}
	other := &lazily{disk: disk} // another process goes on from there
	from := journal.Known(other.Recall("n"))
	was := disk.kept
	for n := from + 1; n < from+behind; n++ {
		other.Keep("n", at(n))
	}
	if disk.kept != was {
		t.Errorf("written %d times for a few entries", disk.kept-was)
	}
	other.Keep("n", at(from+100_000)) // caught up with what others wrote
	if on := journal.Known(disk.Recall("n")); on != from+100_000 {
		t.Errorf("the disk stands at %d", on)
	}
	other.Keep("n", at(3)) // the journal was put back to an earlier copy
	if on := journal.Known(disk.Recall("n")); on != 3 {
		t.Errorf("the disk stands at %d", on)
	}
	for n := range 2 * maxJournals {
		other.Keep(fmt.Sprint(n), at(1))
	}
	if len(other.kept) > maxJournals {
		t.Errorf("of %d journals something is known", len(other.kept))
	}
}
