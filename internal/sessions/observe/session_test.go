package observe

import (
	"errors"
	"os"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// TestJudge judges what tmux has under the name of a row.
func TestJudge(t *testing.T) {
	t.Parallel()
	self := proc.Self()
	row := registry.Row{Name: "a", OwnerID: "o1", BootID: self.Boot, Pane: registry.Pane{PID: self.PID, StartTicks: self.Start}}
	pane := tmux.Pane{PID: os.Getpid(), Owner: "o1"}
	with := func(f func(*registry.Row, *tmux.Pane)) (registry.Row, tmux.Pane) {
		r, p := row, pane
		f(&r, &p)
		return r, p
	}
	for name, c := range map[string]struct {
		change            func(*registry.Row, *tmux.Pane)
		err               error
		want              State
		foreign, replaced bool
	}{
		"as the row says":       {want: Alive},
		"no such session":       {err: tmux.ErrAbsent, want: Absent},
		"tmux does not answer":  {err: errors.New("server hangs"), want: Unknown},
		"another owner":         {change: func(_ *registry.Row, p *tmux.Pane) { p.Owner = "o2" }, want: Other, foreign: true},
		"a session of the user": {change: func(_ *registry.Row, p *tmux.Pane) { p.Owner = "" }, want: Other, foreign: true},
		"row of older programs": {change: func(r *registry.Row, p *tmux.Pane) {
			r.OwnerID, p.Owner, r.BootID, r.Pane.StartTicks = "", "", "", 0
		}, want: Alive},
		"the program ended":         {change: func(_ *registry.Row, p *tmux.Pane) { p.Dead = true }, want: Dead},
		"tmux has not noticed":      {change: func(_ *registry.Row, p *tmux.Pane) { p.PID = 1 << 30 }, want: Dead},
		"the pid was reused":        {change: func(r *registry.Row, _ *tmux.Pane) { r.Pane.StartTicks++ }, want: Other, replaced: true},
		"of another boot":           {change: func(r *registry.Row, _ *tmux.Pane) { r.BootID = "before" }, want: Other, replaced: true},
		"started anew in its place": {change: func(r *registry.Row, _ *tmux.Pane) { r.Pane.PID++ }, want: Other, replaced: true},
	} {
		if c.change == nil {
			c.change = func(*registry.Row, *tmux.Pane) {}
		}
		r, p := with(c.change)
		got := Judge(&r, p, c.err)
		if got.State != c.want || got.Foreign != c.foreign || got.Replaced != c.replaced {
			t.Errorf("%s: %v, foreign %v, replaced %v, error %v; want %v, %v, %v", name, got.State, got.Foreign, got.Replaced, got.Err, c.want, c.foreign, c.replaced)
		}
	}
}
