package exchange

import (
	"context"
	"errors"
)

// ErrHereOnly reports a message to another machine in an office that does not write to any.
var ErrHereOnly = errors.New("this office writes on this machine alone")

// An away is how an office writes to other machines. It is a value, so that a program that writes on this machine alone links nothing of it.
type away struct {
	ready    func(*Service) error // whether there is what it takes
	deliver  func(*Service, context.Context, Draft, target, Bundle, SignedMessage, *Sent) error
	dispatch func(o *Service, ctx context.Context, h *held, to target, retries int, s *Sent) error
}

var overSSH = away{ready: hasRsync, deliver: (*Service).deliverAway, dispatch: (*Service).dispatch}

// Abroad makes the office write to other machines, too, by ssh and rsync. It is called before anything is sent.
func (o *Service) Abroad() { o.away = &overSSH }

func hasRsync(o *Service) error { return o.ssh().HasRsync() }

// deliverAway delivers to another machine, from a bundle that is there before the first try: whatever happens, the message is kept.
func (o *Service) deliverAway(ctx context.Context, l Draft, to target, b Bundle, p SignedMessage, s *Sent) error {
	if err := o.ssh().HasRsync(); err != nil {
		return err
	}
	h, err := o.keep(ctx, b, p)
	if err != nil {
		return err
	}
	return o.dispatch(ctx, h, to, l.Retries, s)
}

// dispatch delivers what a bundle keeps, records that and removes the bundle, or writes down why it stays. It ends the hold.
func (o *Service) dispatch(ctx context.Context, h *held, to target, retries int, s *Sent) error {
	done := 0
	way, end := o.route(to.where)
	res, err := way.deliver(ctx, errand{h.parcel, h.dir.Path()}, min(retries, MaxRetries), func(err error) {
		done++
		_ = h.note(CauseSending, 1, err) // at the end it is noted again, and then it counts
	})
	end()
	s.Tries, s.Already = res.tries, res.already
	if res.halted {
		s.warn(WarnPeerHalted, to.address.Machine+" is halted: the message waits there")
	}
	if res.wide {
		s.warn(WarnMailboxWide, "others than you can look into the mailbox of "+s.Destination)
	}
	if err == nil {
		o.settle(ctx, h, s)
		return nil
	}
	fault := sendError(err)
	if h.fresh && (fault.Fault == NoDestination || fault.Fault == General) {
		// It cannot be delivered as it is, so that nothing is gained by keeping it.
		if left := h.drop(); left != nil {
			fault.Err = errors.Join(fault.Err, left)
		}
		return fault
	}
	defer h.release()
	fault.Bundle = h.ID
	if note := h.note(causeOf(fault), res.tries-done, err); note != nil {
		fault.Err = errors.Join(fault.Err, note)
	}
	return fault
}
