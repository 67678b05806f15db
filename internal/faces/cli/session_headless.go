package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/inventory"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/sessions/lifecycle"
)

// instances are agents by their canonical address.
type instances map[address.Instance]bool

func (i instances) add(one string) {
	if one != "" {
		i[address.Instance(one).Canonical()] = true
	}
}

// worlds opens the bus of this call and those of the inventory, for reading, and hands each to f. A bus that cannot be opened is
// left out: its own verbs say why.
func (c *Call) worlds(f func(w *app.World)) {
	var seen []string
	visit := func(a *app.App) {
		root, err := a.Root()
		if err != nil || !app.IsBus(root.Path) {
			return
		}
		for _, path := range seen {
			if app.SameFolder(path, root.Path) {
				return
			}
		}
		seen = append(seen, root.Path)
		w, err := a.World(app.Reading)
		if err != nil {
			return
		}
		defer w.Close()
		f(w)
	}
	visit(c.App)
	state, err := c.App.StateDir()
	if err != nil || c.rootFlag() != "" {
		return
	}
	places, _ := inventory.All(state, inventory.Bus)
	for i := range places {
		visit(app.New(app.Settings{Root: places[i].Path}))
	}
}

// headless are the agents that are live on a bus of this machine and in no session of a registry.
func (s *sessions) headless(ctx context.Context, taken instances, machine string, now time.Time) (all []lifecycle.Listed) {
	if s.c.flagIf("registry") != "" {
		return nil
	}
	s.c.worlds(func(w *app.World) {
		rows, err := w.Book.Discover(ctx, members.Filter{}, now)
		if err != nil {
			s.c.warn("%s: %s", Clean(s.c.App.Shown(w.Root.Path)), Clean(err.Error()))
			return
		}
		for i := range rows {
			r := &rows[i]
			if r.Session == nil || r.Session.MirroredAt != "" || r.Instance.Host() == identity.Human || taken[r.Instance.Canonical()] {
				continue
			}
			dir := workDir(r)
			if s.alone() && dir != s.dir && !strings.HasPrefix(dir, s.dir+string(filepath.Separator)) {
				continue
			}
			taken[r.Instance.Canonical()] = true
			all = append(all, lifecycle.Listed{
				Name: string(r.Instance), Status: "live", Found: lifecycle.Alive.String(), Agent: r.Host, Cwd: dir, Instance: string(r.Instance),
				Machine: machine, Kind: lifecycle.Headless, AsOf: now.UTC().Truncate(time.Millisecond), Bus: w.Root.Path, PID: r.Session.PID,
			})
		}
	})
	return all
}

// workDir is the folder in which a live agent works, "" when its connection does not say.
func workDir(r *members.Row) string {
	dir := ""
	if r.Session != nil && r.Session.Workspace != nil {
		dir = r.Session.Workspace.Path
	}
	if r.Session != nil && r.Session.Launch != nil {
		dir = cmp.Or(dir, r.Session.Launch.Cwd)
	}
	return dir
}
