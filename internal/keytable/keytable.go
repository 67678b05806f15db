// Package keytable verifies Ed25519 signatures under keys that come back.
//
// It promises the verdict that crypto/ed25519 has for the same key, message and signature. Under a key that it was told to have been met
// often it takes half to two thirds of the time: it keeps multiples of that key, so that nothing is doubled any more. How many keys are
// kept, and with them how much memory, is bounded.
//
// Keys, messages and signatures are public, so how long a verdict takes may tell all about them. It is no place for a secret.
package keytable

import (
	"crypto/ed25519"
	"sync"

	"tutti/internal/signature"
)

const (
	most  = 64   // keys that are kept, each with a table of 130 KiB
	worth = 8    // meetings before a table is made: making one takes as long as about five verifications without
	stays = 1000 // the most meetings that count, so that a key which comes no more makes place some time, however often it came
)

// Keys are the keys that were met. The zero value has met none. It can be used by many at a time.
type Keys struct {
	mu  sync.Mutex
	met map[signature.Public]*entry
}

// An entry is a key that was met.
type entry struct {
	times  int
	making bool // a table is being made, or there is one
	table  *table
}

// Verify reports whether sig is a signature of message under key. Nil keys were never met.
func (k *Keys) Verify(key signature.Public, message, sig []byte) bool {
	if t := k.tableOf(key); t != nil {
		return t.verify(message, sig)
	}
	return ed25519.Verify(key[:], message, sig)
}

func (k *Keys) tableOf(key signature.Public) *table {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.met[key]; e != nil {
		return e.table
	}
	return nil
}

// Meet counts something that was found good under a key; the caller knows what is worth counting. Whoever brings a key to its table waits
// until that is made; others verify without it meanwhile.
func (k *Keys) Meet(key signature.Public) {
	if k.count(key) {
		k.keep(key, newTable(key))
	}
}

// count tells whether a table is to be made now. Where there is no room for one more key, each of those that are kept loses a meeting
// instead, and its place with the last of them (the counting of Misra and Gries): a key that has more than its part of the meetings, one in
// most+1, is not put out for long by however many others.
func (k *Keys) count(key signature.Public) (now bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.met[key]; e != nil {
		e.times = min(e.times+1, stays)
		now = e.times >= worth && !e.making
		e.making = e.making || now
		return now
	}
	if k.met == nil {
		k.met = map[signature.Public]*entry{}
	}
	if len(k.met) < most {
		k.met[key] = &entry{times: 1}
		return false
	}
	for other, e := range k.met {
		if e.times--; e.times == 0 {
			delete(k.met, other)
		}
	}
	return false
}

// keep keeps a table if its key still has its place.
func (k *Keys) keep(key signature.Public, t *table) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.met[key]; e != nil {
		e.table = t
	}
}
