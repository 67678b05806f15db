package setup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/skill"
	"tutti/internal/core/canonjson"
)

// A Status is how a program stands to the bus.
type Status struct {
	Driver  *driver.Driver
	Program string // where it was found, "" where it was not
	Version string // as it says itself, "" where it does not
	Servers []Registered
	Hooks   []HookFile
	Skills  []SkillFile
}

// A Registered is a server of the name of ours in the settings of a program.
type Registered struct {
	Scope   driver.Scope
	Path    string
	Name    string // in the settings
	Owner   Owner
	Server  driver.Server
	Current bool // setup would leave it as it is
	Off     bool // its user has switched it off
	Err     error

	passed []string // names of variables that are handed on beside
}

// A State is how something of ours stands.
type State uint8

// The states.
const (
	Missing  State = iota
	Outdated       // setup, or what puts the skill there, would change it
	InPlace
	Unreadable
)

func (s State) String() string {
	return [...]string{"missing", "outdated", "in place", "unreadable"}[s]
}

// A HookFile is a file in which hooks can stand.
type HookFile struct {
	Scope driver.Scope
	Path  string
	State State
	Err   error
	// Waiting are the hooks in it that the program does not run before its user has reviewed them.
	Waiting []Review
}

// A SkillFile is a place at which a program finds the skill.
type SkillFile struct {
	Scope  driver.Scope
	Path   string
	State  State
	Edited bool // it is not as we wrote it
}

// Installed returns the first program that is on the path, in the order for people; nil: none is.
func Installed() *driver.Driver {
	for _, d := range driver.All() {
		if _, err := exec.LookPath(d.Program); err == nil {
			return d
		}
	}
	return nil
}

// Look finds out how a program stands to the bus. Of the request the command and the place count. It runs the program for its
// version, for at most as long as ctx allows, and writes nothing.
func (q *Request) Look(ctx context.Context, d *driver.Driver) *Status {
	s := &Status{Driver: d}
	if path, err := exec.LookPath(d.Program); err == nil {
		s.Program = path
		if len(d.Tried) > 0 { // the name of another one may be that of any program
			s.Version = versionOf(ctx, path, d.Version)
		}
	}
	seen := map[string]bool{}
	for _, scope := range []driver.Scope{driver.User, driver.Project} {
		at := *q
		at.Scope, at.Remove, at.Force, at.Root = scope, false, false, ""
		at.Server, at.Hooks = true, false
		s.servers(&at, seen)
		at.Server, at.Hooks = false, true
		s.hooks(&at, seen)
		s.skills(&at, seen)
	}
	return s
}

// Serves tells whether the program starts our server, for all that its user does or in the folder of the place. It starts nothing.
// Of the request the command and the place count.
func (q *Request) Serves(d *driver.Driver) bool { return len(q.Serving(d)) > 0 }

// Serving returns the entries of our server that the program starts. It is Serves for callers that need to know with which flags.
func (q *Request) Serving(d *driver.Driver) []Registered {
	s, seen := &Status{Driver: d}, map[string]bool{}
	for _, scope := range []driver.Scope{driver.User, driver.Project} {
		at := *q
		at.Scope, at.Remove, at.Force, at.Root, at.Server, at.Hooks = scope, false, false, "", true, false
		s.servers(&at, seen)
	}
	return slices.DeleteFunc(s.Servers, func(r Registered) bool { return r.Err != nil || r.Off || r.Owner == Foreign })
}

func (s *Status) servers(q *Request, seen map[string]bool) {
	f, ok := s.Driver.Servers.File(q.Scope)
	if !ok {
		return
	}
	for _, path := range f.All(q.Place) {
		if seen["server "+path] {
			continue
		}
		seen["server "+path] = true
		c, err := readChange(path, "")
		if err == nil && c.Before == nil {
			continue
		}
		for _, name := range serverNames {
			var entry []byte
			there := false
			if err == nil {
				entry, there, err = settings.Get(f.Format, c.Before, named(s.Driver.Servers.Table, name))
			}
			if there && err == nil {
				s.add(s.registered(q, q.Scope, path, name, entry))
			}
		}
		if err != nil {
			s.Servers = append(s.Servers, Registered{Scope: q.Scope, Path: path, Err: &StateError{Path: path, Reason: err}})
			continue
		}
		if q.Scope == driver.User {
			s.local(q, f, c)
		}
	}
}

// add lists an entry, except one of another program under the former name: it has nothing to do with ours.
func (s *Status) add(r Registered) {
	if r.Owner != Foreign || r.Name == driver.ServerName {
		s.Servers = append(s.Servers, r)
	}
}

// member is a member of an object, nil for none.
func member(raw []byte, name string) []byte {
	v, _ := canonjson.Get(raw, name)
	return v
}

// text is a member that is a text, "" when there is none.
func text(raw []byte, name string) string {
	s, _ := canonjson.String(member(raw, name))
	return s
}

