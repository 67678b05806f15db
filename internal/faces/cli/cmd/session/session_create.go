package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app/full"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

func (o *sessionCreateOptions) place() Location {
	return Location{Registry: o.Registry, TmuxServer: o.TmuxServer}
}

type sessionCreateOptions struct {
	inRegistry
	promptOptions
	Agent, Session, Workspace, TmuxServer, Worktree, Program, Role, Job, SubmitJob string
	Wait, TrustRow                                                                 bool
}

// sessionCreate starts an agent in tmux.
func sessionCreate(ctx context.Context, c *kit.Call, s *sessions, opt *sessionCreateOptions) error {
	if c.Own > 0 {
		hint := "arguments for the program stand behind --"
		if _, ok := driver.Kind(c.Args[0]); ok {
			hint = "--agent " + c.Args[0]
		}
		return kit.UsageHint(hint, "session create: %s: it is not said what that is", kit.Clean(c.Args[0]))
	}
	q := lifecycle.CreateRequest{
		Agent: opt.Agent, Name: opt.Session, Server: opt.TmuxServer, Program: opt.Program, Branch: opt.Worktree,
		Role: opt.Role, Job: opt.Job, Wait: opt.Wait, Ready: opt.Ready,
		Trust: opt.TrustRow, Typed: c.IsSet(&opt.SubmitJob),
	}
	for _, flag := range [...]*string{&opt.Session, &opt.Workspace, &opt.Worktree, &opt.Role, &opt.Prompt, &opt.Program, &opt.Job, &opt.SubmitJob} {
		if c.IsSet(flag) && *flag == "" {
			return kit.Usagef("session create: --%s is empty", c.FlagName(flag))
		}
	}
	if c.IsSet(&opt.SubmitJob) && (c.IsSet(&opt.Prompt) || c.IsSet(&opt.Job)) {
		return kit.Usagef("session create: --submit-job makes a job and types it, so --prompt and --job do not go with it")
	}
	if len(c.Args) > 0 {
		q.Argv = c.Args
	}
	task, err := c.Body(opt.SubmitJob)
	if err != nil {
		return err
	}
	if q.Dir, err = absoluteIf(opt.Workspace); err != nil {
		return kit.FailIO("", err, "")
	}
	if q.Prompt, err = sessionPrompt(c, &opt.promptOptions); err != nil {
		return err
	}
	if strings.Contains(q.Program, "/") {
		if q.Program, err = absoluteIf(q.Program); err != nil {
			return kit.FailIO("", err, "")
		}
	}
	if d, ok := driver.Kind(q.Agent); ok && d.Added {
		if _, err := c.App.AddedAgents(); err != nil {
			return err
		}
	}
	m, err := s.manager("session create")
	if err != nil {
		return err
	}
	done, err := m.Create(ctx, q)
	if done == nil {
		return err
	}
	if done.Row.Status == registry.Running {
		full.NoteRegistry(s.c.App, s.Path)
	}
	var work *job.Job
	book, _, e := job.At(s.Workspace())
	if e == nil {
		book.Memory = full.Submitted(c.App)
	}
	if err == nil && len(task) > 0 {
		if err = e; err == nil {
			work, err = submitTo(ctx, c, book, m, &done.Row, string(task))
		}
	}
	if c.JSON {
		v := createdOf(done, err == nil)
		if work != nil {
			v.Job = jobJSON(c, book, work)
		}
		c.Result(v)
	} else {
		s.sayCreated(done, err)
		if work != nil {
			sayNewJob(c, opt.Wait, book, work)
		}
	}
	if err == nil {
		s.sayUnready(&done.Row)
	}
	s.sayLast(done.Screen)
	return err
}

// submitTo gives a job to the agent of a session that was just begun. The job is there when its agent did not get it, too.
func submitTo(ctx context.Context, c *kit.Call, b *job.Book, m *lifecycle.Manager, r *registry.Row, prompt string) (*job.Job, error) {
	o := job.Order{Prompt: prompt, Agent: r.Kind(), Session: "tmux:" + r.Name, Timeout: job.DefaultTimeout, Idle: job.DefaultIdle}
	o.Submitter, _ = c.JobActor()
	var err error
	if o.Broker, err = job.BrokerOf(b.Workspace, os.Getenv); err != nil && !errors.Is(err, job.ErrNoBroker) {
		return nil, jobFault(c, err)
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return nil, jobFault(c, err)
	}
	r.Job = j.ID
	_, err = b.HandOver(ctx, j.ID, m, o.Submitter)
	if now, e := b.Get(j.ID); e == nil {
		j = now
	}
	return j, jobFault(c, err)
}

