package track_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/track"
)

// program writes a program with a script of its own.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "track")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestActivity(t *testing.T) {
	t.Parallel()
	got, err := track.Program{Path: program(t, `printf '%s|' "$@"`)}.Activity(t.Context(), "ws:1 $(x)", "1000")
	if want := "workspace-activity|--workspace|ws:1 $(x)|--idle-ms|1000|--format|json|"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := (track.Program{Path: program(t, "echo no >&2; exit 3")}).Activity(t.Context(), "ws:1", "1"); err == nil {
		t.Error("a program that failed has answered")
	}
	if _, err := (track.Program{Path: filepath.Join(t.TempDir(), "none")}).Activity(t.Context(), "ws:1", "1"); err == nil {
		t.Error("no program has answered")
	}
}

// TestHostile: one that never ends, that leaves somebody with its pipe behind, or that writes for ever, keeps nobody waiting.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
		want   error
	}{
		"never ends":   {"sleep 600", 200 * time.Millisecond, context.DeadlineExceeded},
		"leaves a son": {"sleep 600 & sleep 600", 200 * time.Millisecond, context.DeadlineExceeded},
		"floods":       {"yes", time.Minute, track.ErrLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := track.Program{Path: program(t, c.script), Limit: c.limit}.Activity(t.Context(), "ws:1", "1")
			if !errors.Is(err, c.want) || time.Since(began) > 30*time.Second || strings.Contains(err.Error(), "y\n") {
				t.Errorf("%v after %s, want %v", err, time.Since(began), c.want)
			}
		})
	}
}

// TestLeft: what a program has started ends with it, also where it has answered well and left somebody behind with its output.
func TestLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last, want string
		err        error
	}{
		"answers": {"printf answer", "answer", nil},
		"floods":  {"yes", "", track.ErrLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held, begun := filepath.Join(t.TempDir(), "held"), filepath.Join(t.TempDir(), "begun")
			if err := syscall.Mkfifo(held, 0o600); err != nil {
				t.Fatal(err)
			}
			hears, err := os.OpenFile(held, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer hears.Close()
			script := `(echo here >&3; : >"` + begun + `"; exec sleep 600) 3>"` + held + `" &
while [ ! -e "` + begun + `" ]; do sleep 0.01; done
` + c.last
			got, err := track.Program{Path: program(t, script), Limit: time.Minute}.Activity(t.Context(), "ws:1", "1")
			if !errors.Is(err, c.err) || string(got) != c.want {
				t.Errorf("%q, %v, want %q, %v", got, err, c.want, c.err)
			}
			if err := hears.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(hears); err != nil || string(said) != "here\n" { // the end comes when nobody holds it any more
				t.Errorf("it is still there: %q, %v", said, err)
			}
		})
	}
}
