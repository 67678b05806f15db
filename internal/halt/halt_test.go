package halt

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/test/hometest"
)

// home gives the test a home folder of its own, with the folder of the switch in it.
func home(t *testing.T) string {
	t.Helper()
	dir := hometest.Dir(t)
	t.Setenv("HOME", dir)
	if err := os.MkdirAll(filepath.Dir(Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// moveIn raises the switch with its reason in one step.
func moveIn(t *testing.T, reason string) {
	t.Helper()
	write(t, Path()+".new", reason)
	must(t, os.Rename(Path()+".new", Path()))
}

// The table is halt_state of the protocol's vectors, and what it leaves open.
func TestRead(t *testing.T) {
	long := strings.Repeat("x", maxReason)
	cases := []struct {
		name       string
		make       func(t *testing.T, halt string)
		halted     bool
		unreadable bool
		reason     string
	}{
		{"absent", func(*testing.T, string) {}, false, false, ""},
		{"empty", func(t *testing.T, p string) { write(t, p, "") }, true, false, ""},
		{"reason", func(t *testing.T, p string) { write(t, p, "disk check") }, true, false, "disk check"},
		{"line end", func(t *testing.T, p string) { write(t, p, "disk check\r\n") }, true, false, "disk check"},
		{"control characters", func(t *testing.T, p string) { write(t, p, "a\x1b[2Jb\nsecond") }, true, false, "a[2Jb"},
		{"C1, DEL and direction", func(t *testing.T, p string) { write(t, p, "a\u009b\x7f\u202eb\u2066c\u200f") }, true, false, "abc"},
		{"invalid UTF-8", func(t *testing.T, p string) { write(t, p, "a\xffb") }, true, false, "a\ufffdb"},
		{"only a line end", func(t *testing.T, p string) { write(t, p, "\n") }, true, false, ""},
		{"too long", func(t *testing.T, p string) { write(t, p, long+"y") }, true, false, long},
		{"cut inside a character", func(t *testing.T, p string) { write(t, p, long[1:]+"ä") }, true, false, long[1:]},
		{"directory", func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o700)) }, true, true, ""},
		{"dangling link", func(t *testing.T, p string) { must(t, os.Symlink("nowhere", p)) }, true, true, ""},
		{"link to a file", func(t *testing.T, p string) {
			write(t, p+".txt", "secret")
			must(t, os.Symlink(p+".txt", p))
		}, true, true, ""},
		{"pipe", func(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o600)) }, true, true, ""},
		{"socket", func(t *testing.T, p string) {
			// A socket's address is short, so it is made by its relative name.
			t.Chdir(filepath.Dir(p))
			l, err := net.Listen("unix", "HALT")
			must(t, err)
			t.Cleanup(func() { l.Close() })
		}, true, true, ""},
		{"no folder", func(t *testing.T, p string) { must(t, os.Remove(filepath.Dir(p))) }, false, false, ""},
		{"folder is a file", func(t *testing.T, p string) {
			must(t, os.Remove(filepath.Dir(p)))
			write(t, filepath.Dir(p), "")
		}, true, true, ""},
		{"folder is a dangling link", func(t *testing.T, p string) {
			must(t, os.Remove(filepath.Dir(p)))
			must(t, os.Symlink("nowhere", filepath.Dir(p)))
		}, true, true, ""},
		{"folder is a link to a folder", func(t *testing.T, p string) {
			must(t, os.Rename(filepath.Dir(p), filepath.Dir(p)+".moved"))
			must(t, os.Symlink(filepath.Dir(p)+".moved", filepath.Dir(p)))
		}, false, false, ""},
		{"folder behind a link is missing", func(t *testing.T, p string) {
			config := filepath.Dir(filepath.Dir(p))
			must(t, os.Remove(filepath.Dir(p)))
			must(t, os.Rename(config, config+".moved"))
			must(t, os.Symlink(config+".moved", config))
		}, false, false, ""},
		{"settings are a file", func(t *testing.T, p string) {
			must(t, os.RemoveAll(filepath.Dir(filepath.Dir(p))))
			write(t, filepath.Dir(filepath.Dir(p)), "")
		}, true, true, ""},
		{"settings are a dangling link", func(t *testing.T, p string) {
			must(t, os.RemoveAll(filepath.Dir(filepath.Dir(p))))
			must(t, os.Symlink("nowhere", filepath.Dir(filepath.Dir(p))))
		}, true, true, ""},
		{"no settings", func(t *testing.T, p string) { must(t, os.RemoveAll(filepath.Dir(filepath.Dir(p)))) }, false, false, ""},
		{"folder is a circle of links", func(t *testing.T, p string) {
			must(t, os.Remove(filepath.Dir(p)))
			must(t, os.Symlink("cross-agent-comms", filepath.Dir(p)))
		}, true, true, ""},
		{"lower case", func(t *testing.T, p string) { write(t, filepath.Join(filepath.Dir(p), "halt"), "") }, false, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home(t)
			c.make(t, Path())
			s := Read()
			if s.Halted != c.halted || s.Unreadable != c.unreadable || s.Reason != c.reason {
				t.Errorf("Read() = halted %v unreadable %v reason %.40q (%s); want %v %v %.40q",
					s.Halted, s.Unreadable, s.Reason, s.Problem, c.halted, c.unreadable, c.reason)
			}
			err := Check("send")
			if (err != nil) != c.halted {
				t.Errorf("Check = %v; want an error: %v", err, c.halted)
			}
			if _, cerr := Clear(); c.unreadable && !Read().Halted != (cerr == nil) {
				t.Errorf("Clear = %v, and then halted is %v", cerr, Read().Halted)
			}
			if c.unreadable && !strings.Contains(err.Error(), "HALT file present but unreadable; treat as halted.") {
				t.Errorf("Check = %q; the words that readers look for are missing", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestErrorText(t *testing.T) {
	since := time.Date(2026, 3, 1, 10, 4, 0, 0, time.UTC)
	cases := []struct {
		e    Error
		want string
	}{
		{
			Error{Action: "relaunch claude:api", By: "ana", Since: since, Reason: "runaway loop"},
			"relaunch claude:api: halted by ana since 2026-03-01T10:04:00Z: runaway loop",
		},
		{Error{Action: "send", By: "ana", Since: since}, "send: halted by ana since 2026-03-01T10:04:00Z"},
		{Error{Reason: "stop"}, "halted: stop"},
		{
			Error{Action: "send", Unreadable: true, Problem: "is a directory"},
			"send: halted: HALT file present but unreadable; treat as halted. (is a directory)",
		},
	}
	for _, c := range cases {
		if got := c.e.Error(); got != c.want {
			t.Errorf("Error() = %q\nwant      %q", got, c.want)
		}
	}
	e := &Error{Path: "/h/HALT"}
	if got, want := e.Banner(), "halt active; remove ~/.config/cross-agent-comms/HALT to resume."; got != want {
		t.Errorf("Banner() = %q, want %q", got, want)
	}
	if got, want := e.Hint(), ""; got != want {
		t.Errorf("Hint() = %q, want %q", got, want)
	}
}

func TestCheckErrorFacts(t *testing.T) {
	home(t)
	before := time.Now().Add(-2 * time.Second)
	if _, _, err := Raise("runaway loop"); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := Check("send"); !errors.As(err, &e) {
		t.Fatalf("Check = %v (%T), want *Error", err, err)
	}
	if e.Action != "send" || e.Reason != "runaway loop" || e.By != userName(uint32(os.Geteuid())) ||
		e.Since.Before(before) || e.Since.Location() != time.UTC {
		t.Errorf("Check = %+v", e)
	}
}

func TestUnsearchableFolderHalts(t *testing.T) {
	if os.Geteuid() == 0 {
		runAs(t, "unsearchable")
		return
	}
	childUnsearchable(t)
}

func childUnsearchable(t *testing.T) {
	home(t)
	folder := filepath.Dir(Path())
	must(t, os.Chmod(folder, 0))
	defer os.Chmod(folder, 0o700)
	if s := Read(); !s.Halted || !s.Unreadable {
		t.Errorf("Read() below a folder without rights = %+v, want halted and unreadable", s)
	}
	if _, err := Clear(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("Clear() = %v, want an error that says chmod 700", err)
	}
	must(t, os.Chmod(folder, 0o700))
	write(t, Path(), "x")
	must(t, os.Chmod(Path(), 0))
	if s := Read(); !s.Halted || !s.Unreadable || s.Since.IsZero() {
		t.Errorf("Read() of a file without rights = %+v, want halted and unreadable", s)
	}
}

func TestHomeFromPasswordDatabase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "passwd")
	defer func(old string) { passwdFile = old }(passwdFile)
	passwdFile = file
	uid := itoa(os.Geteuid())
	cases := []struct {
		name, env, passwd, want string
	}{
		{"HOME wins", "/home/env", "ana:x:" + uid + ":1::/home/ana:/bin/sh\n", "/home/env"},
		{"HOME with slash", "/home/env/", "", "/home/env"},
		{"unset", "", "bob:x:9" + uid + ":1::/home/bob:/bin/sh\nana:x:" + uid + ":1:Ana:/home/ana:/bin/sh\n", "/home/ana"},
		{"relative", "home", "ana:x:" + uid + ":1::/home/ana:/bin/sh", "/home/ana"},
		{"not in it", "", "bob:x:9" + uid + ":1::/home/bob:/bin/sh\n", ""},
		{"relative there", "", "ana:x:" + uid + ":1::ana:/bin/sh\n", ""},
		{"cut line", "", "ana:x:" + uid + "\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			places.Store(nil)
			defer places.Store(nil)
			t.Setenv("HOME", c.env)
			write(t, file, c.passwd)
			want := c.want
			if want != "" {
				want += "/.config/cross-agent-comms/HALT"
			}
			if got := Path(); got != want {
				t.Fatalf("Path() = %q, want %q", got, want)
			}
			if want != "" {
				return
			}
			var e *Error
			if err := Check("send"); !errors.As(err, &e) || !e.Unreadable ||
				!strings.Contains(e.Problem, "HOME is not an absolute path") || !strings.Contains(e.Hint(), "HOME") {
				t.Errorf("Check without a home = %v, want a refusal that names HOME", err)
			}
			if _, _, err := Raise("x"); err == nil {
				t.Error("Raise without a home = nil, want an error")
			}
			if _, err := Clear(); err == nil {
				t.Error("Clear without a home = nil, want an error")
			}
			if got := Epoch(); got != UnknownEpoch {
				t.Errorf("Epoch() = %d, want UnknownEpoch", got)
			}
		})
	}
}

