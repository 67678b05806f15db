package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/attention/todo"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	talks "tutti/internal/comms/protocol"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// waitingKinds are those of which something may lie in a bus that waits for somebody.
var waitingKinds = [...]store.Kind{store.Escalation, store.Blockage, store.Negotiation, store.Quarantine}

// MayWait tells whether something may lie in a bus, or among the jobs of a workspace ("" for none), that waits for somebody. It looks
// whether there are such folders: most have none, and what lies in them only the full program can read.
func MayWait(root, workspace string) bool {
	for _, k := range waitingKinds {
		top, _, _ := strings.Cut(k.Spec().Path, "/")
		if anyIn(filepath.Join(root, top)) {
			return true
		}
	}
	if workspace == "" {
		return false
	}
	b, _, err := job.At(workspace)
	return err == nil && anyIn(b.Dir())
}

func anyIn(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}

// WaitingOnBus returns what waits for somebody on this bus.
func (w *World) WaitingOnBus(ctx context.Context, bus *agreement.Bus, me address.Instance, now time.Time) ([]todo.Item, error) {
	b := todo.Bus{Agreements: bus, Mail: w.Mail, Store: w.Store}
	return b.For(ctx, me, now)
}

// WaitingForAgent returns all that waits for an agent: on this bus, between projects and among the jobs of the folder where it works.
// submitter is the name under which it has submitted jobs. What cannot be looked at beside the bus is left out: its own verbs tell.
func (w *World) WaitingForAgent(ctx context.Context, bus *agreement.Bus, me address.Instance, submitter string, now time.Time) ([]todo.Item, error) {
	all, err := w.WaitingOnBus(ctx, bus, me, now)
	if err != nil {
		return nil, err
	}
	dir := w.App.WorkDir()
	var letters, jobs []todo.Item
	if o, _, err := w.App.CommsService(); err == nil {
		if p, in := o.ProjectAt(dir); in && anyIn(filepath.Join(p.Path, talks.MailboxFolder)) {
			if s, err := overview.Look(ctx, w.App.OverviewOptions(o, p)); err == nil {
				letters = todo.Letters(s.Projects, &p, false)
			}
		}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		place, _ := registry.PathOf(real, "", os.Getenv)
		if b, _, err := job.At(registry.Workspace(place, real)); err == nil {
			if list, _, err := b.List(); err == nil {
				jobs = todo.Jobs(list, func() (string, bool) { return submitter, false })
			}
		}
	}
	return todo.Join(all, letters, jobs), nil
}

// OverviewOptions is a look at all mailboxes in which that of a project (with no path: none) is one, also where it lies outside the project
// folders.
func (a *App) OverviewOptions(o *exchange.Service, p exchange.Project) overview.Options {
	cache, err := a.CacheDir()
	if err != nil {
		cache = "" // it only saves time
	}
	look := overview.Options{Office: o, Cache: cache}
	if p.Path == "" {
		return look
	}
	outside := true
	for _, root := range o.ProjectRoots() {
		outside = outside && filepath.Dir(p.Path) != root
		look.Globs = append(look.Globs, filepath.Join(overview.Literal(root), "*", talks.MailboxFolder))
	}
	if !outside {
		look.Globs = nil // which is quicker
		return look
	}
	look.Globs = append(look.Globs, overview.Literal(p.MailboxPath()))
	return look
}
