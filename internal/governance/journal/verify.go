package journal

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// Keys are the public keys of one instance: those that may sign now, and those that were revoked. Both are empty for who is not
// registered.
type Keys struct{ Active, Revoked []signature.Public }

// A Pool calls do for 0 to n-1, in any order and several at once, and returns when all have returned. What it runs on is its
// business; nil is one after the other.
type Pool func(n int, do func(i int))

// Checks are what Verify needs beside the journal.
type Checks struct {
	// Keys returns the keys of an instance as of now. nil: signatures are not looked at.
	Keys func(ctx context.Context, by address.Instance) (Keys, error)
	Pool Pool
	Now  time.Time
	// Beside is asked in the pool what else is to be verified of an entry, nil for nothing (nil: of none). What it returns is called
	// in the pool, too, with the keys of the writer, and Also gets the result; nil where the entry is one of too many to be verified.
	Beside func(e *Entry) func(k Keys) any
	// Also is called once for every entry of the chain, in their order (nil: not), also for those with a bad seal.
	Also func(e *Entry, s Seals, beside any)
}

// Seals says what the signatures of an entry prove about its writer.
type Seals uint8

const (
	Unsealed      Seals = iota // no signature by its writer
	SealGood                   // under an active key
	SealRevoked                // under a revoked one
	SealNoKey                  // its writer has no key
	SealElsewhere              // its writer's signature covers something else, as that of an attestation does, or was not looked at
	SealBad                    // under none of the writer's keys, or by somebody else only
)

// What a Note says of an entry that is good by the rules of the chain.
const (
	NoteUnsealed = "unsealed"  // its writer has sealed others here, so somebody else may have written it
	NoteUnknown  = "unknown"   // its writer has no key in the registry, so the signature proves nothing
	NoteRevoked  = "revoked"   // sealed with a key that was revoked since
	NoteForeign  = "foreign"   // it bears a signature of its writer that covers something else than the entry
	NoteBackward = "backdated" // dated before an entry that stands before it
	NoteFuture   = "future"    // dated later than now
	NoteTwice    = "same-id"   // its id is that of an entry before it
)

// A Note is something that a reader should know of an entry and that breaks no rule.
type Note struct {
	Index int
	Kind  string
	Text  string
}

// MaxNotes is how many notes a report holds.
const MaxNotes = 200

// A Report is what Verify found.
type Report struct {
	Entries int    // in the chain: all of the journal unless Bad says that it is broken
	Linked  int    // of these, those that name the entry before
	Sealed  int    // of these, those with a signature of their writer that verified under an active or a revoked key
	Bad     *Fault // the first bad entry
	Broken  bool   // the chain ends there or later, so that nothing behind counts; a bad seal is the fault of one entry
	Notes   []Note
	More    int // notes beyond MaxNotes
	Tip     Tip
}

// OK tells whether no entry is bad.
func (r *Report) OK() bool { return r.Bad == nil }

// batch is how many entries are judged at once: enough that a pool is not waited for often, and at a usual length of an entry
// little memory. Its bytes are limited, too, as an entry may have a mebibyte.
const (
	batch      = 256
	batchBytes = 4 << 20
)

