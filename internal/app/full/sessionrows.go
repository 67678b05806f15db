package full

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	state, err := a.StateDir()
	if err != nil {
		return nil, err
	}
	here, _ := registry.PathOf(dir, "", env)
	paths := []string{here}
	if env(registry.Variable) == "" {
		all, err := inventory.All(state, inventory.Sessions)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].Path != here {
				paths = append(paths, all[i].Path)
			}
		}
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
