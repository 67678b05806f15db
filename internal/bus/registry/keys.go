package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// The types of a key event.
const (
	Added   = "added"
	Revoked = "revoked"
)

// An Event is one line of the key log.
type Event struct {
	Instance string // the id of a registration
	Key      string // PEM
	Type     string // added or revoked
	At       string
	Proof    *signature.Object // by a key that was active then; nil if none was given
	Before   []string          // of a revoked key: hashes of what it had sealed until then
	Raw      []byte            // the line
}

func parseEvent(raw []byte) (Event, error) {
	var v [6][]byte
	if !canonjson.Pick(raw, []string{"instance", "publicKey", "type", "at", "proof", mBefore}, v[:]) {
		return Event{}, errors.New("is not a JSON object")
	}
	e := Event{Instance: text(v[0]), Key: text(v[1]), Type: text(v[2]), At: text(v[3]), Raw: raw}
	if v[5] != nil {
		e.Before = texts(v[5])
	}
	var p [3][]byte
	if canonjson.Pick(v[4], []string{"by", "alg", "value"}, p[:]) {
		e.Proof = &signature.Object{By: text(p[0]), Alg: text(p[1]), Value: text(p[2])}
	}
	switch {
	case e.Instance == "" || e.Key == "":
		return e, errors.New("lacks its instance or its key")
	case e.Type != Added && e.Type != Revoked:
		return e, fmt.Errorf("has the unknown type %q", e.Type)
	}
	return e, nil
}

// keyRows makes the rows of the key log.
var keyRows = &store.Projection{
	Name: "key-events", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		e, err := parseEvent(line)
		if err != nil {
			return nil, 0, nil, err
		}
		return []string{byInstance + address.Canonical(e.Instance)}, 0, nil, nil
	},
}

// Keys are the public keys of one instance.
type Keys struct {
	ID   string   // of the registration; empty when there is none
	PEM  []string // the active ones as they are recorded, in the order in which they came
	Gone []string // the revoked ones, likewise
	// Active and Revoked hold those of them that can be read as a key: a recorded text need not be one.
	Active  []signature.Public
	Revoked []signature.Public

	all []*key
	fit map[signature.Public]*key // those of all that are one
	raw map[string]*key           // the others, by their text

	first  []signature.Public // those of the registration; of one without any, the one that was added first
	events []Event
}

// A key is one public key in all texts under which it is recorded.
type key struct {
	public  signature.Public
	fit     bool     // public is the key; else the one text is all there is
	texts   []string // under which it was registered or added
	revoked []string // under which it was revoked
	at      string   // when it was first revoked
}

// Fold returns the active keys: those registered, then those added, without those revoked. A revocation is final, whatever
// comes after it. Keys are compared by their 32 bytes, so that another line end does not bypass a revocation; existing programs
// compare the texts. A revocation counts in any spelling of the instance, an addition in the exact one only.
func Fold(id string, registered []string, events []Event) *Keys {
	k := &Keys{ID: id, fit: map[signature.Public]*key{}, raw: map[string]*key{}, events: events}
	for _, pem := range registered {
		k.at(pem).record(pem)
	}
	k.first = k.begin(events)
	for _, e := range events {
		switch {
		case e.Type == Added && e.Instance == id:
			k.at(e.Key).record(e.Key)
		case e.Type == Revoked && address.Canonical(e.Instance) == address.Canonical(id):
			one := k.at(e.Key)
			if one.at == "" {
				one.at = e.At
			}
			one.revoked = append(one.revoked, e.Key)
		}
	}
	for _, one := range k.all {
		pems, keys := &k.PEM, &k.Active
		if len(one.revoked) > 0 { // also when it was never added: it stays out when it is
			pems, keys = &k.Gone, &k.Revoked
		}
		*pems = append(*pems, slices.Concat(one.texts, one.revoked)[0])
		if one.fit {
			*keys = append(*keys, one.public)
		}
	}
	return k
}

// begin is the keys that an instance began with, of those that were taken in so far.
func (k *Keys) begin(events []Event) (first []signature.Public) {
	for _, one := range k.all {
		if one.fit {
			first = append(first, one.public)
		}
	}
	for n := 0; len(first) == 0 && n < len(events); n++ {
		if key, err := signature.ParsePublic(events[n].Key); err == nil && events[n].Type == Added && events[n].Instance == k.ID {
			first = append(first, key)
		}
	}
	return first
}

