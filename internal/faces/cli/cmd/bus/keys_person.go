package bus

import (
	"context"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
)

// IsPerson reports whether an address is that of a person.
func IsPerson(who address.Instance) bool { return who.Canonical().Host() == identity.Human }

// PersonOnly refuses to change the known keys of a person unless a person can be at the terminal: an agent could otherwise answer in that
// person's name.
func PersonOnly(c *kit.Call, who address.Instance, what string) error {
	if !IsPerson(who) || kit.FactsOf(c.App).Attended() {
		return nil
	}
	return kit.Refuse("type it in a terminal of your own, outside of any agent program",
		"%s: it concerns %s, a person, and this is not a terminal", what, kit.Name(who))
}

// BindPerson makes a key the known key of a person, unless others are known already. A person at a terminal confirms it, and with that
// accepts the registration.
func BindPerson(ctx context.Context, w *app.World, who address.Instance, key signature.Public) error {
	if !IsPerson(who) || len(w.Pins.Bound(who)) > 0 {
		return nil
	}
	if pinned, has := w.Pins.Get(who); has && !slices.Contains(pinned, key) {
		return nil // another key is known already: "keys trust" asks
	}
	_, registration, err := shownRegistration(ctx, w, who)
	if err != nil {
		return err
	}
	if err := w.Pins.Accept(who, key, registration, time.Now()); err != nil {
		return kit.FailIO("", err, "")
	}
	return nil
}

// addedKey remembers a key that a person added: a key that no known key of the person vouches for would not count.
func addedKey(ctx context.Context, w *app.World, who address.Instance, public signature.Public, proved bool) error {
	if !IsPerson(who) {
		return nil
	}
	if proved {
		own, err := w.Ring.Public(who)
		if err != nil {
			return err
		}
		return BindPerson(ctx, w, who, own)
	}
	if err := w.Pins.Trust(who, public, time.Now()); err != nil {
		return kit.FailIO("", err, "")
	}
	return nil
}

// revocation returns the statement that revokes a key. The answers that a person sealed with the key stay valid: the statement names
// them, as far as they can be read. What cannot be read is only a warning, because a stolen key has to go.
func revocation(ctx context.Context, c *kit.Call, w *app.World, who address.Instance, pem string) (how registry.Revocation) {
	public, err := signature.ParsePublic(pem)
	if err != nil || !IsPerson(who) {
		return how // it is not a key, so it has sealed nothing
	}
	hashes, problems := SealedBy(ctx, w, who, public)
	how.Before = SealedBefore(c, hashes, problems)
	how.By = Prover(ctx, c, w, who)
	known := w.Pins.Bound(who)
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil || how.By != nil && usable(keys, known, how.By.Public()) {
		return how
	}
	switch {
	case slices.Contains(known, public):
		c.Warn("there is no key of %s here that is known here to prove it with: the key %s is forgotten, and nothing that was answered under it counts here any more",
			kit.Name(who), public.Short())
	case usable(keys, known, public):
		c.Warn("there is no key of %s here that is known here to prove it with: what is signed with %s goes on to count here", kit.Name(who), public.Short())
	}
	return how
}

// SealedBefore returns the answers that a revocation names, and warns about those that it cannot name.
func SealedBefore(c *kit.Call, hashes []string, problems []error) []string {
	const most = 20
	for n, err := range problems {
		if n == most {
			c.Warn("and %d more", len(problems)-most)
			break
		}
		c.Warn("answers under this key may be missing, and no longer count then: %s", kit.Clean(err.Error()))
	}
	if n := len(hashes); n > registry.MaxBefore {
		c.Warn("%s stay answered, the newest; %d older ones were answered under this key, too, and no longer count", kit.Plural(registry.MaxBefore, "matter"), n-registry.MaxBefore)
		hashes = hashes[:registry.MaxBefore]
	}
	return hashes
}

// Prover returns the key of a person on this machine if it is in use, else nil. It proves to others who revokes.
func Prover(ctx context.Context, c *kit.Call, w *app.World, who address.Instance) *signature.Private {
	if !w.Ring.Has(who) {
		return nil
	}
	own, err := w.Ring.Load(who)
	if err == nil {
		var keys *registry.Keys
		if keys, err = w.Registry.Keys(ctx, who); err == nil && !slices.Contains(keys.Active, own.Public()) {
			return nil
		}
	}
	if err != nil {
		c.Warn("the key of %s that lies here cannot prove anything: %s", kit.Name(who), kit.Clean(err.Error()))
		return nil
	}
	return own
}

// usable reports whether a key of a person counts, given the known ones.
func usable(keys *registry.Keys, known []signature.Public, key signature.Public) bool {
	return slices.ContainsFunc(keys.Own(known), func(h registry.OwnKey) bool { return h.Key == key && !h.Revoked })
}

// StillHeld warns if a key of a retired person still counts here: any agent can write a tombstone.
func StillHeld(ctx context.Context, c *kit.Call, w *app.World, who address.Instance) {
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil || !IsPerson(who) {
		return
	}
	for _, h := range keys.Own(w.Pins.Bound(who)) {
		if !h.Revoked {
			c.Warn("nothing proves that %s has given up the key %s: what is answered under it goes on to count here, until tutti keys trust --forget %s, which takes away what was, too",
				kit.Name(who), h.Key.Short(), kit.Clean(app.QuoteArg(string(who))))
		}
	}
}

// revokedKey forgets a key of a person if no other key proves the revocation: here the person at the terminal is enough.
func revokedKey(ctx context.Context, w *app.World, who address.Instance, pem string) error {
	public, err := signature.ParsePublic(pem)
	known := w.Pins.Bound(who)
	if err != nil || !IsPerson(who) || !slices.Contains(known, public) {
		return nil
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil || !usable(keys, known, public) {
		return err // the revocation is proven
	}
	_, registration, err := shownRegistration(ctx, w, who)
	if err != nil {
		return err
	}
	now, accepted := time.Now(), w.Pins.Accepted(who, registration)
	if _, err := w.Pins.Forget(who, now); err != nil {
		return kit.FailIO("", err, "")
	}
	if accepted { // forgetting a key removes no role
		if err := w.Pins.AcceptRegistration(who, registration, now); err != nil {
			return kit.FailIO("", err, "")
		}
	}
	for _, key := range known {
		if key == public {
			continue
		}
		if err := w.Pins.Trust(who, key, now); err != nil {
			return kit.FailIO("", err, "")
		}
	}
	return nil
}

// SealedBy returns the hashes of the answers that a person sealed with a key.
func SealedBy(ctx context.Context, w *app.World, who address.Instance, key signature.Public) ([]string, []error) {
	return full.Agreements(w).Matters().Sealed(ctx, who, key)
}
