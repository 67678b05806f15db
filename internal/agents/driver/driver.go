// Package driver knows how the agent programs differ: where each keeps its settings and skills, how it registers a server and
// a hook, what it tells them and how it wants to be answered, what names a conversation, how it can be woken, and how it is begun,
// seen and ended in a terminal.
//
// It is data and pure functions. What has to be found out on a machine is handed in; no file is read, no process started and
// no environment asked here. There is one file for each program, and one program more is one file more.
//
// What stands in these files was seen on the real programs in the versions that Tried names, unless its comment says otherwise.
// Programs change: what is unknown in an input is passed over, and what is missing is empty.
package driver

import (
	"path/filepath"
	"slices"
)

// A Driver is one agent program.
type Driver struct {
	Name    string // the host in addresses: claude:api:…
	Title   string // for people
	Program string // how it is called on a command line
	// Version makes it print its version on standard output.
	Version []string
	Tried   []string // versions that our facts come from; none: from its documentation alone
	Added   bool     // its user describes it in the settings: nothing about it was tried by us

	Servers Servers
	Hooks   Hooks
	Skills  Skills
	Talk    Talk
	Wake    Wake
	Life    Life
}

// drivers are in the order in which people are shown them. Hermes and Antigravity come last: nothing of them was tried.
var drivers = [...]*Driver{&claude, &codex, &gemini, &opencode, &agy, &hermes}

// All returns every program, in the order for people. The Drivers are shared: do not change one.
func All() []*Driver { return drivers[:] }

// Get returns a program by the name that it has in addresses.
func Get(name string) (*Driver, bool) {
	for _, d := range drivers {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// A Site is a user on a machine, and the folder in which an agent works.
type Site struct {
	Home string                   // absolute
	Dir  string                   // absolute; "" where only the user's own settings are asked for
	Env  func(name string) string // the environment; nil: an empty one
}

func (p Site) env(name string) string {
	if p.Env == nil {
		return ""
	}
	return p.Env(name)
}

// home is a path below the home folder.
func (p Site) home(path ...string) string {
	return filepath.Join(slices.Insert(path, 0, p.Home)...)
}

// dir is a path below the folder in which the agent works.
func (p Site) dir(path ...string) string { return filepath.Join(slices.Insert(path, 0, p.Dir)...) }

// moved is a path below the folder that a variable names, else below the home folder. A relative one counts for nothing: a
// hook and a terminal stand in different folders.
func (p Site) moved(variable, otherwise string, path ...string) string {
	base := p.env(variable)
	if !filepath.IsAbs(base) {
		base = p.home(otherwise)
	}
	return filepath.Join(slices.Insert(path, 0, base)...)
}

// A Scope says for whom settings hold.
type Scope uint8

// The scopes.
const (
	User    Scope = iota // all that this user does
	Project              // work in one folder, by any agent
	Local                // work in one folder, of this user alone; see [Servers.Local]
)

func (s Scope) String() string { return [...]string{"user", "project", "local"}[s] }

// A Format is how a settings file is written.
type Format uint8

// The formats.
const (
	JSON Format = iota // some programs take comments in it, and people write them: keep them
	TOML
	YAML
)

// A File is a settings file of a program.
type File struct {
	Scope  Scope
	Path   func(Site) string
	Format Format
	// Others are files that the program reads in place of Path, or before it; nil: none. One that exists and has the table is
	// edited, so that a server does not stand in two of them.
	Others func(Site) []string
}

// All are the paths of a file and of those that its program reads in its place.
func (f *File) All(p Site) []string {
	all := []string{f.Path(p)}
	if f.Others != nil {
		all = append(all, f.Others(p)...)
	}
	return all
}

// of returns the file for a scope.
func of(files []File, s Scope) (File, bool) {
	for _, f := range files {
		if f.Scope == s {
			return f, true
		}
	}
	return File{}, false
}