// registered is an entry as it was found.
func (s *Status) registered(q *Request, scope driver.Scope, path, name string, entry []byte) Registered {
	r := Registered{Scope: scope, Path: path, Name: name}
	r.Owner, r.Server = OwnerOf(s.Driver, entry)
	names, _ := canonjson.Get(entry, "env_vars")
	r.passed, _ = canonjson.Strings(names)
	on, said := canonjson.Bool(member(entry, "enabled"))
	off, _ := canonjson.Bool(member(entry, "disabled"))
	r.Off = said && !on || off
	want := q.Wanted(s.Driver)
	keepFlags(&want, r.Server.Args)
	r.Current = r.Owner == Ours && name == driver.ServerName && starts(r.Server, want)
	return r
}

func (s *Status) hooks(q *Request, seen map[string]bool) {
	f, ok := s.Driver.Hooks.File(q.Scope)
	if !ok || seen["hooks "+f.Path(q.Place)] {
		return
	}
	h := HookFile{Scope: q.Scope, Path: f.Path(q.Place)}
	seen["hooks "+h.Path] = true
	if s.Driver.Hooks.Module {
		if h.moduleState(q, s.Driver); h.State != Missing || h.Scope == driver.User {
			s.Hooks = append(s.Hooks, h)
		}
		return
	}
	p := q.Plan(s.Driver)
	switch {
	case p.Err != nil:
		h.State, h.Err = Unreadable, p.Err
	case !p.Changed():
		h.State = InPlace
	case len(q.ourHooks(s.Driver, f, p.Changes[0].Before)) > 0:
		h.State = Outdated
	}
	if h.State == Missing && h.Scope == driver.Project {
		return // few want them there
	}
	if h.Scope == driver.User && h.Err == nil {
		h.Waiting, h.Err = q.Unreviewed(s.Driver)
	}
	s.Hooks = append(s.Hooks, h)
}

// ourHooks are the commands of ours in a table of hooks.
func (q *Request) ourHooks(d *driver.Driver, f driver.File, text []byte) (all []string) {
	table, ok, err := settings.Get(f.Format, text, d.Hooks.Table)
	if err != nil || !ok || !canonjson.IsObject(table) {
		return nil
	}
	for _, list := range canonjson.Members(table) {
		if !isList(list) {
			continue
		}
		for e := range canonjson.Elements(list) {
			for command := range commandsOf(e) {
				if isHook(d.Name, command) {
					all = append(all, command)
				}
			}
		}
	}
	return all
}

// LookSkills finds the skill files of a program, in the user's folders or in those of the project.
func (q *Request) LookSkills(d *driver.Driver) []SkillFile {
	s := &Status{Driver: d}
	s.skills(q, map[string]bool{})
	return s.Skills
}

func (s *Status) skills(q *Request, seen map[string]bool) {
	at := &skill.Request{Drivers: []*driver.Driver{s.Driver}, Scope: q.Scope, Place: q.Place}
	for _, r := range skill.Look(at) {
		if seen["skill "+r.Path] {
			continue // the project is the home folder
		}
		seen["skill "+r.Path] = true
		f := SkillFile{Scope: q.Scope, Path: r.Path}
		switch r.State {
		case skill.Written:
			if q.Scope == driver.Project {
				continue // few want it there
			}
		case skill.Same:
			f.State = InPlace
		case skill.Updated:
			f.State = Outdated
		case skill.Left:
			f.State, f.Edited = InPlace, true
		default:
			f.State = Unreadable
		}
		s.Skills = append(s.Skills, f)
	}
}

// Version asks the program in PATH for its version, for at most within; "" where it is not there or does not say.
func Version(within time.Duration, d *driver.Driver) string {
	path, err := exec.LookPath(d.Program)
	if err != nil {
		return ""
	}
	ctx, stop := context.WithTimeout(context.Background(), within)
	defer stop()
	return versionOf(ctx, path, d.Version)
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, path string, args []string) string {
	ctx, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	c := exec.CommandContext(ctx, path, args...)
	var out head
	c.Stdout = &out
	alone(c)
	if err := c.Run(); err != nil && len(out.text) == 0 {
		return ""
	}
	for _, word := range strings.Fields(string(out.text)) {
		word = strings.Trim(word, "v(),;:")
		if strings.Count(word, ".") > 0 && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return ""
}

const (
	askFor  = 10 * time.Second // for a version: some need seconds to start on a busy machine
	maxHead = 4 << 10
)

// A head keeps the beginning of what a program says.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxHead-len(h.text))]...)
	return len(p), nil
}

// sparse are the variables that a program hands to a server when it does not hand on its environment. Codex does so.
var sparse = []string{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}

// environment is what a program would have its server started with.
func environment(d *driver.Driver, r *Registered) []string {
	var env []string
	if d.Servers.Passes {
		env = os.Environ()
	} else {
		for _, name := range slices.Concat(sparse, r.passed) {
			if v, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
	}
	for _, v := range r.Server.Env {
		env = append(env, v[0]+"="+v[1])
	}
	return append(env, LookVariable+"=1")
}

// LookVariable marks a start of our server that only checks whether it answers: it connects no agent then.
const LookVariable = "TUTTI_LOOK"

// errSilent is what is said of a server that did not answer in time.
var errSilent = errors.New("it does not answer")
