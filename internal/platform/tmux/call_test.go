package tmux

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"
)

// Calls that were begun before do what the others do, and leave nothing behind when they are not needed.
func TestCalls(t *testing.T) {
	t.Parallel()
	w := empty(t)
	s, ctx := w.Server, t.Context()
	make := func(name string) Spec {
		return Spec{Name: name, Dir: w.dir, Argv: []string{"cat", "-"}, Owner: "0" + name, Isolated: true}
	}
	s.ToMake("a", true).Drop() // of a server that is not there
	for end := time.Now().Add(20 * time.Second); ; {
		if _, err := s.Panes(ctx); errors.Is(err, ErrAbsent) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("a server was left: %v", err)
		}
	}
	a, err := s.ToMake("a", true).New(ctx, make("a"))
	if err != nil || a.SessionName != "a" || a.Owner != "0a" || a.PID <= 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	var taken *DuplicateError
	if _, err := s.ToMake("a", true).New(ctx, make("a")); !errors.As(err, &taken) {
		t.Errorf("the same name: %v", err)
	}
	call := s.ToMake("a", true)
	if p, err := call.Find(ctx); err != nil || p.PID != a.PID || p.Owner != "0a" {
		t.Errorf("found %+v, %v", p, err)
	}
	call.Drop()
	call = s.ToMake("b", true)
	if _, err := call.Find(ctx); !errors.Is(err, ErrAbsent) {
		t.Errorf("before it was made: %v", err)
	}
	bad := make("b")
	bad.Argv = []string{"no-such-program"}
	if _, err := call.New(ctx, bad); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no program: %v", err)
	}
	call.Drop()
	call.Drop()
	call = s.ToMake("b", true)
	if _, err := call.Find(ctx); !errors.Is(err, ErrAbsent) {
		t.Errorf("before it was made: %v", err)
	}
	b, err := call.New(ctx, make("b"))
	if err != nil || b.SessionName != "b" {
		t.Fatal(b, err)
	}
	toKill := func(s Server) *Call { return s.ToKill("b", Want{b.ID, b.PID}, Capture{}) }
	wrong := b
	wrong.Owner = "0a"
	for what, c := range map[string]struct {
		pane Pane
		want error
	}{"another owner": {wrong, ErrOwner}, "another server": {Pane{Server: b.Server + 1, Started: b.Started, Session: b.Session, Owner: b.Owner}, ErrChanged}} {
		if err := toKill(s).Kill(ctx, c.pane); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := toKill(s).Kill(gone, b); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if _, err := s.Find(ctx, "b"); err != nil {
		t.Errorf("it was ended: %v", err)
	}
	call = toKill(s)
	if p, _, err := call.FindShown(ctx, Capture{}); err != nil || p.PID != b.PID {
		t.Errorf("found %+v, %v", p, err)
	}
	if err := call.Kill(ctx, b); err != nil {
		t.Error(err)
	}
	call.Drop()
	if err := toKill(s).Kill(ctx, b); !errors.Is(err, ErrAbsent) {
		t.Errorf("again: %v", err)
	}
	if _, err := s.Find(ctx, "a"); err != nil {
		t.Errorf("the other one: %v", err)
	}
	toKill(s).Drop()
	none := empty(t)
	if err := toKill(none.Server).Kill(ctx, a); !errors.Is(err, ErrAbsent) {
		t.Errorf("without a server: %v", err)
	}
	toKill(none.Server).Drop()
}
