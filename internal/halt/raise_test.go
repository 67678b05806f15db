package halt

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRaise(t *testing.T) {
	cases := []struct {
		name     string
		before   func(t *testing.T, halt string)
		reason   string
		file     string // content wanted, "-" when it is not a regular file
		warning  string // one that is wanted, "" for none at all
		unreadbl bool
	}{
		{"no folder", func(t *testing.T, p string) { must(t, os.Remove(filepath.Dir(p))) }, "disk check", "disk check", "", false},
		{"without a reason", nil, "", "", "", false},
		{"refreshed", func(t *testing.T, p string) { write(t, p, "old") }, "new reason", "new reason", "", false},
		{"kept", func(t *testing.T, p string) { write(t, p, "old") }, "", "old", "", false},
		{"quotes", nil, "it's; rm -rf x", "it's; rm -rf x", "", false},
		{"line end", nil, "one\n", "one", "", false},
		{"two lines", nil, "one\ntwo", "one", "shortened", false},
		{"too long", nil, strings.Repeat("ä", maxReason), strings.Repeat("ä", maxReason/2), "shortened", false},
		{"invalid bytes grow", nil, strings.Repeat("\xff", maxReason), strings.Repeat("\ufffd", maxReason/3), "shortened", false},
		{"escape", nil, "a\x1b[2Jb", "a[2Jb", "shortened", false},
		{"directory", func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o700)) }, "r", "-", "is a directory and was left", true},
		{"dangling link", func(t *testing.T, p string) { must(t, os.Symlink("nowhere", p)) }, "r", "-", "is a symbolic link and was left", true},
		{"link to a file", func(t *testing.T, p string) {
			write(t, p+".txt", "theirs")
			must(t, os.Symlink(p+".txt", p))
		}, "r", "-", "is a symbolic link and was left", true},
		{"pipe", func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o600)) }, "r", "-", "is a named pipe and was left", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home(t)
			if c.before != nil {
				c.before(t, Path())
			}
			was, _ := os.Lstat(Path())
			s, warnings, err := Raise(c.reason)
			if err != nil || !s.Halted || s.Unreadable != c.unreadbl {
				t.Fatalf("Raise(%.20q) = %+v, %v", c.reason, s, err)
			}
			if (c.warning == "") != (len(warnings) == 0) || c.warning != "" && !strings.Contains(warnings[0].Error(), c.warning) {
				t.Errorf("Raise(%.20q) warns %q, want one with %q", c.reason, warnings, c.warning)
			}
			now, err := os.Lstat(Path())
			must(t, err)
			if c.file == "-" {
				if !os.SameFile(was, now) {
					t.Error("the entry was replaced")
				}
				if theirs, err := os.ReadFile(Path() + ".txt"); err == nil && string(theirs) != "theirs" {
					t.Errorf("written through the link: %q", theirs)
				}
				return
			}
			if text, _ := os.ReadFile(Path()); string(text) != c.file {
				t.Errorf("file = %.40q (%d bytes), want %.40q (%d)", text, len(text), c.file, len(c.file))
			}
			if s.Reason != c.file {
				t.Errorf("state has reason %.40q, want %.40q", s.Reason, c.file)
			}
			if now.Mode().Perm() != 0o600 {
				t.Errorf("mode = %v, want 0600", now.Mode())
			}
			if names := leftovers(t); len(names) != 1 {
				t.Errorf("folder has %q, want HALT alone", names)
			}
		})
	}
}

func leftovers(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(Path()))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRaiseMakesPrivateFolders(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, _, err := Raise(""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{locate().folder, locate().state} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", dir, info.Mode(), err)
		}
	}
}

func TestRaiseFails(t *testing.T) {
	home(t)
	must(t, os.Remove(locate().folder))
	write(t, locate().folder, "a file in the way")
	s, _, err := Raise("x")
	if err == nil || !s.Halted || !s.Unreadable {
		t.Errorf("Raise below a file = %+v, %v; want an error, and that it counts as halted", s, err)
	}
}

// No reader may ever see the switch off, or a part of a reason, while reasons replace each other.
func TestRaiseIsAtomic(t *testing.T) {
	home(t)
	reasons := map[string]bool{"": true} // the first moment
	var list []string
	for _, c := range "abcdefgh" {
		r := strings.Repeat(string(c), 3000)
		list, reasons[r] = append(list, r), true
	}
	if _, _, err := Raise(""); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			if _, w, err := Raise(list[i%len(list)]); err != nil || len(w) > 0 {
				t.Errorf("Raise: %v %v", w, err)
			}
		}
	}()
	looks := 0
	for running := true; running; looks++ {
		select {
		case <-done:
			running = false
		default:
		}
		if s, _ := read(); !s.Halted || s.Unreadable || !reasons[s.Reason] {
			t.Fatalf("look %d: %v unreadable %v %q, reason of %d bytes", looks, s.Halted, s.Unreadable, s.Problem, len(s.Reason))
		}
	}
	if e, err := Memory(); err != nil || e.Count != 1 {
		t.Errorf("counter = %+v, %v; refreshing is one halt, not many", e, err)
	}
}

// On a full disk the entry must come to be although nothing can be written into it.
func TestRaiseOnFullDisk(t *testing.T) {
	out := child(t, nil, "full")
	if want := "halted=true reason=\"\" err=<nil> warned=true"; !strings.Contains(out, want) {
		t.Errorf("child says %q, want %q", out, want)
	}
}

func TestClear(t *testing.T) {
	cases := []struct {
		name   string
		before func(t *testing.T, halt string)
		halted bool
		err    string
	}{
		{"absent", nil, false, ""},
		{"no folder", func(t *testing.T, p string) { must(t, os.Remove(filepath.Dir(p))) }, false, ""},
		{"reason", func(t *testing.T, p string) { write(t, p, "old") }, true, ""},
		{"dangling link", func(t *testing.T, p string) { must(t, os.Symlink("nowhere", p)) }, true, ""},
		{"pipe", func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o600)) }, true, ""},
		{"directory", func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o700)) }, true, "rm -r"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home(t)
			if c.before != nil {
				c.before(t, Path())
			}
			s, err := Clear()
			if s.Halted != c.halted || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("Clear() = %+v, %v; want halted before %v, error with %q", s, err, c.halted, c.err)
			}
			if c.name == "reason" && (s.Reason != "old" || s.Since.IsZero()) {
				t.Errorf("Clear() = %+v, want the old reason and its time", s)
			}
			if now := present(); now != (c.err != "") {
				t.Errorf("halted after Clear: %v", now)
			}
		})
	}
}

func TestClearSweepsOldTemporaries(t *testing.T) {
	home(t)
	old, young := locate().folder+"/"+tmpPrefix+"1", locate().folder+"/"+tmpPrefix+"2"
	write(t, old, "")
	write(t, young, "")
	past := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(old, past, past))
	if _, err := Clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("old temporary file: %v, want it gone", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("temporary file of a halt under way: %v, want it left", err)
	}
}
