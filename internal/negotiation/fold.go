package negotiation

import (
	"bytes"
	"fmt"
	"slices"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/envelope"
	"tutti/internal/journal"
	"tutti/internal/signature"
	"tutti/internal/store"
)

// The members of our entries and the kinds of their bodies.
const (
	mTerms  = "terms"  // in the first entry that we write: what was opened
	mForced = "forced" // what the guards said of an artifact that was offered all the same

	bodySignature   = "signature"
	bodyStabilizing = "stabilizing"
	bodyStabilized  = "stabilized"
	bodyExpired     = "expired"
	bodyAbandoned   = "abandoned"
	bodyEscalation  = "escalation"
)

// An Offered is one artifact that was put before the parties.
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
	Done      bool // the last entry of a stabilisation stands
	DoneIndex int
	DoneID    string
	Intent    string // id of the entry with which ours began
}

const (
	maxOffers  = 64   // so many are remembered; a signature for an older one is for nothing that anybody has before him
	maxSigned  = 4096 // so many signatures of one artifact and its forerunners
	maxSealers = 4096
)

// A fold is what the entries of a journal come to. It is a journal.Fold.
type fold struct {
	b      *bench
	id     string
	record *Record // nil: not known
	rev    string  // names the terms that it was made with

	terms     []byte // of the first entry that holds some
	termsAt   int
	state     State // draft, proposed, countered, or an end that somebody declared
	ended     int   // index of the entry that ended it
	offers    []Offered
	total     int // of all offers
	signed    []Signed
	refusals  []Signed // of the latest offer; only By and Index
	final     *Final
	sealers   set
	witnessed string // the latest date of an entry that was sealed under an active key
	overdue   set    // who has dated an entry after the deadline: none of theirs is early any more

	told func(Judgement) // nil: nobody asks
	at   string          // the date of what settles, while that is judged
}

func newFold(b *bench, id string, r *Record) *fold {
	f := &fold{b: b, id: id}
	if r != nil {
		f.know(r)
	}
	f.clear()
	return f
}

func (f *fold) know(r *Record) {
	f.record = r
	f.rev, _ = canonjson.Hash(r.terms())
}

func (f *fold) clear() {
	f.terms, f.termsAt, f.state, f.ended, f.offers, f.total = nil, 0, Draft, 0, nil, 0
	f.signed, f.refusals, f.final, f.sealers, f.overdue, f.witnessed = nil, nil, nil, set{}, set{}, ""
}

func (f *fold) tell(e *journal.Entry, counts bool, code, format string, args ...any) {
	if f.told != nil {
		f.told(Judgement{e.Sequence, e.ID, e.Actor.Instance, code, fmt.Sprintf(format, args...), counts})
	}
}

// Add judges one entry behind those before it.
func (f *fold) Add(e *journal.Entry) { f.add(e, nil) }

// add is Add for who knows already what the seal of the entry proves.
func (f *fold) add(e *journal.Entry, seal *journal.Seals) {
	if t := e.Member(mTerms); t != nil && f.terms == nil && canonjson.IsObject(t) && e.Linked() {
		f.terms, f.termsAt = bytes.Clone(t), e.Sequence
		if f.record == nil {
			if r, err := fromTerms(t); err == nil {
				f.know(r)
			}
		}
	}
	kind := member(e.Body, "kind")
	artifact, has := canonjson.Get(e.Body, "artifact")
	switch {
	case kind == bodySignature:
		f.sign(e, seal)
	case kind == bodyStabilizing || kind == bodyStabilized:
		f.settle(e, kind)
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
	case s == journal.SealRevoked && strict:
		f.tell(e, false, CodeRevoked, "sealed with a key of %s that was revoked", by)
		return false
	case s == journal.SealGood || s == journal.SealRevoked:
		if len(f.sealers) < maxSealers {
			f.sealers[by.Canonical()] = true
		}
		if s == journal.SealGood {
			f.witness(e.CreatedAt)
		}
	case f.seals(by):
		f.tell(e, false, CodeUnsealed, "%s has sealed its earlier entries and not this one", by)
		return false
	}
	return act == string(Expire) || f.admitTime(e) // what expires does so behind the deadline
}

// seals tells whether an instance has sealed an entry here.
func (f *fold) seals(i address.Instance) bool { return f.sealers.has(i) }

// witness takes note of a date that somebody has vouched for.
func (f *fold) witness(date string) {
	at, ok := envelope.ParseTime(date)
	if last, known := envelope.ParseTime(f.witnessed); ok && (!known || at.After(last)) {
		f.witnessed = date
	}
}

