package session

import (
	"context"
	"errors"
	"os"

	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

// A JobTools is what jobs need beyond files.
type JobTools struct {
	// Dial connects to a broker.
	Dial func(ctx context.Context, b job.Broker) (job.Network, error)
	// Deliver types in place of what is in the registry of sessions; nil: that types. It is for tests.
	Deliver job.Deliverer
}

// JobToolsOf returns those of this program. Tests have their own.
var JobToolsOf = func() JobTools { return JobTools{Dial: full.DialBroker} }

// deliverer types into the sessions of the workspace that has the jobs.
func (p *JobTools) deliverer(c *kit.Call, b *job.Book) (job.Deliverer, error) {
	if p.Deliver != nil {
		return p.Deliver, nil
	}
	s, err := sessionsOf(c, Location{}, b.Workspace)
	if err != nil {
		return nil, err
	}
	return s.manager(c.Verb.Name)
}

// ofWorkspace is the flag that all verbs on jobs have.
type ofWorkspace struct{ Workspace string }

func (o *ofWorkspace) workspace() string { return o.Workspace }

// onJobs makes the function of a verb that works on jobs.
func onJobs[T any, P interface {
	*T
	workspace() string
}](f func(context.Context, *kit.Call, *job.Book, *T) error) *kit.Options {
	return kit.WithFlags(func(ctx context.Context, c *kit.Call, opt *T) error {
		b, note, err := FindJobs(c, P(opt).workspace())
		if err != nil {
			return kit.FailIO("", err, "%s", c.Verb.Name)
		}
		if note != "" {
			c.Remark("%s", kit.Clean(note))
		}
		return jobFault(c, f(ctx, c, b, opt))
	})
}

// FindJobs opens the jobs of this folder or of --jobs, and knows which of them this user submitted.
func FindJobs(c *kit.Call, workspace string) (*job.Book, string, error) {
	b, note, err := findJobs(c, workspace)
	if err == nil {
		b.Memory = full.Submitted(c.App)
	}
	return b, note, err
}

func findJobs(c *kit.Call, workspace string) (*job.Book, string, error) {
	if workspace != "" {
		return job.At(workspace)
	}
	if c.Verb.Name == "job submit" || c.Verb.Name == "job register" { // a new job is one of the folder where one stands
		return job.At(".")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	return job.Find(dir)
}

// jobFault turns what can be wrong with a job into an exit status.
func jobFault(c *kit.Call, err error) error {
	var (
		state   *job.StateError
		damaged *job.DamagedError
		public  *job.PublicError
		other   *job.StrangerError
		halted  *halt.Error
		fault   *kit.Fault
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &halted), errors.As(err, &fault):
		return err
	case errors.Is(err, job.ErrNone):
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: `"tutti job list" shows those of this workspace, --workspace names another one`}
	case errors.As(err, &state), errors.As(err, &damaged):
		return &kit.Fault{Code: kit.ExitState, Err: err}
	case errors.As(err, &other):
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: other.Hint()}
	case errors.As(err, &public):
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: public.Hint()}
	case kit.ExitCode(err, c.Under) == kit.ExitUsage:
		return &kit.Fault{Code: kit.ExitUsage, Err: err}
	}
	return err
}
