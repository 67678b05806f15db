package server_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestOrphan: the agent CLI is killed while another process holds the input of the server open. The server ends, and its session.
func TestOrphan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := r.command("tutti-full", nil)
	c := exec.Command("/bin/sh", "-c", fmt.Sprintf("exec 3<&0; %s mcp-serve --auto-open --host claude <&3 & wait", filepath.Join(r.bin, "tutti-full")))
	c.Args[0], c.Env, c.Dir = "claude", server.Env, r.home
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close() // this end stays open
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin = in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	words := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, said)
		words <- b.String()
	}()
	until := func(sessions int) {
		t.Helper()
		late := time.Now().Add(patience)
		for len(r.presence()) != sessions {
			if time.Now().After(late) {
				t.Fatalf("%d sessions, want %d", len(r.presence()), sessions)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	until(1)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(0)
	select {
	case w := <-words:
		t.Log(w)
	case <-time.After(patience):
		t.Error("the server does not end")
	}
	_ = c.Wait()
}
