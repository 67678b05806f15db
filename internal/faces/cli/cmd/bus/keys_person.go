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

// IsPerson tells whether somebody is a person.
func IsPerson(who address.Instance) bool { return who.Canonical().Host() == identity.Human }

// PersonOnly refuses what decides by which key a person is known, where no person can be: an agent could answer in that person's name.
func PersonOnly(c *kit.Call, who address.Instance, what string) error {
	if !IsPerson(who) || kit.FactsOf(c.App).Attended() {
		return nil
	}
	return kit.Refuse("type it in a terminal of your own, outside of any agent program",
		"%s: it concerns %s, a person, and this is not a terminal", what, kit.Name(who))
}

// BindPerson has a person be known here by a key, unless other keys are known already. A person at a terminal says so, and with that
// accepts the person's registration.
func BindPerson(ctx context.Context, w *app.World, who address.Instance, key signature.Public) error {
	if !IsPerson(who) || len(w.Pins.Bound(who)) > 0 {
		return nil
	}
	if pinned, has := w.Pins.Get(who); has && !slices.Contains(pinned, key) {
		return nil // another one was met first: "keys trust" asks
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

// addedKey remembers what a person has added: a key behind which none of the person's own stands would count for nothing.
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

// revocation is what is said when a key is revoked. Of that of a person the answers that were sealed with it stay: they are named, as far as they
// can be read. Whatever is missing for that is told, and no hindrance: a key that was stolen has to go.
func revocation(ctx context.Context, c *kit.Call, w *app.World, who address.Instance, pem string) (how registry.Revocation) {
	public, err := signature.ParsePublic(pem)
	if err != nil || !IsPerson(who) {
		return how // what is no key has sealed nothing
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

// SealedBefore is what a revocation names of what was sealed under a key, and says what it does not.
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

// Prover is the key that lies here of a person, if it is one that is in use: by it others who know the person see who revokes. nil: there is none.
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

// usable tells whether a key is in use as one of somebody who is known by some keys.
func usable(keys *registry.Keys, known []signature.Public, key signature.Public) bool {
	return slices.ContainsFunc(keys.Own(known), func(h registry.OwnKey) bool { return h.Key == key && !h.Revoked })
}

// StillHeld warns of a person who was taken out of service, and of whom a key goes on to count here: a tombstone is anybody's word.
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

// revokedKey forgets a key of a person that no other one could be shown to revoke: here the word of who is at the terminal is enough.
func revokedKey(ctx context.Context, w *app.World, who address.Instance, pem string) error {
	public, err := signature.ParsePublic(pem)
	known := w.Pins.Bound(who)
	if err != nil || !IsPerson(who) || !slices.Contains(known, public) {
		return nil
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil || !usable(keys, known, public) {
		return err // it is seen to be revoked
	}
	_, registration, err := shownRegistration(ctx, w, who)
	if err != nil {
		return err
	}
	now, accepted := time.Now(), w.Pins.Accepted(who, registration)
	if _, err := w.Pins.Forget(who, now); err != nil {
		return kit.FailIO("", err, "")
	}
	if accepted { // to forget a key takes no role away
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

// SealedBy are the hashes of what a person has answered under a key.
func SealedBy(ctx context.Context, w *app.World, who address.Instance, key signature.Public) ([]string, []error) {
	return full.Agreements(w).Matters().Sealed(ctx, who, key)
}
