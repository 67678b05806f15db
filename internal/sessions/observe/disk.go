package observe

import (
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/registry"
)

// OnDisk tells whether the conversation of a row is where its program keeps it; Unsaid where that cannot be seen.
func OnDisk(r *registry.Row, home string, env func(name string) string) registry.Flag {
	id := r.Conversation()
	d, ok := driver.Kind(r.Kind())
	if id == "" || !ok || d.Life.Find.Artefacts == nil {
		return registry.Unsaid
	}
	dir := r.Pane.Cwd
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	all := d.Life.Find.Artefacts(driver.Site{Home: home, Dir: dir, Env: env}, id)
	if len(all) == 0 {
		return registry.Unsaid
	}
	for _, a := range all {
		if !a.Folder && isThere(a.Root, a.Path) {
			return registry.Yes
		}
	}
	return registry.No
}

// isThere tells whether there is something below a folder that a pattern matches.
func isThere(root, pattern string) bool {
	names, err := fs.Glob(os.DirFS(root), pattern)
	return err == nil && len(names) > 0
}
