package negotiation

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// The members of our entries and the kinds of their bodies.
const (
	mTerms  = "terms"  // in the first entry that we write: what was opened
	mForced = "forced" // what the guards said of an artifact that was offered all the same

	bodyOpened      = "opened"
	bodySignature   = "signature"
	bodyStabilizing = "stabilizing"
	bodyStabilized  = "stabilized"
	bodyExpired     = "expired"
	bodyAbandoned   = "abandoned"
	bodyEscalation  = "escalation"
)

// An Offered is one artifact that was offered to the parties.
type Offered struct {
	Index     int
	At        store.Pos
	Hash      string
	Kind      string // "" where it names none
	By        address.Instance
	CreatedAt string
	Counter   bool
	Base      string // of the offer that it answers
}

// A Signed is one signature in the journal.
type Signed struct {
	Index     int
	At        store.Pos
	Hash      string
	By        address.Instance
	CreatedAt string
	Mandate   string
	Object    signature.Object
	Context   *signature.Object // nil: it covers the artifact alone
	verdict   *Judgement        // what checking said; nil: not checked yet
	who       address.Instance  // By in its canonical form
	under     signature.Public  // the key that has made it, of one that was verified
	Bound     bool              // to this negotiation; of one that counts
}

// A Final is the point from which a negotiation is settled.
type Final struct {
	Index     int // of the entry that says so first
	Hash      string
	Signers   []address.Instance
	At        string // its date
	Done      bool   // the last entry of a stabilisation stands
	DoneIndex int
	DoneID    string
	Intent    string // id of the entry with which ours began
}

const (
	maxOffers  = 64   // so many are remembered; a signature for an older one is for nothing that anybody has before him
	maxSigned  = 4096 // so many signatures of one artifact and its forerunners
	maxSealers = 4096
	maxVoid    = 50
)

// A fold is what the entries of a journal come to. It is a journal.Fold.
type fold struct {
	b      *bench
	id     string
	given  *Record // what state.json holds; nil: nothing that can be read
	record *Record // what is judged by; nil: not known

	opening   *Opening          // nil: it was not opened under a seal
	altered   bool              // state.json holds other terms than the opening
	seen      Seen              // how far this user had read it before
	intact    bool              // what this user had read before still stands
	late      map[int]time.Time // see Seen
	lastAt    Pos               // where the last entry begins
	terms     []byte            // of the first entry that holds some
	termsAt   int
	state     State // draft, proposed, countered, or a declared end
	ended     int   // index of the entry that ended it
	offers    []Offered
	total     int // of all offers
	signed    []Signed
	refusals  []Signed // of the latest offer; only By and Index
	final     *Final
	sealers   set
	witnessed dated // the latest date of an entry that was sealed under an active key
	overdue   set   // who has dated an entry after the deadline: none of theirs is early any more

	void []Judgement // entries that do not count and that a viewer of the negotiation has to know

	told  func(Judgement) // nil: not checked
	ends  *journal.Entry  // what settles, while that is judged
	court *court          // what is demanded before a settlement; nil: not asked yet
}

func newFold(b *bench, id string, r *Record) *fold {
	f := &fold{b: b, id: id, given: r}
	f.Reset()
	return f
}

// Reset makes the fold what it is before the first entry.
func (f *fold) Reset() {
	f.terms, f.termsAt, f.state, f.ended, f.offers, f.total = nil, 0, Draft, 0, nil, 0
	f.late = maps.Clone(f.seen.Late)
	if f.late == nil {
		f.late = map[int]time.Time{}
	}
	f.record, f.opening, f.altered, f.court, f.void = f.given, nil, false, nil, nil
	f.signed, f.refusals, f.final, f.sealers, f.overdue, f.witnessed = nil, nil, nil, set{}, set{}, dated{}
}

// suspect are the codes of entries that may have been written in the name of another agent, or too late: show names them, too.
var suspect = []string{CodeKeyChanged, CodeUnproven, CodeUnsealed, CodeForged, CodeLate, CodeOver}

func (f *fold) tell(e *journal.Entry, counts bool, code, format string, args ...any) {
	j := Judgement{e.Sequence, e.ID, e.Actor.Instance, code, say(format, args...), counts}
	if !counts && slices.Contains(suspect, code) && len(f.void) < maxVoid {
		f.void = append(f.void, j)
	}
	if f.told != nil {
		f.told(j)
	}
}

// Add judges one entry behind those before it.
func (f *fold) Add(e *journal.Entry) { f.add(e, nil) }

// add is Add for callers that already know what the seal of the entry proves.
func (f *fold) add(e *journal.Entry, seal *journal.Seals) {
	f.lastAt = e.At
	f.backdated(e)
	kind := member(e.Body, "kind")
	if f.terms == nil && kind != bodyOpened {
		f.addTerms(e)
	}
	artifact, has := canonjson.Get(e.Body, "artifact")
	switch {
	case kind == bodyOpened:
		f.opens(e, seal)
	case kind == bodySignature:
		f.sign(e, seal)
	case kind == bodyStabilizing || kind == bodyStabilized:
		f.settle(e, seal, kind)
	case (e.Type == "propose" || e.Type == "counter") && has:
		f.offer(e, seal, artifact)
	case e.Type == "reject":
		f.refuse(e, seal)
	case e.Type == "withdraw":
		f.end(e, seal, Withdraw)
	case e.Type == "event" && kind == bodyExpired:
		f.end(e, seal, Expire)
	case e.Type == "event" && kind == bodyAbandoned:
		f.end(e, seal, Abandon)
	}
}

