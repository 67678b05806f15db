package registry

import (
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// mBefore is the member of an event that revokes a key which says what the key had sealed until then.
const mBefore = "sealedBefore"

// MaxBefore is how much a revocation names: a line of the log has 64 KiB.
const MaxBefore = 700

// mProof is the member that says who stands behind an event.
const mProof = "proof"

// maxHeld is how many keys of one instance are returned: each costs its readers verifications.
const maxHeld = 64

// maxVain is how many events of each type with a proof that none of the keys has made are looked at: everybody can write them.
const maxVain = 500

// A OwnKey is a key that is an instance's own as far as a reader can know.
type OwnKey struct {
	Key     signature.Public
	Revoked bool
	Before  []string // of a revoked one: the hashes of what it had sealed until then
}

// Own returns the keys that are an instance's own if some keys are known to be: these, and those that were added with the proof
// of one of them that was in use then. Anyone who can write the log can add a key to any agent, and revoke one: keys and
// revocations that no such key has signed do not count here. Nor does a tombstone, which is not signed: what was sealed before
// it stays, and only the revocations that came with it show that. Nor does a tombstone, which is anybody's word: what was
// sealed before it stays, and only the revocations that came with it tell that.
//
// No log says what came first in another one. A revocation that names the hash of something was written after that was made: only what
// it names was sealed before it.
func (k *Keys) Own(known []signature.Public) []OwnKey {
	var all []OwnKey
	at := func(key signature.Public) int {
		return slices.IndexFunc(all, func(h OwnKey) bool { return h.Key == key })
	}
	add := func(key signature.Public) {
		if at(key) < 0 && len(all) < maxHeld {
			all = append(all, OwnKey{Key: key})
		}
	}
	for _, key := range known {
		add(key)
	}
	vain := map[string]int{}
	proved := func(e *Event) bool {
		if e.Proof == nil || vain[e.Type] >= maxVain {
			return false
		}
		ok := e.provedBy(all)
		if !ok {
			vain[e.Type]++
		}
		return ok
	}
	for n := range k.events {
		e := &k.events[n]
		key, err := signature.ParsePublic(e.Key)
		if err != nil || len(all) == 0 {
			continue
		}
		switch e.Type {
		case Added:
			if e.Instance == k.ID && at(key) < 0 && proved(e) {
				add(key)
			}
		case Revoked:
			if n := at(key); n >= 0 && !all[n].Revoked && address.Canonical(e.Instance) == address.Canonical(k.ID) && proved(e) {
				all[n].Revoked, all[n].Before = true, e.Before
			}
		}
	}
	return all
}

// provedBy tells whether one of the keys that are in use stands behind an event.
func (e *Event) provedBy(all []OwnKey) bool {
	signed, err := ownWords(e.Raw)
	return err == nil && slices.ContainsFunc(all, func(h OwnKey) bool { return !h.Revoked && e.Proof.Verify(signed, h.Key) })
}

// ownWords is what the proof of an event is over: its canonical form without the proof.
func ownWords(event []byte) ([]byte, error) {
	canonical, err := canonjson.Canonical(event)
	if err != nil {
		return nil, err
	}
	return canonjson.Delete(canonical, mProof), nil
}
