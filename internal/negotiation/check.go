package negotiation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/envelope"
	"tutti/internal/journal"
	"tutti/internal/registry"
	"tutti/internal/signature"
	"tutti/internal/store"
)

// A bench is what one judgement of a journal asks of the world: keys, roles, mandates. Each is asked for once.
type bench struct {
	ctx      context.Context
	n        *Negotiations
	people   map[address.Instance]*person
	mandates map[string][]mandate
	tried    int
	depth    int   // of mandates that were given under mandates
	vain     int   // verifications that came to nothing
	err      error // the first one; what was judged since counts for nothing
}

type person struct {
	registered bool
	roles      []string
	keys       journal.Keys
	gone       map[signature.Public]time.Time // when keys were revoked, of those of which it is known
	vain       bool                           // a signature in its name was under none of its keys
}

func (n *Negotiations) bench(ctx context.Context) *bench {
	return &bench{ctx: ctx, n: n, people: map[address.Instance]*person{}, mandates: map[string][]mandate{}}
}

// maxPeople is of how many something is remembered.
const maxPeople = 10_000

func (b *bench) person(i address.Instance) *person {
	c := i.Canonical()
	if p := b.people[c]; p != nil {
		return p
	}
	p := &person{}
	reg, err := b.n.people.Registered(b.ctx, i)
	switch {
	case err == nil:
		p.registered, p.roles = true, reg.Roles
		var keys *registry.Keys
		if keys, err = b.n.people.Keys(b.ctx, i); err == nil {
			p.keys = journal.Keys{Active: latest(keys.Active), Revoked: latest(keys.Revoked)}
			p.gone = keys.RevokedAt()
		}
	case errors.Is(err, registry.ErrNotRegistered):
		err = nil
	}
	if err != nil && b.err == nil {
		b.err = err
	}
	if len(b.people) < maxPeople {
		b.people[c] = p
	}
	return p
}

// maxKeys is how many active and how many revoked keys of one instance are tried: who has more is out to cost others time.
const maxKeys = 16

func latest(keys []signature.Public) []signature.Public { return keys[max(0, len(keys)-maxKeys):] }

// maxTried is how many verifications one judgement makes at most for entries that say nothing reliable: half a second.
const maxTried = 8192

// seal looks at who has sealed an entry.
func (b *bench) seal(e *journal.Entry) journal.Seals {
	keys := b.person(e.Actor.Instance).keys
	if b.tried += max(0, len(keys.Active)+len(keys.Revoked)-1) + 1; b.tried > maxTried && !e.Linked() {
		return journal.SealElsewhere
	}
	return journal.SealOf(e, keys)
}

// A mandate is what somebody was given leave to do.
type mandate struct {
	instance, scope string
	rights          []string
	expires         string
}

// maxMandates is how many artifacts are looked through for a mandate.
const maxMandates = 10_000

