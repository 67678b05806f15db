package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// sessions is the part that keeps registries of agents in tmux true: that of the folder where the program was started, or those that were
// named. Each has one monitor: while another one is at it, this one waits. A registry that is not there yet is waited for.
func sessions(ctx context.Context, s *Site) error {
	if s.Open == nil {
		return nil
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	var watched []*keptRegistry
	var shown []string
	for _, path := range s.registries(dir) {
		watched = append(watched, &keptRegistry{Site: s, dir: dir, path: path})
		shown = append(shown, s.World.App.Shown(path))
	}
	s.Ready("keeps " + strings.Join(shown, ", ") + " up to date")
	var all sync.WaitGroup
	for _, r := range watched {
		all.Go(func() { r.keep(ctx) })
	}
	all.Wait()
	return ctx.Err()
}

// registries returns the paths of the registries to keep.
func (s *Site) registries(dir string) (all []string) {
	for given := range strings.SplitSeq(s.Up.Registry, ",") {
		path, _ := registry.PathOf(dir, strings.TrimSpace(given), s.Facts.Env)
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// A registry is one that is kept true.
type keptRegistry struct {
	*Site
	dir, path string
}

// keep keeps it true until ctx is done, as soon and as long as it exists and no other monitor runs.
func (r *keptRegistry) keep(ctx context.Context) {
	look, stop, err := fswatch.Notify(filepath.Dir(r.path), filepath.Base(r.path))
	defer stop()
	if err != nil {
		look = nil
	}
	said := ""
	for wait := firstWait; ; {
		began := time.Now()
		err := r.monitor(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= lastWait {
			wait = firstWait
		}
		text := r.World.App.Shown(r.path) + ": " + err.Error()
		switch other, held := errors.AsType[*monitor.WatchedError](err); {
		case errors.Is(err, fs.ErrNotExist):
			look = r.appears(ctx, look)
			said = ""
		case held:
			if text != said {
				r.Tell(Event{Kind: "watched", Text: text + "; this one does when that ends"})
			}
			said = text
			ends(ctx, other.Holder)
		default:
			r.Fault(text + "; again in " + wait.String())
			said = ""
			pause(ctx, wait)
			wait = min(2*wait, lastWait)
		}
	}
}

// monitor is one monitor at work.
func (r *keptRegistry) monitor(ctx context.Context) error {
	a := r.World.App
	home, err := a.Home()
	if err != nil {
		return err
	}
	reg, err := r.Open(r.path)
	if err != nil {
		return err
	}
	if _, _, err := reg.Rows(ctx); err != nil { // nothing is made beside one that is not there
		return err
	}
	workspace := registry.Workspace(r.path, r.dir)
	m := lifecycle.New(lifecycle.Options{
		Registry: reg, Workspace: r.dir, Home: home, Env: r.Facts.Env, Server: r.Facts.Env(observe.ServerVariable),
		Halted: func() error { return halt.Check("up") },
		Bus:    full.SessionBus(a, r.Fault), Jobs: full.SessionJobs(workspace, r.dir), Tell: r.Fault,
	})
	o := &observe.Observer{Home: home, Env: r.Facts.Env, Workspace: workspace}
	if server := r.Facts.Env(observe.ServerVariable); server != "" {
		o.Servers = []string{server}
	}
	return monitor.Run(ctx, m, monitor.Watching{Observer: o, Tell: func(d monitor.Difference) { r.difference(&d) }})
}

// difference tells of what was found when something was done about it, could not be, or is left to the user.
func (r *keptRegistry) difference(d *monitor.Difference) {
	text := d.Found
	if d.Session != "" {
		text = d.Session + ": " + text
	}
	switch {
	case d.Err != nil:
		r.Fault(text + "; it could not be " + d.Does + ": " + d.Err.Error())
		return
	case d.Class == "begin", d.Does == monitor.LooksAgain:
		return
	case d.Done:
		if d.Class == "A" {
			select {
			case r.ended <- d.Session:
			default:
			}
		}
		text += "; " + d.Does
	}
	r.Tell(Event{Kind: "session", Text: text, Registry: r.path, Session: d.Session, Class: d.Class, Done: &d.Done})
}

// appears waits until there may be a registry. Without a watcher of the kernel it is looked for now and then.
func (r *keptRegistry) appears(ctx context.Context, look <-chan struct{}) <-chan struct{} {
	if look == nil {
		pause(ctx, keepEvery)
		return nil
	}
	select {
	case <-ctx.Done():
	case _, ok := <-look:
		if !ok {
			return nil
		}
	}
	return look
}

// ends waits until a process has ended, or for a while if the end is not reported.
func ends(ctx context.Context, id proc.ID) {
	ended, stop, err := proc.End(id)
	switch {
	case errors.Is(err, proc.ErrGone) && id.PID > 0:
		pause(ctx, firstWait) // its lock goes with it
		return
	case err != nil:
		ended, stop = nil, func() {}
	}
	defer stop()
	select {
	case <-ctx.Done():
	case <-ended:
	case <-time.After(keepEvery):
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
