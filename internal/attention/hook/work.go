package hook

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/job"
)

// report tells the job on which the session of the agent works what it does, if there is one.
func (e *event) report(ctx context.Context) error {
	session := e.o.Env(job.SessionVariable)
	if session == "" {
		return nil
	}
	m, some := e.moment()
	if !some {
		return nil
	}
	_, err := job.ByHook(ctx, job.Report{
		Dir: e.call.Dir, Home: e.o.Env(job.HomeVariable), Session: session, Conversation: e.call.Conversation, Moment: m, Prompt: e.call.Prompt,
	})
	return err
}

// moment is what an event means for a job.
func (e *event) moment() (m job.Moment, some bool) {
	switch e.call.Event.Moment {
	case driver.Prompt:
		return job.Begins, true
	case driver.Tool:
		return job.Works, true
	case driver.Ask:
		return job.Asks, true
	case driver.Stop:
		if e.more {
			return job.Works, true
		}
		return job.Rests, true
	case driver.End:
		switch e.call.Reason {
		case "clear", "resume": // its user begins another conversation, or goes on with one
			return job.Leaves, true
		}
		return job.Ends, true
	}
	return 0, false
}
