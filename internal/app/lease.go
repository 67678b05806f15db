package app

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"tutti/internal/address"
	"tutti/internal/halt"
	"tutti/internal/identity"
	"tutti/internal/lease"
	"tutti/internal/mailbox"
	"tutti/internal/post"
	"tutti/internal/presence"
	"tutti/internal/truepath"
)

// Leases returns what keeps who works on which file. It tells nobody what has ended.
func (w *World) Leases() *lease.Desk {
	home := ""
	if h, err := w.App.Home(); err == nil {
		home = truepath.Of(h)
	}
	return &lease.Desk{Docs: w.Store, Presence: w.Presence, Registry: w.Registry, Machine: Machine(), Home: home}
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

// LeaseSpots are what paths stand for: those of folders with all that lies below.
func LeaseSpots(paths []string) []lease.Spot {
	all := make([]lease.Spot, len(paths))
	for n, p := range paths {
		info, err := os.Stat(p)
		all[n] = lease.Spot{Path: p, Folder: err == nil && info.IsDir()}
	}
	return all
}

// TellEnded tells those concerned that a lease has ended, by mail in the name of who has found it; log is told of those who cannot be. An
// error: some cannot be told now, but later.
func TellEnded(ctx context.Context, office *post.Office, from *identity.Speaker, e lease.Ending, log func(string)) error {
	var later []error
	for _, n := range e.Lease.Notices(e.Why) { // who finds it is told like everybody: he may be a server that does so by itself
		_, err := office.Send(ctx, post.Letter{ID: n.ID, From: from, To: n.To, Text: n.Text, Deposit: true, Unsigned: true})
		switch _, told := errors.AsType[*mailbox.TakenIDError](err); {
		case err == nil || told: // somebody else has, and was stopped before he took the lease away
		case passes(ctx, err):
			later = append(later, err)
		default:
			log("that a lease has ended cannot be told: " + err.Error())
		}
	}
	return errors.Join(later...)
}

// passes tells whether a send that failed may do later: the halt switch is on, there was no time, or the system refused.
func passes(ctx context.Context, err error) bool {
	_, halted := errors.AsType[*halt.Error](err)
	_, system := errors.AsType[syscall.Errno](err)
	return halted || system || ctx.Err() != nil
}
