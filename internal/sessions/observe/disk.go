package observe

import (
	"io/fs"
	"os"
	"path/filepath"

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
	dir := f.Row.Pane.Cwd
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	all := d.Life.Find.Artefacts(driver.Site{Home: l.Home, Dir: dir, Env: l.Env}, id)
	if len(all) == 0 {
		return
	}
	f.OnDisk = registry.No
	for _, a := range all {
		if !a.Folder && isThere(a.Root, a.Path) {
			f.OnDisk = registry.Yes
			return
		}
	}
}

// isThere tells whether there is something below a folder that a pattern matches.
func isThere(root, pattern string) bool {
	names, err := fs.Glob(os.DirFS(root), pattern)
	return err == nil && len(names) > 0
}
