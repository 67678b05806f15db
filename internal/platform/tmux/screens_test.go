package tmux

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	var wants []Want
	for _, r := range refs {
		wants = append(wants, Want{r.ID, r.PID})
	}
	wants[5].PID++
	snap, screens, err := s.Overview(ctx, append(wants[1:31], Want{"%x", 7}))
	if err != nil || len(snap.Panes) != n-3 || len(screens) != 29 || screens[refs[5].ID] != "" || !strings.HasPrefix(screens[refs[30].ID], "this is 30\n") {
		t.Errorf("survey: %v, %d screens, %q", err, len(screens), screens[refs[30].ID])
	}
	if snap, screens, err = s.Overview(ctx, wants[29:35]); err != nil || len(snap.Panes) != n-3 || len(screens) != 5 { // 31 is gone
		t.Errorf("survey with one that is gone: %v, %d screens", err, len(screens))
	}
	none := empty(t)
	surveys := func(wants []Want) (*Snapshot, map[string]string, error) { return s.ToSurvey().Overview(ctx, wants) }
	for _, wants := range [][]Want{nil, wants[1:31], wants[29:35], {{"%x", 7}}} {
		again, seen, err := surveys(wants)
		if err != nil || len(again.Panes) != len(snap.Panes) {
			t.Fatal(again, err)
		}
		_, want, err := s.Overview(ctx, slices.DeleteFunc(slices.Clone(wants), func(w Want) bool {
			return !slices.ContainsFunc(snap.Panes, func(p Pane) bool { return p.ID == w.ID })
		}))
		if err != nil || !maps.Equal(seen, want) {
			t.Errorf("screens of %v: %q, %v; want %q", wants, seen, err, want)
		}
	}
	if _, _, err := none.ToSurvey().Overview(ctx, wants[:3]); !errors.Is(err, ErrAbsent) {
		t.Errorf("a call without a server: %v", err)
	}
	none.ToSurvey().Drop()
	if _, _, err := none.Overview(ctx, wants[:3]); !errors.Is(err, ErrAbsent) {
		t.Errorf("survey without a server: %v", err)
	}
	for i, screen := range none.Screens(ctx, refs[:3], Capture{}) {
		if !errors.Is(screen.Err, ErrAbsent) {
			t.Errorf("no server, pane %d: %q, %v", i, screen.Text, screen.Err)
		}
	}
	if got := s.Screens(ctx, nil, Capture{}); len(got) != 0 {
		t.Errorf("no panes: %v", got)
	}
}

// A brief look sees the same sessions, also when somebody gave an owner that does not fit a field.
func TestBrief(t *testing.T) {
	t.Parallel()
	w := empty(t)
	if _, err := w.Brief(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("no server: %v", err)
	}
	w.make(Spec{Name: "a b", Owner: "0123"})
	w.make(Spec{Name: "dead", Argv: []string{"sh", "-c", "exit 3"}})
	w.do("set-option", "-t", "=dead:", "@owner_id", "x\ty\n%0A 100%")
	eventually(t, func() (string, bool) {
		got, err := w.Brief(t.Context())
		return fmt.Sprint(got, err), err == nil && len(got) == 2 && got[1].Dead
	})
	all, err := w.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	brief, err := w.Brief(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all.Panes {
		want := Pane{Server: p.Server, Session: p.Session, SessionName: p.SessionName, ID: p.ID, PID: p.PID, Dead: p.Dead, Owner: p.Owner}
		if brief[i] != want {
			t.Errorf("got %+v, want %+v", brief[i], want)
		}
	}
}

// What tmux prints in another way than it counts is not taken for a pane.
func TestBriefPane(t *testing.T) {
	t.Parallel()
	good := "7\t$1\t%2\t99\t0\t3\t4\ta\tbown\n\nnext"
	p, rest, ok := briefPane(good)
	if want := (Pane{Server: 7, Session: "$1", ID: "%2", PID: 99, SessionName: "a\tb", Owner: "own\n"}); !ok || rest != "next" || p != want {
		t.Errorf("got %+v, %q, %v, want %+v", p, rest, ok, want)
	}
	for _, bad := range []string{
		"", "\n", "7\t$1\t%2\t99\t0\t3\n", "7\t$1\t%2\t99\t0\t\t\tabc\n", "7\t$1\t%2\t99\t0\t3\t5\ta\tbown\n\n", "7\t$1\t%2\t99\t0\t3\t2\ta\tbown\n\n",
		"7\t$1\t%2\t99\t0\t9223372036854775807\t9223372036854775807\tabc\n", "7\t$1\t%2\t99\t0\t-1\t1\tabc\n", "0\t$1\t%2\t99\t0\t1\t1\tab\n", "7\t$1\t%2\t99\t0\t1\t1\tab",
	} {
		if p, _, ok := briefPane(bad); ok {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}