func TestCheckAllocations(t *testing.T) {
	home(t)
	if n := testing.AllocsPerRun(1000, func() {
		if Check("send") != nil {
			t.Fatal("halted")
		}
	}); n > 2 {
		t.Errorf("Check allocates %v times while not halted, want 2 (the paths for the kernel)", n)
	}
}

func TestContextPolls(t *testing.T) {
	home(t)
	ctx, cancel := Context(context.Background(), nil)
	defer cancel()
	moveIn(t, "enough")
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("not cancelled")
	}
	var e *Error
	if err := context.Cause(ctx); !errors.As(err, &e) || e.Reason != "enough" {
		t.Errorf("cause = %v, want the halt with its reason", err)
	}
}

func TestContextWhileHalted(t *testing.T) {
	home(t)
	write(t, Path(), "")
	ctx, cancel := Context(context.Background(), make(chan struct{}))
	defer cancel()
	if ctx.Err() == nil {
		t.Fatal("context is alive although the switch is on")
	}
}

// With a channel nothing may look by itself, because that would cost wake-ups while nothing happens.
func TestPollsOnSignal(t *testing.T) {
	look, looked := make(chan struct{}), make(chan struct{})
	done := make(chan bool)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		done <- follow(ctx, look, func() bool {
			select {
			case looked <- struct{}{}:
			case <-ctx.Done():
			}
			return false
		})
	}()
	<-looked // the first look needs no telling
	for range 3 {
		look <- struct{}{}
		<-looked
	}
	select {
	case <-looked:
		t.Error("looked without being told")
	case <-time.After(4 * pollEvery):
	}
	close(look) // the watcher is lost
	for range 3 {
		select {
		case <-looked:
		case <-time.After(time.Minute):
			t.Fatal("does not look by itself after the watcher was lost")
		}
	}
	cancel()
	if <-done {
		t.Error("follow = true, want false for an ended context")
	}
}

