//go:build e2e

package e2etest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPauseStopsOneFolder: a Claude in a paused folder is denied its tool and its turn ends, one in another folder goes on. After the end
// of the pause the first goes on with its conversation.
func TestPauseStopsOneFolder(t *testing.T) {
	agentPrograms(t)
	asked, goOn := make(chan string, 8), make(chan struct{})
	m := newModel(t, func(now turn) move {
		if !strings.Contains(string(now.raw), "tick please") {
			return move{say: "nothing"}
		}
		if len(now.done) > 0 && !strings.Contains(now.done[len(now.done)-1].text, "is paused") {
			return move{say: "done"}
		}
		asked <- "a tool"
		<-goOn
		return bash("echo x >>ticks")
	})
	home := t.TempDir()
	shop := newDesk(t, claude("330"), home, m.http.URL)
	docs := shop
	docs.work = filepath.Join(home, "docs")
	if err := os.MkdirAll(docs.work, 0o700); err != nil {
		t.Fatal(err)
	}
	tutti(t, home, "host", "setup", "--host", "claude", "--no-server")
	ticks := func(d desk) int {
		raw, _ := os.ReadFile(filepath.Join(d.work, "ticks"))
		return len(strings.Fields(string(raw)))
	}
	args := []string{"--allowedTools", "Bash", "-p", "tick please"}
	type result struct{ out string }
	ran := func(d desk) chan result {
		c, done := d.command(t, args...), make(chan result, 1)
		go func() {
			out, _ := c.CombinedOutput() // a turn that a hook has ended may have any exit status
			done <- result{string(out)}
		}()
		return done
	}
	first, second := ran(shop), ran(docs)
	<-asked
	<-asked // both have begun their turn
	tutti(t, home, "pause", shop.work, "over budget")
	close(goOn)
	one, two := <-first, <-second
	if n := ticks(shop); n != 0 {
		t.Errorf("the paused Claude ran %d tools", n)
	}
	if n := ticks(docs); n != 1 || !strings.Contains(two.out, "done") {
		t.Errorf("the other Claude ran %d tools: %s", n, two.out)
	}
	t.Logf("the paused Claude says: %s", one.out)
	requests := len(m.seen())
	blocked := <-ran(shop) // a prompt is not answered
	if n := len(m.seen()); n != requests || ticks(shop) != 0 {
		t.Errorf("after a prompt during the pause: %d requests, %d before; it says %s", n, requests, blocked.out)
	}
	tutti(t, home, "unpause", shop.work)
	args = append([]string{"--continue"}, args...)
	if again := <-ran(shop); ticks(shop) != 1 || !strings.Contains(again.out, "done") {
		t.Errorf("after the end of the pause it ran %d tools: %s", ticks(shop), again.out)
	}
}
