package snapshot

import (
	"context"
	"os"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
)

// asking are the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *View) asking(person func() bool) (all []todo.Item) {
	for i := range v.Sessions {
		l := &v.Sessions[i]
		if l.asks() != "" && person() {
			all = append(all, todo.Item{
				Kind: todo.Permission, ID: l.Row.Name, From: l.Row.Instance, About: l.Row.Name + " asks " + l.asks(),
				Command: "tutti session attach " + app.QuoteArg(l.Row.Name), Actions: []todo.Action{l.attach("Attach and answer")},
			})
		}
	}
	return all
}

// waitingHere finds what waits for the caller: on the bus, which may be nil, between projects, and among the jobs of this folder.
func (v *View) waitingHere(ctx context.Context, w *app.World, person func() bool, actor func() (string, bool)) error {
	var onBus, letters []todo.Item
	var err error
	if w != nil && (v.You != nil || person()) {
		me := address.Instance("human:anybody") // who has no identity yet is asked what any person may answer
		if v.You != nil {
			me = v.You.Instance
		}
		onBus, err = full.WaitingOnBus(ctx, w, full.Agreements(w), me, v.At)
	}
	if v.Letters != nil {
		letters = todo.Letters(v.Letters.Projects, v.Letters.Here, person())
	}
	v.Waiting = todo.Join(v.Waiting, onBus, letters, v.waitingJobs(actor))
	return err
}

// waitingJobs returns the jobs of this folder that wait for the caller.
func (v *View) waitingJobs(actor func() (string, bool)) []todo.Item {
	dir := folderHere()
	if dir == "" {
		return nil
	}
	place, _ := registry.PathOf(dir, "", os.Getenv)
	b, _, err := job.At(registry.Workspace(place, dir))
	if err != nil {
		return nil
	}
	all, _, err := b.List()
	if err != nil {
		return nil
	}
	return todo.Jobs(all, actor)
}
