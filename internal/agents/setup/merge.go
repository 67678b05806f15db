package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
)

// A Snippet is what belongs into one settings file, as it would stand in an empty one.
type Snippet struct {
	Path string
	Text []byte
}

// Snippets are what Plan would put into the files of a program.
func (q *Request) Snippets(d *driver.Driver) (all []Snippet, err error) {
	if f, ok := d.Servers.File(q.Scope); ok && q.Server {
		text, err := settings.Set(f.Format, nil, serverPath(d), d.Servers.Entry(q.Wanted(d)))
		if err != nil {
			return nil, err
		}
		all = append(all, Snippet{f.Path(q.Place), text})
	}
	f, ok := d.Hooks.File(q.Scope)
	if !ok || !q.Hooks {
		return all, nil
	}
	if d.Hooks.Module {
		return append(all, Snippet{f.Path(q.Place), q.module(q.asked())}), nil
	}
	n := slices.IndexFunc(all, func(s Snippet) bool { return s.Path == f.Path(q.Place) })
	if n < 0 {
		n = len(all)
		all = append(all, Snippet{Path: f.Path(q.Place)})
	}
	for _, e := range d.Hooks.Events {
		path := append(slices.Clone(d.Hooks.Table), e.Name)
		var entries [][]byte
		for _, w := range q.commands(d, e, q.asked()) {
			entries = append(entries, w.entry)
		}
		if all[n].Text, err = settings.SetListEntries(f.Format, all[n].Text, path, never, entries); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func never([]byte) bool { return false }

func serverPath(d *driver.Driver) []string {
	return named(d.Servers.Table, driver.ServerName)
}

// ErrFormat reports a file whose name does not tell a format in which a program keeps servers.
var ErrFormat = errors.New("the name of the file tells no format that can be written")

// formatOf tells the format of a file by its name.
func formatOf(path string) (driver.Format, bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".jsonc":
		return driver.JSON, true
	case ".toml":
		return driver.TOML, true
	case ".yaml", ".yml":
		return driver.YAML, true
	}
	return 0, false
}

// PlanFile plans to put the server for a program into one file, wherever that lies.
func (q *Request) PlanFile(d *driver.Driver, path string) *Plan {
	p := &Plan{Driver: d}
	f, _ := d.Servers.File(driver.User)
	format, ok := formatOf(path)
	if !ok || format != f.Format {
		p.Err = &StateError{Path: path, Reason: fmt.Errorf("%w for %s", ErrFormat, d.Title), Advice: "its servers stand in " + filepath.Base(f.Path(q.Place))}
		return p
	}
	c, err := readChange(path, "")
	if err == nil {
		p.adopt(c)
		err = q.register(p, format, c)
	}
	p.Err = err
	return p
}

// PlanOriginal plans to put an entry into one file as the older program does: an entry of that name which says something else
// stays, and so does a text that is damaged, unless the user insists. Where the file is one of the program's own kind, the
// entry takes the form that it reads; otherwise it is the form that most programs share.
func (q *Request) PlanOriginal(d *driver.Driver, path string, s driver.Server) *Plan {
	p := &Plan{Driver: d}
	p.Err = q.planOriginal(p, path, s)
	return p
}

func (q *Request) planOriginal(p *Plan, path string, s driver.Server) error {
	format, known := formatOf(path)
	if !known {
		format = driver.JSON // as the older program writes whatever it is given
	}
	table, entry := []string{"mcpServers"}, shared(s)
	if f, _ := p.Driver.Servers.File(driver.User); f.Format == format {
		table, entry = p.Driver.Servers.Table, p.Driver.Servers.Entry(s)
	} else if format != driver.JSON {
		return &StateError{Path: path, Reason: fmt.Errorf("%w for %s", ErrFormat, p.Driver.Title)}
	}
	c, err := readChange(path, "")
	if err != nil {
		return err
	}
	p.adopt(c)
	at := named(table, driver.FormerServerName)
	old, there, err := settings.Get(format, c.After, at)
	if err != nil {
		if !q.Force {
			return &StateError{Path: c.Path, Reason: err, Advice: "--force puts a new file in its place, and keeps this one beside"}
		}
		c.After = nil
	}
	put := settings.Set
	if there {
		fresh, err := settings.Set(format, nil, at, entry)
		if err != nil {
			return err
		}
		wanted, _, err := settings.Get(format, fresh, at)
		switch {
		case err != nil:
			return err
		case string(wanted) == string(old):
			return nil
		case !q.Force:
			return &StateError{Path: c.Path, Reason: fmt.Errorf("there is another server %s", driver.FormerServerName), Advice: "--force replaces it; what the file said is kept beside"}
		}
		put = settings.Replace
	}
	return c.edit("server "+driver.FormerServerName+" merged", func(text []byte) ([]byte, error) { return put(format, text, at, entry) })
}

// shared is an entry in the form that most programs share.
func shared(s driver.Server) []byte {
	d, _ := driver.Get("claude")
	return d.Servers.Entry(s)
}
