package observe

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/registry"
)

// onDisk tells whether the conversation of a row is where its program keeps it.
func (l *looker) onDisk(f *Found) {
	id := f.Row.Conversation()
	d, ok := driver.Kind(f.Kind)
	if id == "" || !ok || d.Life.Find.Artefacts == nil {
		return
	}
	dir := l.real(f.Row.Pane.Cwd)
	all := d.Life.Find.Artefacts(driver.Site{Home: l.Home, Dir: dir, Env: l.Env}, id)
	if len(all) == 0 {
		return
	}
	f.OnDisk = registry.No
	for _, a := range all {
		if !a.Folder && l.shelf.has(a.Root, strings.Split(a.Path, "/")) {
			f.OnDisk = registry.Yes
			return
		}
	}
}

// real is a folder without links, if it is there.
func (l *looker) real(dir string) string {
	real, ok := l.dirs[dir]
	if !ok {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		l.dirs[dir] = real
	}
	return real
}

// A shelf remembers what lies in folders, so that each is read once for all conversations.
type shelf map[string][]string

// has tells whether there is something below a folder that a pattern matches.
func (s *shelf) has(dir string, pattern []string) bool {
	part, rest := pattern[0], pattern[1:]
	if !strings.ContainsAny(part, `*?[\`) {
		next := filepath.Join(dir, part)
		if len(rest) > 0 {
			return s.has(next, rest)
		}
		_, err := os.Lstat(next)
		return err == nil
	}
	for _, name := range s.names(dir) {
		if ok, err := path.Match(part, name); err != nil || !ok {
			continue
		}
		if len(rest) == 0 || s.has(filepath.Join(dir, name), rest) {
			return true
		}
	}
	return false
}

func (s *shelf) names(dir string) []string {
	if names, ok := (*s)[dir]; ok {
		return names
	}
	if *s == nil {
		*s = shelf{}
	}
	var names []string
	if f, err := os.Open(dir); err == nil {
		names, _ = f.Readdirnames(-1) // what cannot be read is not there
		_ = f.Close()
	}
	(*s)[dir] = names
	return names
}
