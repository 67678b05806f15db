package halt

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func epoch(t *testing.T, when string, want uint64) {
	t.Helper()
	if got := Epoch(); got != want {
		t.Errorf("%s: Epoch() = %d, want %d", when, got, want)
	}
}

// touch raises the switch as a person does, with a mark that no halt before it had.
func touch(t *testing.T) {
	t.Helper()
	_, before := read()
	for range 1000 {
		write(t, Path(), "")
		must(t, os.Chmod(Path(), 0o600))
		if _, mark := read(); mark != before {
			return
		}
		time.Sleep(time.Millisecond) // the file system's clock ticks every few milliseconds
	}
	t.Fatal("the file system's clock stands still")
}

func TestEpochCountsHalts(t *testing.T) {
	home(t)
	highest.Store(0)
	epoch(t, "at first", 0)
	raise := func(reason string) {
		t.Helper()
		if _, w, err := Raise(reason); err != nil || len(w) > 0 {
			t.Fatalf("Raise(%q): %v %v", reason, w, err)
		}
	}
	raise("one")
	epoch(t, "raised", 1)
	raise("one, again")
	Check("send")
	epoch(t, "raised again while halted", 1)
	if !Engaged(1) || Engaged(0) || Engaged(2) {
		t.Errorf("Engaged(0, 1, 2) = %v, %v, %v; want only the present one", Engaged(0), Engaged(1), Engaged(2))
	}
	Clear()
	epoch(t, "cleared", 1)
	Clear()
	epoch(t, "cleared again", 1)
	Check("send")
	epoch(t, "looked while off", 1)

	touch(t)
	epoch(t, "raised by hand, not yet counted", 1)
	Check("send")
	epoch(t, "raised by hand, met", 2)
	Check("send")
	epoch(t, "met again", 2)
	must(t, os.Remove(Path()))
	_, _ = WaitFor(t.Context(), nil, false)
	touch(t)
	Read()
	epoch(t, "removed and raised by hand, with the entry left open", 3)

	must(t, os.Remove(Path()))
	touch(t)
	Clear()
	epoch(t, "met by the clearing itself", 4)
	if e, err := Memory(); err != nil || e.Open || e.Seen.IsZero() {
		t.Errorf("Memory() = %+v, %v; want a closed entry with its time", e, err)
	}
}

func TestNoteWhileOff(t *testing.T) {
	home(t)
	touch(t)
	_, stale := read()
	Clear()
	before := Epoch()
	if err := note(stale); err != nil { // it met the switch just before it was cleared
		t.Fatal(err)
	}
	epoch(t, "noted after the clearing", before)
}

func TestDamagedCounter(t *testing.T) {
	whole := "count 41\nseen 2026-03-01T10:04:00Z\nmark 7\nopen no\n"
	cases := []struct {
		name, text, copied string
		want               uint64 // before the next halt
		aside              bool
	}{
		{"whole", whole, "", 41, false},
		{"one more line, of a later version", whole + "more 1\n", "", 41, false},
		{"cut in the last line", whole[:len(whole)-1], "", 41, true},
		{"cut in the middle", "count 41\nseen 20", "", 41, true},
		{"number lost, copy left", "garbage\n", "40\n", 40, true},
		{"both left", "count 41\n???", "42       \n", 42, true},
		{"too large a number", "count 99999999999999999999\n", "3", 3, true},
		{"zeros", strings.Repeat("\x00", 64), "", 0, true},
		{"file lost, copy left", "", "17\n", 17, false},
		{"nothing", "", "", 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home(t)
			highest.Store(0)
			p := locate()
			must(t, os.MkdirAll(p.state, 0o700))
			if c.text != "" {
				write(t, p.state+counterName, c.text)
			}
			if c.copied != "" {
				write(t, p.state+lockName, c.copied)
			}
			epoch(t, "before", c.want)
			if _, w, err := Raise("r"); err != nil || len(w) > 0 {
				t.Fatalf("Raise: %v %v", w, err)
			}
			epoch(t, "after one halt", c.want+1)
			kept, _ := filepath.Glob(p.state + badPrefix + "*")
			if (len(kept) == 1) != c.aside {
				t.Errorf("set aside: %q, want one: %v", kept, c.aside)
			}
		})
	}
}

