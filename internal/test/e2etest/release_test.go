//go:build e2e

package e2etest

import (
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/wake"
)

// TestClaudeIsWokenAfterAHalt: an idle Claude Code outside tmux acknowledges a halt, is not woken by a plain resume, and goes on by
// "resume --wake" and by "resume --session".
func TestClaudeIsWokenAfterAHalt(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			a := seated(version)
			set := a.setUp
			a.setUp = func(t *testing.T, d desk) {
				set(t, d)
				d.write(t, ".config/tutti/config.toml", "[wake]\nnudge = false\n")
			}
			s := sit(t, a, nil)
			s.comes()
			s.rests()
			out := string(tutti(t, s.d.home, "halt", "--no-stop-watcher", "stop"))
			if !strings.Contains(out, "The only agent stops at once") || !strings.Contains(out, "acknowledged") {
				t.Errorf("the halt says %s", out)
			}
			for _, how := range [][]string{{"resume", "--wake"}, {"resume", "--session", s.me}} {
				tutti(t, s.d.home, "halt", "--no-stop-watcher", "stop")
				text := "written after " + how[1]
				tutti(t, s.d.home, "resume")
				asked := len(s.m.seen())
				tutti(t, s.d.home, "send", "--as", s.ben, s.me, text)
				time.Sleep(2 * time.Second)
				if n := len(s.m.seen()); n != asked {
					t.Errorf("a plain resume woke it: %d requests", n-asked)
				}
				began := time.Now()
				said := tutti(t, s.d.home, how...)
				s.until("the message reaches the model", func() bool { return s.asked(text) })
				t.Logf("MEASURED %s: %v after %v: %s", version, how[:2], time.Since(began), said)
				if !s.asked(wake.Sentence) {
					t.Error("it was not woken by the fixed sentence")
				}
				s.rests()
			}
			tutti(t, s.d.home, "halt", "--no-stop-watcher", "stop")
			tutti(t, s.d.home, "resume", "--wake")
			s.until("an agent without mail reads that it may go on", func() bool { return s.asked(wake.GoOn) })
			s.rests()
		})
	}
}
