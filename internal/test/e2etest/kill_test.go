//go:build e2e

package e2etest

import (
	"strings"
	"testing"
)

// TestKillAndRestart: "halt --kill" ends a session of each program without typing, and "resume --restart" has it go on with its own
// conversation.
func TestKillAndRestart(t *testing.T) {
	inGemini := gemini
	inGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	for _, c := range []struct {
		agent agent
		args  []string
	}{
		{seated("197"), []string{"--permission-mode", "default"}},
		{seated("330"), []string{"--permission-mode", "default"}},
		{screenCodex(t), []string{"--dangerously-bypass-hook-trust"}},
		{inGemini, []string{"-m", "gemini-2.5-flash", "--yolo"}},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			s := gather(t, c.agent, false)
			m := s.begins(append([]string{
				"create", "--agent", c.agent.host, "--session", "one", "--tmux-server", s.tmux, "--prompt", "hello before the halt", "--ready", "2m", "--json", "--",
			}, c.args...)...)
			s.turn("hello before the halt")
			s.until("it rests", func() bool {
				out, err := s.tutti("session", "status", "one")
				return err == nil && strings.Contains(out, " idle")
			})
			out, err := s.tutti("halt", "--kill", "--yes", "--no-stop-watcher")
			if err != nil || !strings.Contains(out, "Ended session one of ") {
				t.Fatalf("%v\n%s", err, out)
			}
			// A tmux server without sessions ends a moment later by itself.
			s.until("no process is left", func() bool { return len(processesOf(s.d.home)) == 0 })
			if out, err = s.tutti("resume", "--restart"); err != nil || !strings.Contains(out, "one: ") {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			// Its next prompt comes with what was said before the halt.
			s.until("it rests again", func() bool {
				out, err := s.tutti("session", "status", "one")
				return err == nil && strings.Contains(out, " idle")
			})
			s.keys("send-keys", "-t", "=one:", "-l", "hello after the halt")
			s.press("Enter", func() bool { return s.asked("hello after the halt") })
			s.turn("hello before the halt", "hello after the halt")
			if again, err := s.tutti("session", "status", "one", "--json"); err != nil || m.conversation() != "" && !strings.Contains(again, m.conversation()) {
				t.Errorf("%v: it was in conversation %s: %s", err, m.conversation(), again)
			}
		})
	}
}
