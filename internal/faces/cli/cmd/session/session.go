package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// A sessionFunc is a verb about agents in tmux.
type sessionFunc func(ctx context.Context, c *kit.Call, s *sessions) error

// sessions is the registry that a verb works with.
type sessions struct {
	c    *kit.Call
	dir  string // where the user stands, without links
	Path string // of the registry, which may not be there
	reg  registry.Registry
}

// onSessions makes the function of a verb that works on the registry that is meant.
func onSessions(f sessionFunc) kit.Func {
	return func(ctx context.Context, c *kit.Call) error {
		s, err := SessionsHere(c)
		if err != nil {
			return err
		}
		return f(ctx, c, s)
	}
}

// SessionsHere finds the registry that is meant. It reads nothing yet.
func SessionsHere(c *kit.Call) (*sessions, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, kit.FailIO("", err, "find the folder where you are")
	}
	return sessionsOf(c, dir)
}

// sessionsOf finds the registry of a workspace, absolute and without links.
func sessionsOf(c *kit.Call, dir string) (*sessions, error) {
	s := &sessions{c: c, dir: dir}
	var note string
	s.Path, note = registry.PathOf(s.dir, c.FlagIf("registry"), os.Getenv)
	if note != "" {
		c.Remark("%s", note)
	}
	return s, nil
}

// rows are the rows of the registry, and what is wrong with it. A registry that does not exist is an error: nothing is made.
func (s *sessions) rows(ctx context.Context) ([]registry.Row, []registry.Problem, error) {
	reg, err := s.registry()
	if err != nil {
		return nil, nil, err
	}
	rows, problems, err := reg.Rows(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, s.noRegistry()
	}
	return rows, problems, err
}

// registry opens the registry.
func (s *sessions) registry() (registry.Registry, error) {
	if s.reg != nil {
		return s.reg, nil
	}
	var err error
	s.reg, err = OpenRegistry(s.Path)
	return s.reg, err
}

// manager is what acts on the sessions. verb is named where the halt switch refuses.
func (s *sessions) manager(verb string) (*lifecycle.Manager, error) {
	reg, err := s.registry()
	if err != nil {
		return nil, err
	}
	home, err := s.c.App.Home()
	if err != nil {
		return nil, err
	}
	return lifecycle.New(lifecycle.Options{
		Registry: reg, Workspace: s.dir, Home: home, Env: os.Getenv, Environ: s.environ(), Server: sessionServer(s.c),
		Halted: func() error { return halt.Check(verb) },
		Bus:    s.bus(), Jobs: full.SessionJobs(s.Workspace(), s.dir), Started: full.Started(s.c.App),
		Attached: func(agent, dir string) []string { return attached(home, agent, dir) },
		Tell:     func(line string) { s.c.Remark("%s", kit.Clean(line)) },
	}), nil
}

// attached are the names of our servers that an agent CLI starts in a folder.
func attached(home, agent, dir string) []string {
	d, ok := driver.Get(agent)
	q := &setup.Request{Place: driver.Site{Home: home, Dir: dir, Env: os.Getenv}}
	if !ok || len(d.Servers.Files) == 0 || !q.Serves(d) {
		return nil
	}
	return []string{driver.ServerName}
}

// bus tells the bus of sessions.
func (s *sessions) bus() lifecycle.Bus {
	return full.SessionBus(s.c.App, func(line string) { s.c.Remark("%s", kit.Clean(line)) })
}

// environ is the environment for programs that are started. A bus that was named is the one that their servers shall use.
func (s *sessions) environ() []string {
	env := os.Environ()
	if root := kit.AbsoluteRoot(s.c.RootFlag()); root != "" {
		env = append(env, "H2A_ROOT="+root)
	}
	return env
}

// sessionServer is the tmux server for new sessions, "" for the default one.
func sessionServer(c *kit.Call) string {
	if name := c.FlagIf("tmux-server"); name != "" {
		return name
	}
	return os.Getenv(observe.ServerVariable)
}

// sessionName is the session that is meant, by --session or by the first word; "" when none is named.
func sessionName(c *kit.Call) (string, error) {
	flag, word := c.FlagIf("session"), c.Arg(0)
	switch {
	case flag == "":
		return word, nil
	case word != "" && word != flag:
		return "", kit.Usagef("%s: either --session %s or %s, not both", c.Verb.Name, kit.Clean(flag), kit.Clean(word))
	}
	return flag, nil
}

// oneSession is the session that is meant, where one has to be.
func oneSession(c *kit.Call) (string, error) {
	name, err := sessionName(c)
	if err == nil && name == "" {
		err = kit.UsageHint(`"tutti session list" shows them`, "%s: missing session", c.Verb.Name)
	}
	return name, err
}

// SayProblems names what cannot be used in the registry.
func (s *sessions) SayProblems(problems []registry.Problem) {
	for _, p := range problems {
		s.c.Warn("%s: %s", kit.Clean(s.c.App.Shown(s.Path)), kit.Clean(p.String()))
	}
}

// sayNone says that there is nothing to show. Rows that cannot be used are sessions, too, and those may be alive.
func (s *sessions) sayNone(problems []registry.Problem) {
	path := kit.Clean(s.c.App.Shown(s.Path))
	if slices.ContainsFunc(problems, func(p registry.Problem) bool { return p.Unusable }) {
		s.c.Remark("no row of %s can be used: mend what the warnings name, in that file", path)
		return
	}
	s.c.Remark("no sessions in %s", path)
}

// OpenRegistry opens a registry of sessions.
func OpenRegistry(path string) (registry.Registry, error) {
	reg, err := yaml.Open(path)
	if err != nil {
		return nil, err // not reg: a nil one would be a registry
	}
	return reg, nil
}