// First returns the keys with which an instance began: those of its registration, or, of one without any, the one that was added first. A
// reader who has pinned none takes one of these for the first contact. Every later key needs a proof by an earlier one.
func (k *Keys) First() []signature.Public { return k.first }

// RevokedAt tells when keys were revoked, as far as that is recorded. Of those of an instance that was offboarded it is not.
func (k *Keys) RevokedAt() map[signature.Public]time.Time {
	all := map[signature.Public]time.Time{}
	for _, one := range k.all {
		if at, ok := envelope.ParseTime(one.at); ok && one.fit {
			all[one.public] = at
		}
	}
	return all
}

func (k *Keys) find(pem string) *key {
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return k.raw[pem]
	}
	return k.fit[public]
}

func (k *Keys) at(pem string) *key {
	if one := k.find(pem); one != nil {
		return one
	}
	public, err := signature.ParsePublic(pem)
	one := &key{public: public, fit: err == nil}
	k.all = append(k.all, one)
	if one.fit {
		k.fit[public] = one
	} else {
		k.raw[pem] = one
	}
	return one
}

func (k *key) record(pem string) {
	if !slices.Contains(k.texts, pem) {
		k.texts = append(k.texts, pem)
	}
}

// Keys returns the keys of an instance in any spelling, or of a registration's id. An instance that is not registered has none,
// and one that was offboarded has none that is active.
//
// Of a mirrored one only the keys that were added here count, and without any it counts as not registered: the pusher chose the
// key that came with the mirror, and enrolled it to show sessions. Believed for mail or instructions it would let every pusher
// speak for an agent.
func (r *Registry) Keys(ctx context.Context, i address.Instance) (*Keys, error) {
	reg, err := r.lookup(ctx, i)
	if errors.Is(err, ErrNotRegistered) {
		return &Keys{}, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := r.keysOf(ctx, reg)
	if err == nil && reg.Mirrored() && !slices.ContainsFunc(k.all, func(one *key) bool { return len(one.texts) > 0 }) {
		k.ID = ""
	}
	return k, err
}

// MirrorKeys is Keys with those that came with a mirror: the keys that may show more of the same agent, and nothing else.
func (r *Registry) MirrorKeys(ctx context.Context, i address.Instance) (*Keys, error) {
	reg, err := r.lookup(ctx, i)
	if errors.Is(err, ErrNotRegistered) {
		return &Keys{}, nil
	}
	if err != nil {
		return nil, err
	}
	return r.keysWith(ctx, reg, reg.PublicKeys)
}

func (r *Registry) keysOf(ctx context.Context, reg *Registration) (*Keys, error) {
	if reg.Mirrored() {
		return r.keysWith(ctx, reg, nil)
	}
	return r.keysWith(ctx, reg, reg.PublicKeys)
}

func (r *Registry) keysWith(ctx context.Context, reg *Registration, registered []string) (*Keys, error) {
	events, err := r.events(ctx, reg.ID)
	if err != nil {
		return nil, fmt.Errorf("look up the keys of %q: %w", reg.ID, err)
	}
	k := Fold(reg.ID, registered, events)
	for _, i := range reg.names() {
		switch t, err := r.tombstone(ctx, i); {
		case err != nil:
			return nil, err
		case t != nil:
			k.end()
			return k, nil
		}
	}
	return k, nil
}

// end takes all keys out of use: those of an instance that was offboarded, also where other programs added one since.
func (k *Keys) end() {
	k.Gone, k.Revoked = append(k.Gone, k.PEM...), append(k.Revoked, k.Active...)
	k.PEM, k.Active = nil, nil
}

// events returns the key events of an id in any spelling, oldest first.
func (r *Registry) events(ctx context.Context, id string) ([]Event, error) {
	var all []Event
	for line, err := range store.FindIn(ctx, r.log, keyEvents, keyRows, byInstance+address.Canonical(id)) {
		if err != nil {
			return nil, err
		}
		if e, err := parseEvent(line.Data); err == nil {
			all = append(all, e)
		}
	}
	return all, nil
}

// AddedEvent writes the event that adds a key to a registration, without a proof: the proof is a signature of its canonical form.
func AddedEvent(id string, key signature.Public, now time.Time) []byte {
	return event(id, key.PEM(), Added, now)
}

func event(id, pem, what string, now time.Time, before ...string) []byte {
	var o canonjson.Object
	o.Str("instance", id)
	o.Str("publicKey", pem)
	o.Str("type", what)
	o.Str("at", envelope.Stamp(now))
	if len(before) > 0 {
		o.Strs(mBefore, before)
	}
	return o.Bytes()
}

// AddKey adds a key to an instance, in the exact PEM form. With a proof, which is the signature object of an active key over
// the canonical form of AddedEvent for the same now, readers can see that the addition is the instance's own; a proof that no
// active key made is refused (ErrProof). The other refusals: ErrNotRegistered, ErrGone, ErrKeyActive, ErrKeyRevoked, and texts
// that are not a key.
func (r *Registry) AddKey(ctx context.Context, i address.Instance, pem string, proof *signature.Object, now time.Time) error {
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return fmt.Errorf("add a key to %q: %w", i, err)
	}
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return fmt.Errorf("add a key: %w", err)
	}
	for _, i := range reg.names() {
		if err := r.Standing(ctx, i); err != nil {
			return fmt.Errorf("add a key: %w", err)
		}
	}
	err = r.add(ctx, keyEvents, func() ([]byte, error) {
		keys, err := r.keysOf(ctx, reg)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(keys.Active, public):
			return nil, ErrKeyActive
		case slices.Contains(keys.Revoked, public):
			return nil, ErrKeyRevoked
		}
		return withProof(AddedEvent(reg.ID, public, now), proof, keys.Active)
	})
	if err != nil {
		return fmt.Errorf("add key %s to %q: %w", public.Short(), reg.ID, err)
	}
	return nil
}

