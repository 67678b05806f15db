package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// HereFlag restricts a verb to the session registry of the folder.
var HereFlag = kit.Flag{Name: "here", Kind: kit.Switch, Help: "only sessions of this folder"}

// named tells whether the user named a registry.
func (s *sessions) named() bool {
	return s.at.Registry != "" || os.Getenv(registry.Variable) != ""
}

// alone tells whether one registry is used and no other: the user named it, or asked for that of this folder.
func (s *sessions) alone() bool {
	return s.named() || s.at.Here
}

// missing tells that the registry does not exist, which costs two system calls and no other program.
func (s *sessions) missing() bool {
	for _, path := range [...]string{s.Path, registry.Database(s.Path)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// others are the registries of other folders in the inventory.
func (s *sessions) others() (all []*sessions) {
	paths, err := full.Registries(s.c.App, s.Path, s.alone())
	if err != nil {
		s.c.Warn("%s", kit.Clean(err.Error()))
	}
	for _, path := range paths {
		if path != s.Path {
			all = append(all, &sessions{c: s.c, at: s.at, Path: path, dir: registry.Workspace(path, filepath.Dir(path))})
		}
	}
	return all
}

// A Part is one registry that was read.
type Part struct {
	*sessions
	Rows     []registry.Row
	Problems []registry.Problem
	Far      bool // of another folder
}

// Parts reads the registry of this folder and those of the inventory, the former first. Of other folders only sessions that run, or
// with which something was begun, are taken unless ended is set. A registry of another folder that cannot be read is named, and hides
// no other.
func (s *sessions) Parts(ctx context.Context, ended bool) ([]Part, error) {
	var all []Part
	if s.named() || !s.missing() {
		rows, problems, err := s.rows(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, Part{sessions: s, Rows: rows, Problems: problems})
	}
	return append(all, s.FarParts(ctx, ended)...), nil
}

// FarParts reads the registries of other folders, see Parts.
func (s *sessions) FarParts(ctx context.Context, ended bool) (all []Part) {
	for _, o := range s.others() {
		if o.missing() {
			continue
		}
		rows, problems, err := o.rows(ctx)
		if err != nil {
			s.c.Warn("%s: %s", kit.Clean(s.c.App.Shown(o.Path)), kit.Clean(err.Error()))
			continue
		}
		p := Part{sessions: o, Problems: problems, Far: true}
		for i := range rows {
			if ended || rows[i].Busy() {
				p.Rows = append(p.Rows, rows[i])
			}
		}
		all = append(all, p)
	}
	return all
}

// glance looks at the sessions of all parts at once, and notes the registries in which one is alive.
func glance(ctx context.Context, all []Part) *observe.View {
	var rows []registry.Row
	for i := range all {
		rows = append(rows, all[i].Rows...)
	}
	view := observe.NewView(ctx, rows)
	for i := range all {
		all[i].noteAlive(view)
	}
	return view
}

// noteAlive notes the registry where one of its sessions is alive.
func (p *Part) noteAlive(view *observe.View) {
	for i := range p.Rows {
		if !p.Far && view.Observe(&p.Rows[i]).State == observe.Alive {
			full.NoteRegistry(p.c.App, p.Path)
			return
		}
	}
}

// finds returns the registry that has a session of that name: this folder's, where it has a row of it, or that of another folder
// where one runs, or else where one has ended. It is nil where none has. Several are an error that names a line to paste for each.
func (s *sessions) finds(ctx context.Context, name string) (*sessions, error) {
	all, err := s.Parts(ctx, true)
	if err != nil {
		return nil, err
	}
	found := having(all, name, false)
	if len(found) == 0 {
		found = having(all, name, true)
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	var lines, folders []string
	for _, f := range found {
		folders = append(folders, s.c.App.Shown(f.Workspace()))
		lines = append(lines, "tutti "+s.c.Verb.Name+" "+app.QuoteArg(name)+" --registry "+app.QuoteArg(f.Path))
	}
	return nil, &lifecycle.Error{
		Kind: lifecycle.Several, Session: name, Text: "sessions of this name are in " + strings.Join(folders, " and "),
		Next: strings.Join(lines, "\n"),
	}
}

// having are the registries that have a session of that name; in other folders one that runs, or with ended any.
func having(all []Part, name string, ended bool) (found []*sessions) {
	for i := range all {
		for n := range all[i].Rows {
			if r := &all[i].Rows[n]; r.Name == name && (ended || r.Busy() || !all[i].Far) {
				found = append(found, all[i].sessions)
				break
			}
		}
		for _, p := range all[i].Problems {
			if !all[i].Far && p.Unusable && p.Name == name {
				found = append(found, all[i].sessions)
				break
			}
		}
	}
	return found
}

// withSession is the registry with which a verb about one session works: see finds. Where none has the session, it is this folder's,
// which says so.
func (s *sessions) withSession(ctx context.Context, name string) (*sessions, error) {
	if name == "" || s.alone() {
		return s, nil
	}
	found, err := s.finds(ctx, name)
	if err != nil || found == nil {
		return s, err
	}
	return found, nil
}
