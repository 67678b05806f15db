package agree

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
)

// knowsKey refuses a key under which an answer would not count. It binds the first key that a person uses at a terminal to that person.
func (d *deal) knowsKey(ctx context.Context, who address.Instance, key *signature.Private) error {
	err := d.bus.Knows(ctx, who, key.Public())
	unknown, is := errors.AsType[*agreement.KeyError](err)
	if is && unknown.Unknown {
		keys, kerr := d.w.Registry.Keys(ctx, who)
		if kerr != nil {
			return kerr
		}
		if slices.Contains(keys.Active, key.Public()) {
			if err := bus.BindPerson(ctx, d.w, who, key.Public()); err != nil {
				return err
			}
			err = d.bus.Knows(ctx, who, key.Public())
			if err == nil {
				d.Warn("from now on %s is known here by the key %s", kit.Name(who), key.Public().Short())
			}
		}
	}
	if _, is := errors.AsType[*agreement.KeyError](err); is {
		return kit.Refuse(d.keyHint(ctx, who, key.Public()), "%s", kit.Clean(err.Error()))
	}
	return err
}

// keyHint returns the command to type if the key of a person on this machine does not count.
func (d *deal) keyHint(ctx context.Context, who address.Instance, key signature.Public) string {
	keys, err := d.w.Registry.Keys(ctx, who)
	_, public, ferr := d.w.Ring.Files(who)
	name, of := kit.Clean(app.QuoteArg(string(who))), " --public-key "+kit.Clean(app.QuoteArg(public))
	switch {
	case err != nil || ferr != nil || slices.Contains(keys.Active, key):
		return "tutti keys trust " + name + of + "   # if the key is yours"
	case slices.Contains(keys.Revoked, key):
		return "tutti keys generate --force --instance " + name + "   # a new pair, which is then to be added"
	}
	return "tutti keys add --instance " + name + of + "   # if the key is yours"
}
