package negotiation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

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
	switch {
	case e.Member(mForced) == nil:
	case declaration.KindOf(artifact) == "":
		f.tell(e, true, CodeForced, "an artifact without a kind, such as a plain text: any party may sign it")
	default:
		f.tell(e, true, CodeForced, "offered although the guards refused it: %s", e.Member(mForced))
	}
	f.unguarded(e, artifact)
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

// unguarded tells of an artifact that the guards would have refused, and that was offered without a word.
func (f *fold) unguarded(e *journal.Entry, artifact []byte) {
	if f.told == nil || e.Member(mForced) != nil {
		return
	}
	if faults := guards(artifact); len(faults) > 0 {
		f.tell(e, true, CodeUnguarded, "the guards would have refused it: %s", strings.Join(faults, "; "))
	}
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
		f.tell(e, false, CodeNotOffered, "%s had not been offered", s.Hash)
		return
	}
	if c, has := canonjson.Get(e.Body, "context"); has {
		o, _ := journal.ReadSignature(c)
		s.Context = &o
	}
	if v := f.worse(&s); v != nil {
		v.ID = e.ID
		if f.told != nil {
			f.told(*v)
		}
		return
	}
	f.signed = slices.DeleteFunc(f.signed, func(o Signed) bool { return o.Hash == s.Hash && o.who == s.who })
	f.refusals = slices.DeleteFunc(f.refusals, func(o Signed) bool { return o.who == s.who })
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

// worse returns what is wrong with a signature that must not take the place of an earlier one by the same signer, nil when it
// may: anyone can write one in the name of an agent that has sealed nothing yet.
func (f *fold) worse(s *Signed) *Judgement {
	at := slices.IndexFunc(f.signed, func(o Signed) bool { return o.Hash == s.Hash && o.who == s.who })
	if at < 0 {
		return nil
	}
	if old := f.check(&f.signed[at], false); old != nil && !old.Counts {
		return nil
	}
	if v := f.check(s, false); v != nil && !v.Counts {
		return v
	}
	if f.signed[at].Bound && !s.Bound {
		return &Judgement{Index: s.Index, By: s.By, Code: CodeUnbound, Why: "it covers the artifact alone, and an earlier one by the same signer covers the negotiation, too"}
	}
	return nil
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
		if r.Quorum != nil && !r.impossible([]address.Instance{by}) {
			return "it expires by the clock: who is one of several cannot say so for the others"
		}
		if t, ok := envelope.ParseTime(at); r.end().IsZero() || !ok || !t.After(r.end()) {
			return "it expires when its deadline has passed, and that is " + cmp.Or(r.Deadline, "not set")
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
func (f *fold) settle(e *journal.Entry, seal *journal.Seals, kind string) {
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
	if e.NegotiationID != "" && e.NegotiationID != f.id {
		f.tell(e, false, CodeElsewhere, "it was written for the negotiation %s", e.NegotiationID)
		return
	}
	if seal == nil && len(e.Signatures) > 0 {
		s := f.b.seal(e)
		seal = &s
	}
	if seal != nil && *seal == journal.SealBad {
		f.tell(e, false, CodeForged, "no key of %s has signed it", e.Actor.Instance)
		return
	}
	if by := e.Actor.Instance; f.opening != nil && f.record.Involved(by) && (seal == nil || *seal != journal.SealGood && *seal != journal.SealRevoked) {
		f.tell(e, false, CodeUnsealed, "%s has not sealed it: anyone can have written it", by)
		return
	}
	if f.untimely(e) {
		return
	}
	f.ends = e
	signers, former := f.signersOf(hash, true)
	f.ends = nil
	if f.record == nil || !f.record.Complete(signers) {
		f.tell(e, false, CodeQuorum, "%s has not been signed by all who have to", hash)
		return
	}
	if why := f.against(e, hash, signers); why != "" {
		f.tell(e, false, CodeGated, "%s", why)
		return
	}
	if former {
		f.tell(e, true, CodeFormer, "what was settled rests on a key that was revoked since")
	}
	f.final = &Final{Index: e.Sequence, Hash: hash, Signers: signers, At: e.CreatedAt}
	if kind == bodyStabilized {
		f.final.Done, f.final.DoneIndex, f.final.DoneID = true, e.Sequence, e.ID
	} else {
		f.final.Intent = e.ID
		if len(e.ID) > envelope.MaxID-intentRoom || e.ID == "" { // what follows is called by it
			f.final.Intent = fmt.Sprintf("stabilizing-%d", e.Sequence)
		}
	}
}

// intentRoom is how much longer than an intent the ids are that are made of it.
const intentRoom = 40
