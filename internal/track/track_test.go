package track_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
