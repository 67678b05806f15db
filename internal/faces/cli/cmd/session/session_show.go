package session

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

type sessionCaptureOptions struct {
	inServer
	Session string
	Lines   int
}

// A captured is what a session shows.
type captured struct {
	Name  string   `json:"name"`
	Found string   `json:"found"` // its state in tmux
	Kept  bool     `json:"kept"`  // it is gone; this is what it showed last
	Lines []string `json:"lines"`
}

// sessionCapture prints what a session shows.
func sessionCapture(ctx context.Context, c *kit.Call, s *sessions, opt *sessionCaptureOptions) error {
	r, err := s.meant(ctx, opt.Session)
	if err != nil {
		return err
	}
	p, err := lifecycle.Capture(ctx, r, opt.Lines)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(captured{r.Name, p.Sight.State.String(), p.Kept, render.List(p.Lines)})
		return nil
	}
	if p.Kept {
		c.Remark("session %s is not there any more; this is what it showed last", kit.Clean(r.Name))
	}
	if p.Sight.State == observe.Dead {
		c.Remark("%s", kit.Clean(r.Name+": "+endedText(p.Sight.Pane)))
	}
	for _, line := range p.Lines {
		c.Line(kit.Clean(strings.ReplaceAll(line, "\t", "        ")))
	}
	return nil
}

type sessionAttachOptions struct {
	inServer
	Session string
}

// sessionAttach shows a session in this terminal, in place of this process.
func sessionAttach(ctx context.Context, c *kit.Call, s *sessions, opt *sessionAttachOptions) error {
	r, err := s.meant(ctx, opt.Session)
	if err != nil {
		return err
	}
	if kit.Columns(os.Stdin) == 0 || kit.Columns(os.Stdout) == 0 {
		return kit.Refuse("tutti session capture "+r.Name, "session attach: this is not a terminal")
	}
	inside := os.Getenv("TMUX")
	path, argv, env, err := lifecycle.Attach(ctx, r, inside)
	if err != nil {
		return err
	}
	switch {
	case argv[len(argv)-3] == "switch-client":
		c.Remark(`to come back: Ctrl-b L, or "tmux switch-client -l"; the agent goes on either way`)
	case inside != "":
		c.Remark("to leave: press Ctrl-b twice, then d; the agent goes on. What you type goes to the agent")
	default:
		c.Remark("to leave: Ctrl-b, then d; the agent goes on. What you type goes to the agent")
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return kit.FailIO("", syscall.Exec(path, argv, env), "start tmux")
}

// meant is the row of the session that is named, or of the only one that runs.
func (s *sessions) meant(ctx context.Context, session string) (*registry.Row, error) {
	name, err := sessionName(s.c, session)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return s.onlyRunning(ctx)
	}
	here := s
	if s, err = s.withSession(ctx, name); err != nil {
		return nil, here.orNamed(ctx, name, err)
	}
	rows, problems, err := s.rows(ctx)
	if err == nil {
		rows, err = s.only(rows, problems, name)
	}
	if err != nil {
		return nil, here.orNamed(ctx, name, err)
	}
	if at := cmp.Or(rows[0].ServerName(), defaultServer); !s.onServer(&rows[0]) {
		return nil, kit.BadState("--tmux-server "+at, "%s %s: it is on the tmux server %s, not %s", s.c.Verb.Name, kit.Clean(name), kit.Clean(at), kit.Clean(s.at.TmuxServer))
	}
	return &rows[0], nil
}

// defaultServer is the name of the tmux server that tmux starts without -L.
const defaultServer = "default"

// onServer tells whether a session is on the tmux server that --tmux-server names; without the flag every session is.
func (s *sessions) onServer(r *registry.Row) bool {
	return s.at.TmuxServer == "" || cmp.Or(r.ServerName(), defaultServer) == s.at.TmuxServer
}

// maxNamed is how many sessions a hint names.
const maxNamed = 8

// orNamed is an error about a name, with the sessions that there are where none is called so.
func (s *sessions) orNamed(ctx context.Context, name string, err error) error {
	parts, none := s.Parts(ctx, true)
	if none != nil {
		return err
	}
	var names []string
	for i := range parts {
		for n := range parts[i].Rows {
			names = append(names, parts[i].Rows[n].Name)
		}
	}
	if len(names) == 0 || slices.Contains(names, name) {
		return err
	}
	list := kit.Clean(strings.Join(names[:min(len(names), maxNamed)], ", "))
	if more := len(names) - maxNamed; more > 0 {
		list += " and " + strconv.Itoa(more) + " more: tutti session list"
	}
	return &kit.Fault{Code: kit.ExitCode(err, s.c.Under), Msg: s.c.Verb.Name + " " + kit.Clean(name) + ": there is no such session", Next: "the sessions are: " + list}
}

// onlyRunning is the row of the only session that runs: in this folder, or where none does, on this machine.
func (s *sessions) onlyRunning(ctx context.Context) (*registry.Row, error) {
	parts, err := s.Parts(ctx, false)
	if err != nil {
		return nil, err
	}
	var running []*registry.Row
	var names []string
	for _, far := range [...]bool{false, true} {
		for i := range parts {
			for n := range parts[i].Rows {
				if r := &parts[i].Rows[n]; parts[i].Far == far && r.Status == registry.Running && s.onServer(r) {
					running, names = append(running, r), append(names, r.Name)
				}
			}
		}
		if len(running) > 0 {
			break
		}
	}
	switch len(running) {
	case 1:
		return running[0], nil
	case 0:
		return nil, kit.UsageHint(`"tutti session list" shows them`, "%s: no running session; name one", s.c.Verb.Name)
	}
	return nil, &lifecycle.Error{Kind: lifecycle.Several, Text: s.c.Verb.Name + ": several sessions run, name one: " + strings.Join(names, ", "), Next: "tutti " + s.c.Verb.Name + " " + names[0]}
}
