package server_test

import (
	"strings"
	"testing"
)

// TestAskTool: a model puts a question to its user; without an answer it is open, and the answer comes as mail.
func TestAskTool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.start("a", []string{"--auto-open", "--host", "claude", "--tools", "lean"})
	a := s.ok("tutti_ask", object{"question": "Which database?", "options": []string{"pg", "sqlite"}})
	if a.str("state") != "open" || a.str("next") != "the answer comes as mail" {
		t.Errorf("%v", a)
	}
	if shown := r.run("escalation", "show", a.str("id")); !strings.Contains(shown, "Which database?") {
		t.Errorf("escalation show prints %q", shown)
	}
	a = s.ok("tutti_ask", object{"question": "And now?", "wait": 0.1})
	if a.str("state") != "open" {
		t.Errorf("after the wait: %v", a)
	}
	s.refused("one option", "tutti_ask", object{"question": "x", "options": []string{"y"}})
	s.refused("question", "tutti_ask", object{})
}
