package kit

import (
	"context"
	"errors"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
)

// Readers opens the bus for one who reads mail. across: it is the user, who names no agent, reads the mail of all agents whose keys are here,
// and needs no mailbox for it.
func (c *Call) Readers(ctx context.Context, as string) (d *Account, readers []address.Instance, across bool, err error) {
	d, err = c.Looker(ctx, as)
	if unknown, ok := errors.AsType[*identity.UnknownError](err); ok && unknown.Person {
		if d, err = c.Counter(app.Reading); err == nil {
			d.Who = &identity.Speaker{}
		}
	}
	if d == nil || err != nil {
		return nil, nil, false, err
	}
	if c.Under == H2A || as != "" || !mail.AsUser(d.Who) {
		return d, []address.Instance{d.Who.Instance}, false, nil
	}
	if readers, err = d.Office.OwnAgents(ctx, d.Who.Instance); err != nil {
		d.Close()
		return nil, nil, false, err
	}
	d.Who = &identity.Speaker{} // each message is judged for the agent whose mailbox it is in
	return d, readers, true, nil
}

// OtherBuses hands the other buses that this user has used to f, each with the user's agents there. It passes over a bus that cannot be read:
// doctor names it.
func (c *Call) OtherBuses(ctx context.Context, d *Account, f func(d *Account, readers []address.Instance) error) {
	_ = c.App.Worlds(func(w *app.World) error {
		if app.SameFolder(w.Root.Path, d.Root.Path) {
			return nil
		}
		other := AccountOf(w)
		other.Who = &identity.Speaker{}
		readers, err := other.Office.OwnAgents(ctx, "")
		if err != nil {
			return err
		}
		return f(other, readers)
	})
}
