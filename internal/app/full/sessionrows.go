package full

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/inventory"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// SessionRows finds the registries of sessions and returns a function that reads their rows, in the order of the names. A session is looked for in
// the registry of a folder, then among those that run in the other registries of this user. One that is in several of these is an error.
func SessionRows(ctx context.Context, a *app.App, dir string, env func(name string) string, names []string) (func(ctx context.Context) ([]registry.Row, error), error) {
	here, _ := registry.PathOf(dir, "", env)
	paths, err := Registries(a, here, env(registry.Variable) != "")
	if err != nil {
		return nil, err
	}
	from := make([]registry.Registry, len(names))
	for n, name := range names {
		var where []string
		for _, path := range paths {
			reg, err := yaml.Open(path)
			if err != nil {
				return nil, err
			}
			row, err := rowOf(ctx, reg, name)
			if err != nil || path != here && row.Status != registry.Running {
				continue // another one may have it
			}
			from[n], where = reg, append(where, a.Shown(path))
			if path == here {
				break
			}
		}
		switch len(where) {
		case 0:
			return nil, fmt.Errorf("session %s: there is no such session in %s, and none of that name runs elsewhere", name, a.Shown(here))
		case 1:
		default:
			return nil, fmt.Errorf("session %s: sessions of this name are in %s", name, strings.Join(where, " and "))
		}
	}
	return func(ctx context.Context) ([]registry.Row, error) {
		all := make([]registry.Row, len(names))
		for n, name := range names {
			var err error
			if all[n], err = rowOf(ctx, from[n], name); err != nil {
				return nil, fmt.Errorf("session %s: %w", name, err)
			}
		}
		return all, nil
	}, nil
}

// rowOf is one row of a registry.
func rowOf(ctx context.Context, reg registry.Registry, name string) (registry.Row, error) {
	rows, _, err := reg.Rows(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		err = registry.ErrNoRow
	}
	i := slices.IndexFunc(rows, func(r registry.Row) bool { return r.Name == name })
	if err == nil && i < 0 {
		err = registry.ErrNoRow
	}
	if err != nil {
		return registry.Row{}, err
	}
	return rows[i], nil
}

// Registries are the paths of a session registry and, unless it is to be alone, of the other ones in the inventory of this user. An
// error beside them says that some may be missing.
func Registries(a *app.App, here string, alone bool) ([]string, error) {
	paths := []string{here}
	state, err := a.StateDir()
	if err != nil || alone || os.Getenv(registry.Variable) != "" {
		return paths, nil
	}
	all, err := inventory.All(state, inventory.Sessions)
	for i := range all {
		if path := all[i].Path; path != here && !app.SameFolder(filepath.Dir(path), filepath.Dir(here)) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// RowsOf reads a session registry.
func RowsOf(ctx context.Context, path string) ([]registry.Row, []registry.Problem, error) {
	reg, err := yaml.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return reg.Rows(ctx)
}

// NoteRegistry remembers a registry in the inventory. It is called where a session of ours was started or seen alive in it: a registry
// that came with a cloned repository cannot show that, so that standing in its folder does not add it.
func NoteRegistry(a *app.App, path string) {
	state, err := a.StateDir()
	if err != nil {
		return
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return
	}
	_ = inventory.Note(state, inventory.Sessions, filepath.Join(dir, filepath.Base(path))) // without it, verbs elsewhere show less
}
