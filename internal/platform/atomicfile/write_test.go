package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// both runs a test with files that have no name at first, and with temporary names.
func both(t *testing.T, test func(t *testing.T, d *Dir)) {
	for _, named := range []bool{false, true} {
		t.Run(fmt.Sprintf("temporary names=%v", named), func(t *testing.T) {
			d := open(t, t.TempDir())
			d.needNames.Store(named)
			test(t, d)
		})
	}
}

// only fails unless the names in d are exactly these.
func only(t *testing.T, d *Dir, want ...string) {
	t.Helper()
	got, err := d.Names()
	must(t, err)
	if len(got) != len(want) {
		t.Errorf("folder holds %q, want %q", got, want)
	}
	for _, name := range want {
		if _, err := d.Stat(name); err != nil {
			t.Errorf("folder holds %q, want %q", got, want)
		}
	}
}

func TestCreate(t *testing.T) {
	both(t, func(t *testing.T, d *Dir) {
		must(t, d.Create("m.json", []byte("one"), 0o640, true))
		if err := d.Create("m.json", []byte("two"), 0o600, true); !errors.Is(err, fs.ErrExist) {
			t.Errorf("second Create: %v, want fs.ErrExist", err)
		}
		data, info, err := d.Read("m.json", 0)
		if string(data) != "one" || err != nil || info.Mode&0o777 != 0o640 || info.Nlink != 1 || info.Size != 3 {
			t.Errorf("Read = %q, %+v, %v, want one, mode 0640, one link", data, info, err)
		}
		if at, err := d.Stat("m.json"); at != info || err != nil {
			t.Errorf("Stat = %+v, %v, want what Read gave: %+v", at, err, info)
		}
		must(t, os.Symlink("nowhere", d.join("link")))
		if err := d.Create("link", nil, 0o600, true); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create over a dangling link: %v, want fs.ErrExist", err)
		}
		sub, err := d.MakeSub("s", 0o700)
		must(t, err)
		defer sub.Close()
		must(t, d.Create("s/n.json", []byte("below"), 0o600, true))
		only(t, sub, "n.json")
		if err := d.Create("none/n.json", nil, 0o600, true); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Create in a missing folder: %v, want fs.ErrNotExist", err)
		}
		only(t, d, "m.json", "link", "s")
	})
}

func TestCreateHasOneWinner(t *testing.T) {
	both(t, func(t *testing.T, d *Dir) {
		for round := range 20 {
			name := fmt.Sprintf("m%d", round)
			var wins atomic.Int32
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					switch err := d.Create(name, bytes.Repeat([]byte{byte('a' + i)}, 5000), 0o600, false); {
					case err == nil:
						wins.Add(1)
					case !errors.Is(err, fs.ErrExist):
						t.Errorf("loser got %v, want fs.ErrExist", err)
					}
					data, _, err := d.Read(name, 0)
					if err != nil || len(data) != 5000 || !bytes.Equal(data, bytes.Repeat(data[:1], 5000)) {
						t.Errorf("seen half written: %d bytes, %v", len(data), err)
					}
				})
			}
			wg.Wait()
			if wins.Load() != 1 {
				t.Errorf("%s has %d winners, want 1", name, wins.Load())
			}
		}
		if got, _ := d.Names(); len(got) != 20 {
			t.Errorf("%d names are left, want 20: %q", len(got), got)
		}
	})
}

func TestReplaceIsAtomic(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.Replace("f", bytes.Repeat([]byte{'a'}, 9000), 0o600, true))
	stop := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for i := range 300 {
			if err := d.Replace("f", bytes.Repeat([]byte{byte('a' + i%26)}, 9000+i), 0o600, false); err != nil {
				t.Error(err)
			}
		}
	})
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		data, info, err := d.Read("f", 0)
		if err != nil || len(data) < 9000 || int64(len(data)) != info.Size || !bytes.Equal(data, bytes.Repeat(data[:1], len(data))) {
			t.Fatalf("seen half replaced: %d bytes, %+v, %v", len(data), info, err)
		}
	}
	wg.Wait()
	only(t, d, "f")
}

