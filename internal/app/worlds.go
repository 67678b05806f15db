package app

import (
	"errors"
	"path/filepath"
	"slices"

	"tutti/internal/attention/overview"
	"tutti/internal/bus/inventory"
)

// Worlds opens the bus of this App and those of the inventory, for reading, and hands each to f. It returns those that cannot be
// read. A bus that cannot be read hides no other.
func (a *App) Worlds(f func(w *World) error) (problems []overview.BusProblem) {
	var seen []string
	visit := func(a *App) {
		root, err := a.Root()
		if err != nil || slices.ContainsFunc(seen, func(path string) bool { return SameFolder(path, root.Path) }) {
			return
		}
		seen = append(seen, root.Path)
		w, err := a.World(Reading)
		if err == nil {
			err = f(w)
			w.Close()
		}
		var none *NoBusError
		if err != nil && !errors.As(err, &none) {
			problems = append(problems, overview.BusProblem{Bus: root.Path, Error: err.Error()})
		}
	}
	visit(a)
	state, err := a.StateDir()
	if err != nil || a.set.Root != "" {
		return problems
	}
	places, err := inventory.All(state, inventory.Bus)
	if err != nil {
		problems = append(problems, overview.BusProblem{Bus: state, Error: err.Error()})
	}
	for i := range places {
		visit(New(Settings{Root: places[i].Path}))
	}
	return problems
}

// Below tells whether path is dir or in it. Both are absolute and without links.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
