package tracker_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/sessions/tracker"
	"tutti/internal/test/progfile"
)

// program writes a program with a script of its own.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "track")
	err := progfile.Write(path, []byte("#!/bin/sh\n"+script), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestActivity(t *testing.T) {
	t.Parallel()
	got, err := tracker.Program{Path: program(t, `printf '%s|' "$@"`)}.Activity(t.Context(), "ws:1 $(x)", "1000")
	if want := "workspace-activity|--workspace|ws:1 $(x)|--idle-ms|1000|--format|json|"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := (tracker.Program{Path: program(t, "echo no >&2; exit 3")}).Activity(t.Context(), "ws:1", "1"); err == nil {
		t.Error("a program that failed has answered")
	}
	if _, err := (tracker.Program{Path: filepath.Join(t.TempDir(), "none")}).Activity(t.Context(), "ws:1", "1"); err == nil {
		t.Error("no program has answered")
	}
}

// TestHostile: a tracker that never ends, leaves a process with its pipe, or writes without end blocks no caller.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
		want   error
	}{
		"never ends":   {"sleep 600", 200 * time.Millisecond, context.DeadlineExceeded},
		"leaves a son": {"sleep 600 & sleep 600", 200 * time.Millisecond, context.DeadlineExceeded},
		"floods":       {"yes", time.Minute, tracker.ErrLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := tracker.Program{Path: program(t, c.script), Limit: c.limit}.Activity(t.Context(), "ws:1", "1")
			if !errors.Is(err, c.want) || time.Since(began) > 30*time.Second || strings.Contains(err.Error(), "y\n") {
				t.Errorf("%v after %s, want %v", err, time.Since(began), c.want)
			}
		})
	}
}

// TestLeftoverProcesses: processes that a tracker has started end with it, also after a good answer, with its output or without, and even
// if they have left its group, its session and its parent.
func TestLeftoverProcesses(t *testing.T) {
	t.Parallel()
	const group, session, daemon = `sh -c "$0" &`, `setsid sh -c "$0" &`, `(setsid sh -c "$0" >/dev/null 2>&1 </dev/null &)`
	for name, c := range map[string]struct {
		start, last, want string
		limit             time.Duration
		err               error
	}{
		"answers":                    {group, "printf answer", "answer", time.Minute, nil},
		"floods":                     {group, "yes", "", time.Minute, tracker.ErrLong},
		"answers, of a session":      {session, "printf answer", "answer", time.Minute, nil},
		"answers, a daemon":          {daemon, "printf answer", "answer", time.Minute, nil},
		"fails, a daemon":            {daemon, "exit 3", "", time.Minute, errAny},
		"never ends, of a session":   {session, "exec sleep 600", "", 2 * time.Second, context.DeadlineExceeded},
		"never ends, and has daemon": {daemon, "exec sleep 600", "", 2 * time.Second, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("setsid"); err != nil && c.start != group {
				t.Skip("no setsid is here")
			}
			held, begun := filepath.Join(t.TempDir(), "held"), filepath.Join(t.TempDir(), "begun")
			if err := syscall.Mkfifo(held, 0o600); err != nil {
				t.Fatal(err)
			}
			hears, err := os.OpenFile(held, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer hears.Close()
			son := `exec 3>"` + held + `"; echo here >&3; : >"` + begun + `"; exec sleep 600`
			script := strings.ReplaceAll(c.start, `"$0"`, "'"+son+"'") + `
while [ ! -e "` + begun + `" ]; do sleep 0.01; done
` + c.last
			got, err := tracker.Program{Path: program(t, script), Limit: c.limit}.Activity(t.Context(), "ws:1", "1")
			if !errors.Is(err, c.err) && (c.err != errAny || err == nil) || string(got) != c.want {
				t.Errorf("%q, %v, want %q, %v", got, err, c.want, c.err)
			}
			if err := hears.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(hears) // the end comes when nobody holds it any more
			if began := err == nil && string(said) == "here\n"; !began && (c.limit == time.Minute || err != nil || len(said) > 0) {
				t.Errorf("it is still there: %q, %v", said, err)
			}
		})
	}
}

// errAny stands for one that is not looked at.
var errAny = errors.New("any")