func TestPublish(t *testing.T) {
	d := open(t, t.TempDir())
	to, err := d.MakeSub("to", 0o700)
	must(t, err)
	defer to.Close()
	tmp, err := d.Stage([]byte("one"), 0o600, true)
	must(t, err)
	if !strings.HasPrefix(tmp, ".") || strings.HasSuffix(tmp, ".json") || !IsTemp(tmp) || len(tmp) > 255 {
		t.Errorf("temporary name %q", tmp)
	}
	must(t, d.Publish(tmp, to, "m.json"))
	only(t, d, "to")
	tmp, err = d.Stage([]byte("two"), 0o600, false)
	must(t, err)
	if err := d.Publish(tmp, to, "m.json"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Publish to a name that is taken: %v, want fs.ErrExist", err)
	}
	only(t, d, "to") // the loser's file is gone
	if data, _, _ := to.Read("m.json", 0); string(data) != "one" {
		t.Errorf("after the loser: %q, want one", data)
	}
	tmp, err = d.Stage(nil, 0o600, false)
	must(t, err)
	if err := d.Publish(tmp, d, "none/m.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Publish into a missing folder: %v, want fs.ErrNotExist", err)
	}
	only(t, d, "to", tmp) // kept for another attempt
	must(t, os.Link(d.join(tmp), d.join("again")))
	must(t, d.Publish(tmp, d, "again")) // the answer to the first link was lost, say
	only(t, d, "to", "again")
}

func TestExchange(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.Create("f", []byte("old"), 0o600, false))
	tmp, err := d.Stage([]byte("new"), 0o600, false)
	must(t, err)
	if err := d.Exchange(tmp, d, "f"); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not on this file system: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	now, _, _ := d.Read("f", 0)
	was, _, _ := d.Read(tmp, 0)
	if string(now) != "new" || string(was) != "old" {
		t.Errorf("after Exchange f = %q, temporary = %q, want new and old", now, was)
	}
	if err := d.Exchange(tmp, d, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Exchange with a missing name: %v, want fs.ErrNotExist", err)
	}
	only(t, d, "f", tmp)
}

func TestRename(t *testing.T) {
	d := open(t, t.TempDir())
	sub, err := d.MakeSub("sub", 0o700)
	must(t, err)
	defer sub.Close()
	for name, step := range map[string]func(from string, replace bool) error{
		"rename":   func(from string, replace bool) error { return d.Rename(from, sub, "g", replace) },
		"by paths": func(from string, replace bool) error { return d.Rename(from, d, "sub/g", replace) },
	} {
		must(t, d.Create("f", []byte("one"), 0o600, false))
		must(t, step("f", false))
		must(t, d.Create("f", []byte("two"), 0o600, false))
		if err := step("f", false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s onto a taken name: %v, want fs.ErrExist", name, err)
		}
		if err := step("none", false); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a missing name: %v, want fs.ErrNotExist", name, err)
		}
		must(t, step("f", true))
		if data, _, _ := sub.Read("g", 0); string(data) != "two" {
			t.Errorf("%s with replace left %q, want two", name, data)
		}
		must(t, sub.Remove("g"))
	}
	if err := d.Rename("../f", sub, "g", true); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Rename of a name outside: %v, want fs.ErrInvalid", err)
	}
}

func TestMoveHasOneWinner(t *testing.T) {
	d := open(t, t.TempDir())
	for round := range 30 {
		must(t, d.Create("f", nil, 0o600, false))
		var wins atomic.Int32
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				switch err := d.Rename("f", d, fmt.Sprintf("to-%d-%d", round, i), false); {
				case err == nil:
					wins.Add(1)
				case !errors.Is(err, fs.ErrNotExist):
					t.Errorf("loser got %v, want fs.ErrNotExist", err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d of 6 moved the one file", wins.Load())
		}
	}
}

func TestSweep(t *testing.T) {
	d := open(t, t.TempDir())
	now := time.Now()
	old, err := d.Stage(nil, 0o600, false)
	must(t, err)
	must(t, os.Chtimes(d.join(old), now, now.Add(-2*time.Hour)))
	young, err := d.Stage(nil, 0o600, false)
	must(t, err)
	keep := []string{young, ".lock", ".tutti-x.tmp", ".tutti-1-2-3.json", "x" + old, "m.json"}
	for _, name := range keep[1:] {
		must(t, d.Create(name, nil, 0o600, false))
		must(t, os.Chtimes(d.join(name), now, now.Add(-2*time.Hour)))
	}
	if n, err := d.Sweep(now.Add(-time.Hour)); n != 1 || err != nil {
		t.Errorf("Sweep removed %d, %v, want 1", n, err)
	}
	only(t, d, keep...)
}

func TestWriteFile(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o700))
	must(t, os.Symlink("real", filepath.Join(root, "conf"))) // people link their settings folder
	path := filepath.Join(root, "conf", "f")
	for _, want := range []string{"one", "two"} {
		must(t, WriteFile(path, []byte(want), 0o600))
		if got, err := os.ReadFile(filepath.Join(root, "real/f")); string(got) != want {
			t.Errorf("file holds %q, %v, want %q", got, err, want)
		}
	}
}

