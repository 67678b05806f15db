package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// TestWait: it returns when the sessions are in the states that are waited for, and not before.
func TestWait(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	claude := sc.Program("claude")
	rows := []registry.Row{sc.Begin("a-creator-claude", claude, "1000"), sc.Begin("b-creator-claude", claude, "1000")}
	first := func(i int) proc.ID {
		return proc.ID{PID: rows[i].Pane.PID, Start: rows[i].Pane.StartTicks, Boot: rows[i].BootID}
	}
	// wait plays the steps, one before each look, and returns how many looks it took.
	wait := func(q Wait, steps ...func()) (looks int, got []Reached, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		o := sc.observer()
		o.Workspace = ""
		got, err = o.Wait(ctx, q, func(context.Context) ([]registry.Row, error) {
			if looks < len(steps) {
				steps[looks]()
			} else if looks > len(steps)+4 {
				cancel()
			}
			looks++
			return rows, nil
		})
		return looks, got, err
	}
	is := func(i int, status string) func() { return func() { sc.WriteReport(first(i), talk, status) } }
	both := func(a, b string) func() { return func() { is(0, a)(); is(1, b)() } }

	looks, got, err := wait(Wait{}, both("busy", "busy"), is(0, "idle"), both("busy", "waiting"), is(0, "idle"))
	if err != nil || looks != 4 || got[0] != (Reached{Name: "a-creator-claude", State: StateIdle, Reached: true}) || got[1].State != StateWaiting || got[1].Asks != "permission" {
		t.Errorf("all: after %d looks %+v, %v", looks, got, err)
	}
	looks, got, err = wait(Wait{Any: true, Until: []string{StateIdle}}, both("busy", "waiting"), is(1, "busy"), is(1, "idle"))
	if err != nil || looks != 3 || got[0].Reached || !got[1].Reached {
		t.Errorf("any: after %d looks %+v, %v", looks, got, err)
	}
	_, got, err = wait(Wait{Until: []string{StateIdle}}, both("idle", "busy"))
	if !errors.Is(err, context.Canceled) || !got[0].Reached || got[1].State != StateWorking {
		t.Errorf("never: %+v, %v", got, err)
	}
	end := func() { sc.Do("kill-session", "-t", "=b-creator-claude") }
	_, got, err = wait(Wait{Until: []string{StateIdle}}, both("busy", "busy"), end)
	if !errors.Is(err, ErrNever) || got[1].State != StateEnded {
		t.Errorf("one has ended: %+v, %v", got, err)
	}
	_, got, err = wait(Wait{Until: []string{StateEnded}, Any: true}, is(0, "busy"))
	if err != nil || !got[1].Reached || got[0].Reached {
		t.Errorf("until the end: %+v, %v", got, err)
	}
}
