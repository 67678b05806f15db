//go:build e2e

package e2etest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestTwoInOneFolder: two conversations of one program in one folder are two agents, and a message to one of them wakes that one.
func TestTwoInOneFolder(t *testing.T) {
	for _, c := range []struct {
		agent agent
		args  []string
	}{
		{seated("330"), nil},
		{screenCodex(t), []string{"--no-daemon", "--dangerously-bypass-hook-trust"}},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			s := sit(t, c.agent, nil, c.args...)
			if c.agent.host == "codex" {
				s.begins()
			}
			s.comes()
			first := s.me
			second := s.another(c.args...)
			if !strings.HasPrefix(first, c.agent.host+":project:") || !strings.HasPrefix(second, c.agent.host+":project-2:") {
				t.Fatalf("the two are %s and %s", first, second)
			}
			tutti(t, s.d.home, "send", "--as", first, "--id", "env:two", second, "from one window to the other")
			s.until("the second reads it", func() bool { return s.asked("from one window to the other") })
			if got := tutti(t, s.d.home, "inbox", "--instance", first, "--json"); strings.Contains(string(got), "env:two") {
				t.Errorf("it is in the mailbox of the sender: %s", got)
			}
		})
	}
}

// another starts the program a second time in the same folder, and returns who it is.
func (s *sitting) another(args ...string) (me string) {
	s.t.Helper()
	c := s.d.command(s.t, args...)
	line := append([]string{
		"new-window", "-c", s.d.work, "--", "sh", "-c", `exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh", "TERM=xterm-256color", "SHELL=/bin/sh",
	}, c.Env...)
	s.keys(append(slices.DeleteFunc(line, func(s string) bool { return s == "TERM=dumb" }), c.Args...)...)
	if s.d.agent.host == "codex" {
		s.until("the screen is there", func() bool { return strings.Contains(s.keys("capture-pane", "-p"), "scripted") })
		s.keys("send-keys", "-l", "second hello")
		s.press("Enter", func() bool { return s.asked("second hello") })
	}
	s.until("the second agent comes", func() bool {
		var live []struct{ Instance string }
		if err := json.Unmarshal(tutti(s.t, s.d.home, "discover", "--json"), &live); err != nil {
			s.t.Fatal(err)
		}
		for _, l := range live {
			if strings.HasPrefix(l.Instance, s.d.agent.host+":") && l.Instance != s.me {
				me = l.Instance
			}
		}
		return me != ""
	})
	return me
}
