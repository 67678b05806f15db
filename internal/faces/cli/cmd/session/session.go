package session

import (
	"cmp"
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

// A Location is what flags say about the registry, and the tmux server for new sessions.
type Location struct {
	Registry, TmuxServer string
	Here                 bool // and no other than that of this folder
}

// sessions is the registry that a verb works with.
type sessions struct {
	c    *kit.Call
	at   Location
	dir  string // where the user stands, without links
	Path string // of the registry, which may not be there
	reg  registry.Registry
}

// The flags of verbs on sessions that say where they look.
type (
	inRegistry struct{ Registry string }
	inFolder   struct {
		inRegistry
		Here bool
	}
	inServer struct {
		inFolder
		TmuxServer string
	}
)

func (o *inRegistry) place() Location { return Location{Registry: o.Registry} }
func (o *inFolder) place() Location   { return Location{Registry: o.Registry, Here: o.Here} }
func (o *inServer) place() Location {
	return Location{Registry: o.Registry, TmuxServer: o.TmuxServer, Here: o.Here}
}

// onSessions makes the function of a verb that works on a session registry.
func onSessions[T any, P interface {
	*T
	place() Location
}](f func(context.Context, *kit.Call, *sessions, *T) error) *kit.Options {
	return kit.WithFlags(func(ctx context.Context, c *kit.Call, opt *T) error {
		s, err := SessionsHere(c, P(opt).place())
		if err != nil {
			return err
		}
		return f(ctx, c, s, opt)
	})
}

// SessionsHere finds the session registry. It reads nothing yet.
func SessionsHere(c *kit.Call, at Location) (*sessions, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, kit.FailIO("", err, "find the folder where you are")
	}
	return sessionsOf(c, at, dir)
}

// sessionsOf finds the registry of a workspace, absolute and without links.
func sessionsOf(c *kit.Call, at Location, dir string) (*sessions, error) {
	s := &sessions{c: c, at: at, dir: dir}
	if _, err := c.App.AddedAgents(); err != nil {
		c.Warn("%s; agent CLIs that it describes are known by their processes only", kit.Clean(err.Error()))
	}
	var note string
	s.Path, note = registry.PathOf(s.dir, at.Registry, os.Getenv)
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
		Registry: reg, Workspace: s.dir, Home: home, Env: os.Getenv, Environ: s.environ(), Server: s.server(),
		Halted: func() error { return halt.Check(verb) },
		Bus:    s.bus(), Jobs: full.SessionJobs(s.Workspace(), s.dir), Started: full.Started(s.c.App),
		Accept:   s.acceptsSetup,
		Attached: func(agent, dir string) []string { return attached(home, agent, dir) },
		Tell:     func(line string) { s.c.Remark("%s", kit.Clean(line)) },
	}), nil
}

// attached are the names of our servers that an agent CLI starts in a folder.
func attached(home, agent, dir string) []string {
	d, ok := driver.Get(agent)
	q := &setup.Request{Place: driver.Site{Home: home, Dir: dir, Env: os.Getenv}}
	if !ok || len(d.Servers.Files) == 0 {
		return nil
	}
	var names []string
	for _, r := range q.Serving(d) {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
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

// server is the tmux server for new sessions, "" for the default one.
func (s *sessions) server() string {
	return cmp.Or(s.at.TmuxServer, os.Getenv(observe.ServerVariable))
}

// sessionName returns the session named by --session or by the first word; "" if there is none.
func sessionName(c *kit.Call, session string) (string, error) {
	flag, word := session, c.Arg(0)
	switch {
	case flag == "":
		return word, nil
	case word != "" && word != flag:
		return "", kit.Usagef("%s: either --session %s or %s, not both", c.Verb.Name, kit.Clean(flag), kit.Clean(word))
	}
	return flag, nil
}

// oneSession returns the session that the caller must name.
func oneSession(c *kit.Call, session string) (string, error) {
	name, err := sessionName(c, session)
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
