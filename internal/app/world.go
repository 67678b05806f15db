package app

import (
	"context"
	"path/filepath"
	"time"

	"tutti/internal/address"
	"tutti/internal/identity"
	"tutti/internal/keyring"
	"tutti/internal/mailbox"
	"tutti/internal/peers"
	"tutti/internal/presence"
	"tutti/internal/registry"
	"tutti/internal/store/filestore"
	"tutti/internal/trust"
)

// A World is one bus with everything that knows something of it. Making one opens the store and reads nothing else: its
// members read when they are asked.
type World struct {
	App      *App
	Root     *Root
	Store    *filestore.Store
	Registry *registry.Registry
	Presence *presence.Presence
	Mail     *mailbox.Mailbox
	Ring     *keyring.Ring
	Pins     *trust.Pins
	Identity *identity.Keeper
	Book     *peers.Book
}

// World opens the bus and builds what works on it. A *NoBusError says that there is none, unless the mode is Creating.
func (a *App) World(mode Mode) (*World, error) {
	s, err := a.Open(mode)
	if err != nil {
		return nil, err
	}
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	pins, err := a.PinsPath()
	if err != nil {
		return nil, err
	}
	w := &World{
		App: a, Root: root, Store: s,
		Registry: registry.New(s),
		Presence: presence.New(s),
		Mail:     mailbox.New(s),
		Ring:     keyring.Open(root.Path),
		Pins:     trust.OpenPins(pins),
	}
	w.Mail.Live = w.live
	w.Identity = &identity.Keeper{Log: s, Registry: w.Registry, Presence: w.Presence, Ring: w.Ring, Root: absolute(root.Path)}
	w.Book = &peers.Book{Registry: w.Registry, Presence: w.Presence}
	return w, nil
}

// Close gives the store back.
func (w *World) Close() error { return w.Store.Close() }

// live tells whether an instance has a fresh session, for the mailbox.
func (w *World) live(ctx context.Context, who address.Instance) (bool, error) {
	fresh, err := w.Presence.Of(ctx, who, time.Now())
	return len(fresh) > 0, err
}

// PinsPath returns the file of this user's pins. It lies with the user: whoever can write a bus could pin there.
func (a *App) PinsPath() (string, error) {
	dir, err := a.StateDir()
	return filepath.Join(dir, "pins"), err
}

// absolute makes a root one that other processes find, too. One that cannot be made absolute stays as it was given.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
