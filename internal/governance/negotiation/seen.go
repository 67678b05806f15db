package negotiation

import (
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/governance/journal"
)

// Seen is how far this user had read a negotiation. It is kept outside the bus, where other agents do not write: by it, a journal that was put
// back, and an entry that bears an earlier date than it can have, are found.
type Seen struct {
	Count   int       `json:"entries"`           // of the journal
	Entry   string    `json:"lastEntry"`         // hash of the last of them
	At      Pos       `json:"at,omitempty"`      // where that begins
	When    time.Time `json:"when"`              // when it was read
	State   State     `json:"state"`             //
	Settled string    `json:"settled,omitempty"` // hash of the artifact that was agreed on
	// Late are entries, by their index, that were not there yet at that time, though they bear an earlier date.
	Late map[int]time.Time `json:"late,omitempty"`
}

// maxLate is of how many entries it is remembered that they came late.
const maxLate = 1000

// A Memory keeps what was seen of the negotiations of one bus. Its methods may be called by several goroutines at once.
type Memory interface {
	// Last returns what was seen last, the zero Seen when nothing was.
	Last(id string) (Seen, error)
	Keep(id string, s Seen) error
	// Path names the file for people, who can remove it.
	Path(id string) string
}

// recall asks what this user had seen, and looks whether the journal still has it.
func (p *place) recall() error {
	f := p.f
	m := f.b.n.Seen
	if m == nil {
		return nil
	}
	seen, err := m.Last(p.id)
	if err != nil || seen.Count == 0 {
		return err
	}
	f.seen = seen
	e, err := f.b.n.journals.Entry(f.b.ctx, p.id, seen.At)
	f.intact = err == nil && seen.is(e)
	if f.intact {
		return nil
	}
	for e, err := range f.b.n.journals.Read(f.b.ctx, p.id) { // another store has other places
		if err != nil {
			break // reading the journal itself reports it
		}
		if e.Sequence == seen.Count-1 {
			f.intact = seen.is(e)
			break
		}
	}
	return nil
}

// is tells whether an entry is the last one that was seen.
func (s Seen) is(e *journal.Entry) bool { return e.Sequence == s.Count-1 && e.EntryHash() == s.Entry }

// lost says what was taken away of what this user had read, "" for nothing.
func (p *place) lost() string {
	seen := p.f.seen
	if seen.Count == 0 || p.f.intact {
		return ""
	}
	was := fmt.Sprintf("on %s you had read %d entries of it", seen.When.Local().Format("2006-01-02 15:04"), seen.Count)
	if seen.Settled != "" {
		was += ", by which it was settled"
	}
	now := "other ones are there now: it was written anew"
	if p.tip.Count < seen.Count {
		now = fmt.Sprintf("%d are there now: it was put back to an earlier state", p.tip.Count)
	}
	return fmt.Sprintf("%s, and %s. If you put it back yourself, remove %s and look again", was, now, p.f.b.n.Seen.Path(p.id))
}

// keep remembers how far this user has read now. A journal that has lost something is not remembered, so that each look reports it.
func (p *place) keep(now time.Time) {
	f := p.f
	m := f.b.n.Seen
	if m == nil || p.tip.Count == 0 || now.IsZero() || p.lost() != "" {
		return
	}
	s := Seen{Count: p.tip.Count, Entry: p.tip.EntryHash, At: f.lastAt, When: now, Late: f.late}
	s.State, _ = p.state(now)
	if f.final != nil {
		s.Settled = f.final.Hash
	}
	end := f.record.endOf()
	overdue := !end.IsZero() && now.After(end) && !f.seen.When.After(end)
	if s.Count == f.seen.Count && s.State == f.seen.State && !overdue {
		return
	}
	_ = m.Keep(p.id, s) // what could not be remembered now is remembered by the next look
}

// hadSettled tells whether this user has seen the negotiation settled, by entries that are all there still: what is written into the registry
// afterwards does not change it.
func (f *fold) hadSettled(index int) bool {
	return f.intact && f.seen.Settled != "" && index < f.seen.Count
}

// backdated tells of an entry that was not there yet when this user last read the journal, and is dated before.
func (f *fold) backdated(e *journal.Entry) {
	at, ok := envelope.ParseTime(e.CreatedAt)
	if !ok {
		return
	}
	if end := f.record.endOf(); f.intact && e.Sequence >= f.seen.Count && len(f.late) < maxLate {
		if f.seen.When.Sub(at) > maxApart || !end.IsZero() && !at.After(end) && f.seen.When.After(end) {
			f.late[e.Sequence] = f.seen.When
		}
	}
	if when := f.late[e.Sequence]; when.Sub(at) > maxApart {
		f.tell(e, true, CodeBackdated, "it is dated %s, and was not there yet when you read the journal at %s", e.CreatedAt, envelope.Stamp(when))
	}
}

// tooLate is when this user had read the journal after the deadline and without the entry, whatever its date says; the zero time: never.
func (f *fold) tooLate(e *journal.Entry) time.Time {
	if when := f.late[e.Sequence]; when.After(f.record.end()) {
		return when
	}
	return time.Time{}
}

// endOf is end, also where there is no record.
func (r *Record) endOf() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.end()
}

// untold lists what cannot be known from the files of a negotiation.
func (p *place) untold() (all []string) {
	f := p.f
	switch {
	case f.opening != nil:
	case f.terms == nil:
		all = append(all, "the negotiation was opened without a seal, and no entry holds its terms yet: anyone who can write the bus can change them")
	default:
		all = append(all, fmt.Sprintf("the negotiation was opened without a seal: whether its terms were changed before entry %d", f.termsAt))
	}
	if f.b.n.Seen != nil && f.seen.Count == 0 {
		all = append(all, "you had not read it before: whether it was put back to an earlier state")
	}
	return all
}
