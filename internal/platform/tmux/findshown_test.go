package tmux

import (
	"errors"
	"strings"
	"testing"
)

// A session is found with the screen of the pane that is expected there, and without it where another one is.
func TestFindShown(t *testing.T) {
	t.Parallel()
	w := empty(t)
	s, ctx := w.Server, t.Context()
	if _, _, err := s.FindShown(ctx, "a", Want{"%0", 77}, Capture{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("no server: %v", err)
	}
	a := w.make(Spec{Name: "a", Argv: []string{"sh", "-c", "echo this is a; exec cat"}, Owner: "01"})
	b := w.make(Spec{Name: "b", Argv: []string{"sh", "-c", "echo this is b; exec cat"}})
	for _, p := range []Pane{a, b} {
		eventually(t, func() (string, bool) {
			text, err := s.Capture(ctx, p.Ref(), Capture{})
			return text, err == nil && strings.HasPrefix(text, "this is")
		})
	}
	for what, c := range map[string]struct {
		name, text string
		want       Want
	}{
		"as expected":      {"a", "this is a", Want{a.ID, a.PID}},
		"another process":  {"a", "", Want{a.ID, a.PID + 1}},
		"another pane":     {"a", "", Want{b.ID, b.PID}},
		"no such pane":     {"a", "", Want{"%77", a.PID}},
		"nothing expected": {"a", "", Want{}},
	} {
		p, text, err := s.FindShown(ctx, c.name, c.want, Capture{History: 20, Joined: true})
		if err != nil || p.ID != a.ID || p.PID != a.PID || p.Owner != "01" || p.SessionName != "a" || !strings.HasPrefix(text, c.text) || (c.text == "") != (text == "") {
			t.Errorf("%s: %+v, %.40q, %v", what, p, text, err)
		}
	}
	for what, want := range map[string]Want{"a pane that is there": {a.ID, a.PID}, "one that is not": {"%77", 5}, "none": {}} {
		if p, text, err := s.FindShown(ctx, "c", want, Capture{}); !errors.Is(err, ErrAbsent) || text != "" {
			t.Errorf("no such session, %s: %+v, %q, %v", what, p, text, err)
		}
	}
	// What a program says in the moment of its end is lost now and then by tmux 3.3a.
	dead := w.make(Spec{Name: "dead", Argv: []string{"sh", "-c", "echo last words; read line; exit 3"}})
	eventually(t, func() (string, bool) {
		text, err := s.Capture(ctx, dead.Ref(), Capture{})
		return text, err == nil && strings.Contains(text, "last words")
	})
	if err := s.Enter(ctx, dead.Ref()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (string, bool) {
		p, text, err := s.FindShown(ctx, "dead", Want{dead.ID, dead.PID}, Capture{History: -1})
		return text, err == nil && p.Dead && p.Status == 3 && strings.Contains(text, "last words")
	})
}
