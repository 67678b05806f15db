package session

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// startFor starts the session of a job if it does not run. A session of the registry goes on with its own conversation, or begins anew where
// it had none. One that is not there is made for the agent CLI that was named; without a name nothing is started.
func startFor(ctx context.Context, c *kit.Call, b *job.Book, session, agent string) error {
	name := strings.TrimPrefix(session, "tmux:")
	if name == "" || JobToolsOf().Deliver != nil {
		return nil
	}
	s, err := sessionsOf(c, Location{}, b.Workspace)
	if err != nil {
		return err
	}
	m, err := s.manager(c.Verb.Name)
	if err != nil {
		return err
	}
	rows, _, err := m.Registry().Rows(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := slices.IndexFunc(rows, func(r registry.Row) bool { return r.Name == name })
	if at >= 0 {
		if state := observe.Look(ctx, &rows[at]).State; state != observe.Absent && state != observe.Dead {
			return nil // who types finds out the rest
		}
		_, err := m.Resume(ctx, lifecycle.ResumeRequest{Name: name})
		if e, ok := errors.AsType[*lifecycle.Error](err); !ok || e.Kind != lifecycle.Nothing {
			s.started(name, err)
			return err
		}
		agent = ""
	} else if agent == "" {
		return nil
	}
	_, err = m.Create(ctx, lifecycle.CreateRequest{Name: name, Agent: agent, Typed: true})
	s.started(name, err)
	return err
}

// started tells that a session was started for a job.
func (s *sessions) started(name string, err error) {
	if err == nil {
		full.NoteRegistry(s.c.App, s.Path)
		s.c.Remark("session %s did not run and was started", kit.Clean(name))
	}
}
