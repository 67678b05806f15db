package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// sessionCreate starts an agent in tmux.
func sessionCreate(ctx context.Context, c *Call, s *sessions) error {
	if c.own > 0 {
		hint := "arguments for the program stand behind --"
		if _, ok := driver.Kind(c.Args[0]); ok {
			hint = "--agent " + c.Args[0]
		}
		return usageHint(hint, "session create: %s: it is not said what that is", Clean(c.Args[0]))
	}
	q := lifecycle.CreateRequest{
		Agent: c.text("agent"), Name: c.text("session"), Server: c.text("tmux-server"), Program: c.text("program"), Branch: c.text("worktree"),
		Role: c.text("role"), Job: c.text("job"), Wait: c.on("wait"), Ready: c.duration("ready", 0),
		Trust: c.on("trust-row"), Typed: c.isSet("submit-job"),
	}
	for _, name := range [...]string{"session", "workspace", "worktree", "role", "prompt", "program", "job", "submit-job"} {
		if c.isSet(name) && c.text(name) == "" {
			return usagef("session create: --%s is empty", name)
		}
	}
	if c.isSet("submit-job") && (c.isSet("prompt") || c.isSet("job")) {
		return usagef("session create: --submit-job makes a job and types it, so --prompt and --job do not go with it")
	}
	if len(c.Args) > 0 {
		q.Argv = c.Args
	}
	task, err := c.body(c.text("submit-job"))
	if err != nil {
		return err
	}
	if q.Dir, err = absoluteIf(c.text("workspace")); err != nil {
		return failIO("", err, "")
	}
	if q.Prompt, err = c.sessionPrompt(); err != nil {
		return err
	}
	if strings.Contains(q.Program, "/") {
		if q.Program, err = absoluteIf(q.Program); err != nil {
			return failIO("", err, "")
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
		s.note()
	}
	var work *job.Job
	book, _, e := job.At(s.workspace())
	if err == nil && len(task) > 0 {
		if err = e; err == nil {
			work, err = c.submitTo(ctx, book, m, &done.Row, string(task))
		}
	}
	if c.json {
		raw := createdJSON(done, err == nil)
		if work != nil {
			raw = canonjson.Set(raw, "job", c.jobJSON(book, work))
		}
		c.emit(raw)
	} else {
		s.sayCreated(done, err)
		if work != nil {
			c.sayNewJob(book, work)
		}
	}
	if err == nil {
		s.sayUnready(&done.Row)
	}
	s.sayLast(done.Screen)
	return err
}

// submitTo gives a job to the agent of a session that was just begun. The job is there when its agent did not get it, too.
func (c *Call) submitTo(ctx context.Context, b *job.Book, m *lifecycle.Manager, r *registry.Row, prompt string) (*job.Job, error) {
	o := job.Order{Prompt: prompt, Agent: r.Kind(), Session: "tmux:" + r.Name, Timeout: job.DefaultTimeout, Idle: job.DefaultIdle}
	o.Submitter, _ = c.jobActor()
	var err error
	if o.Broker, err = job.BrokerOf(b.Workspace, os.Getenv); err != nil && !errors.Is(err, job.ErrNoBroker) {
		return nil, c.jobFault(err)
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return nil, c.jobFault(err)
	}
	r.Job = j.ID
	_, err = b.HandOver(ctx, j.ID, m, o.Submitter)
	if now, e := b.Get(j.ID); e == nil {
		j = now
	}
	return j, c.jobFault(err)
}

// absoluteIf makes a path absolute, if there is one.
func absoluteIf(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// sessionPrompt is the first prompt, "" for none.
func (c *Call) sessionPrompt() (string, error) {
	if !c.isSet("prompt") {
		if c.isSet("ready") {
			return "", usagef("%s: --ready says how long --prompt waits, which is missing", c.Verb.Name)
		}
		return "", nil
	}
	text, err := c.body(c.text("prompt"))
	return strings.TrimRight(string(text), "\r\n"), err
}

// sayCreated says what was started.
func (s *sessions) sayCreated(done *lifecycle.Created, err error) {
	c := s.c
	if err == nil || done.Row.Status == registry.Running {
		s.sayRuns(&done.Row, &done.Pane, done.Dialog)
	}
	if done.Worktree != "" {
		c.line("worktree: " + Clean(c.App.Shown(done.Worktree)))
	}
	if len(done.Skips) > 0 {
		c.warn("%s: it does things without asking, because of %s", Clean(done.Row.Name), Clean(strings.Join(done.Skips, " ")))
	}
	if done.Former != "" {
		c.remark(`this is a new conversation; the former one was %s: "tutti session resume %s --conversation %s" continues it`,
			Clean(done.Former), Clean(done.Row.Name), Clean(done.Former))
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
	c.printf("%s: %s runs in %s (%spane %s, process %d)\n", Clean(r.Name), Clean(title), Clean(c.App.Shown(r.Pane.Cwd)), where, pane.ID, r.Pane.PID)
	if r.Instance != "" {
		c.line("on the bus as " + Clean(r.Instance))
	}
	if dialog != "" {
		c.line(Clean(dialog))
	}
	c.line("tutti session attach " + Clean(r.Name))
}

// sayLast shows the last lines of a program that has ended, on standard error.
func (s *sessions) sayLast(screen string) {
	const most = 20
	lines := slices.DeleteFunc(strings.Split(screen, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	for _, l := range lines[max(0, len(lines)-most):] {
		s.c.errLine("  ", 0, Clean(l))
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
		s.c.remark("%s is not connected to the bus, so it cannot read its mail: tutti host setup --host %s", d.Title, d.Name)
	}
}

func createdJSON(done *lifecycle.Created, ok bool) []byte {
	var o canonjson.Object
	o.Bool("ok", ok)
	o.Str("name", done.Row.Name)
	o.Raw("session", done.Row.JSON())
	o.Strs("looks", done.Looks)
	o.Opt("dialog", done.Dialog)
	o.Bool("prompted", done.Prompted)
	o.Opt("formerConversation", done.Former)
	o.Opt("worktree", done.Worktree)
	if len(done.Skips) > 0 {
		o.Strs("skips", done.Skips)
	}
	o.Opt("screen", done.Screen)
	return o.Bytes()
}
