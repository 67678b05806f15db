package app

import (
	"cmp"
	"os"

	"tutti/internal/app/config"
	"tutti/internal/comms/exchange"
	"tutti/internal/platform/proc"
)

// ConfigPath returns the path of the settings file. It may not exist.
func (a *App) ConfigPath() (string, error) { return a.below(".config/tutti/config.toml") }

// Settings reads the settings file.
func (a *App) Settings() (*config.File, error) {
	path, err := a.ConfigPath()
	if err != nil {
		return &config.File{}, err
	}
	return config.Read(path, a.Shown(path))
}

// Config returns the settings of the bus, as they were when they were first asked for.
func (a *App) Config() (*config.Bus, error) {
	if a.config != nil {
		return a.config, nil
	}
	f, err := a.Settings()
	if err != nil {
		return nil, err
	}
	a.config, err = f.Bus()
	return a.config, err
}

// Wake returns the settings of waking; with a fault in them, those of a user without any.
func (a *App) Wake() (*config.Wake, error) {
	f, err := a.Settings()
	w, fault := f.Wake()
	return w, cmp.Or(err, fault)
}

// CommsService makes where the conversations of this user are led from, by the settings.
func (a *App) CommsService() (*exchange.Service, *config.Comms, error) {
	home, err := a.Home()
	if err != nil {
		return nil, nil, err
	}
	f, err := a.Settings()
	if err != nil {
		return nil, nil, err
	}
	c, err := f.Comms()
	if err != nil {
		return nil, nil, err
	}
	return &exchange.Service{
		Home: home, Host: cmp.Or(proc.Hostname(), "localhost"),
		Roots: c.ProjectRoots, MaxMessage: c.MaxMessage, Tools: c.ExtraTools, Fallback: c.LocalFallback,
	}, c, nil
}

// OldCommsConfig returns the path of a settings file of other programs that lead such conversations, "" when there is none. It is
// not read: two files would be two truths.
func (a *App) OldCommsConfig() string {
	path, err := a.below(".config/cross-agent-comms/config.toml")
	if err != nil {
		return ""
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// WorkDir returns the folder in which the program was called, "" when it is gone.
func (a *App) WorkDir() string {
	if a.set.Dir != "" {
		return a.set.Dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
