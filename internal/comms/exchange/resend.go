package exchange

import (
	"context"
	"errors"
	"path/filepath"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
)

// Resend delivers what a bundle keeps: same bytes, same name, same signature, to the same place, as it is resolved now. When it is
// delivered the bundle is removed. The error is a *SendError.
func (o *Service) Resend(ctx context.Context, id string, retries int) (*Sent, error) {
	s, err := o.resend(ctx, id, retries)
	if err != nil {
		return nil, sendError(err)
	}
	return s, nil
}

// GiveUp removes a bundle: its message will not be delivered.
func (o *Service) GiveUp(ctx context.Context, id string) (Bundle, error) {
	h, err := o.hold(ctx, id)
	if err != nil {
		return Bundle{}, sendError(err)
	}
	if err := h.drop(); err != nil {
		return h.Bundle, sendError(err)
	}
	return h.Bundle, nil
}

func (o *Service) resend(ctx context.Context, id string, retries int) (*Sent, error) {
	if err := o.halted("send again " + id); err != nil {
		e := sendError(err)
		e.Bundle = id
		return nil, e
	}
	h, err := o.hold(ctx, id)
	if err != nil {
		return nil, err
	}
	s := h.sent()
	to, warnings, err := o.resolve(h.Destination, false)
	for _, w := range warnings {
		s.warn(w[0], w[1])
	}
	switch {
	case err != nil:
		err = h.failed(sendError(err), 0)
	case to.local.Path != "":
		if err = o.deliverHere(ctx, to, h.parcel, s); err != nil {
			err = h.failed(sendError(err), 1)
		} else {
			o.settle(ctx, h, s)
		}
	default:
		if err = o.ssh().HasRsync(); err != nil {
			err = h.failed(sendError(err), 0)
		} else {
			err = o.dispatch(ctx, h, to, retries, s)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sent begins the report on what the bundle keeps.
func (h *held) sent() *Sent {
	s := &Sent{Name: h.Name, Destination: h.Destination, Sender: h.From, SHA256: h.SHA256, Key: h.Key}
	if head, err := orgfile.Parse(h.parcel.Message); err == nil {
		s.Message, _, _ = protocol.Read(head)
	}
	return s
}

// project is the one that sends.
func (h *held) project() Project {
	if h.Project == "" {
		return Project{Name: h.From}
	}
	return Project{Name: filepath.Base(h.Project), Path: h.Project}
}

// failed writes down why the bundle stays, lets it go, and says so.
func (h *held) failed(e *SendError, tries int) error {
	defer h.release()
	e.Bundle = h.ID
	_ = h.note(causeOf(e), tries, e) // what matters is in e
	return e
}

// ResendAll delivers all bundles, oldest first. Each is reported, with its result or its *SendError, and so are entries that
// are not bundles. It ends early when the halt switch is on or ctx has ended, and returns the first fault, or that of the halt:
// 0 when all were delivered, or are being delivered by other processes.
func (o *Service) ResendAll(ctx context.Context, retries int, told func(id string, s *Sent, err error)) Fault {
	all, broken := o.Bundles()
	first := Fault(0)
	fail := func(id string, err error) Fault {
		e := sendError(err)
		if e.Fault == Halted || first == 0 && e.Code != CodeInHand {
			first = e.Fault
		}
		told(id, nil, e)
		return e.Fault
	}
	for _, err := range broken {
		var b *BundleError
		if errors.As(err, &b) {
			fail(b.ID, err)
			continue
		}
		fail("", err)
	}
	for _, b := range all {
		s, err := o.Resend(ctx, b.ID, retries)
		if err == nil {
			told(b.ID, s, nil)
			continue
		}
		if fail(b.ID, err) == Halted || ctx.Err() != nil {
			break
		}
	}
	return first
}
