package full

import (
	"tutti/internal/app"
	"tutti/internal/governance/agreement"
)

// Agreements are the negotiations of the bus.
func Agreements(w *app.World) *agreement.Bus {
	b := agreement.New(w.Store, w.Registry)
	b.Persons, b.Pins = w.Pins, w.Pins.Ever()
	return b
}
