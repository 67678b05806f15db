package snapshot

import (
	"context"

	"tutti/internal/app"
	"tutti/internal/comms/exchange"
	comms "tutti/internal/comms/overview"
)

// Letters are the mail between projects.
type Letters struct {
	Here     *exchange.Project // the project of the working directory; nil: none
	Box      *comms.Project    // its mailbox; nil: there is none
	Boxes    int
	Waiting  int // messages, in all mailboxes
	Holding  int // mailboxes in which some wait
	Failed   int // messages that were not delivered
	Trouble  int // mailboxes that could not be looked at
	Projects []*comms.Project
	Err      error
}

// LettersOf begins to look at the mailboxes of all projects and returns what waits for the answer.
func LettersOf(ctx context.Context, a *app.App) func() *Letters {
	v := &Letters{}
	o, _, err := a.CommsService()
	if err != nil {
		v.Err = err
		return func() *Letters { return v }
	}
	var p exchange.Project
	if dir := a.WorkDir(); dir != "" {
		if at, ok := o.ProjectAt(dir); ok {
			p, v.Here = at, &at
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.look(ctx, a.OverviewOptions(o, p))
	}()
	return func() *Letters {
		<-done
		return v
	}
}

func (v *Letters) look(ctx context.Context, o comms.Options) {
	s, err := comms.Look(ctx, o)
	if err != nil {
		v.Err = err
		return
	}
	v.Boxes, v.Failed, v.Projects = len(s.Projects), s.Failed, s.Projects
	for _, p := range s.Projects {
		v.Waiting += p.Pending
		if p.Pending > 0 {
			v.Holding++
		}
		if p.Err != nil {
			v.Trouble++
		}
		if v.Here != nil && p.Path == v.Here.Path {
			v.Box = p
		}
	}
}
