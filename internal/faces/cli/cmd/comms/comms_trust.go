package comms

import (
	"context"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/faces/cli/kit"
)

// trustJSON is what trust prints with --json.
type trustJSON struct {
	Machine string         `json:"machine"`
	Keys    []trustKeyJSON `json:"keys"`
	Trusted bool           `json:"trusted"` // they are in the ring now
	Before  bool           `json:"was_trusted"`
}

type trustKeyJSON struct {
	Fingerprint string   `json:"fingerprint"`
	Users       []string `json:"users"`
}

type commsTrustOptions struct {
	Yes bool
}

// runCommsTrust fetches the public key of another machine, shows it, and imports it on the word of the user.
func runCommsTrust(ctx context.Context, c *kit.Call, opt *commsTrustOptions) error {
	if _, err := c.ForUser("trust a key"); err != nil {
		return err
	}
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	r, err := trustMachine(ctx, c, opt.Yes, o, c.Arg(0))
	if err == nil && c.JSON {
		c.Result(r)
	}
	return err
}

// trustMachine does that for one machine, and says how it went where no JSON is asked for.
func trustMachine(ctx context.Context, c *kit.Call, yes bool, o *exchange.Service, machine string) (r trustJSON, err error) {
	k, err := o.FetchKey(ctx, machine)
	if err != nil {
		return r, kit.GeneralFault(err)
	}
	r = trustJSON{Machine: k.Machine, Before: k.Known, Trusted: k.Known}
	for _, key := range k.Keys {
		r.Keys = append(r.Keys, trustKeyJSON{key.Fingerprint, key.Users})
	}
	if !k.Known {
		if err := confirmKey(c, yes, k); err != nil {
			return r, err
		}
		if err := o.ImportKey(ctx, k); err != nil {
			return r, kit.FailIO(kit.HintOf(err), err, "trust")
		}
		r.Trusted = true
	}
	if c.JSON {
		return r, nil
	}
	if k.Known {
		showKeys(c, k)
		c.Line("is in your keyring already")
	} else {
		c.Line("the key of " + kit.Clean(k.Machine) + " is in your keyring: its messages are verified from now on")
	}
	other := "trust " + o.Machine()
	if c.Verb.Name == "comms peer" {
		other = "peer add " + o.Machine() + " USER@HOST --trust"
	}
	c.Remark("for the other way, type there: tutti comms %s", kit.Clean(other))
	if o.Signers().Present() {
		c.Remark("whose key may sign for which project stands in %s; add this one there", kit.Clean(c.App.Shown(o.SignersPath())))
	}
	return r, nil
}

// confirmKey shows a key and asks whether it is the right one.
func confirmKey(c *kit.Call, yes bool, k exchange.MachineKey) error {
	if !c.JSON {
		showKeys(c, k)
		c.Line("Compare it with what that machine itself shows: gpg --fingerprint")
	}
	return c.Confirm(yes, "Is it the same?", "nothing was imported", "type it at a terminal, or with --yes once you have compared the fingerprint")
}

func showKeys(c *kit.Call, k exchange.MachineKey) {
	c.Line(kit.Clean(k.Machine) + " signs its messages with")
	for _, key := range k.Keys {
		for _, user := range key.Users {
			c.Line("  " + kit.Clean(user))
		}
		c.Line("  " + spaced(key.Fingerprint))
	}
}

// spaced is a fingerprint in groups of four, as gpg shows it to people.
func spaced(fingerprint string) string {
	var b strings.Builder
	for i, r := range fingerprint {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
