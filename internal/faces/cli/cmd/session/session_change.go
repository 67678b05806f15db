package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// A changed is the result for one session in --json.
type changed struct {
	Name         string `json:"name"`
	OK           bool   `json:"ok"`
	Error        string `json:"error,omitempty"`
	Former       string `json:"former_name,omitempty"`  // of a renamed one
	Conversation string `json:"conversation,omitempty"` // of a removed one, which is kept
	Worktree     string `json:"worktree,omitempty"`     // of a removed one, which is kept
}

func (r *changed) failed(err error) {
	if r.OK = err == nil; !r.OK {
		r.Error = err.Error()
	}
}

type sessionSendOptions struct {
	inFolder
	All   bool
	Ready time.Duration
}

// sessionSend types a text into a session, or into all that run. It acts for the user, so no agent may.
func sessionSend(ctx context.Context, c *kit.Call, s *sessions, opt *sessionSendOptions) error {
	if _, err := c.ForUser("type into a session"); err != nil {
		return err
	}
	name, text := c.Arg(0), c.Arg(1)
	if opt.All {
		if len(c.Args) > 1 {
			return kit.Usagef("session send: --all and the name of a session do not go together")
		}
		name, text = "", c.Arg(0)
	} else if len(c.Args) != 2 {
		return kit.UsageHint("tutti session send NAME TEXT", "session send: name one session and one text")
	}
	raw, err := c.Body(text)
	if err != nil {
		return err
	}
	limit := kit.Or(c, &opt.Ready, lifecycle.DefaultReady)
	type target struct {
		*sessions
		name string
	}
	var all []target
	if name != "" {
		if s, err = s.withSession(ctx, name); err != nil {
			return err
		}
		all = []target{{s, name}}
	} else {
		parts, err := s.Parts(ctx, false)
		if err != nil {
			return err
		}
		var left []string
		for i := range parts {
			for _, r := range parts[i].Rows {
				d, ok := driver.Kind(r.Kind())
				switch {
				case r.Status != registry.Running:
				case !ok || d.Life.Screen == nil:
					left = append(left, r.Name)
				default:
					all = append(all, target{parts[i].sessions, r.Name})
				}
			}
		}
		switch {
		case len(all) == 0 && len(left) > 0:
			return kit.Refuse("", "session send: no running session takes typed text (custom programs are left out)")
		case len(all) == 0:
			return kit.Refuse(`"tutti session create" starts one`, "session send: no session runs")
		case len(left) > 0:
			c.Remark("left out, because tutti cannot type into them: %s", kit.Clean(strings.Join(left, ", ")))
		}
	}
	found := make([]changed, len(all))
	errs := make([]error, len(all))
	done := make(chan int)
	for i, t := range all {
		m, err := t.manager("session send")
		if err != nil {
			return err
		}
		go func() {
			errs[i] = t.notBegun(m.DeliverWithin(ctx, t.name, string(raw), limit))
			done <- i
		}()
	}
	for range all {
		i := <-done
		found[i].Name = all[i].name
		found[i].failed(errs[i])
		if errs[i] == nil && !c.JSON {
			c.Line("sent to " + kit.Clean(all[i].name))
		}
	}
	if c.JSON {
		c.Result(found)
	}
	return errors.Join(errs...)
}

type sessionRemoveOptions struct {
	inRegistry
	Ended bool
	Older time.Duration
}

// sessionRemove takes sessions that have ended out of the registry.
func sessionRemove(ctx context.Context, c *kit.Call, s *sessions, opt *sessionRemoveOptions) error {
	names := slices.Clone(c.Args)
	age := opt.Older
	switch {
	case opt.Ended && len(names) > 0:
		return kit.Usagef("session remove: --ended and the names of sessions do not go together")
	case !opt.Ended && c.IsSet(&opt.Older):
		return kit.Usagef("session remove: --older goes with --ended")
	case !opt.Ended && len(names) == 0:
		return kit.UsageHint(`"tutti session list" shows them; --ended removes all that have ended`, "session remove: missing session")
	}
	m, err := s.manager("session remove")
	if err != nil {
		return err
	}
	rows, _, err := s.rows(ctx)
	if err != nil {
		return err
	}
	if opt.Ended {
		for i := range rows {
			if r := &rows[i]; !r.Busy() && !endOf(r).After(time.Now().Add(-age)) {
				names = append(names, r.Name)
			}
		}
		if len(names) == 0 && !c.JSON {
			c.Remark("no session has ended")
		}
	}
	found := []changed{}
	var failed []error
	for _, name := range names {
		r, err := m.Remove(ctx, name)
		one := changed{Name: name, Worktree: lifecycle.WorktreeOf(&r)}
		id := r.Conversation()
		if !missing(c, &r) {
			one.Conversation = id
		}
		one.failed(err)
		found, failed = append(found, one), append(failed, err)
		if err != nil || c.JSON {
			continue
		}
		c.Line("removed " + kit.Clean(name))
		var facts [][]string
		if id != "" && r.Mode != "purge" {
			facts = append(facts, []string{"  conversation", keptText(c, &r, id)})
		}
		if one.Worktree != "" {
			facts = append(facts, []string{"  worktree", kit.Clean(c.App.Shown(one.Worktree)) + ", kept"})
		}
		c.Facts(facts)
	}
	if c.JSON {
		c.Result(found)
	}
	return errors.Join(failed...)
}

