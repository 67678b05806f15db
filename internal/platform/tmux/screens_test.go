package tmux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Many screens by one look, in order, also when some panes are gone, dead or of another server.
func TestScreens(t *testing.T) {
	t.Parallel()
	w := empty(t)
	s, ctx := w.Server, t.Context()
	const n = 60 // more than one call has room for
	var refs []Ref
	for i := range n {
		pane := w.make(Spec{Name: fmt.Sprintf("s%d", i), Argv: []string{"sh", "-c", fmt.Sprintf("echo this is %d; exec cat", i)}})
		refs = append(refs, pane.Ref())
	}
	for i := range n {
		eventually(t, func() (string, bool) {
			text, err := s.Capture(ctx, refs[i], Capture{})
			return text, err == nil && strings.HasPrefix(text, "this is")
		})
	}
	check := func(bad map[int]error) {
		t.Helper()
		for i, screen := range s.Screens(ctx, refs, Capture{}) {
			want := bad[i]
			if want != nil {
				if !errors.Is(screen.Err, want) {
					t.Errorf("pane %d: error %v, want %v", i, screen.Err, want)
				}
				continue
			}
			if screen.Err != nil || !strings.HasPrefix(screen.Text, fmt.Sprintf("this is %d\n", i)) {
				t.Errorf("pane %d: %q, %v", i, screen.Text, screen.Err)
			}
		}
	}
	check(nil)
	refs[7].PID++
	check(map[int]error{7: ErrChanged})
	refs[7].PID--
	if got := s.Screens(ctx, []Ref{refs[1], {ID: "%2"}, refs[3]}, Capture{}); got[0].Err != nil || got[1].Err == nil || got[2].Err != nil || !strings.HasPrefix(got[2].Text, "this is 3\n") {
		t.Errorf("what was not listed, between others: %+v", got)
	}
	for _, i := range []int{0, 31, n - 1} {
		pane, err := s.Find(ctx, fmt.Sprintf("s%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Kill(ctx, pane); err != nil {
			t.Fatal(err)
		}
	}
	check(map[int]error{0: ErrAbsent, 31: ErrAbsent, n - 1: ErrAbsent})
	none := empty(t)
	for i, screen := range none.Screens(ctx, refs[:3], Capture{}) {
		if !errors.Is(screen.Err, ErrAbsent) {
			t.Errorf("no server, pane %d: %q, %v", i, screen.Text, screen.Err)
		}
	}
	if got := s.Screens(ctx, nil, Capture{}); len(got) != 0 {
		t.Errorf("no panes: %v", got)
	}
}
