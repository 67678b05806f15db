package demo

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// The play about agents who stop comes to its end, tells what it saw, and leaves nothing: no folder, no server of tmux, no program.
func TestStall(t *testing.T) {
	if boundtest.Race {
		t.Skip("its programs are built without the detector, which would only see this one wait for them")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: the play about agents who stop is not played")
	}
	left := elsewhere(t)
	server := build(t, "tutti-full")
	var out bytes.Buffer
	began := time.Now()
	if err := Stall(context.Background(), Options{Server: server, Version: "test", Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Logf("it took %s\n%s", time.Since(began), out.String())
	for _, want := range []string{
		"ana   ana was asked to go on, for the first time: typed into pane %0", "bob   bob was asked to go on, for the first time: typed into pane %1",
		"bob was asked to go on, for the second time", "ana: it was seen at work", "bob waits for you: asked 2 times to go on",
		"agents are asked by process ", "typed into their panes, and nothing else", "tutti watchdog escalations: claude:bob:0b0b0b0b0b0b ",
		"what waits for you: escalation claude:bob:0b0b0b0b0b0b: asked 2 times to go on",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing was said of %q in\n%s", want, out.String())
		}
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
	_, name, _ := strings.Cut(out.String(), "-L ")
	name, _, _ = strings.Cut(name, ")")
	if got, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "td*")); len(got) > 0 || name == "" {
		t.Errorf("the server %q has left %q", name, got)
	}
}
