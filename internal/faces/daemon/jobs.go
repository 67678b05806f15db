package daemon

import (
	"context"
	"os"

	"tutti/internal/core/termsafe"
	"tutti/internal/sessions/job"
)

// maxDetail is how much of what an agent says of its job is printed, in bytes.
const maxDetail = 200

// jobs is the part that follows the jobs of the workspace where the program was started: those that run out of time are ended, and a
// line tells of what a person has to know. It gives no job to anybody, and tells no broker.
func jobs(ctx context.Context, s *Site) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	b, _, err := job.Find(dir)
	if err != nil {
		return err
	}
	s.Ready("follows the jobs in " + s.World.App.Shown(b.Workspace) + ", and ends those that run out of time")
	return b.Follow(ctx, job.Follower{
		Line: func(l *job.Line, j *job.Job) error {
			s.jobLine(l, j)
			return nil
		},
		Bad: func(id string, err error) { s.Fault("job " + id + ": " + err.Error()) },
	})
}

// jobLine tells of what happened to a job, if a person has to know it.
func (s *Site) jobLine(l *job.Line, j *job.Job) {
	if l.Event == nil {
		return
	}
	text := ""
	switch l.Event.Kind {
	case job.Permission:
		text = " asks for a permission"
	case job.Failed:
		text = " has ended with an error"
	case job.Done:
		if j == nil || j.Status != job.StatusCompleted { // a turn of a loop
			return
		}
		text = " says that it is done, and is to be accepted"
	default:
		return
	}
	detail := termsafe.Head(termsafe.Clean(l.Event.Detail), maxDetail)
	text = l.Job + text
	if detail != "" {
		text += ": " + detail
	}
	s.Tell(Event{Kind: "job", Text: text, Job: l.Job, What: string(l.Event.Kind), Detail: detail})
}
