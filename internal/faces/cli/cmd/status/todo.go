package status

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
)

// asking are the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *statusView) asking(person func() bool) (all []todo.Item) {
	for i := range v.sessions {
		l := &v.sessions[i]
		if l.asks() != "" && person() {
			all = append(all, todo.Item{
				Kind: todo.Permission, ID: l.row.Name, From: l.row.Instance, About: l.row.Name + " asks " + l.asks(),
				Command: "tutti session attach " + app.QuoteArg(l.row.Name), Actions: []todo.Action{l.attach("Attach and answer")},
			})
		}
	}
	return all
}

// waitingHere finds what waits for the caller: on the bus, which may be nil, between projects, and among the jobs of this folder.
func waitingHere(ctx context.Context, c *kit.Call, w *app.World, v *statusView, person func() bool) error {
	var onBus, letters []todo.Item
	var err error
	if w != nil && (v.you != nil || person()) {
		me := address.Instance("human:anybody") // who has no identity yet is asked what any person may answer
		if v.you != nil {
			me = v.you.Instance
		}
		onBus, err = full.WaitingOnBus(ctx, w, full.Agreements(w), me, time.Now())
	}
	if v.letters != nil {
		letters = todo.Letters(v.letters.projects, v.letters.here, person())
	}
	v.waiting = todo.Join(v.waiting, onBus, letters, waitingJobs(c))
	return err
}

// waitingJobs returns the jobs of this folder that wait for the caller.
func waitingJobs(c *kit.Call) []todo.Item {
	s, err := session.SessionsHere(c, session.Location{})
	if err != nil {
		return nil
	}
	b, _, err := job.At(s.Workspace())
	if err != nil {
		return nil
	}
	all, _, err := b.List()
	if err != nil {
		return nil
	}
	return todo.Jobs(all, c.JobActor)
}
