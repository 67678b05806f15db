package full

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/comms/overview"
	talks "tutti/internal/comms/protocol"
	"tutti/internal/core/address"
	"tutti/internal/governance/agreement"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
)

// WaitingOnBus returns the items that wait for an agent or user on this bus.
func WaitingOnBus(ctx context.Context, w *app.World, bus *agreement.Bus, me address.Instance, now time.Time) ([]todo.Item, error) {
	b := todo.Bus{Agreements: bus, Mail: w.Mail, Store: w.Store}
	return b.For(ctx, me, now)
}

// WaitingForAgent returns all that waits for an agent: on this bus, between projects and among the jobs of the folder where it works.
// submitter is the name under which it has submitted jobs. What cannot be looked at beside the bus is left out: its own verbs tell.
func WaitingForAgent(ctx context.Context, w *app.World, bus *agreement.Bus, me address.Instance, submitter string, now time.Time) ([]todo.Item, error) {
	all, err := WaitingOnBus(ctx, w, bus, me, now)
	if err != nil {
		return nil, err
	}
	dir := w.App.WorkDir()
	var letters, jobs []todo.Item
	if o, _, err := w.App.CommsService(); err == nil {
		if p, in := o.ProjectAt(dir); in && app.AnyIn(filepath.Join(p.Path, talks.MailboxFolder)) {
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
