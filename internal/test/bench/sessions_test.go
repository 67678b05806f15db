package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tutti/internal/platform/proc"
)

// socketsOf makes the folder of a process, with a server in it.
func socketsOf(t *testing.T, pid int) (dir string, server proc.ID) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(socketsFirst), filepath.Base(socketsFirst)+strconv.Itoa(pid)+socketsLast)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{town: &town{e: &env{ctx: t.Context()}, dir: dir, more: []string{"TMUX_TMPDIR=" + dir}}, tmux: "tmux", server: "bench", sockets: dir}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.rawIn(ctx, "kill-server").Run() // there may be none
		_ = os.RemoveAll(dir)
	})
	out, err := s.raw("new-session", "-d", "-P", "-F", "#{pid}", "--", "sleep", "1000").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(out[:len(out)-1]))
	if err == nil {
		server, err = proc.Of(n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, server
}

// TestSweep: the server of a run that was killed is ended by the next one, and that of a run that measures is not.
func TestSweep(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: what a killed run leaves is not tested")
	}
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	left, dead := socketsOf(t, c.Process.Pid)
	used, lives := socketsOf(t, os.Getpid())
	sweep()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if still := proc.Gone(ctx, []proc.ID{dead}); len(still) > 0 {
		t.Errorf("the server of a run that was killed is there: %v", still)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("its folder is there")
	}
	if _, err := os.Stat(used); err != nil || !lives.Alive() {
		t.Errorf("the server of a run that measures: %v, %v", lives.Alive(), err)
	}
}

// TestLeave: a run that was interrupted ends its server.
func TestLeave(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: what an interrupted run leaves is not tested")
	}
	dir, server := socketsOf(t, os.Getpid())
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	s := &stage{town: &town{e: &env{ctx: interrupted}, dir: dir, more: []string{"TMUX_TMPDIR=" + dir}}, tmux: "tmux", server: "bench", sockets: dir}
	s.leave()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if still := proc.Gone(ctx, []proc.ID{server}); len(still) > 0 {
		t.Errorf("it is there: %v", still)
	}
}