// mandate tells why somebody may not do something in the name of a mandate, "" when he may.
func (b *bench) mandate(id string, by address.Instance, scope, act string, at time.Time) (why string) {
	all, known := b.mandates[id]
	if !known {
		b.mandates[id] = nil // nobody gives one in the name of itself
		all = b.findMandates(id)
		if len(b.mandates) < maxPeople {
			b.mandates[id] = all
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("the mandate %s is not among the stabilised artifacts", id)
	}
	for _, m := range all {
		why = m.allows(id, by, scope, act, at)
		if why == "" {
			return ""
		}
	}
	return why
}

// rightAll and rightNegotiate are rights that stand for several: everything, and everything but signing.
const (
	rightAll       = "*"
	rightNegotiate = "negotiate"
)

func (m mandate) allows(id string, by address.Instance, scope, act string, at time.Time) string {
	switch {
	case address.Instance(m.instance).Canonical() != by.Canonical():
		return fmt.Sprintf("the mandate %s is of %s, not of %s", id, m.instance, by)
	case m.scope != scope:
		return fmt.Sprintf("the mandate %s is for %s, and this is about %s", id, m.scope, scope)
	case !slices.Contains(m.rights, act) && !slices.Contains(m.rights, rightAll) && (act == "sign" || !slices.Contains(m.rights, rightNegotiate)):
		return fmt.Sprintf("the mandate %s does not give the right %q", id, act)
	}
	if m.expires != "" {
		if end, ok := envelope.ParseTime(m.expires); !ok || !at.Before(end) {
			return fmt.Sprintf("the mandate %s has expired at %s", id, m.expires)
		}
	}
	return ""
}

// findMandates looks for a mandate among the artifacts that were stabilised. One whose file is not what its name says does not
// count, and neither does one that lies there and that nobody has signed.
func (b *bench) findMandates(id string) (found []mandate) {
	n := 0
	for entry, err := range b.n.store.List(b.ctx, store.Artifact, "") {
		if n++; n > maxMandates {
			break
		}
		if err != nil {
			continue // it is no document, so it is no mandate
		}
		doc, err := b.n.store.Get(b.ctx, entry.Key)
		if err != nil || declaration.KindOf(doc.Data) != "MANDATE" || member(doc.Data, "id") != id {
			continue
		}
		hash, err := canonjson.HashWhole(doc.Data)
		if err != nil || entry.Key.Name != address.Segment(hash) && entry.Key.Name != hashName(hash) || len(declaration.Guard(doc.Data)) > 0 || !b.agreed(hash) {
			continue
		}
		rights, _ := canonjson.Get(doc.Data, "rights")
		m := mandate{instance: member(doc.Data, "instance"), scope: member(doc.Data, "scope"), expires: member(doc.Data, "expiresAt")}
		m.rights, _ = canonjson.Strings(rights)
		found = append(found, m)
	}
	return found
}

// maxGiven is how many mandates are followed that were given under mandates.
const maxGiven = 4

// agreed tells whether an artifact was stabilised: whether there is a negotiation whose journal shows that all have signed it who
// had to. The record only says where to look.
func (b *bench) agreed(hash string) bool {
	if b.depth == maxGiven {
		return false
	}
	b.depth++
	defer func() { b.depth-- }()
	n := 0
	for entry, err := range b.n.store.List(b.ctx, store.Negotiation, "") {
		if n++; n > maxMandates {
			break
		}
		if err != nil {
			continue
		}
		doc, err := b.n.store.Get(b.ctx, entry.Key)
		if err != nil || member(doc.Data, mCurrent) != hash {
			continue
		}
		r, err := ParseRecord(doc.Data)
		if err != nil || stateKey(r.ID) != entry.Key {
			continue
		}
		f := newFold(b, r.ID, r)
		if _, err := b.n.journals.Catch(b.ctx, r.ID, f); err == nil && !f.differ() && f.final != nil && f.final.Done && f.final.Hash == hash {
			return true
		}
	}
	return false
}

// signedText is what the agreed signature covers.
func signedText(hash string) []byte {
	var o canonjson.Object
	o.Str("artifactHash", hash)
	return o.End()
}

// contextText is what the second signature of ours covers, in canonical form.
func contextText(hash, id, scope string, by address.Instance) []byte {
	var o canonjson.Object
	o.Str("artifactHash", hash)
	o.Str("by", string(by))
	o.Str("negotiationId", id)
	o.Str("scope", scope)
	return o.End()
}

func under(o signature.Object, message []byte, keys []signature.Public) bool {
	return slices.ContainsFunc(keys, func(k signature.Public) bool { return o.Verify(message, k) })
}

// check tells what is wrong with a signature, nil for one that counts and of which there is nothing to say. former lets keys
// count that were revoked since: for what was settled already.
func (f *fold) check(s *Signed, former bool) *Judgement {
	if s.verdict == nil {
		v := f.judge(s)
		v.Index, v.By = s.Index, s.By
		s.verdict = &v
	}
	v := *s.verdict
	if v.Code == CodeRevoked && former && f.before(s) {
		v.Counts = true
	}
	if v.Code == "" {
		return nil
	}
	return &v
}

// before tells whether what is being settled can have been so before the key of a signature was revoked, by its own date and
// by what others have vouched for.
func (f *fold) before(s *Signed) bool {
	end, known := f.b.person(s.By).gone[s.under]
	if !known || f.at == "" {
		return true
	}
	for _, date := range []string{f.at, f.witnessed} {
		if at, ok := envelope.ParseTime(date); ok && at.Sub(end) > envelope.MaxSkew {
			return false
		}
	}
	return true
}

func (f *fold) judge(s *Signed) Judgement {
	no := func(code, format string, args ...any) Judgement {
		return Judgement{Code: code, Why: fmt.Sprintf(format, args...)}
	}
	p := f.b.person(s.By)
	switch {
	case !p.registered:
		return no(CodeUnknownKey, "%s is not registered", s.By)
	case len(p.keys.Active)+len(p.keys.Revoked) == 0:
		return no(CodeUnknownKey, "%s has no key in the registry", s.By)
	}
	if kind := f.kindOf(s.Hash); declaration.Signers(kind) != nil && !declaration.MaySign(kind, p.roles...) {
		return no(CodeRole, "%s is registered as %v, and a %s is signed by %v", s.By, p.roles, kind, declaration.Signers(kind))
	}
	if p.vain && f.b.vain > maxTried {
		return no(CodeInvalid, "too many signatures were wrong before: it was not looked at")
	}
	keys, revoked := p.keys.Active, false
	at := s.early.underOne(s, keys)
	if at < 0 {
		keys, revoked = p.keys.Revoked, true
		at = underOne(s, keys)
	}
	if at < 0 {
		p.vain = true
		f.b.vain += len(p.keys.Active) + len(p.keys.Revoked)
		return no(CodeInvalid, "no key of %s has signed %s", s.By, s.Hash)
	}
	s.under = keys[at]
	if s.Context != nil {
		s.Bound = f.record != nil && (!revoked && s.early.bound(f.record.Scope) || under(*s.Context, contextText(s.Hash, f.id, f.record.Scope, s.By), keys))
		if !s.Bound {
			return no(CodeReplayed, "%s made it for another negotiation", s.By)
		}
	}
	if last := f.last(); last != nil && last.Hash != s.Hash && !f.sealedAgain(s) {
		return no(CodeSuperseded, "%s was replaced by %s of entry %d", s.Hash, last.Hash, last.Index)
	}
	switch {
	case revoked:
		return no(CodeRevoked, "the key of %s that made it was revoked", s.By)
	case f.record != nil && f.record.Quorum != nil && f.sameKey(s) != "":
		return no(CodeSameKey, "%s has signed with the same key: of a quorum they are one", f.sameKey(s))
	case !s.Bound && (f.seals(s.By) || f.b.n.Strict):
		if f.sealedAgain(s) {
			return Judgement{Counts: true}
		}
		return no(CodeUnbound, "it covers the artifact alone, so it may have been made for another negotiation")
	case !s.Bound:
		v := no(CodeUnbound, "it covers the artifact alone, so it may have been made for another negotiation")
		v.Counts = true
		return v
	}
	return Judgement{Counts: true}
}

// sameKey is who has signed the same before with the same key, under another name.
func (f *fold) sameKey(s *Signed) address.Instance {
	for i := range f.signed {
		o := &f.signed[i]
		if o.Index >= s.Index || o.Hash != s.Hash || o.who == s.who {
			continue
		}
		if v := f.check(o, false); (v == nil || v.Counts) && o.under == s.under {
			return o.By
		}
	}
	return ""
}

// sealedAgain tells whether a signature was put at its place by the signer himself: only that is a repetition, any other may be
// a copy by somebody else.
func (f *fold) sealedAgain(s *Signed) bool {
	e, err := f.b.n.journals.Entry(f.b.ctx, f.id, s.At)
	return err == nil && e.Sequence == s.Index && e.Linked() && e.NegotiationID == f.id && f.b.seal(e) == journal.SealGood
}

// kindOf is the kind of an artifact that was offered.
func (f *fold) kindOf(hash string) string {
	for _, o := range slices.Backward(f.offers) {
		if o.Hash == hash {
			return o.Kind
		}
	}
	return ""
}

// signersOf are those whose signature of an artifact counts. former: also under keys that were revoked since, and whether there
// was one.
func (f *fold) signersOf(hash string, former bool) (all []address.Instance, rests bool) {
	for i := range f.signed {
		s := &f.signed[i]
		if s.Hash != hash {
			continue
		}
		if v := f.check(s, former); v == nil || v.Counts {
			all = append(all, s.By)
			rests = rests || v != nil && v.Code == CodeRevoked
		}
	}
	return all, rests
}

// winner is the latest offer that all have signed who have to, nil when there is none.
func (f *fold) winner() (*Offered, []address.Instance) {
	if f.record == nil {
		return nil, nil
	}
	for i, o := range slices.Backward(f.offers) {
		signers, _ := f.signersOf(o.Hash, false)
		if f.record.Complete(signers) {
			return &f.offers[i], signers
		}
	}
	return nil, nil
}