// endOf is when a row ended, zero where it does not say.
func endOf(r *registry.Row) time.Time {
	switch r.Status {
	case registry.Terminated:
		return r.TerminatedAt
	case registry.Archived:
		return r.ArchivedAt
	}
	return r.StoppedAt
}

type sessionRenameOptions struct{ inFolder }

// sessionRename gives a session another name.
func sessionRename(ctx context.Context, c *kit.Call, s *sessions, opt *sessionRenameOptions) error {
	name, to := c.Arg(0), c.Arg(1)
	s, err := s.withSession(ctx, name)
	if err != nil {
		return err
	}
	rows, problems, err := s.rows(ctx)
	if err == nil {
		rows, err = s.only(rows, problems, name)
	}
	if err != nil {
		return err
	}
	id := rows[0].Job
	if state := job.Status(s.jobState()(id)); id != "" && state != "" && !state.Over() {
		return kit.Refuse("tutti job cancel "+id, "session rename: %s works on job %s, which names it", kit.Clean(name), kit.Clean(id))
	}
	m, err := s.manager("session rename")
	if err != nil {
		return err
	}
	if err := m.Rename(ctx, name, to); err != nil {
		return err
	}
	if c.JSON {
		c.Result(changed{Name: to, OK: true, Former: name})
		return nil
	}
	c.Line(kit.Clean(name) + " is now " + kit.Clean(to))
	return nil
}

type sessionRestartOptions struct {
	inFolder
	promptOptions
	Session        string
	Wait, TrustRow bool
	Grace          time.Duration
}

// sessionRestart stops a session and starts it again with its conversation.
func sessionRestart(ctx context.Context, c *kit.Call, s *sessions, opt *sessionRestartOptions) error {
	name, err := oneSession(c, opt.Session)
	if err != nil {
		return err
	}
	if s, err = s.withSession(ctx, name); err != nil {
		return err
	}
	q := lifecycle.RestartRequest{
		Stop:   lifecycle.StopRequest{Session: name, Reason: "restart", Grace: opt.Grace},
		Resume: lifecycle.ResumeRequest{Wait: opt.Wait, Ready: opt.Ready, Trust: opt.TrustRow},
	}
	if q.Resume.Prompt, err = sessionPrompt(c, &opt.promptOptions); err != nil {
		return err
	}
	m, err := s.manager("session restart")
	if err != nil {
		return err
	}
	done, err := m.Restart(ctx, q)
	return s.resumed(done, err)
}

type sessionForkOptions struct {
	inFolder
	promptOptions
	Session, Conversation string
	Wait, TrustRow        bool
}

// sessionFork begins a session with a copy of the conversation of another one.
func sessionFork(ctx context.Context, c *kit.Call, s *sessions, opt *sessionForkOptions) error {
	name := c.Arg(0)
	s, err := s.withSession(ctx, name)
	if err != nil {
		return err
	}
	q := lifecycle.ForkRequest{
		Name: name, To: opt.Session, Conversation: opt.Conversation, Trust: opt.TrustRow, Ready: opt.Ready, Wait: opt.Wait,
	}
	if q.Prompt, err = sessionPrompt(c, &opt.promptOptions); err != nil {
		return err
	}
	m, err := s.manager("session fork")
	if err != nil {
		return err
	}
	done, others, err := m.Fork(ctx, q)
	for _, one := range others {
		if !c.JSON {
			c.Line(kit.Clean(one.String()))
		}
	}
	if done == nil {
		return s.notBegun(err)
	}
	return s.begun(&done.Row, done.Screen, err, func() {
		if c.JSON {
			v := createdOf(done, err == nil)
			v.Forked = name
			c.Result(v)
		} else {
			s.sayCreated(done, err)
		}
	})
}