// askAgain forgets what was said of signatures beside which one was taken away.
func (f *fold) askAgain() {
	for i := range f.signed {
		if v := f.signed[i].verdict; v != nil && v.Code == CodeSameKey {
			f.signed[i].verdict = nil
		}
	}
}

func (f *fold) overAt() int {
	if f.final != nil {
		return f.final.Index
	}
	return f.ended
}

func (f *fold) admitWriter(e *journal.Entry, act string) bool {
	if f.record == nil {
		return true // nobody says who the parties are
	}
	by := e.Actor.Instance
	if e.Actor.Mandate != "" {
		at, _ := envelope.ParseTime(e.CreatedAt)
		if why := f.b.mandate(e.Actor.Mandate, by, f.record.Scope, act, at); why != "" {
			f.tell(e, false, CodeMandate, "%s", why)
			return false
		}
		return true
	}
	if !f.record.Involved(by) {
		f.tell(e, false, CodeStranger, "%s is no party and names no mandate", by)
		return false
	}
	return true
}

// admitTime refuses what was written after the deadline. Who has dated an entry after it cannot date a later one before it.
func (f *fold) admitTime(e *journal.Entry) bool {
	if f.record == nil || f.record.end().IsZero() {
		return true
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

func (f *fold) last() *Offered {
	if len(f.offers) == 0 {
		return nil
	}
	return &f.offers[len(f.offers)-1]
}

// offer takes an artifact. What answers a version that was not the latest does not count.
func (f *fold) offer(e *journal.Entry, seal *journal.Seals, artifact []byte) {
	ev := Event(Offer)
	if e.Type == "counter" {
		ev = Counter
	}
	hash, err := canonjson.Hash(artifact)
	if err != nil {
		f.tell(e, false, CodeInvalid, "its artifact has no hash: %v", err)
		return
	}
	if !f.admit(e, seal, string(ev), false) {
		return
	}
	last := f.last()
	switch base := e.BaseArtifactHash; {
	case base != "" && last != nil && base != last.Hash, base != "" && last == nil && base != f.firstBase():
		f.tell(e, false, CodeStale, "it answers %s, which was not the latest offer", base)
		return
	case base == "" && last != nil:
		f.tell(e, true, CodeUnbased, "it does not say which offer it answers")
	}
	to, ok := Next(f.state, ev)
	if !ok {
		to = leads[ev]
		f.tell(e, true, CodeLoose, "%s in the state %s", ev, f.state)
	}
	if e.Member(mForced) != nil {
		f.tell(e, true, CodeForced, "offered although the guards refused it: %s", e.Member(mForced))
	}
	f.state = to
	if last == nil || last.Hash != hash {
		f.signed, f.refusals = nil, nil
	}
	if len(f.offers) == maxOffers {
		f.offers = slices.Delete(f.offers, 0, 1)
	}
	f.total++
	f.offers = append(f.offers, Offered{e.Sequence, e.At, hash, declaration.KindOf(artifact), e.Actor.Instance, e.CreatedAt, ev == Counter, e.BaseArtifactHash})
}

// firstBase is what the first offer may name: what the record builds on.
func (f *fold) firstBase() string {
	if f.record == nil {
		return ""
	}
	return f.record.BaseArtifactHash
}

// sign takes a signature. Whether it counts is looked at when it matters, as verifying costs time.
func (f *fold) sign(e *journal.Entry, seal *journal.Seals) {
	s := Signed{Index: e.Sequence, At: e.At, By: e.Actor.Instance, who: e.Actor.Instance.Canonical(), CreatedAt: e.CreatedAt, Mandate: e.Actor.Mandate, Hash: member(e.Body, "artifactHash")}
	o, _ := canonjson.Get(e.Body, "signature")
	var ok bool
	if s.Object, ok = journal.ReadSignature(o); !ok || s.Hash == "" {
		f.tell(e, false, CodeInvalid, "it holds no signature")
		return
	}
	if address.Instance(s.Object.By).Canonical() != s.By.Canonical() {
		f.tell(e, false, CodeSigner, "the signature is by %s", s.Object.By)
		return
	}
	if !f.admit(e, seal, "sign", false) {
		return
	}
	if f.record != nil && !f.record.MaySign(s.By) {
		f.tell(e, false, CodeStranger, "the agreement does not ask for a signature of %s", s.By)
		return
	}
	if !slices.ContainsFunc(f.offers, func(o Offered) bool { return o.Hash == s.Hash }) {
		f.tell(e, false, CodeNotOffered, "nobody had offered %s", s.Hash)
		return
	}
	if c, has := canonjson.Get(e.Body, "context"); has {
		o, _ := journal.ReadSignature(c)
		s.Context = &o
	}
	f.signed = slices.DeleteFunc(f.signed, func(o Signed) bool { return o.Hash == s.Hash && o.who == s.who })
	f.refusals = slices.DeleteFunc(f.refusals, func(o Signed) bool { return o.who == s.who })
	f.askAgain()
	if len(f.signed) == maxSigned {
		return
	}
	f.signed = append(f.signed, s)
	if f.told != nil {
		if v := f.check(&f.signed[len(f.signed)-1], false); v != nil {
			v.ID = e.ID
			f.told(*v)
		}
	}
}

// refuse takes a rejection. It ends the negotiation when no agreement can come about without who rejects.
func (f *fold) refuse(e *journal.Entry, seal *journal.Seals) {
	if !f.admit(e, seal, string(Reject), true) {
		return
	}
	by := e.Actor.Instance
	who := by.Canonical()
	f.signed = slices.DeleteFunc(f.signed, func(o Signed) bool { return o.who == who })
	f.refusals = slices.DeleteFunc(f.refusals, func(o Signed) bool { return o.who == who })
	f.askAgain()
	if len(f.refusals) < maxSigned {
		f.refusals = append(f.refusals, Signed{Index: e.Sequence, By: by, who: who, CreatedAt: e.CreatedAt})
	}
	if f.record == nil || f.record.impossible(f.refusers()) {
		f.finish(e, Reject)
	}
}

func (f *fold) refusers() []address.Instance {
	var all []address.Instance
	for _, r := range f.refusals {
		all = append(all, r.By)
	}
	return all
}

// end takes what ends a negotiation.
func (f *fold) end(e *journal.Entry, seal *journal.Seals, ev Event) {
	if !f.admit(e, seal, string(ev), true) {
		return
	}
	if why := f.mayEnd(e.Actor.Instance, ev, e.CreatedAt); why != "" {
		f.tell(e, false, CodeNotTheirs, "%s", why)
		return
	}
	f.finish(e, ev)
}

// mayEnd tells why an instance may not end the negotiation in that way, "" when it may. Who is one of several of whom some are
// enough cannot end it for the others.
func (f *fold) mayEnd(by address.Instance, ev Event, at string) string {
	r, last := f.record, f.last()
	if r == nil {
		return ""
	}
	switch ev {
	case Withdraw:
		if last != nil && last.By.Canonical() != by.Canonical() {
			return fmt.Sprintf("the latest offer is by %s, who alone may withdraw it", last.By)
		}
	case Abandon:
		if r.Quorum != nil && !r.impossible([]address.Instance{by}) {
			return fmt.Sprintf("the agreement can come about without %s, who may not end it for the others", by)
		}
	case Expire:
		if t, ok := envelope.ParseTime(at); r.end().IsZero() || !ok || !t.After(r.end()) {
			return "it expires when its deadline has passed, and that is " + firstOf(r.Deadline, "not set")
		}
	}
	return ""
}

func (f *fold) finish(e *journal.Entry, ev Event) {
	to, ok := Next(f.state, ev)
	if !ok {
		to = leads[ev]
		f.tell(e, true, CodeLoose, "%s in the state %s", ev, f.state)
	}
	f.state, f.ended = to, e.Sequence
}

// settle takes the word that everybody has signed, and looks whether they have. Who says it does not matter.
func (f *fold) settle(e *journal.Entry, kind string) {
	hash := member(e.Body, "artifactHash")
	if f.final != nil {
		switch {
		case kind == bodyStabilized && f.final.Hash == hash && !f.final.Done:
			f.final.Done, f.final.DoneIndex, f.final.DoneID = true, e.Sequence, e.ID
		default:
			f.tell(e, false, CodeOver, "the negotiation was settled with entry %d", f.final.Index)
		}
		return
	}
	if f.state.Terminal() {
		f.tell(e, false, CodeOver, "the negotiation was over with entry %d", f.ended)
		return
	}
	f.at = e.CreatedAt
	signers, former := f.signersOf(hash, true)
	f.at = ""
	if f.record == nil || !f.record.Complete(signers) {
		f.tell(e, false, CodeQuorum, "%s has not been signed by all who have to", hash)
		return
	}
	if former {
		f.tell(e, true, CodeFormer, "what was settled rests on a key that was revoked since")
	}
	f.final = &Final{Index: e.Sequence, Hash: hash, Signers: signers}
	if kind == bodyStabilized {
		f.final.Done, f.final.DoneIndex, f.final.DoneID = true, e.Sequence, e.ID
	} else {
		f.final.Intent = e.ID
	}
}
