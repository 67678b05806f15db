package mail

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// Reads says when the reader of a stored message looks at it.
type Reads string

// The times at which a reader looks. They are written into JSON.
const (
	ReadsWoken   Reads = "woken"           // it is live and is woken when it is idle
	ReadsLater   Reads = "when it looks"   // it is live and nothing wakes it
	ReadsStopped Reads = "after its user"  // it is live, a halt stopped it, and its user has not let it go on
	ReadsPaused  Reads = "after the pause" // its user has paused it or its folder, live or not
	ReadsStart   Reads = "when it starts"  // it is not live
	ReadsUnknown Reads = "no known reader" // no registration and no session has this id
	ReadsCarried Reads = "after tutti up"  // it is on another machine; tutti up carries the message there
)

// An Outlook is what a sender can know of the reader of a stored message.
type Outlook struct {
	Reads Reads
	Own   bool   // the reader is the sender; set by [Service.Expect]
	Dir   string // the folder where the reader works, "" when it is not known
}

// Expect adds to the receipt of a stored message when its reader looks at it. seen remembers readers; nil: nothing is remembered.
func (o *Service) Expect(ctx context.Context, r *Receipt, from address.Instance, seen map[address.Instance]Outlook) {
	switch r.Outcome {
	case Queued:
		r.Outlook.Reads = ReadsCarried
	case Delivered, Deposited:
		one, known := seen[r.To]
		if !known {
			one = o.outlook(settle(ctx), r.To)
			if seen != nil {
				seen[r.To] = one
			}
		}
		r.Outlook = one
		r.Outlook.Own = from.Canonical() == r.To.Canonical()
	}
}

// outlook tells when the reader of a stored message will look at it. It promises no more than the bus and the agent CLI allow:
// where it is in doubt, it says that nothing wakes the reader.
func (o *Service) outlook(ctx context.Context, to address.Instance) Outlook {
	now := o.Now()
	there, err := o.Book.Presence.Of(ctx, to, now)
	if err != nil {
		return Outlook{Reads: ReadsLater}
	}
	if len(there) == 0 {
		if found, err := o.Book.Resolve(ctx, string(to), now); err == nil && found.Unknown {
			return Outlook{Reads: ReadsUnknown}
		}
		dir := ""
		if reg, err := o.Registry.ByInstance(ctx, to); err == nil && reg.Workspace != nil {
			dir = reg.Workspace.Path
		}
		if _, paused := halt.PausedFor(string(to.Canonical()), dir); paused && to.Canonical().Host() != identity.Human {
			return Outlook{Reads: ReadsPaused}
		}
		return Outlook{Reads: ReadsStart}
	}
	var out Outlook
	for _, s := range there {
		if s.Workspace != nil && s.Workspace.Path != "" {
			out.Dir = s.Workspace.Path
			break
		}
	}
	stopped, err := o.Stopped(ctx, to, there)
	_, paused := halt.PausedFor(string(to.Canonical()), out.Dir)
	switch {
	case to.Canonical().Host() == identity.Human:
		out.Reads = ReadsLater
	case paused:
		out.Reads = ReadsPaused
	case err != nil || stopped:
		out.Reads = ReadsStopped
	case driver.Wakeable(to.Canonical().Host()):
		out.Reads = ReadsWoken
	default:
		out.Reads = ReadsLater
	}
	return out
}
