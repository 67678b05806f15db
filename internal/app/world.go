package app

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/inventory"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/reservation"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/truepath"
	"tutti/internal/store"
)

// A World is one bus with everything that knows something of it. Making one opens the store and reads nothing else: its
// members read when they are asked.
type World struct {
	App      *App
	Root     *Root
	Store    Store
	Registry *registry.Registry
	Presence *presence.Presence
	Mail     *mailbox.Mailbox
	Ring     *keyring.Ring
	Pins     *trust.Pins
	Identity *identity.Keeper
	Book     *members.Book
}

// A Store is what a bus needs of the place where it is kept: a folder, or a NATS server.
type Store interface {
	store.Docs
	store.Log
	store.Leases
	store.Ender
	store.Logger
	store.Watcher
	Close() error
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
	keys, err := a.keyFolder(root)
	if err != nil {
		return nil, err
	}
	if mode != Reading {
		a.noteBus(root)
	}
	w := &World{
		App: a, Root: root, Store: s,
		Registry: registry.New(s),
		Presence: presence.New(s),
		Mail:     mailbox.New(s),
		Ring:     keyring.Open(keys),
		Pins:     trust.OpenPins(pins),
	}
	w.Mail.Live = w.live
	w.Pins.Registered = w.registered
	rows := envelope.ProjectionWith(rowVersion, w.candidates())
	w.Mail.Projection = &rows
	w.Identity = &identity.Keeper{Log: s, Registry: w.Registry, Presence: w.Presence, Ring: w.Ring, Root: Absolute(root.Path)}
	w.Identity.Names = a.RememberedNames
	w.Identity.Machine = presence.Machine{Boot: proc.BootID(), Space: proc.Space(), Alive: proc.ID.Alive}
	w.Book = &members.Book{Registry: w.Registry, Presence: w.Presence, Names: a.RememberedNames}
	return w, nil
}

// registered are the agents of the bus.
func (w *World) registered() map[address.Instance]bool {
	all := map[address.Instance]bool{}
	for r, err := range w.Registry.All(context.Background()) {
		if err == nil {
			all[r.Instance.Canonical()] = true
		}
	}
	return all
}

// noteBus remembers a bus that is used in the inventory. Without it, verbs in other folders show less.
func (a *App) noteBus(root *Root) {
	state, err := a.StateDir()
	if err != nil {
		return
	}
	path := root.Path
	if root.Source != FromDir { // those were looked up already
		if path, err = filepath.EvalSymlinks(Absolute(path)); err != nil {
			return
		}
	}
	if inventory.Noted(state, inventory.Bus, path) {
		return
	}
	// A bus that others may have made is noted once its user has accepted it: to type --root is not to accept.
	if _, why, known := a.foreign(path); why == "" || known == accepted {
		_ = inventory.Note(state, inventory.Bus, path)
	}
}

// rowVersion is that of the rows in which lists keep which key a message was verified with.
const rowVersion = 1

// candidates returns the keys that can decide what a message of a sender is worth. Rows of lists keep which of them it was,
// so that ten thousand signatures are verified once and not at each look. A sender that cannot be looked up has none, and
// its messages are verified when they are listed.
func (w *World) candidates() func(address.Instance) []signature.Public {
	var mu sync.Mutex // guards known; held while a sender is looked up, so that each is looked up once
	known := map[address.Instance][]signature.Public{}
	return func(from address.Instance) []signature.Public {
		mu.Lock()
		defer mu.Unlock()
		all, ok := known[from]
		if !ok {
			if keys, err := trust.KeysOf(context.Background(), w.Registry, w.Pins, from); err == nil {
				all = keys.All()
			}
			known[from] = all
		}
		return all
	}
}

// MailService returns what does the work on mail here, with the user's settings for what comes in.
func (w *World) MailService() (*mail.Service, error) {
	config, err := w.App.Config()
	if err != nil {
		return nil, err
	}
	return &mail.Service{
		Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins, Halted: halt.Check, Now: time.Now,
		Policy: mail.Policy{RequireSigned: config.RequireSigned, Allow: config.Allow, Block: config.Block},
	}, nil
}

// Close gives the store back.
func (w *World) Close() error { return w.Store.Close() }

// live tells whether an instance has a fresh session, for the mailbox.
func (w *World) live(ctx context.Context, who address.Instance) (bool, error) {
	fresh, err := w.Presence.Of(ctx, who, time.Now())
	return len(fresh) > 0, err
}

// PinsPath returns the file of this user's pins. It is kept with the user: on a bus, everyone who can write it could pin.
func (a *App) PinsPath() (string, error) {
	dir, err := a.StateDir()
	return filepath.Join(dir, "pins"), err
}

// Absolute makes a root one that other processes find, too. One that cannot be made absolute stays as it was given.
func Absolute(path string) string {
	if OnServer(path) {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Leases returns the file reservations of this bus. It sends no mail about those that have ended.
func (w *World) Leases() *reservation.Reservations {
	home := ""
	if h, err := w.App.Home(); err == nil {
		home = truepath.Of(h)
	}
	return &reservation.Reservations{Docs: w.Store, Presence: w.Presence, Registry: w.Registry, Machine: presence.Here(), Home: home}
}
