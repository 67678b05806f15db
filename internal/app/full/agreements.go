package full

import (
	"tutti/internal/app"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/lastseen"
)

// Agreements are the negotiations of the bus.
func Agreements(w *app.World) *agreement.Bus {
	b := agreement.New(w.Store, w.Registry)
	b.Persons, b.Pins = w.Pins, w.Pins.Ever()
	if state, err := w.App.StateDir(); err == nil {
		b.Seen = lastseen.Of(state, app.Absolute(w.Root.Path))
	}
	return b
}
