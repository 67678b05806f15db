package cli

import (
	"context"
	"errors"
	"os"

	"tutti/internal/halt"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/job/mqtt"
)

// A jobTools is what jobs need beyond files.
type jobTools struct {
	// dial connects to a broker.
	dial func(ctx context.Context, b job.Broker) (job.Network, error)
	// deliver types in place of what is in the registry of sessions; nil: that types. It is for tests.
	deliver job.Deliverer
}

// jobToolsOf returns those of this program. Tests have their own.
var jobToolsOf = func() jobTools { return jobTools{dial: dialBroker} }

// dialBroker connects to the broker that is told of jobs.
func dialBroker(ctx context.Context, b job.Broker) (job.Network, error) {
	c, err := mqtt.Dial(ctx, b)
	if err != nil {
		return nil, err // not c: a nil one would be a network
	}
	return c, nil
}

// deliverer types into the sessions of the workspace that has the jobs.
func (p *jobTools) deliverer(c *Call, b *job.Book) (job.Deliverer, error) {
	if p.deliver != nil {
		return p.deliver, nil
	}
	s, err := c.sessionsOf(b.Workspace)
	if err != nil {
		return nil, err
	}
	return s.manager(c.Verb.Name)
}

// jobBook opens the jobs that are meant.
func (c *Call) jobBook() (*job.Book, error) {
	b, note, err := c.findJobs()
	if err != nil {
		return nil, failIO("", err, "%s", c.Verb.Name)
	}
	if note != "" {
		c.remark("%s", Clean(note))
	}
	return b, nil
}

func (c *Call) findJobs() (*job.Book, string, error) {
	if dir := c.text("workspace"); dir != "" {
		return job.At(dir)
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
func (c *Call) jobFault(err error) error {
	var (
		state   *job.StateError
		damaged *job.DamagedError
		public  *job.PublicError
		halted  *halt.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &halted):
		return err
	case errors.Is(err, job.ErrNone):
		return &fault{code: exitState, err: err, hint: `"tutti job list" shows those of this workspace, --workspace names another one`}
	case errors.As(err, &state), errors.As(err, &damaged):
		return &fault{code: exitState, err: err}
	case errors.As(err, &public):
		return &fault{code: exitUsage, err: err, hint: public.Hint()}
	case exitCode(err, c.under) == exitUsage:
		return &fault{code: exitUsage, err: err}
	}
	return err
}
