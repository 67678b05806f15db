package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tutti/internal/platform/terminal"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A Session is an agent in tmux, with all the names that it has: one row.
type Session struct {
	Row      *registry.Row
	Registry string // path
	Job      string // its state, "" when it is not known

	near  bool // in the registry of this folder
	sight observe.Observation
	doing observe.Doing
	live  bool // present on a bus
}

// sessionsNear begins to look at the sessions of this machine that run, and returns what waits for the answer.
func sessionsNear(ctx context.Context, a *app.App, v *View) func() []Session {
	none := func() []Session { return nil }
	if _, err := a.AddedAgents(); err != nil {
		v.warn("%s; agent CLIs that it describes are known by their processes only", err)
	}
	dir, home := folderHere(), ""
	var err error
	if home, err = a.Home(); err != nil || dir == "" {
		return none
	}
	here, _ := registry.PathOf(dir, "", os.Getenv)
	var all []Session
	paths, err := full.Registries(a, here, v.Here != "")
	if err != nil {
		v.warn("%s", err)
	}
	for _, path := range paths {
		for _, name := range []string{path, registry.Database(path)} {
			if _, err = os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if errors.Is(err, fs.ErrNotExist) && (path != here || os.Getenv(registry.Variable) == "") {
			continue
		}
		rows, problems, err := full.RowsOf(ctx, path)
		if err != nil {
			v.warn("%s: %s", a.Shown(path), err)
			continue
		}
		for _, p := range problems {
			v.warn("%s: %s", a.Shown(path), &p)
		}
		for i := range rows {
			if rows[i].Busy() {
				all = append(all, Session{Row: &rows[i], Registry: path, near: path == here})
			}
		}
	}
	if len(all) == 0 {
		return none
	}
	rows := make([]registry.Row, len(all))
	for i := range all {
		rows[i] = *all[i].Row
	}
	o := &observe.Observer{Home: home, Env: os.Getenv, Workspace: registry.Workspace(here, dir)}
	if server := os.Getenv(observe.ServerVariable); server != "" {
		o.Servers = []string{server}
	}
	var view *observe.View
	var doing []observe.Doing
	done := make(chan struct{})
	go func() {
		defer close(done)
		view, doing = o.Doings(ctx, rows)
	}()
	return func() []Session {
		<-done
		noted := false
		for i := range all {
			l := &all[i]
			l.sight, l.doing = view.Observe(l.Row), doing[i]
			if l.near && l.sight.State == observe.Alive && !noted {
				full.NoteRegistry(a, l.Registry)
				noted = true
			}
			if l.Row.Job != "" {
				l.Job = jobState(registry.Workspace(l.Registry, dir), l.Row.Job)
			}
		}
		return all
	}
}

// jobState is the state of a job of a workspace, "" where it is not known.
func jobState(workspace, id string) string {
	b, _, err := job.At(workspace)
	if err != nil {
		return ""
	}
	j, err := b.Get(id)
	if err != nil {
		return ""
	}
	return string(j.Status)
}

// warn adds a warning.
func (v *View) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

// asks is what the program of a session asks its user, "" when it asks nothing or that is not known.
func (l *Session) asks() string {
	if observe.Activity(&l.sight, &l.doing, false) == observe.StateWaiting {
		return l.doing.Asks
	}
	return ""
}

// ofSession returns the mark of a session in tmux. One that does not run an agent CLI has no hooks.
func ofSession(d *overview.Denial, l *Session) overview.Mark {
	_, agent := driver.Agent(l.Row.Kind())
	if l.sight.State != observe.Alive || !agent && l.Row.Instance == "" {
		return overview.Mark{}
	}
	return d.Of(address.Instance(l.Row.Instance), l.Row.Pane.Cwd)
}

// attach is the action that shows the terminal of a session.
func (l *Session) attach(label string) todo.Action {
	return todo.Action{ID: "attach", Label: label, Terminal: true, Args: []string{"session", "attach", "--registry", l.Registry, l.Row.Name}}
}

// shows tells whether the screen of a session may say something that its program does not: that it is at work, it writes itself.
func (l *Session) shows() bool {
	d, ok := driver.Kind(l.Row.Kind())
	return ok && d.Life.Screen != nil && l.sight.State == observe.Alive && (l.doing.From != "program" || l.doing.Word != observe.Working)
}

// Terminal is the one that the program of a session writes to, "" where it is not known.
func (l *Session) Terminal() string { return terminal.Of(l.sight.Process.PID) }

// Screen returns the lines that the terminal of a session shows, with their colours. The pane is the one that was found; where that is
// gone, the session is looked for again.
func (l *Session) Screen(ctx context.Context) ([]string, error) {
	s, err := observe.ServerOf(l.Row)
	if err == nil && l.sight.State == observe.Alive {
		if text, err := s.Capture(ctx, l.sight.Pane.Ref(), tmux.Capture{Colours: true}); err == nil {
			return strings.Split(strings.TrimRight(text, " \n"), "\n"), nil
		}
	}
	return lifecycle.Coloured(ctx, l.Row)
}
