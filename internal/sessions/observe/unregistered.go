package observe

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// strays finds sessions that look like ours and have no row: of the names that are made for the workspace, or with an owner and a
// program that works there. On one tmux server live the sessions of many workspaces, each with a registry of its own.
func (l *looker) strays(rows []registry.Row) (found []Found) {
	if l.Workspace == "" {
		return nil
	}
	known, owned := map[string]bool{}, map[string]bool{}
	for i := range rows {
		known[rows[i].ServerName()+" "+rows[i].Name] = true
		owned[rows[i].OwnerID] = true
	}
	for _, s := range l.view.servers {
		for name, pane := range s.byName {
			if known[s.Name+" "+name] || pane.Owner != "" && owned[pane.Owner] {
				continue
			}
			kind := kindOf(name)
			within := pane.Path == l.Workspace || strings.HasPrefix(pane.Path, l.Workspace+"/")
			if pane.Owner != "" && l.elsewhere(&pane) {
				continue
			}
			if !(pane.Owner != "" && within) && !(kind != "" && named(l.Workspace, name, kind, pane.Path)) {
				continue
			}
			found = append(found, l.stray(s.Name, pane, kind))
		}
	}
	sort.Slice(found, func(i, j int) bool {
		return found[i].Server+" "+found[i].Name < found[j].Server+" "+found[j].Name
	})
	return found
}

// elsewhere tells whether a session says that it belongs to the registry of another workspace, wherever its program has gone.
func (l *looker) elsewhere(pane *tmux.Pane) bool {
	home, ok, err := proc.Getenv(pane.PID, HomeVariable)
	if err != nil || !ok || home == l.Workspace {
		return false
	}
	real, err := filepath.EvalSymlinks(home)
	return err != nil || real != l.Workspace
}

// kindOf is the kind of program that the name of a session ends in, "" for none that is known.
func kindOf(name string) string {
	r := registry.Row{Name: name}
	if d, ok := driver.Kind(r.Kind()); ok {
		return d.Name
	}
	return ""
}

// named tells whether a name is one that is made for sessions of a folder.
func named(workspace, name, kind, path string) bool {
	first := registry.Name(workspace, kind, nil)
	if name == first { // other folders can have that name, too
		return path == workspace || strings.HasPrefix(path, workspace+"/")
	}
	return name == registry.Name(workspace, kind, func(n, _ string) bool { return n == first })
}

// stray looks at a session without a row.
func (l *looker) stray(server string, pane tmux.Pane, kind string) Found {
	f := Found{Name: pane.SessionName, Server: server, Kind: kind, Observation: Observation{State: Alive, Pane: pane}}
	if kind == "" {
		for _, d := range driver.Kinds() { // "node" is many programs
			if len(d.Life.Comms) > 0 && pane.Command != "node" && slices.Contains(d.Life.Comms, pane.Command) {
				f.Kind = d.Name
				break
			}
		}
	}
	if pane.Dead {
		f.State = Dead
		return f
	}
	id, err := proc.Of(pane.PID)
	if err != nil {
		f.State = Dead
		return f
	}
	f.Process = id
	l.sheet(&f)
	return f
}