func TestContextPollsOnSignal(t *testing.T) {
	home(t)
	look := make(chan struct{}, 1)
	ctx, cancel := Context(context.Background(), look)
	defer cancel()
	Raise("enough")
	look <- struct{}{}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("not cancelled")
	}
}

func TestContextStopped(t *testing.T) {
	home(t)
	ctx, cancel := Context(context.Background(), nil)
	cancel()
	<-ctx.Done()
	if err := context.Cause(ctx); err != context.Canceled {
		t.Errorf("cause = %v, want context.Canceled", err)
	}
}

func TestWait(t *testing.T) {
	home(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	type result struct {
		s   State
		err error
	}
	look, done := make(chan struct{}), make(chan result, 1)
	go func() {
		s, err := WaitFor(ctx, look, true)
		done <- result{s, err}
	}()
	look <- struct{}{}
	moveIn(t, "r")
	close(look) // it may have looked already, and wants to be told no more
	if r := <-done; r.err != nil || !r.s.Halted || r.s.Reason != "r" {
		t.Fatalf("Wait = %+v, %v; want halted", r.s, r.err)
	}
	go func() {
		s, err := WaitFor(ctx, nil, false)
		done <- result{s, err}
	}()
	cleared := make(chan struct{}) // Clear still writes to the state folder after the entry is gone
	time.AfterFunc(pollEvery, func() { Clear(); close(cleared) })
	if r := <-done; r.err != nil || r.s.Halted {
		t.Fatalf("Wait = %+v, %v; want not halted", r.s, r.err)
	}
	<-cleared
	if s, err := WaitFor(ctx, nil, false); err != nil || s.Halted {
		t.Fatalf("WaitFor(off) while off = %+v, %v", s, err)
	}
	why := errors.New("enough")
	over, stop := context.WithCancelCause(ctx)
	stop(why)
	if _, err := WaitFor(over, nil, true); err != why {
		t.Fatalf("WaitFor with an ended context = %v, want its cause", err)
	}
}

func BenchmarkCheck(b *testing.B) {
	b.Setenv("HOME", b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		if err := Check("send"); err != nil {
			b.Fatal(err)
		}
	}
}