// TestMemoryOfNumberAlone: while the first halt is written there is its number, and not yet when that was.
func TestMemoryOfNumberAlone(t *testing.T) {
	home(t)
	highest.Store(0)
	p := locate()
	must(t, os.MkdirAll(p.state, 0o700))
	before := time.Now()
	write(t, p.state+lockName, "1                   \n")
	if e, err := Memory(); err != nil || e.Count != 1 || e.Seen.Before(before) {
		t.Errorf("%+v, %v, want number 1 and a time from %v on", e, err, before)
	}
}

func TestCounterNotWritable(t *testing.T) {
	dir := home(t)
	write(t, dir+"/.local", "a file in the way")
	s, warnings, err := Raise("r")
	if err != nil || !s.Halted || s.Reason != "r" || len(warnings) != 1 {
		t.Errorf("Raise = %+v, %v, %v; want halted with one warning", s, warnings, err)
	}
	if Check("send") == nil {
		t.Error("Check = nil while halted")
	}
	if _, err := Clear(); err != nil || present() {
		t.Errorf("Clear = %v, halted %v; want cleared", err, present())
	}
}

func TestCounterHeldByAnother(t *testing.T) {
	home(t)
	must(t, os.MkdirAll(locate().state, 0o700))
	unlock, err := lockCounter(locate())
	must(t, err)
	defer unlock()
	start := time.Now()
	s, warnings, err := Raise("r")
	if err != nil || !s.Halted || len(warnings) != 1 {
		t.Errorf("Raise = %+v, %v, %v; want halted with one warning", s, warnings, err)
	}
	if d := time.Since(start); d > 20*lockWait {
		t.Errorf("Raise took %v", d)
	}
}

// TestCounterConcurrentWriters: every number is handed out once, with any number of writers.
func TestCounterConcurrentWriters(t *testing.T) {
	dir := home(t)
	const procs, routines, each = 4, 2, 15
	var wg sync.WaitGroup
	for range procs {
		wg.Go(func() {
			if out := child(t, []string{"HOME=" + dir}, "count", itoa(each)); !strings.Contains(out, "counted") {
				t.Errorf("child: %s", out)
			}
		})
	}
	for range routines {
		wg.Go(func() {
			if err := countMany(each); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	epoch(t, "after all", (procs+routines)*each)
}

// countMany opens n new entries, each as if another halt had been met.
func countMany(n int) error {
	p := locate()
	for range n {
		var unlock func()
		err := errBusy
		for err == errBusy {
			unlock, err = lockCounter(p)
		}
		if err != nil {
			return err
		}
		err = countLocked(p, []int64{time.Now().UnixNano()})
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// A program that exits as soon as its context ends has counted the halt that ended it.
func TestContextCountsBeforeItEnds(t *testing.T) {
	home(t)
	highest.Store(0)
	must(t, os.MkdirAll(locate().state, 0o700))
	ctx, cancel := Context(t.Context(), nil)
	defer cancel()
	touch(t)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("not cancelled")
	}
	epoch(t, "when the context ends", 1)
}

// TestContextEndsWithoutCounter: the context ends even while another process holds the counter.
func TestContextEndsWithoutCounter(t *testing.T) {
	home(t)
	must(t, os.MkdirAll(locate().state, 0o700))
	unlock, err := lockCounter(locate())
	must(t, err)
	defer unlock()
	best := time.Hour
	for try := 0; try < 5 && best > 100*time.Millisecond; try++ {
		must(t, os.RemoveAll(Path()))
		ctx, cancel := Context(t.Context(), nil)
		start := time.Now()
		write(t, Path(), "")
		<-ctx.Done()
		best = min(best, time.Since(start))
		cancel()
	}
	if best > 100*time.Millisecond {
		t.Errorf("context ended after %v at best, want at most 100ms", best)
	}
}
