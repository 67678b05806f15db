package kit

import (
	"errors"
	"path/filepath"
	"slices"

	"tutti/internal/app"
	"tutti/internal/bus/inventory"
	"tutti/internal/core/address"
)

// A BusProblem names a bus, or a mailbox on it, that could not be read.
type BusProblem struct {
	Bus   string           `json:"bus"`
	Agent address.Instance `json:"agent,omitempty"` // whose mailbox it is
	Error string           `json:"error"`
}

// Worlds opens the bus of this call and those of the inventory, for reading, and hands each to f. It returns those that cannot be
// read. A bus that cannot be read hides no other.
func (c *Call) Worlds(f func(w *app.World) error) (problems []BusProblem) {
	var seen []string
	visit := func(a *app.App) {
		root, err := a.Root()
		if err != nil || slices.ContainsFunc(seen, func(path string) bool { return app.SameFolder(path, root.Path) }) {
			return
		}
		seen = append(seen, root.Path)
		w, err := a.World(app.Reading)
		if err == nil {
			err = f(w)
			w.Close()
		}
		var none *app.NoBusError
		if err != nil && !errors.As(err, &none) {
			problems = append(problems, BusProblem{Bus: root.Path, Error: err.Error()})
		}
	}
	visit(c.App)
	state, err := c.App.StateDir()
	if err != nil || c.RootFlag() != "" {
		return problems
	}
	places, err := inventory.All(state, inventory.Bus)
	if err != nil {
		problems = append(problems, BusProblem{Bus: state, Error: err.Error()})
	}
	for i := range places {
		visit(app.New(app.Settings{Root: places[i].Path}))
	}
	return problems
}

// Below tells whether path is dir or in it. Both are absolute and without links.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
