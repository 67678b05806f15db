package app

import (
	"sync"

	"tutti/internal/agents/driver"
)

// KnowAgents makes the agent CLIs that the settings describe known to this process. The settings are read once, when one is asked
// for that is not shipped.
func (a *App) KnowAgents() {
	driver.AddFrom(driver.Settings{
		Programs: sync.OnceValue(func() []driver.Added {
			f, err := a.Settings()
			if err != nil {
				return nil
			}
			return f.Programs()
		}),
		Drivers: sync.OnceValue(func() []*driver.Driver {
			all, _ := a.AddedAgents() // with a fault those of which the processes are known
			return all
		}),
	})
}

// AddedAgents are the agent CLIs that the settings describe. The error is a fault in the settings; the processes of these CLIs are
// known all the same.
func (a *App) AddedAgents() ([]*driver.Driver, error) {
	f, err := a.Settings()
	if err != nil {
		return nil, err
	}
	return f.Agents()
}
