package snapshot

import (
	"cmp"
	"context"
	"os"
	"slices"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/approval"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
)

// asking are the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *View) asking(person func() bool) (all []todo.Item) {
	requests := v.requests(person)
	for i := range requests {
		all = append(all, v.approvable(&requests[i]))
	}
	for i := range v.Sessions {
		l := &v.Sessions[i]
		if l.asks() != "" && person() && !slices.ContainsFunc(requests, l.made) {
			all = append(all, todo.Item{
				Kind: todo.Permission, ID: l.Row.Name, From: l.Row.Instance, About: l.Row.Name + " asks " + l.asks(),
				Command: "tutti session attach " + app.QuoteArg(l.Row.Name), Actions: []todo.Action{l.attach("Attach and answer")},
			})
		}
	}
	return all
}

// requests are the dialogs that a hook waits beside.
func (v *View) requests(person func() bool) []approval.Request {
	state, err := v.App.StateDir()
	if err != nil {
		return nil
	}
	all, err := approval.List(state)
	if err != nil {
		v.warn("approvals: %v", err)
	}
	if len(all) == 0 || !person() {
		return nil
	}
	return all
}

// made tells whether a request is of this session.
func (l *Session) made(r approval.Request) bool {
	return r.PID != 0 && (r.PID == l.sight.Process.PID || r.PID == l.Row.Pane.PID) || r.Conversation != "" && r.Conversation == l.Row.Conversation()
}

// nameOf is what the session that made a request is called, "" for none.
func (v *View) nameOf(r *approval.Request) string {
	for n := range v.Sessions {
		if l := &v.Sessions[n]; l.made(*r) {
			return l.Row.Name
		}
	}
	return ""
}

// approvable is a dialog that can be answered from here.
func (v *View) approvable(r *approval.Request) todo.Item {
	i := todo.Item{
		Kind: todo.Permission, ID: r.ID, From: r.Instance, At: r.At, Command: "tutti approve " + app.QuoteArg(r.ID),
		About: r.Title(v.nameOf(r)), Change: r.Change,
	}
	for _, o := range r.Options {
		if len(i.About) > todo.MaxAbout && o.ID != approval.Deny {
			continue // a screen does not show all of it; "tutti approve" does
		}
		a := todo.Action{ID: o.ID, Label: o.Label, Args: []string{"approve", r.ID, "--option", o.ID}}
		switch o.ID {
		case approval.Allow:
			a.ID = "approve"
		case approval.Deny:
			a.ID, a.Args = "deny", []string{"deny", r.ID}
		}
		i.Actions = append(i.Actions, a)
	}
	for n := range v.Sessions {
		if l := &v.Sessions[n]; l.made(*r) {
			i.From = cmp.Or(i.From, l.Row.Instance)
			i.Actions = append(i.Actions, l.attach("Attach and answer"))
		}
	}
	return i
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
