package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// localTables lead to the tables of servers that hold in the folder of the request alone.
func (q *Request) localTables(d *driver.Driver) (all [][]string) {
	if len(d.Servers.Local) == 0 || q.Place.Dir == "" {
		return nil
	}
	dirs := []string{q.Place.Dir}
	if real, err := filepath.EvalSymlinks(q.Place.Dir); err == nil && real != q.Place.Dir {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		all = append(all, localTable(d, dir))
	}
	return all
}

func localTable(d *driver.Driver, dir string) []string {
	path := slices.Clone(d.Servers.Local)
	path[slices.Index(path, "")] = dir
	return path
}

// unhide deals with servers of our name that hold in the folder of the request alone: there they would take the place of the one
// that is registered. One that says nothing of its own goes, one of ours that does is brought up to date, and told of.
func (q *Request) unhide(p *Plan, format driver.Format, c *Change) error {
	for _, table := range q.localTables(p.Driver) {
		if err := q.retire(p, format, c, table); err != nil {
			return err
		}
		path := named(table, driver.ServerName)
		entry, there, err := settings.Get(format, c.After, path)
		if err != nil {
			return c.damaged(err)
		}
		if !there {
			continue
		}
		owner, now := OwnerOf(p.Driver, entry)
		want := q.Wanted(p.Driver)
		keepFlags(&want, now.Args)
		where := "in " + q.Place.Dir + " another entry hides the server " + driver.ServerName + ": "
		switch {
		case owner == Foreign && !q.Force:
			p.Remarks = append(p.Remarks, where+commandLine(now)+"; --force takes it out")
			continue
		case owner == Foreign || q.isBare(p.Driver, entry):
			err = c.edit("server "+driver.ServerName+" that hid it in "+q.Place.Dir+" taken out", func(text []byte) ([]byte, error) { return settings.Remove(format, text, path) })
		default:
			p.Remarks = append(p.Remarks, where+commandLine(want))
			if starts(now, want) {
				continue
			}
			err = c.edit("server "+driver.ServerName+" of "+q.Place.Dir+" alone brought up to date", func(text []byte) ([]byte, error) {
				return settings.Set(format, text, path, startOnly(p.Driver.Servers.Entry(want), nil))
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isBare tells whether an entry that starts our server, or that of the older program, says no more than a new one would.
func (q *Request) isBare(d *driver.Driver, entry []byte) bool {
	owner, s := OwnerOf(d, entry)
	want := q.Wanted(d)
	switch owner {
	case Ours:
		return q.isPlain(d, entry, s)
	case Original:
		return len(keepFlags(&want, s.Args)) == 0 && q.isPlain(d, entry, driver.Server{Env: s.Env})
	}
	return false
}

// tellHidden tells of servers that hide the one of a project; they stand in the settings of the user, which are not touched for it.
func (q *Request) tellHidden(p *Plan) {
	f, ok := p.Driver.Servers.File(driver.User)
	if !ok || len(p.Driver.Servers.Local) == 0 {
		return
	}
	c, err := readChange(f.Path(q.Place), "")
	if err != nil || c.Before == nil {
		return
	}
	for _, table := range q.localTables(p.Driver) {
		entry, there, err := settings.Get(f.Format, c.Before, named(table, driver.ServerName))
		if err == nil && there {
			_, s := OwnerOf(p.Driver, entry)
			p.Remarks = append(p.Remarks, fmt.Sprintf("in this folder an entry of yours in %s hides the server %s of the project: %s", c.Path, driver.ServerName, commandLine(s)))
		}
	}
}

// removeLocal takes our server out of the tables of all folders. Those of others stay.
func (q *Request) removeLocal(p *Plan, f driver.File, c *Change) error {
	d := p.Driver
	if len(d.Servers.Local) == 0 || c.After == nil {
		return nil
	}
	here := q.localTables(d)
	for _, o := range folders(d, f.Format, c.After) {
		dir := o.dir
		for _, name := range serverNames {
			path := named(localTable(d, dir), name)
			entry, there := o.own, true
			for _, step := range path[slices.Index(d.Servers.Local, "")+1:] { // not by reading all the text for each folder
				if entry, there = canonjson.Get(entry, step); !there {
					break
				}
			}
			if !there {
				continue
			}
			isHere := slices.ContainsFunc(here, func(t []string) bool { return slices.Equal(t, path[:len(path)-1]) })
			switch owner, s := OwnerOf(d, entry); {
			case owner == Ours:
				err := c.edit("server "+name+" of "+dir+" alone removed", func(text []byte) ([]byte, error) { return settings.Remove(f.Format, text, path) })
				if err != nil {
					return err
				}
			case isHere:
				p.Remarks = append(p.Remarks, fmt.Sprintf("the server %s of %s alone is not ours, and stays: %s", name, dir, commandLine(s)))
			}
		}
	}
	return nil
}

// local are the servers of our name that hold in the folder of the request alone.
func (s *Status) local(q *Request, f driver.File, c *Change) {
	for _, table := range q.localTables(s.Driver) {
		for _, name := range serverNames {
			entry, there, err := settings.Get(f.Format, c.Before, named(table, name))
			if err != nil || !there {
				continue
			}
			r := s.registered(q, driver.Local, c.Path, name, entry)
			r.Current = r.Current && !q.isBare(s.Driver, entry)
			s.add(r)
		}
	}
}

// Hidden tells whether a server does not count in the folder of the request, because another entry takes its place there.
func (s *Status) Hidden(r *Registered) bool {
	return r.Scope != driver.Local && slices.ContainsFunc(s.Servers, func(o Registered) bool { return o.Scope == driver.Local && o.Err == nil })
}

func commandLine(s driver.Server) string {
	if s.Command == "" {
		return "no program of this machine"
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}
