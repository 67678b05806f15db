package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// runKeysTrust pins the registered key of an agent, on the word of a person.
func runKeysTrust(ctx context.Context, c *Call) error {
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who := address.Instance(c.arg(0))
	if err := c.personOnly(who, "keys trust"); err != nil {
		return err
	}
	if err := w.Pins.Err(); err != nil {
		return failIO("", err, "")
	}
	pinned, has := w.Pins.Get(who)
	if c.on("forget") {
		return c.forgetPin(w, who)
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	next, err := c.toTrust(ctx, w, who, keys)
	if err != nil {
		return err
	}
	before := "none"
	if has {
		before = pinned[0].Short()
	}
	if !c.json {
		c.facts([][]string{{"agent", string(who)}, {"pinned", before}, {"registered", next.Short()}})
	}
	if err := c.confirmPin(who, has && pinned[0] == next); err != nil {
		return err
	}
	if err := trustKey(w, who, next, keys); err != nil {
		return failIO("", err, "")
	}
	return c.pinChanged(who, "pinned", next.Short())
}

// toTrust is the key that is meant: that of the file, else the one added last, with which the agent signs from now on. Of a person it is the
// last one that nobody has said to be theirs: what they have answered may be under an earlier one.
func (c *Call) toTrust(ctx context.Context, w *app.World, who address.Instance, keys *registry.Keys) (next signature.Public, err error) {
	known := w.Pins.Bound(who)
	if path := c.value("public-key"); path != "" {
		pem, err := c.readKey(path)
		if err != nil {
			return next, err
		}
		if next, err = signature.ParsePublic(pem); err != nil {
			return next, usagef("%s: %s", Clean(path), Clean(err.Error()))
		}
		const list = "tutti keys list --instance "
		switch {
		case slices.Contains(keys.Active, next):
		case !slices.Contains(keys.Revoked, next):
			return next, badState(list+app.QuoteArg(string(who)), "%s is no key of %s here", next.Short(), Clean(string(who)))
		case !isPerson(who) || !provedGone(keys, append(known, next), next): // of a person that says what the key has sealed before
			return next, badState(list+app.QuoteArg(string(who)), "the key %s of %s was revoked", next.Short(), Clean(string(who)))
		}
		return next, nil
	}
	if len(keys.Active) == 0 {
		return next, badState(c.trustHint(ctx, w, who), "%s has no active key here", Clean(string(who)))
	}
	if isPerson(who) {
		for _, key := range slices.Backward(keys.Active) {
			if !slices.Contains(known, key) {
				return key, nil
			}
		}
	}
	return keys.Active[len(keys.Active)-1], nil
}

// provedGone tells whether a revocation of a key counts for who knows an instance by some keys.
func provedGone(keys *registry.Keys, known []signature.Public, key signature.Public) bool {
	return slices.ContainsFunc(keys.Own(known), func(h registry.OwnKey) bool { return h.Key == key && h.Revoked })
}

// trustKey pins a key. Where it is an earlier one of a person that one is known from now on, and mail is checked with the later one as before.
func trustKey(w *app.World, who address.Instance, next signature.Public, keys *registry.Keys) error {
	pinned, _ := w.Pins.Get(who)
	later := slices.DeleteFunc(pinned, func(key signature.Public) bool {
		return !isPerson(who) || !slices.Contains(w.Pins.Bound(who), key) || slices.Index(keys.Active, key) <= slices.Index(keys.Active, next)
	})
	now := time.Now()
	for _, key := range append([]signature.Public{next}, later...) {
		if err := w.Pins.Trust(who, key, now); err != nil {
			return err
		}
	}
	return nil
}

// trustHint says what to type for a name that nobody signs under. A key is pinned for a full id only: who else is called so
// must not come to be trusted by the way.
func (c *Call) trustHint(ctx context.Context, w *app.World, who address.Instance) string {
	const otherwise = `"tutti discover --all" lists who is registered; look at the spelling, and at the bus ("tutti root")`
	if reg, err := w.Registry.Registered(ctx, who); err == nil && reg.Mirrored() {
		return `another bus has shown it here; "tutti keys add" takes a key over that you know to be its own`
	}
	if string(who) != who.Channel() {
		return otherwise
	}
	all, err := w.Registry.Channel(ctx, string(who))
	if err != nil || len(all) == 0 {
		return otherwise
	}
	return "a key is pinned for a full id: " + strings.Join(names(all), ", ")
}

// confirmPin asks, unless --yes was given. Where nobody can answer nothing is pinned.
func (c *Call) confirmPin(who address.Instance, same bool) error {
	if same {
		return nil
	}
	return c.confirm("Pin this key? It should be the one that the agent's own machine shows.", "nothing was pinned",
		"compare the fingerprint with the agent's own (tutti whoami there), then: tutti keys trust "+app.QuoteArg(string(who))+" --yes")
}

func (c *Call) forgetPin(w *app.World, who address.Instance) error {
	was, err := w.Pins.Forget(who, time.Now())
	if err != nil {
		return failIO("", err, "")
	}
	if !was {
		return badState(`"tutti keys list" shows the pins`, "no key of %s is pinned", Clean(string(who)))
	}
	return c.pinChanged(who, "forgotten", "")
}

func (c *Call) pinChanged(who address.Instance, word, short string) error {
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		o.Str("status", word)
		o.Opt("fingerprint", short)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("%s: %s\n", word, strings.TrimSpace(short+" "+Clean(string(who))))
	return nil
}
