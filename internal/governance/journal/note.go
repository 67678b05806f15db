package journal

import (
	"fmt"
	"hash/maphash"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
)

// note tells what is odd about a good entry.
func (v *verifier) note(e *Entry, seal Seals) {
	by := e.Actor.Instance.Canonical()
	switch seal {
	case SealGood, SealRevoked:
		if len(v.seals) < maxWriters {
			v.seals[by] = true
		}
		if seal == SealRevoked {
			v.tell(e, NoteRevoked, fmt.Sprintf("sealed by %s with a key that was revoked since", e.Actor.Instance))
		}
	case SealNoKey:
		v.tell(e, NoteUnknown, fmt.Sprintf("%s has no key in the registry: nothing proves that it wrote this", e.Actor.Instance))
	case SealElsewhere:
		v.tell(e, NoteForeign, fmt.Sprintf("bears a signature of %s that does not cover the entry", e.Actor.Instance))
	case Unsealed:
		if v.seals[by] {
			v.tell(e, NoteUnsealed, fmt.Sprintf("%s has sealed its earlier entries and not this one: another agent may have written it", e.Actor.Instance))
		}
	}
	v.noteTime(e, by)
	v.noteID(e)
}

// maxIDs is of how many entries the ids are remembered, at some 30 bytes each.
const maxIDs = 500_000

// noteID tells of an id that is there already: who asks for it finds another entry than its writer meant.
func (v *verifier) noteID(e *Entry) {
	if e.ID == "" {
		return
	}
	name := maphash.String(v.seed, e.ID)
	if first, there := v.ids[name]; there {
		v.tell(e, NoteTwice, fmt.Sprintf("has the id of entry %d", first))
	} else if len(v.ids) < maxIDs {
		v.ids[name] = e.Sequence
	}
}

// noteTime compares dates. A clock may be late, so an early date is reported and not a fault; that of one and the same writer
// going back has fewer excuses.
func (v *verifier) noteTime(e *Entry, by address.Instance) {
	at, ok := envelope.ParseTime(e.CreatedAt)
	if !ok {
		return
	}
	switch own := v.last[by]; {
	case !v.c.Now.IsZero() && at.Sub(v.c.Now) > envelope.MaxSkew:
		v.tell(e, NoteFuture, fmt.Sprintf("dated %s, which is %s from now", e.CreatedAt, round(at.Sub(v.c.Now))))
	case !own.IsZero() && own.Sub(at) > envelope.MaxSkew:
		v.tell(e, NoteBackward, fmt.Sprintf("dated %s, %s before an earlier entry of the same writer: back-dated", e.CreatedAt, round(own.Sub(at))))
	case v.latest.Sub(at) > envelope.MaxSkew:
		v.tell(e, NoteBackward, fmt.Sprintf("dated %s, %s before an entry that stands before it: back-dated, or two clocks differ", e.CreatedAt, round(v.latest.Sub(at))))
	}
	if len(v.last) < maxWriters && at.After(v.last[by]) {
		v.last[by] = at
	}
	if at.After(v.latest) {
		v.latest = at
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

func (v *verifier) tell(e *Entry, kind, text string) {
	if len(v.r.Notes) == MaxNotes {
		v.r.More++
		return
	}
	v.r.Notes = append(v.r.Notes, Note{e.Sequence, kind, text})
}
