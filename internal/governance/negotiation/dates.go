package negotiation

import (
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/governance/journal"
)

// maxApart is how far two clocks of parties are apart at most. An entry that is dated further ahead tells of a broken clock, or of
// a writer who wants to dispute later what is agreed behind it. Clocks that are an hour wrong, one to each side, are two apart.
const maxApart = 3 * time.Hour

// A dated is a date that an agent has confirmed with its seal.
type dated struct {
	Date  string
	Index int              // of the entry
	By    address.Instance // "": none has
}

// witness takes note of the date of an entry.
func (f *fold) witness(e *journal.Entry) {
	at, ok := envelope.ParseTime(e.CreatedAt)
	if last, known := envelope.ParseTime(f.witnessed.Date); ok && (!known || at.After(last)) {
		f.witnessed = dated{e.CreatedAt, e.Sequence, e.Actor.Instance}
	}
}

// since is when an entry was written at the earliest: not before what others have vouched for.
func (f *fold) since(e *journal.Entry) time.Time {
	at, _ := envelope.ParseTime(e.CreatedAt)
	if seen, ok := envelope.ParseTime(f.witnessed.Date); ok && seen.After(at) {
		return seen
	}
	return at
}

// written is since for agents whose clock may be late.
func (f *fold) written(e *journal.Entry) time.Time {
	at, _ := envelope.ParseTime(e.CreatedAt)
	if seen := f.since(e).Add(-maxApart); seen.After(at) {
		return seen
	}
	return at
}

// untimely tells whether what settles is dated so that it cannot settle: in the future, so that a key that is revoked until then would
// undo it, or long before what stands before it.
func (f *fold) untimely(e *journal.Entry) bool {
	at, ok := envelope.ParseTime(e.CreatedAt)
	if !ok {
		return false
	}
	if !f.b.now.IsZero() && at.Sub(f.b.now) > maxApart {
		f.tell(e, false, CodeAhead, "it is dated %s, which has not come yet", e.CreatedAt)
		return true
	}
	if seen, ok := envelope.ParseTime(f.witnessed.Date); ok && seen.Sub(at) > maxApart {
		f.tell(e, false, CodeAhead, "entry %d of %s, before it, is dated %s: one of the two clocks is wrong", f.witnessed.Index, f.witnessed.By, f.witnessed.Date)
		return true
	}
	return false
}

// clock refuses to agree behind an entry that is dated far ahead: who has written it could say later that the keys of the others were
// revoked by then.
func (f *fold) clock(now time.Time) error {
	at, ok := envelope.ParseTime(f.witnessed.Date)
	if !ok || at.Sub(now) <= maxApart {
		return nil
	}
	return refuse("set the clock; if it is right here, agree in another negotiation (`tutti negotiate open`)",
		"entry %d of %s is dated %s: its clock or the one here is wrong", f.witnessed.Index, f.witnessed.By, f.witnessed.Date)
}

// after tells whether a date of an entry is certainly later than a time, also with a clock that differs. What has no date is, and
// so is everything when the time is not known.
func after(date string, t time.Time) bool {
	at, ok := envelope.ParseTime(date)
	return t.IsZero() || !ok || at.Sub(t) > envelope.MaxSkew
}

// revokedBefore reports whether all former keys of an agent were revoked before a date.
func (p *person) revokedBefore(date string) bool {
	for _, k := range p.Keys.Revoked {
		if t, known := p.Gone[k]; !known || !after(date, t) {
			return false
		}
	}
	return len(p.Keys.Revoked) > 0
}
