package app

import (
	"context"
	"errors"
	"time"

	"tutti/internal/address"
	"tutti/internal/identity"
	"tutti/internal/lease"
	"tutti/internal/post"
	"tutti/internal/presence"
)

// Leases returns what keeps who works on which file.
func (w *World) Leases() *lease.Desk {
	return &lease.Desk{Docs: w.Store, Presence: w.Presence, Registry: w.Registry, Machine: Machine()}
}

// LeaseTie is the session with which a lease of an agent ends: the one that is asked for, else the live one with the latest heartbeat,
// one that a server keeps before one that stands in. Nil: there is none, and the lease ends at its time.
func (w *World) LeaseTie(ctx context.Context, i address.Instance, id address.SessionID) (*presence.Session, error) {
	there, err := w.Presence.Of(ctx, i, time.Now())
	if err != nil {
		return nil, err
	}
	here := Machine()
	var best *presence.Session
	for _, s := range there {
		switch {
		case s.Ended(here):
		case s.SessionID == id:
			return s, nil
		case best == nil || best.StandsIn() && !s.StandsIn():
			best = s
		}
	}
	return best, nil
}

// TellEnded tells those concerned that leases have ended, by mail in the name of who has found it.
func TellEnded(ctx context.Context, office *post.Office, from *identity.Speaker, ended ...lease.Ending) error {
	var errs []error
	for _, e := range ended {
		for _, n := range e.Lease.Notices(e.Why) { // who finds it is told like everybody: he may be a server that does so by itself
			_, err := office.Send(ctx, post.Letter{From: from, To: n.To, Text: n.Text, Deposit: true, Unsigned: true})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
