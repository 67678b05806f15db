package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tutti/internal/agents/driver"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

// JobParts are what jobs need beyond files: too large for the light program, or not its business.
type JobParts struct {
	// Dial connects to a broker.
	Dial func(ctx context.Context, b job.Broker) (job.Network, error)
	// Open opens the registry of the sessions into which is typed; nil: this program cannot type.
	Open Opener
	// Deliver types in place of what is in that registry; for tests.
	Deliver job.Deliverer
}

// types tells whether something can be typed into sessions.
func (p *JobParts) types() bool { return p.Deliver != nil || p.Open != nil }

// deliverer types into the sessions of the workspace that has the jobs.
func (p *JobParts) deliverer(c *Call, b *job.Book) (job.Deliverer, error) {
	if p.Deliver != nil {
		return p.Deliver, nil
	}
	s, err := c.sessionsOf(b.Workspace, p.Open)
	if err != nil {
		return nil, err
	}
	return s.manager(c.Verb.Name)
}

// JobVerbs are the verbs about jobs that may need those parts.
func JobVerbs(p JobParts) Heavy {
	with := func(f func(context.Context, *Call, JobParts) error) Func {
		return func(ctx context.Context, c *Call) error { return f(ctx, c, p) }
	}
	return Heavy{
		{Name: "job submit", Run: with(runJobSubmit)}, {Name: "job publish", Run: with(runJobPublish)}, {Name: "job watch", Run: with(runJobWatch)},
	}
}

// The verbs as the light program has them.
func submitJob(ctx context.Context, c *Call) error  { return runJobSubmit(ctx, c, JobParts{}) }
func publishJob(ctx context.Context, c *Call) error { return runJobPublish(ctx, c, JobParts{}) }
func watchJob(ctx context.Context, c *Call) error   { return runJobWatch(ctx, c, JobParts{}) }

// brokerWanted tells whether a broker is configured, which only the heavy program can speak with.
func brokerWanted(c *Call) bool {
	b, err := c.jobBook()
	if err != nil {
		return false
	}
	_, err = job.BrokerOf(b.Workspace, os.Getenv)
	return !errors.Is(err, job.ErrNoBroker)
}

// submitNeeds tells whether submitting takes more than files.
func submitNeeds(c *Call) bool { return c.text("agent-session") != "" || brokerWanted(c) }

// watchNeeds tells whether watching takes more than files.
func watchNeeds(c *Call) bool { return c.on("drive") || brokerWanted(c) }

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

// jobActor is who acts on a job, and whether it is a person. It tells apart who submitted from who works; it proves nothing,
// because all of them are programs of one user.
func (c *Call) jobActor() (by string, person bool) {
	if session := os.Getenv(job.SessionVariable); session != "" && job.CheckID(session) == nil {
		return "session:" + session, false
	}
	for _, d := range driver.All() {
		if v := d.Hooks.Conversation; v != "" && os.Getenv(v) != "" {
			return d.Name + ":" + Truncate(Clean(os.Getenv(v)), 80), false
		}
	}
	f := factsOf(c.App)
	if p, ok := f.AgentProcess(); ok {
		return fmt.Sprintf("agent:%d.%d", p.ID.PID, p.ID.Start), false
	}
	return "user:" + f.Login(), true
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