func TestFile(t *testing.T) {
	d := open(t, t.TempDir())
	f, info, created, err := d.Append("log", 100)
	if err != nil || !created || info.Size != 0 || info.Mode&0o777 != 0o600 {
		t.Fatalf("Append(new) = %+v, created %v, %v", info, created, err)
	}
	defer f.Close()
	g, _, created, err := d.Append("log", 100)
	if err != nil || created {
		t.Fatalf("Append(known): created %v, %v", created, err)
	}
	defer g.Close()
	for i, h := range []*File{f, g, f} { // each write goes to the end, whoever wrote before
		if n, err := h.Append([]byte(fmt.Sprintf("line %d\n", i))); n != 7 || err != nil {
			t.Fatalf("Append = %d, %v", n, err)
		}
	}
	must(t, f.Datasync())
	must(t, f.Truncate(14))
	must(t, f.Sync())
	buf := make([]byte, 20)
	if n, err := g.Pread(buf, 5); string(buf[:n]) != "0\nline 1\n" || err != nil {
		t.Errorf("Pread = %q, %v", buf[:n], err)
	}
	if i, err := f.Stat(); i.Size != 14 || err != nil {
		t.Errorf("Stat = %+v, %v, want size 14", i, err)
	}
	h, _, err := d.Open("log", true, 0)
	must(t, err)
	if n, err := h.Pwrite([]byte("LINE"), 7); n != 4 || err != nil {
		t.Errorf("Pwrite = %d, %v", n, err)
	}
	must(t, h.Close())
	must(t, h.Close())
	if _, err := h.Append(nil); err == nil || errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Append to a closed file: %v, want an error of the system", err)
	}
	if data, _, err := d.Read("log", 0); string(data) != "line 0\nLINE 1\n" {
		t.Errorf("log holds %q, %v", data, err)
	}
	if _, _, _, err := d.Append("log", 13); refusal(err) != "unfit" {
		t.Errorf("Append above the limit: %v, want unfit", err)
	}
}

// TestKilledWriter kills a process that creates and replaces files. What it leaves must be whole or recognisable as temporary.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("TUTTI_TEST_WRITER"); dir != "" {
		d := open(t, dir)
		for i := 0; ; i++ {
			data := bytes.Repeat([]byte{byte(i)}, 200_000)
			must(t, d.Create(fmt.Sprintf("c%d.json", i), data, 0o600, false))
			must(t, d.Replace("r.json", data, 0o600, false))
			d.needNames.Store(i%2 == 0)
		}
	}
	for round := range 5 {
		d := open(t, t.TempDir())
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "TUTTI_TEST_WRITER="+d.Path())
		must(t, cmd.Start())
		for { // until it is at work
			if _, err := d.Stat(fmt.Sprintf("c%d.json", 3+round)); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		must(t, cmd.Process.Kill())
		cmd.Wait()
		names, err := d.Names()
		must(t, err)
		for _, name := range names {
			if IsTemp(name) {
				continue
			}
			data, _, err := d.Read(name, 0)
			if err != nil || len(data) != 200_000 || !bytes.Equal(data, bytes.Repeat(data[:1], len(data))) {
				t.Errorf("a killed writer left %s with %d bytes, %v", name, len(data), err)
			}
		}
	}
}

// TestStageAs: the name is the caller's, a taken one is left as it is, and what is staged so can be published.
func TestStageAs(t *testing.T) {
	d := open(t, t.TempDir())
	must(t, d.StageAs(".tmp.0a.x", []byte("new"), 0o600, true))
	if err := d.StageAs(".tmp.0a.x", []byte("other"), 0o600, true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v, want fs.ErrExist", err)
	}
	for _, name := range []string{"", "..", "a/b", "x\x00"} {
		if err := d.StageAs(name, nil, 0o600, false); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("StageAs(%q): %v, want fs.ErrInvalid", name, err)
		}
	}
	must(t, d.Publish(".tmp.0a.x", d, "x"))
	if data, _, err := d.Read("x", 0); err != nil || string(data) != "new" {
		t.Errorf("x holds %q, %v; want new", data, err)
	}
	only(t, d, "x")
}