// absoluteIf makes a path absolute, if there is one.
func absoluteIf(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

type promptOptions struct {
	Prompt string
	Ready  time.Duration
}

// sessionPrompt is the first prompt, "" for none.
func sessionPrompt(c *kit.Call, opt *promptOptions) (string, error) {
	if !c.IsSet(&opt.Prompt) {
		if c.IsSet(&opt.Ready) {
			return "", kit.Usagef("%s: --ready says how long --prompt waits, which is missing", c.Verb.Name)
		}
		return "", nil
	}
	text, err := c.Body(opt.Prompt)
	return strings.TrimRight(string(text), "\r\n"), err
}

// sayCreated says what was started.
func (s *sessions) sayCreated(done *lifecycle.Created, err error) {
	c := s.c
	if err == nil || done.Row.Status == registry.Running {
		s.sayRuns(&done.Row, &done.Pane, done.Dialog)
	}
	if done.Worktree != "" {
		c.Line("worktree: " + kit.Clean(c.App.Shown(done.Worktree)))
	}
	if len(done.Skips) > 0 {
		c.Warn("%s: it does things without asking, because of %s", kit.Clean(done.Row.Name), kit.Clean(strings.Join(done.Skips, " ")))
	}
	if done.Former != "" {
		c.Remark(`this is a new conversation; the former one was %s: "tutti session resume %s --conversation %s" continues it`,
			kit.Clean(done.Former), kit.Clean(done.Row.Name), kit.Clean(done.Former))
	}
}

// sayRuns says of a session what its user needs next.
func (s *sessions) sayRuns(r *registry.Row, pane *tmux.Pane, dialog string) {
	c := s.c
	title := r.Kind()
	if d, ok := driver.Kind(title); ok && d.Name != "custom" {
		title = d.Title
	} else if len(r.StartArgv) > 0 {
		title = filepath.Base(r.StartArgv[0])
	}
	where := ""
	if r.ServerName() != "default" {
		where = "tmux -L " + r.Server + ", "
	}
	c.Printf("%s: %s runs in %s (%spane %s, process %d)\n", kit.Clean(r.Name), kit.Clean(title), kit.Clean(c.App.Shown(r.Pane.Cwd)), where, pane.ID, r.Pane.PID)
	if r.Instance != "" {
		c.Line("on the bus as " + kit.Clean(r.Instance))
	}
	if dialog != "" {
		c.Line(kit.Clean(dialog))
	}
	c.Line("tutti session attach " + kit.Clean(r.Name))
}

// sayLast shows the last lines of a program that has ended, on standard error.
func (s *sessions) sayLast(screen string) {
	const most = 20
	lines := slices.DeleteFunc(strings.Split(screen, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	for _, l := range lines[max(0, len(lines)-most):] {
		s.c.ErrLine("  ", 0, kit.Clean(l))
	}
}

// sayUnready says that the program does not know the bus, where it could.
func (s *sessions) sayUnready(r *registry.Row) {
	d, ok := driver.Get(r.Kind())
	if !ok || len(d.Servers.Files) == 0 {
		return
	}
	home, err := s.c.App.Home()
	if err != nil {
		return
	}
	q := &setup.Request{Place: driver.Site{Home: home, Dir: r.Pane.Cwd, Env: os.Getenv}}
	if !q.Serves(d) {
		s.c.Remark("%s is not connected to the bus, so it cannot read its mail: tutti host setup --host %s", d.Title, d.Name)
	}
}

func createdOf(done *lifecycle.Created, ok bool) created {
	return created{
		OK: ok, Name: done.Row.Name, Session: done.Row.JSON(), Looks: render.List(done.Looks), Dialog: done.Dialog, Prompted: done.Prompted,
		Former: done.Former, Worktree: done.Worktree, Skips: done.Skips, Screen: done.Screen,
	}
}

// A created is a session that was begun.
type created struct {
	OK       bool            `json:"ok"`
	Name     string          `json:"name"`
	Session  json.RawMessage `json:"session"`          // its row in the registry
	Looks    []string        `json:"looks"`            // what was looked at before it was begun
	Dialog   string          `json:"dialog,omitempty"` // what its agent CLI asks
	Prompted bool            `json:"prompted"`         // the prompt was typed
	Former   string          `json:"formerConversation,omitempty"`
	Worktree string          `json:"worktree,omitempty"`
	Skips    []string        `json:"skips,omitempty"` // what its agent CLI does without asking
	Screen   string          `json:"screen,omitempty"`
	Job      json.RawMessage `json:"job,omitempty"`         // of session create with a task
	Forked   string          `json:"forked_from,omitempty"` // of session fork
}
