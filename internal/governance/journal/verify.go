package journal

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// Keys are the public keys of one instance: those that may sign now, those that were revoked, and those that are registered for
// it and that the reader does not believe to be its own. All are empty for an unregistered instance.
type Keys struct{ Active, Revoked, Doubted []signature.Public }

// Checks are what Verify needs beside the journal.
type Checks struct {
	// Keys returns the keys of an instance as of now. nil: signatures are not looked at.
	Keys func(ctx context.Context, by address.Instance) (Keys, error)
	Now  time.Time
	// Also is called once for every entry of the chain, in their order (nil: not), also for those with a bad seal.
	Also func(e *Entry, s Seals)
}

// Seals says what the signatures of an entry prove about its writer.
type Seals uint8

const (
	Unsealed      Seals = iota // no signature by its writer
	SealGood                   // under an active key
	SealRevoked                // under a revoked one
	SealNoKey                  // its writer has no key
	SealElsewhere              // its writer's signature covers something else, as that of an attestation does, or was not looked at
	SealDoubted                // under a key that the reader does not believe to be the writer's
	SealBad                    // under none of the writer's keys, or only by another agent
)

// What a Note says of an entry that is good by the rules of the chain.
const (
	NoteUnsealed = "unsealed"  // its writer has sealed others here, so another agent may have written it
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

// Verify reads all of a journal and finds the first bad entry. The error is for a journal or registry that cannot be read.
func (j *Journal) Verify(ctx context.Context, id string, c Checks) (*Report, error) {
	fail := func(err error) (*Report, error) { return nil, fmt.Errorf("verify the journal of %q: %w", id, err) }
	k, err := KeyOf(id)
	if err != nil {
		return fail(err)
	}
	v := &verifier{id: id, c: c, keys: map[address.Instance]Keys{}, last: map[address.Instance]time.Time{}, seals: map[address.Instance]bool{}, ids: map[uint64]int{}, seed: maphash.MakeSeed()}
	for line, err := range j.log.Read(ctx, k, "") {
		unfit, is := errors.AsType[*store.UnfitError](err)
		switch {
		case is:
			v.broken(RuleLine, unfit.Error())
		case err != nil:
			return fail(err)
		default:
			err = v.add(ctx, line)
		}
		switch {
		case v.r.Broken:
			return &v.r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return fail(err)
		}
	}
	return &v.r, nil
}

// A work is one entry as Verify sees it.
type work struct {
	e    *Entry
	own  []signature.Object // those of its signatures that may be its seal
	keys Keys
}

type verifier struct {
	id     string
	c      Checks
	r      Report
	keys   map[address.Instance]Keys
	tried  int
	last   map[address.Instance]time.Time // the latest date of each writer
	latest time.Time                      // of all of them
	seals  map[address.Instance]bool      // who has sealed an entry
	ids    map[uint64]int                 // the entries by the hashes of their ids
	seed   maphash.Seed
}

// broken ends the chain. Of several bad entries the first is reported, unless that was a bad seal and this one ends the chain.
func (v *verifier) broken(rule, why string) {
	if v.r.Bad == nil {
		v.r.Bad = &Fault{v.id, v.r.Tip.Count, rule, why}
	}
	v.r.Broken = true
}

// add judges one line behind those before it.
func (v *verifier) add(ctx context.Context, line store.Line) error {
	e, err := parse(line.Data)
	if err != nil {
		v.broken(RuleLine, err.Error())
		return nil
	}
	e.At, e.Next = line.At, line.Next
	if rule, why := judge(v.r.Tip, e); rule != "" {
		v.broken(rule, why)
		return nil
	}
	seal := Unsealed
	if v.c.Keys != nil && len(e.Signatures) > 0 {
		w := newWork(e)
		if err := v.findKeys(ctx, w); err != nil {
			return err
		}
		seal = w.seal()
	}
	if seal == SealBad && v.r.Bad == nil {
		v.r.Bad = &Fault{v.id, v.r.Tip.Count, RuleSignature, fmt.Sprintf(
			"it claims to be by %s, and no key of that instance has signed it: the entry was changed, moved here, or written by another agent", e.Actor.Instance)}
	}
	v.note(e, seal)
	v.r.Tip = e.Tip()
	v.r.Entries++
	if e.Linked() {
		v.r.Linked++
	}
	if seal == SealGood || seal == SealRevoked {
		v.r.Sealed++
	}
	if v.c.Also != nil {
		v.c.Also(e, seal)
	}
	return nil
}

func newWork(e *Entry) *work {
	own := e.Own()
	return &work{e: e, own: own[:min(len(own), maxOwn)]}
}

func (v *verifier) findKeys(ctx context.Context, w *work) error {
	by := w.e.Actor.Instance.Canonical()
	keys, known := v.keys[by]
	if !known {
		var err error
		if keys, err = v.c.Keys(ctx, w.e.Actor.Instance); err != nil {
			return fmt.Errorf("keys of %s: %w", by, err)
		}
		if len(v.keys) < maxWriters {
			v.keys[by] = keys
		}
	}
	w.keys = keys
	if v.tried += len(w.own) * (len(keys.Active) + len(keys.Revoked) + len(keys.Doubted)); v.tried <= maxTried+2*v.r.Entries {
		return nil
	}
	// An attacker makes this cost much. What we wrote has its seal last, under a key that is in use.
	if w.e.link == nil {
		w.own = nil
	} else if len(w.own) > 0 {
		w.own = w.own[len(w.own)-1:]
		w.keys = Keys{latest(keys.Active), latest(keys.Revoked), latest(keys.Doubted)}
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

// seal looks for a signature of the writer over the whole payload.
func (w *work) seal() Seals {
	switch {
	case len(w.own) == 0 && w.e.link != nil && len(w.e.Signatures) > 0:
		return SealBad // ours are never signed by others alone
	case len(w.own) == 0:
		return Unsealed
	case len(w.keys.Active)+len(w.keys.Revoked)+len(w.keys.Doubted) == 0:
		return SealNoKey
	}
	signed, err := w.e.SignedBytes()
	switch {
	case err != nil:
		return Unsealed
	case w.under(signed, w.keys.Active):
		return SealGood
	case w.under(signed, w.keys.Revoked):
		return SealRevoked
	case w.under(signed, w.keys.Doubted):
		return SealDoubted
	case w.e.link == nil || w.coversBody():
		return SealElsewhere
	}
	return SealBad
}

// coversBody tells whether a signature is one of the body alone, as attestations have.
func (w *work) coversBody() bool {
	body, err := canonjson.Canonical(w.e.Body)
	return err == nil && (w.under(body, w.keys.Active) || w.under(body, w.keys.Revoked))
}

// under tells whether one of the writer's signatures verifies under one of the keys.
func (w *work) under(message []byte, keys []signature.Public) bool {
	return slices.ContainsFunc(w.own, func(o signature.Object) bool {
		return slices.ContainsFunc(keys, func(key signature.Public) bool { return o.Verify(message, key) })
	})
}

// SealOf says what the signatures of one entry prove about its writer, who has these keys.
func SealOf(e *Entry, keys Keys) Seals {
	w := newWork(e)
	w.keys = keys
	return w.seal()
}
