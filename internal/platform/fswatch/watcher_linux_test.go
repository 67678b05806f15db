package fswatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func start(t testing.TB) *Watcher {
	t.Helper()
	w, err := Start()
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func add(t testing.TB, w *Watcher, path string, o Options) *Sub {
	t.Helper()
	s, err := w.Add(path, o)
	must(t, err)
	return s
}

func TestOps(t *testing.T) {
	cases := []struct {
		name string
		do   func(t *testing.T, in, out string)
		want map[string]Op
	}{
		{"written in place", func(t *testing.T, in, out string) { write(t, in+"/n") }, map[string]Op{"n": Created | Written}},
		{"linked", func(t *testing.T, in, out string) {
			write(t, out+"/n")
			must(t, os.Link(out+"/n", in+"/n"))
		}, map[string]Op{"n": Created}},
		{"moved in", func(t *testing.T, in, out string) {
			write(t, out+"/n")
			must(t, os.Rename(out+"/n", in+"/n"))
		}, map[string]Op{"n": Created | Written}},
		{"moved out", func(t *testing.T, in, out string) { must(t, os.Rename(in+"/old", out+"/old")) }, map[string]Op{"old": Gone}},
		{"removed", func(t *testing.T, in, out string) { must(t, os.Remove(in+"/old")) }, map[string]Op{"old": Gone}},
		{
			"renamed", func(t *testing.T, in, out string) { must(t, os.Rename(in+"/old", in+"/n")) },
			map[string]Op{"old": Gone, "n": Created | Written},
		},
		{"folder made", func(t *testing.T, in, out string) { must(t, os.Mkdir(in+"/d", 0o700)) }, map[string]Op{"d": Created}},
		{"mode changed", func(t *testing.T, in, out string) { must(t, os.Chmod(in+"/old", 0o400)) }, map[string]Op{}},
		{"opened and read", func(t *testing.T, in, out string) { _, err := os.ReadFile(in + "/old"); must(t, err) }, map[string]Op{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, in, out := start(t), t.TempDir(), t.TempDir()
			write(t, in+"/old")
			s := add(t, w, in, Options{})
			c.do(t, in, out)
			if got := collect(t, s); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("reported %v, want %v", got, c.want)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	w, dir := start(t), t.TempDir()
	all := add(t, w, dir, Options{})
	visible := add(t, w, dir, Options{Names: Visible})
	gone := add(t, w, dir, Options{Ops: Gone, Names: func(n string) bool { return n != "last" }})
	write(t, dir+"/.hidden")
	write(t, dir+"/seen")
	must(t, os.Mkdir(dir+"/folder", 0o700))
	must(t, os.Remove(dir+"/.hidden"))
	if got, want := fmt.Sprint(collect(t, all)), "map[.hidden:created|written|gone folder:created seen:created|written]"; got != want {
		t.Errorf("all: %s, want %s", got, want)
	}
	if ev := wait(t, visible, Created); ev.Name != "seen" {
		t.Errorf("visible names: %+v first, want seen", ev)
	}
	if ev := wait(t, visible, Created); ev.Name != "folder" || !ev.Dir {
		t.Errorf("visible names: %+v second, want a folder", ev)
	}
	if ev := wait(t, gone, ^Op(0)); ev.Name != ".hidden" || ev.Op != Gone {
		t.Errorf("removals: %+v, want .hidden gone and nothing else", ev)
	}
}

// TestPathReplaced: each step changes home/a/b. Afterwards the subscriber must have been asked to rescan, and a new file must be reported.
func TestPathReplaced(t *testing.T) {
	target := "/a/b"
	make_ := func(t *testing.T, h string) { must(t, os.MkdirAll(h+target, 0o700)) }
	cases := []struct {
		name          string
		before, after func(t *testing.T, h string)
	}{
		{"made step by step", func(t *testing.T, h string) {}, func(t *testing.T, h string) {
			must(t, os.Mkdir(h+"/a", 0o700))
			time.Sleep(20 * time.Millisecond) // so that the watcher follows each step
			must(t, os.Mkdir(h+"/a/b", 0o700))
		}},
		{"made at once", func(t *testing.T, h string) {}, make_},
		{
			"moved in whole", func(t *testing.T, h string) { must(t, os.MkdirAll(h+"/c/b", 0o700)) },
			func(t *testing.T, h string) { must(t, os.Rename(h+"/c", h+"/a")) },
		},
		{"moved away and made again", make_, func(t *testing.T, h string) {
			must(t, os.Rename(h+"/a/b", h+"/a/old"))
			make_(t, h)
		}},
		{"removed and made again", make_, func(t *testing.T, h string) {
			must(t, os.Remove(h+"/a/b"))
			make_(t, h)
		}},
		{"removed slowly with all above it", make_, func(t *testing.T, h string) {
			must(t, os.Remove(h+"/a/b"))
			time.Sleep(20 * time.Millisecond)
			must(t, os.Remove(h+"/a"))
			time.Sleep(20 * time.Millisecond)
			make_(t, h)
		}},
		{"parent moved away and made again", make_, func(t *testing.T, h string) {
			must(t, os.Rename(h+"/a", h+"/old"))
			make_(t, h)
		}},
		{"parent moved away and back", make_, func(t *testing.T, h string) {
			must(t, os.Rename(h+"/a", h+"/old"))
			time.Sleep(20 * time.Millisecond)
			must(t, os.Rename(h+"/old", h+"/a"))
		}},
		{
			"exchanged", func(t *testing.T, h string) { make_(t, h); must(t, os.MkdirAll(h+"/c/b", 0o700)) },
			func(t *testing.T, h string) {
				must(t, unix.Renameat2(unix.AT_FDCWD, h+"/a", unix.AT_FDCWD, h+"/c", unix.RENAME_EXCHANGE))
			},
		},
		{"file in the way removed", func(t *testing.T, h string) { write(t, h+"/a") }, func(t *testing.T, h string) {
			must(t, os.Remove(h+"/a"))
			make_(t, h)
		}},
		{
			"link that led nowhere", func(t *testing.T, h string) { must(t, os.Symlink("real", h+"/a")) },
			func(t *testing.T, h string) { must(t, os.MkdirAll(h+"/real/b", 0o700)) },
		},
		{"link turned", func(t *testing.T, h string) {
			must(t, os.MkdirAll(h+"/one/b", 0o700))
			must(t, os.MkdirAll(h+"/two/b", 0o700))
			must(t, os.Symlink(h+"/one", h+"/a"))
		}, func(t *testing.T, h string) {
			must(t, os.Symlink("./x/../two", h+"/new"))
			must(t, os.Mkdir(h+"/x", 0o700))
			must(t, os.Rename(h+"/new", h+"/a"))
		}},
		{"last step is a link turned", func(t *testing.T, h string) {
			must(t, os.MkdirAll(h+"/a", 0o700))
			must(t, os.MkdirAll(h+"/two", 0o700))
			must(t, os.Symlink("..", h+"/a/b"))
		}, func(t *testing.T, h string) {
			must(t, os.Symlink("../two", h+"/a/new"))
			must(t, os.Rename(h+"/a/new", h+"/a/b"))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, h := start(t), t.TempDir()
			c.before(t, h)
			s := add(t, w, h+target, Options{})
			c.after(t, h)
			wait(t, s, Self)
			// The folder may have been reported between two steps; then it is reported again.
			name := h + target + "/file"
			write(t, name)
			limit := time.After(patience)
			for {
				select {
				case ev := <-s.C:
					if ev.Name == "file" {
						return
					}
					if _, err := os.Stat(name); ev.Op.Rescan() && err == nil {
						return // a look finds it
					}
				case <-limit:
					t.Fatal("a file in the new folder was not reported")
				}
			}
		})
	}
}

// TestRemovedWhileOpen: while another process has a folder open, the kernel does not report its removal.
func TestRemovedWhileOpen(t *testing.T) {
	for _, open := range []string{"/a/b", "/a"} {
		w, h := start(t), t.TempDir()
		must(t, os.MkdirAll(h+"/a/b", 0o700))
		s := add(t, w, h+"/a/b", Options{})
		f, err := os.Open(h + open)
		must(t, err)
		must(t, os.Remove(h+"/a/b"))
		wait(t, s, Self)
		must(t, os.Remove(h+"/a"))
		must(t, os.MkdirAll(h+"/a/b", 0o700))
		wait(t, s, Self)
		write(t, h+"/a/b/file")
		f.Close()
		if ev := wait(t, s, Created|Self); ev.Op&Self == 0 && ev.Name != "file" {
			t.Errorf("%s open: %+v, want the file", open, ev)
		}
	}
}

func TestWatchesAreReleased(t *testing.T) {
	w, h := start(t), t.TempDir()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.nodes)
	}
	a := add(t, w, h+"/x/y", Options{})
	b := add(t, w, h+"/x/y", Options{Ops: Gone})
	c := add(t, w, h, Options{})
	must(t, os.MkdirAll(h+"/x/y", 0o700))
	wait(t, a, Self)
	wait(t, b, Self)
	c.Close()
	w.mu.Lock()
	for _, n := range w.nodes {
		want := uint32(selfMask)
		switch n.path {
		case h + "/x/y":
			want = w.chains[h+"/x/y"].mask()
		case h + "/x":
			want |= unix.IN_DELETE
		}
		if n.mask != want {
			t.Errorf("%s: kernel reports %#x, want %#x; more would wake for nothing", n.path, n.mask, want)
		}
	}
	w.mu.Unlock()
	a.Close()
	a.Close()
	write(t, h+"/x/y/f")
	must(t, os.Remove(h+"/x/y/f"))
	if ev := wait(t, b, Gone); ev.Name != "f" {
		t.Errorf("after the other subscription was closed: %+v, want f gone", ev)
	}
	if _, ok := <-a.C; ok {
		t.Error("closed subscription delivers")
	}
	b.Close()
	if n := count(); n != 0 {
		t.Errorf("%d watches left, want none", n)
	}
}

func TestSlowSubscriberDoesNotBlock(t *testing.T) {
	w, dir := start(t), t.TempDir()
	slow := add(t, w, dir, Options{Pending: 10})
	quick := add(t, w, dir, Options{Pending: 10_000})
	const files = 2000
	for i := range files {
		write(t, fmt.Sprintf("%s/%04d", dir, i))
	}
	if got := collect(t, quick); len(got) != files {
		t.Errorf("quick subscriber got %d files, want %d", len(got), files)
	}
	n, over := 0, false
	for !over {
		over = wait(t, slow, ^Op(0)).Op&Overflow != 0
		n++
	}
	if n > 13 { // ten wait, one is being handed over, one may be ahead
		t.Errorf("slow subscriber got %d events before the overflow, want few", n)
	}
}

func TestKernelOverflow(t *testing.T) {
	w, dir := start(t), t.TempDir()
	s := add(t, w, dir, Options{})
	missing := add(t, w, dir+"/missing", Options{})
	look, stop, err := w.Notify(dir, "x")
	must(t, err)
	defer stop()
	raw := make([]byte, unix.SizeofInotifyEvent)
	wd := int32(-1)
	binary.NativeEndian.PutUint32(raw[0:], uint32(wd))
	binary.NativeEndian.PutUint32(raw[4:], unix.IN_Q_OVERFLOW)
	w.mu.Lock()
	w.batch(raw)
	w.mu.Unlock()
	wait(t, s, Overflow)
	wait(t, missing, Overflow)
	<-look
}

func TestNotify(t *testing.T) {
	t.Parallel()
	w, h := start(t), t.TempDir()
	dir := h + "/a"
	look, stop, err := w.Notify(dir, "HALT")
	must(t, err)
	signalled := func(what string, want bool) {
		t.Helper()
		limit := 100 * time.Millisecond
		if want {
			limit = patience
		}
		select {
		case <-look:
			if !want {
				t.Errorf("%s: signal, want none", what)
			}
		case <-time.After(limit):
			if want {
				t.Errorf("%s: no signal", what)
			}
		}
	}
	must(t, os.Mkdir(dir, 0o700))
	signalled("folder made", true)
	write(t, dir+"/other")
	must(t, os.Chmod(dir+"/other", 0o400))
	signalled("other name", false)
	must(t, os.Symlink("nowhere", dir+"/HALT"))
	signalled("link made", true)
	must(t, os.Remove(dir+"/HALT"))
	signalled("link removed", true)
	must(t, os.Chmod(dir, 0o500))
	signalled("mode of the folder changed", true)
	must(t, os.Chmod(dir, 0o700))
	signalled("mode changed back", true)
	must(t, os.Rename(dir, h+"/b"))
	signalled("folder moved away", true)
	stop()
	must(t, os.Mkdir(dir, 0o700))
	signalled("after stop", false)
	stop()
}

// A watcher that breaks hands its subscribers to polling, and those who wait for a signal to themselves.
func TestBrokenWatcher(t *testing.T) {
	t.Parallel()
	w, dir := start(t), t.TempDir()
	s := add(t, w, dir, Options{})
	look, stop, err := w.Notify(dir, "x")
	must(t, err)
	defer stop()
	if s.Polled() || s.Reason() != nil {
		t.Errorf("polled %v, reason %v before the loss", s.Polled(), s.Reason())
	}
	must(t, w.file.Close()) // not through the watcher: as if the kernel refused to go on
	for range look {
	}
	wait(t, s, Overflow)
	if !s.Polled() || !errors.Is(s.Reason(), ErrNoWatcher) {
		t.Errorf("polled %v, reason %v; want polled for want of a watcher", s.Polled(), s.Reason())
	}
	write(t, dir+"/f")
	if ev := wait(t, s, Created); ev.Name != "f" {
		t.Errorf("%+v, want f", ev)
	}
	s.Close()
	if _, err := w.Add(dir, Options{}); err == nil {
		t.Error("a broken watcher accepts subscriptions")
	}
}

func TestClosedWatcher(t *testing.T) {
	w := start(t)
	s := add(t, w, t.TempDir(), Options{})
	look, _, err := w.Notify(t.TempDir(), "x")
	must(t, err)
	must(t, w.Close())
	if _, ok := <-s.C; ok {
		t.Error("subscription delivers after Close")
	}
	if _, ok := <-look; ok {
		t.Error("signal after Close, want a closed channel")
	}
	s.Close()
	must(t, w.Close())
}

func TestSharedReturnsOneWatcher(t *testing.T) {
	a, err := Shared()
	must(t, err)
	b, err := Shared()
	must(t, err)
	if a != b {
		t.Error("two shared watchers in one process")
	}
}

// A subscriber that looks after each signal must end up knowing the truth, whatever was done to the
// path and the file, and however quickly.
func TestNoMissedChanges(t *testing.T) {
	w := start(t)
	for seed := range int64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := t.TempDir()
			name := h + "/a/b/c/HALT"
			sub := newSignal(filepath.Dir(name), "HALT")
			must(t, w.add(sub))
			defer sub.Close()
			look := sub.signal
			rnd := rand.New(rand.NewSource(seed))
			seen := there(name)
			for round := range 150 {
				var done []string
				for range 1 + rnd.Intn(6) {
					done = append(done, shake(h, rnd))
				}
				want, limit := there(name), time.After(patience)
				for settled := false; !settled; {
					select {
					case _, ok := <-look:
						if !ok {
							t.Fatalf("round %d: %s: watch lost: %v", round, strings.Join(done, ", "), sub.Reason())
						}
						seen = there(name)
					case <-limit:
						t.Fatalf("round %d: %s: last look found %v, the truth is %v",
							round, strings.Join(done, ", "), seen, want)
					default:
						if settled = seen == want; !settled {
							time.Sleep(100 * time.Microsecond)
						}
					}
				}
			}
		})
	}
}

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// shake does one thing to the path h/a/b/c/HALT; what cannot be done just now is left.
func shake(h string, rnd *rand.Rand) string {
	dirs := []string{"/a", "/a/b", "/a/b/c"}
	dir := dirs[rnd.Intn(len(dirs))]
	aside := fmt.Sprintf("%s/aside%d", h, rnd.Intn(3))
	switch rnd.Intn(8) {
	case 0, 1:
		os.MkdirAll(h+dir, 0o700)
		return "make " + dir
	case 2:
		os.Rename(h+dir, aside)
		return "move away " + dir
	case 3:
		os.Rename(aside, h+dir)
		return "move back " + dir
	case 4:
		os.RemoveAll(h + dir)
		return "remove " + dir
	case 5:
		os.Remove(h + "/a/b/c/HALT")
		return "clear"
	case 6:
		os.RemoveAll(h + dir)
		os.Symlink(aside, h+dir) // now and then to itself, in the end
		return "link " + dir
	default:
		os.WriteFile(h+"/a/b/c/HALT", nil, 0o600)
		return "raise"
	}
}

// From a file being moved in until its subscriber has the event.
func BenchmarkEvent(b *testing.B) {
	w, in, out := start(b), b.TempDir(), b.TempDir()
	s := add(b, w, in, Options{Ops: Written})
	write(b, out+"/f")
	for b.Loop() {
		must(b, os.Rename(out+"/f", in+"/f"))
		<-s.C
		b.StopTimer()
		must(b, os.Rename(in+"/f", out+"/f"))
		b.StartTimer()
	}
}
