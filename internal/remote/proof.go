package remote

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

// proven looks for a signature among those that say they are the actor's which is one of an active key of it, and returns the key. A key
// that was active when we looked last is good enough here: who puts the envelope looks once more.
func (r *Receiver) proven(ctx context.Context, e *envelope.Envelope, own []signature.Object) (signature.Public, Reason, error) {
	signer := e.Actor.Instance
	last := r.active.of(signer)
	if key, ok := Signed(e, own, last); ok {
		return key, "", nil
	}
	now, err := r.Registry.Keys(ctx, signer.Agent())
	if err != nil {
		return signature.Public{}, NoKey, err
	}
	known := len(last) > 0
	if known && slices.Equal(tried(now.Active), last) { // all were tried
		return signature.Public{}, BadSignature, nil
	}
	key, ok := Signed(e, own, now.Active)
	if ok || known { // and for agents without any proof yet
		r.active.put(signer, now.Active)
	}
	switch {
	case ok:
		return key, "", nil
	case len(now.Active) == 0:
		return key, NoKey, nil
	}
	return key, BadSignature, nil
}

// active are the active keys of those who have sent something good, as they were when they were looked up last.
type active struct {
	mu sync.Mutex
	by map[address.Instance][]signature.Public
}

func (a *active) of(who address.Instance) []signature.Public {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[who.Canonical()]
}

// put takes copies: what it is given may be a small part of something large.
func (a *active) put(who address.Instance, keys []signature.Public) {
	who = address.Instance(strings.Clone(string(who.Canonical())))
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Equal(a.by[who], tried(keys)) {
		return
	}
	if a.by == nil || len(a.by) >= maxSigners {
		a.by = map[address.Instance][]signature.Public{}
	}
	a.by[who] = slices.Clone(tried(keys))
}

// The most verifications that one envelope costs: anybody can add signatures to it, and to an agent that it calls its own keys.
const (
	maxVerified = 64   // of signatures, where there are fewer keys
	maxKeys     = 1024 // the newest count
)

// Signed returns the key under which one of the signatures verifies. Each key is tried with the first signature at least.
func Signed(e *envelope.Envelope, by []signature.Object, keys []signature.Public) (signature.Public, bool) {
	message, err := e.SignedBytes()
	if err != nil {
		return signature.Public{}, false
	}
	left := max(maxVerified, min(len(keys), maxKeys))
	for _, o := range by {
		for _, key := range Newest(keys) {
			if left--; left < 0 {
				return signature.Public{}, false
			}
			if o.Verify(message, key) {
				return key, true
			}
		}
	}
	return signature.Public{}, false
}

// Newest yields the keys of an agent that are tried, the newest first: they are those in use.
func Newest(keys []signature.Public) iter.Seq2[int, signature.Public] {
	return slices.Backward(tried(keys))
}

// tried are those of the keys of an agent that are tried, in the order in which they came.
func tried(keys []signature.Public) []signature.Public { return keys[max(0, len(keys)-maxKeys):] }