// Verify reads all of a journal, believing no memory, and finds the first bad entry. The error is for a journal or registry
// that cannot be read. Signatures are verified by the pool of c.
func (j *Journal) Verify(ctx context.Context, id string, c Checks) (*Report, error) {
	k, err := KeyOf(id)
	if err != nil {
		return nil, fmt.Errorf("verify the journal of %q: %w", id, err)
	}
	v := &verifier{id: id, c: c, keys: map[address.Instance]Keys{}, last: map[address.Instance]time.Time{}, seals: map[address.Instance]bool{}, ids: map[uint64]int{}, seed: maphash.MakeSeed()}
	if v.c.Pool == nil {
		v.c.Pool = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	next, stop := iter.Pull2(j.log.Read(ctx, k, ""))
	defer stop()
	v.next = next
	v.collect(nil)
	for len(v.lines)+len(v.parsed)+len(v.sealed) > 0 && v.err == nil && !v.r.Broken {
		if err := v.run(ctx); err != nil {
			return nil, err
		}
	}
	if v.err != nil && !v.r.Broken {
		return nil, fmt.Errorf("verify the journal of %q: %w", id, v.err)
	}
	return &v.r, nil
}

// A work is one line on its way through Verify.
type work struct {
	line  store.Line
	unfit string // why it is no entry
	hashed
	own    []signature.Object // those of its signatures that may be its seal
	keys   Keys
	seal   Seals
	beside func(Keys) any
	found  any // what beside has returned
}

type verifier struct {
	id     string
	c      Checks
	r      Report
	next   func() (store.Line, error, bool)
	err    error  // of reading
	lines  []work // what was read, and is to be parsed
	parsed []work // of which the signatures are to be verified
	sealed []work // which is to be judged, in its order
	keys   map[address.Instance]Keys
	tried  int
	last   map[address.Instance]time.Time // the latest date of each writer
	latest time.Time                      // of all of them
	seals  map[address.Instance]bool      // who has sealed an entry
	ids    map[uint64]int                 // the entries by the hashes of their ids
	seed   maphash.Seed
}

// collect reads lines, as many as are judged at once, into the place of others.
func (v *verifier) collect(all []work) {
	old := all
	all = all[:0]
	size := 0
	for len(all) < batch && size < batchBytes && v.err == nil {
		line, err, more := v.next()
		if !more {
			break
		}
		w := work{line: line}
		if len(all) < len(old) {
			w.signed = old[len(all)].signed[:0] // room for the next
		}
		if unfit, ok := errors.AsType[*store.UnfitError](err); ok {
			w.unfit = unfit.Error()
		} else if err != nil {
			v.err = err
			break
		}
		size += len(line.Data)
		all = append(all, w)
	}
	v.lines = all
}

// run takes every batch one step further: what has to be done in order is one task among those that are done side by side.
func (v *verifier) run(ctx context.Context) error {
	lines, parsed, sealed := v.lines, v.parsed, v.sealed
	v.c.Pool(1+len(lines)+len(parsed), func(i int) {
		switch i--; {
		case i < 0:
			v.inOrder(sealed)
			v.collect(sealed)
		case i < len(parsed):
			if v.c.Keys != nil {
				parsed[i].verify()
			}
		default:
			lines[i-len(parsed)].read(&v.c)
		}
	})
	if v.c.Keys != nil {
		for i := range lines {
			if err := v.findKeys(ctx, &lines[i]); err != nil {
				return err
			}
		}
	}
	v.parsed, v.sealed = lines, parsed
	return ctx.Err()
}

// inOrder judges the chain.
func (v *verifier) inOrder(todo []work) {
	for i := range todo {
		rule, why := v.judge(&todo[i])
		if rule == "" {
			continue
		}
		// Of several bad entries the first is told, unless that was a bad seal and this one ends the chain.
		if v.r.Bad == nil {
			v.r.Bad = &Fault{v.id, v.r.Tip.Count, rule, why}
		}
		v.r.Broken = true
		return
	}
}

func (w *work) read(c *Checks) {
	if w.unfit != "" {
		return
	}
	h, err := read(w.line.Data, c.Keys != nil, w.signed)
	if err != nil {
		w.unfit = err.Error()
		return
	}
	h.e.At, h.e.Next = w.line.At, w.line.Next
	h.e.EntryHash()
	w.hashed = h
	w.own = h.e.Own()
	w.own = w.own[:min(len(w.own), maxOwn)]
	if c.Beside != nil && c.Keys != nil {
		w.beside = c.Beside(h.e)
	}
}

func (v *verifier) findKeys(ctx context.Context, w *work) error {
	if w.e == nil || len(w.e.Signatures) == 0 && w.beside == nil {
		return nil
	}
	by := w.e.Actor.Instance.Canonical()
	keys, known := v.keys[by]
	if !known {
		var err error
		if keys, err = v.c.Keys(ctx, w.e.Actor.Instance); err != nil {
			return fmt.Errorf("verify the journal of %q: keys of %s: %w", v.id, by, err)
		}
		if len(v.keys) < maxWriters {
			v.keys[by] = keys
		}
	}
	w.keys = keys
	if v.tried += len(w.own) * (len(keys.Active) + len(keys.Revoked)); v.tried <= maxTried+2*(v.r.Entries+3*batch) {
		return nil
	}
	// Somebody makes this cost much. What we wrote has its seal last, under a key that is in use.
	w.beside = nil
	if w.e.link == nil {
		w.own = nil
	} else if len(w.own) > 0 {
		w.own = w.own[len(w.own)-1:]
		w.keys.Active, w.keys.Revoked = latest(keys.Active), latest(keys.Revoked)
	}
	return nil
}

// latest are the keys that were added last.
func latest(keys []signature.Public) []signature.Public { return keys[max(0, len(keys)-2):] }

const (
	// maxOwn is how many signatures of its writer are tried for one entry: an attestation has two.
	maxOwn = 4
	// maxTried is how many verifications of foreign entries may be in vain, beside two for each entry: a quarter of a second.
	maxTried = 4096
)

// maxWriters is of how many writers something is remembered: a hostile journal could name a new one in each entry.
const maxWriters = 10_000

// verify looks for the seal: a signature of the writer over the whole payload.
func (w *work) verify() {
	if w.e == nil || w.err != nil {
		return
	}
	if w.beside != nil {
		w.found = w.beside(w.keys)
	}
	switch {
	case len(w.own) == 0:
		if w.e.link != nil && len(w.e.Signatures) > 0 {
			w.seal = SealBad // ours are never signed by others alone
		}
		return
	case len(w.keys.Active)+len(w.keys.Revoked) == 0:
		w.seal = SealNoKey
		return
	}
	switch {
	case w.under(w.signed, w.keys.Active):
		w.seal = SealGood
	case w.under(w.signed, w.keys.Revoked):
		w.seal = SealRevoked
	case w.e.link == nil || w.coversBody():
		w.seal = SealElsewhere
	default:
		w.seal = SealBad
	}
}

// coversBody tells whether a signature is one of the body alone, as attestations have.
func (w *work) coversBody() bool {
	body, err := canonjson.Canonical(w.e.Body)
	return err == nil && (w.under(body, w.keys.Active) || w.under(body, w.keys.Revoked))
}

// under tells whether one of the writer's signatures verifies under one of the keys.
func (w *work) under(message []byte, keys []signature.Public) bool {
	for _, o := range w.own {
		if underOne(o, message, keys) {
			return true
		}
	}
	return false
}

func underOne(o signature.Object, message []byte, keys []signature.Public) bool {
	for _, key := range keys {
		if o.Verify(message, key) {
			return true
		}
	}
	return false
}

// judge looks at one entry behind those before it. rule is "" for one that belongs to the chain.
func (v *verifier) judge(w *work) (rule, why string) {
	tip := v.r.Tip
	if w.unfit != "" {
		return RuleLine, w.unfit
	}
	if rule, why := judge(tip, w.e, w.content, w.err); rule != "" {
		return rule, why
	}
	if w.seal == SealBad && v.r.Bad == nil {
		v.r.Bad = &Fault{v.id, tip.Count, RuleSignature, fmt.Sprintf(
			"it says to be by %s, and no key of that instance has signed it: the entry was changed, moved here, or written by somebody else", w.e.Actor.Instance)}
	}
	v.note(w)
	v.r.Tip = w.e.tip()
	v.r.Entries++
	if w.e.Linked() {
		v.r.Linked++
	}
	if w.seal == SealGood || w.seal == SealRevoked {
		v.r.Sealed++
	}
	if v.c.Also != nil {
		v.c.Also(w.e, w.seal, w.found)
	}
	return "", ""
}

// SealOf says what the signatures of one entry prove about its writer, who has these keys.
func SealOf(e *Entry, keys Keys) Seals {
	w := work{hashed: hashed{e: e}, own: e.Own(), keys: keys}
	w.own = w.own[:min(len(w.own), maxOwn)]
	if len(e.Signatures) > 0 {
		_, w.signed, w.err = e.hashes(true)
	}
	w.verify()
	return w.seal
}
