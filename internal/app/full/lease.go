package full

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/reservation"
	"tutti/internal/platform/gitexclude"
	"tutti/internal/platform/truepath"
)

// Leases are the reservations of a bus, as an agent changes them: those concerned get mail in its name when one has ended. log gets those that
// no mail can reach.
func Leases(w *app.World, office *mail.Service, from *identity.Speaker, log func(string)) *reservation.Reservations {
	d := w.Leases()
	d.Tell = func(ctx context.Context, e reservation.Ending) error { return TellEnded(ctx, office, from, e, log) }
	return d
}

// SweepLeases removes the reservations that have ended, and sends mail about them, in the name of an agent; not while that agent waits for
// its user after a halt.
func SweepLeases(ctx context.Context, office *mail.Service, d *reservation.Reservations, from address.Instance) error {
	on, err := office.Engaged(ctx, from)
	if err == nil && on {
		_, err = d.Sweep(ctx, time.Now())
	}
	return err
}

// HeldPaths adds to paths those that an agent has reserved.
func HeldPaths(ctx context.Context, d *reservation.Reservations, holder address.Instance, paths []string) ([]string, error) {
	all, err := d.Standing(ctx, time.Now())
	for _, l := range all {
		if l.Is(holder) && !slices.Contains(paths, l.Path) {
			paths = append(paths, l.Path)
		}
	}
	return paths, err
}

// LeasePaths are paths as they were given in a folder, each as the one path that it has, and once.
func LeasePaths(here string, given []string) []string {
	var all []string
	for _, p := range given {
		if p = truepath.Below(here, p); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// LeaseTie is the session with which a lease of an agent ends: the one that is asked for, else the live one with the latest heartbeat,
// one that a server keeps before one that stands in. Nil: there is none, and the lease ends at its time.
func LeaseTie(ctx context.Context, w *app.World, i address.Instance, id address.SessionID) (*presence.Session, error) {
	there, err := w.Presence.Of(ctx, i, time.Now())
	if err != nil {
		return nil, err
	}
	here := presence.Here()
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

// LeaseSpots are the places of paths: folders with everything below them.
func LeaseSpots(paths []string) []reservation.Spot {
	all := make([]reservation.Spot, len(paths))
	for n, p := range paths {
		info, err := os.Stat(p)
		all[n] = reservation.Spot{Path: p, Folder: err == nil && info.IsDir()}
	}
	return all
}

// LeasedElsewhere returns the leases of other agents on the same files in other worktrees of the repository. They block nothing, but
// both changes meet in the merge. Each holder gets a mail; log gets a line for each mail that cannot be sent.
func LeasedElsewhere(ctx context.Context, office *mail.Service, d *reservation.Reservations, from *identity.Speaker, taken []*reservation.Lease, log func(string)) ([]*reservation.Lease, error) {
	standing, err := d.Standing(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	var all []*reservation.Lease
	for _, mine := range taken {
		twins := gitexclude.Twins(mine.Path)
		for _, l := range standing {
			if l.Is(from.Instance) || !slices.ContainsFunc(twins, l.Touches) || slices.Contains(all, l) {
				continue
			}
			all = append(all, l)
			text := fmt.Sprintf("%s works on %s, the same in another worktree as what you have reserved: %s. Agree on who changes it before both are merged.", from.Instance, mine.Path, l.Path)
			if _, err := office.Send(ctx, mail.Draft{From: from, To: l.Holder, Text: text, Deposit: true, Unsigned: true}); err != nil {
				log("the holder of " + l.Path + " cannot be told: " + err.Error())
			}
		}
	}
	return all, nil
}

// TellEnded notifies those concerned that a lease has ended, by mail in the name of the agent that has found it; log gets those
// that no mail can reach. An error: some could not be notified now, and may be later, or by another process.
func TellEnded(ctx context.Context, office *mail.Service, from *identity.Speaker, e reservation.Ending, log func(string)) error {
	all := e.Lease.Notices(e.Why)
	if len(all) == 0 {
		return nil
	}
	if err := office.Registry.Standing(ctx, from.Instance); err != nil {
		return fmt.Errorf("tell that a lease has ended: %w", err)
	}
	var later []error
	for _, n := range all { // the finder is notified like everyone: it may be a server that does this by itself
		_, err := office.Send(ctx, mail.Draft{ID: n.ID, From: from, To: n.To, Text: n.Text, Deposit: true, Unsigned: true})
		switch _, told := errors.AsType[*mailbox.TakenIDError](err); {
		case err == nil || told: // another process has, and was stopped before it removed the lease
		case unreachable(err):
			log("that a lease has ended cannot be told: " + err.Error())
		default:
			later = append(later, err)
		}
	}
	return errors.Join(later...)
}

// unreachable reports whether a send failed because of its recipient: unknown, ambiguous, or retired.
func unreachable(err error) bool {
	_, refused := errors.AsType[*mail.RefusedError](err)
	_, unknown := errors.AsType[*mail.UnknownError](err)
	_, unfit := errors.AsType[*address.Error](err)
	return refused || unknown || unfit || errors.Is(err, registry.ErrGone)
}