// addTerms takes the terms that an entry holds, of one of ours.
func (f *fold) addTerms(e *journal.Entry) {
	t := e.Member(mTerms)
	if t == nil || !canonjson.IsObject(t) || !e.Linked() {
		return
	}
	f.terms, f.termsAt = bytes.Clone(t), e.Sequence
	if f.record == nil {
		if r, err := fromTerms(t); err == nil {
			f.record = r
		}
	}
}

// admit looks at what holds for every entry that moves something: who wrote it, when, and whether it is not too late.
func (f *fold) admit(e *journal.Entry, seal *journal.Seals, act string, strict bool) bool {
	if f.final != nil || f.state.Terminal() {
		f.tell(e, false, CodeOver, "the negotiation was over with entry %d", f.overAt())
		return false
	}
	if e.NegotiationID != "" && e.NegotiationID != f.id {
		f.tell(e, false, CodeElsewhere, "it was written for the negotiation %s", e.NegotiationID)
		return false
	}
	if !f.admitWriter(e, act) {
		return false
	}
	if p := f.b.person(e.Actor.Instance); p.left != nil && after(e.CreatedAt, p.leftAt) && !f.hadSettled(e.Sequence) {
		f.tell(e, false, CodeGone, "%v", p.left)
		return false
	}
	s := journal.Unsealed
	if seal != nil {
		s = *seal
	} else if len(e.Signatures) > 0 {
		s = f.b.seal(e)
	}
	by := e.Actor.Instance
	switch {
	case s == journal.SealBad:
		f.tell(e, false, CodeForged, "no key of %s has signed it", by)
		return false
	case s == journal.SealDoubted:
		p := f.b.person(by)
		code, why := p.doubts(by, p.doubtedSeal(e))
		f.tell(e, false, code, "%s", why)
		return false
	case s == journal.SealRevoked && (strict || f.b.person(by).revokedBefore(e.CreatedAt) && !f.hadSettled(e.Sequence)):
		f.tell(e, false, CodeRevoked, "sealed with a key of %s that was revoked", by)
		return false
	case s == journal.SealGood || s == journal.SealRevoked:
		if len(f.sealers) < maxSealers {
			f.sealers[by.Canonical()] = true
		}
	case f.seals(by):
		f.tell(e, false, CodeUnsealed, "%s has sealed its earlier entries and not this one", by)
		return false
	case f.opening != nil:
		f.tell(e, false, CodeUnsealed, "the negotiation was opened under a seal, and %s has not sealed this entry: anyone can have written it", by)
		return false
	case strict && f.b.person(by).mustSeal():
		f.tell(e, false, CodeUnsealed, "it ends the negotiation in the name of %s, which has a key and has not sealed it: anyone can have written it", by)
		return false
	}
	if act == string(Expire) { // it does so behind the deadline
		return true
	}
	if !f.admitTime(e) {
		return false
	}
	if s == journal.SealGood {
		f.witness(e)
		f.b.person(by).meetsBy(e)
	}
	return true
}

// seals tells whether an instance has sealed an entry here.
func (f *fold) seals(i address.Instance) bool { return f.sealers.has(i) }

func (f *fold) overAt() int {
	if f.final != nil {
		return f.final.Index
	}
	return f.ended
}

func (f *fold) admitWriter(e *journal.Entry, act string) bool {
	if f.record == nil {
		return true // the parties are unknown
	}
	by := e.Actor.Instance
	if e.Actor.Mandate != "" {
		if why := f.b.mandate(e.Actor.Mandate, by, f.record.Scope, act, f.written(e)); why != "" {
			f.tell(e, false, CodeMandate, "%s", why)
			return false
		}
		return true
	}
	if !f.record.Involved(by) {
		f.tell(e, false, CodeStranger, "%s is not a party and names no mandate", by)
		return false
	}
	return true
}

// admitTime refuses what was written after the deadline. Who has dated an entry after it cannot date a later one before it.
func (f *fold) admitTime(e *journal.Entry) bool {
	if f.record == nil || f.record.end().IsZero() {
		return true
	}
	if when := f.tooLate(e); !when.IsZero() {
		f.tell(e, false, CodeLate, "dated %s, but it was not there yet when you read the journal at %s, after the deadline %s", e.CreatedAt, envelope.Stamp(when), f.record.Deadline)
		return false
	}
	at, ok := envelope.ParseTime(e.CreatedAt)
	if ok && !at.After(f.record.end()) && !f.overdue.has(e.Actor.Instance) {
		return true
	}
	if !ok || !at.After(f.record.end()) {
		f.tell(e, false, CodeLate, "dated %s, but its writer had dated an earlier entry after the deadline %s", e.CreatedAt, f.record.Deadline)
		return false
	}
	if len(f.overdue) < maxSealers {
		f.overdue[e.Actor.Instance.Canonical()] = true
	}
	f.tell(e, false, CodeLate, "dated %s, and the deadline was %s", e.CreatedAt, f.record.Deadline)
	return false
}