// withProof puts the proof into an event that one of the keys signed. The proof is over what ownWords returns of the event.
func withProof(event []byte, proof *signature.Object, active []signature.Public) ([]byte, error) {
	if proof == nil {
		return event, nil
	}
	signed, err := ownWords(event)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(active, func(k signature.Public) bool { return proof.Verify(signed, k) }) {
		return nil, ErrProof
	}
	return canonjson.Set(event, mProof, envelope.SignatureJSON(*proof)), nil
}

// RevokeKey takes a key from an instance, for good. It writes an event for each text under which the key is recorded, as
// existing programs compare texts; it may be repeated when it was interrupted between two. ErrNotRegistered, ErrKeyNotActive.
// Revoking is always allowed, also of a text that is not a key.
func (r *Registry) RevokeKey(ctx context.Context, i address.Instance, pem string, now time.Time) error {
	return r.Revoke(ctx, i, pem, Revocation{}, now)
}

// A Revocation is what is said when a key is revoked, beside which one.
type Revocation struct {
	By     *signature.Private // a key of the instance, which proves that the instance itself revokes; nil: there is no proof
	Before []string           // hashes of what the key has sealed until then, as far as its place in time matters to readers
}

// Revoke is RevokeKey with more said.
func (r *Registry) Revoke(ctx context.Context, i address.Instance, pem string, how Revocation, now time.Time) error {
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return fmt.Errorf("revoke a key: %w", err)
	}
	for done := 0; ; done++ {
		err := r.add(ctx, keyEvents, func() ([]byte, error) {
			keys, err := r.keysWith(ctx, reg, reg.PublicKeys) // what came with a mirror can be revoked, too
			if err != nil {
				return nil, err
			}
			one := keys.find(pem)
			if one == nil {
				return nil, ErrKeyNotActive
			}
			for _, text := range one.texts {
				if !slices.Contains(one.revoked, text) {
					return how.event(reg.ID, text, now)
				}
			}
			return nil, ErrKeyNotActive
		})
		switch {
		case errors.Is(err, ErrKeyNotActive) && done > 0:
			return nil
		case err != nil:
			return fmt.Errorf("revoke a key of %q: %w", reg.ID, err)
		}
	}
}

func (how *Revocation) event(id, text string, now time.Time) ([]byte, error) {
	e := event(id, text, Revoked, now, how.Before...)
	if how.By == nil {
		return e, nil
	}
	signed, err := ownWords(e)
	if err != nil {
		return nil, err
	}
	proof := how.By.Object(id, signed)
	return withProof(e, &proof, []signature.Public{how.By.Public()})
}
