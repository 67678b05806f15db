package full

import (
	"context"
	"errors"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/blocker"
)

// RaiseBlocker records what blocks an agent, in its first scope unless scoped says that the call names one. replaced is what blocked it until
// then.
func RaiseBlocker(ctx context.Context, w *app.World, b blocker.Call, scoped bool) (made, replaced *blocker.Blockage, err error) {
	if !scoped {
		_, scopes, err := w.Registry.Effective(ctx, b.Instance)
		if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
			return nil, nil, err
		}
		b.Scope = identity.DefaultScope
		if len(scopes) > 0 {
			b.Scope = scopes[0]
		}
	}
	return blocker.New(w.Store).Raise(ctx, b, time.Now())
}

// TellBlocker tells the agents that could help of a blocker by mail, which wakes them. A person has it in status, and tutti up tells of it.
func TellBlocker(ctx context.Context, office *mail.Service, from *identity.Speaker, b *blocker.Blockage) error {
	text := "I am blocked: " + b.Reason
	if b.Needs != "" {
		text += "\nWhat would help: " + b.Needs
	}
	var o canonjson.Object
	o.Str("reason", b.Reason)
	o.Opt("needs", b.Needs)
	var errs []error
	for _, who := range b.On {
		if who.Canonical() == b.Instance.Canonical() || who.Canonical().Host() == identity.Human {
			continue
		}
		_, err := office.Send(ctx, mail.Draft{From: from, To: who, Kind: blocker.NoticeKind, Text: text, Body: o.End(), Deposit: true, Unsigned: true})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
