package bus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

type keysTrustOptions struct {
	PublicKey   string
	Yes, Forget bool
}

// runKeysTrust pins the registered key of an agent after a person confirms it.
func runKeysTrust(ctx context.Context, c *kit.Call, opt *keysTrustOptions) error {
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who := address.Instance(c.Arg(0))
	if err := PersonOnly(c, who, "keys trust"); err != nil {
		return err
	}
	if _, err := kit.FactsOf(c.App).ForUser("trust a key"); err != nil {
		return err
	}
	if err := w.Pins.Err(); err != nil {
		return kit.FailIO("", err, "")
	}
	pinned, has := w.Pins.Get(who)
	if opt.Forget {
		return forgetPin(c, w, who)
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	next, err := toTrust(ctx, c, opt, w, who, keys)
	if err != nil {
		return err
	}
	before := "none"
	if has {
		before = pinned[0].Short()
	}
	roles, registration, err := shownRegistration(ctx, w, who)
	if err != nil {
		return err
	}
	if !c.JSON {
		c.Facts([][]string{{"agent", kit.Name(who)}, {"pinned", before}, {"registered", next.Short()}, {"roles", roles}})
	}
	if err := confirmPin(c, opt, who, has && pinned[0] == next && (registration == "" || w.Pins.Accepted(who, registration))); err != nil {
		return err
	}
	if err := trustKey(w, who, next, registration, keys); err != nil {
		return kit.FailIO("", err, "")
	}
	return pinChanged(c, who, "pinned", next.Short())
}

// shownRegistration returns what a person accepts of an agent beside its key: its roles and scopes, and the hash of its registration.
func shownRegistration(ctx context.Context, w *app.World, who address.Instance) (roles, hash string, err error) {
	reg, err := w.Registry.Registered(ctx, who)
	switch {
	case errors.Is(err, registry.ErrNotRegistered):
		return "none: not registered", "", nil
	case err != nil:
		return "", "", err
	}
	return strings.Join(reg.Roles, ", ") + " in " + strings.Join(reg.Scopes, ", "), reg.Hash(), nil
}

// toTrust returns the key to pin: the one of the file, else the one added last, with which the agent signs from now on. For a person it is
// the last one that is not confirmed: their answers may be sealed with an earlier one.
func toTrust(ctx context.Context, c *kit.Call, opt *keysTrustOptions, w *app.World, who address.Instance, keys *registry.Keys) (next signature.Public, err error) {
	known := w.Pins.Bound(who)
	if path := opt.PublicKey; path != "" {
		pem, err := readKey(c, path)
		if err != nil {
			return next, err
		}
		if next, err = signature.ParsePublic(pem); err != nil {
			return next, kit.Usagef("%s: %s", kit.Clean(path), kit.Clean(err.Error()))
		}
		const list = "tutti keys list --instance "
		switch {
		case slices.Contains(keys.Active, next):
		case !slices.Contains(keys.Revoked, next):
			return next, kit.BadState(list+app.QuoteArg(string(who)), "%s is not a key of %s here", next.Short(), kit.Name(who))
		case !IsPerson(who) || !provedGone(keys, append(known, next), next): // for a person, that names what the key has sealed
			return next, kit.BadState(list+app.QuoteArg(string(who)), "the key %s of %s was revoked", next.Short(), kit.Name(who))
		}
		return next, nil
	}
	if len(keys.Active) == 0 {
		return next, kit.BadState(trustHint(ctx, c, w, who), "%s has no active key here", kit.Name(who))
	}
	if IsPerson(who) {
		for _, key := range slices.Backward(keys.Active) {
			if !slices.Contains(known, key) {
				return key, nil
			}
		}
	}
	return keys.Active[len(keys.Active)-1], nil
}

// provedGone reports whether the revocation of a key is proven by one of the known keys.
func provedGone(keys *registry.Keys, known []signature.Public, key signature.Public) bool {
	return slices.ContainsFunc(keys.Own(known), func(h registry.OwnKey) bool { return h.Key == key && h.Revoked })
}

// trustKey pins a key. An earlier key of a person becomes known, and mail is checked with the later one as before.
func trustKey(w *app.World, who address.Instance, next signature.Public, registration string, keys *registry.Keys) error {
	pinned, _ := w.Pins.Get(who)
	later := slices.DeleteFunc(pinned, func(key signature.Public) bool {
		return !IsPerson(who) || !slices.Contains(w.Pins.Bound(who), key) || slices.Index(keys.Active, key) <= slices.Index(keys.Active, next)
	})
	now := time.Now()
	for _, key := range append([]signature.Public{next}, later...) {
		if err := w.Pins.Accept(who, key, registration, now); err != nil {
			return err
		}
	}
	return nil
}

// trustHint returns the command to type for a name that is not a full id. A key is pinned for a full id only, so that no other agent
// of that name becomes trusted.
func trustHint(ctx context.Context, c *kit.Call, w *app.World, who address.Instance) string {
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
	return "a key is pinned for a full id: " + strings.Join(fast.Names(all), ", ")
}

// confirmPin asks, unless --yes is given. Without a terminal nothing is pinned.
func confirmPin(c *kit.Call, opt *keysTrustOptions, who address.Instance, same bool) error {
	if same {
		return nil
	}
	return c.Confirm(opt.Yes, "Pin this key, and let these roles count? The key should be the one that the agent's own machine shows.", "nothing was pinned",
		"compare the fingerprint with the agent's own (tutti whoami there), then: tutti keys trust "+app.QuoteArg(string(who))+" --yes")
}

func forgetPin(c *kit.Call, w *app.World, who address.Instance) error {
	was, err := w.Pins.Forget(who, time.Now())
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if !was {
		return kit.BadState(`"tutti keys list" shows the pins`, "no key of %s is pinned", kit.Name(who))
	}
	return pinChanged(c, who, "forgotten", "")
}

// A pinnedKey is a key that was pinned, or was pinned already.
type pinnedKey struct {
	OK          bool   `json:"ok"`
	Instance    string `json:"instance"` // the agent
	Status      string `json:"status"`   // what was done
	Fingerprint string `json:"fingerprint,omitempty"`
}

func pinChanged(c *kit.Call, who address.Instance, word, short string) error {
	if c.JSON {
		c.Result(pinnedKey{true, string(who), word, short})
		return nil
	}
	c.Printf("%s: %s\n", word, strings.TrimSpace(short+" "+kit.Name(who)))
	return nil
}
