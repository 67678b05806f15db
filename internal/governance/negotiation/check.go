package negotiation

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

// A bench is what one judgement of a journal asks of the world: keys, roles, mandates. Each is asked for once.
type bench struct {
	ctx      context.Context
	n        *Negotiations
	now      time.Time // the zero time where it is not known
	people   map[address.Instance]*person
	mandates map[string][]mandate
	tried    int
	depth    int   // of mandates that were given under mandates
	vain     int   // verifications that came to nothing
	err      error // the first one; what was judged since counts for nothing
}

// A Person is what the registry tells of an instance.
type Person struct {
	Roles   []string // that count for the user
	Claimed []string // that its registration has, and that do not count
	Scopes  []string
	Keys    journal.Keys
	Gone    map[signature.Public]time.Time // when keys were revoked, of those of which it is known

	trust      trust.Keys // as the user knows the keys; empty where the registry decides
	registered bool
	accepted   bool      // the user has accepted its scopes and roles, or the registry decides
	left       error     // it was taken out of service; a *registry.GoneError
	leftAt     time.Time // the zero time where that is not recorded
}

type person struct {
	*Person
	vain bool             // a signature in its name was under none of its keys
	met  signature.Public // of a first contact: the key that something counted under
}

func (n *Negotiations) bench(ctx context.Context, now time.Time) *bench {
	return &bench{ctx: ctx, n: n, now: now, people: map[address.Instance]*person{}, mandates: map[string][]mandate{}}
}

// maxPeople is of how many something is remembered.
const maxPeople = 10_000

func (b *bench) person(i address.Instance) *person {
	c := i.Canonical()
	if p := b.people[c]; p != nil {
		return p
	}
	of, err := PersonOf(b.ctx, b.n.people, b.n.Pins, i)
	p := &person{Person: of}
	if err != nil && b.err == nil {
		b.err = err
	}
	if len(b.people) < maxPeople {
		b.people[c] = p
	}
	return p
}

// PersonOf asks the registry about an instance, and the pins (nil: none) which of its keys are its own. It is never nil: for an
// unregistered instance it is empty. Keys that ended when their owner was retired were revoked then.
func PersonOf(ctx context.Context, people People, pins trust.Memory, i address.Instance) (*Person, error) {
	p := &Person{}
	err := people.Standing(ctx, i)
	if gone, is := errors.AsType[*registry.GoneError](err); is {
		p.left, err = gone, nil
		p.leftAt, _ = envelope.ParseTime(gone.At)
	}
	if err != nil {
		return p, err
	}
	reg, err := people.Registered(ctx, i)
	if errors.Is(err, registry.ErrNotRegistered) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	roles := trust.RolesOf(i, reg, pins)
	p.registered, p.Scopes = true, reg.Scopes
	p.Roles, p.Claimed, p.accepted = roles.Count, roles.Claimed, roles.Accepted
	keys, err := people.Keys(ctx, i)
	if err != nil {
		return p, err
	}
	p.Keys = journal.Keys{Active: tried(keys.Active), Revoked: tried(keys.Revoked)}
	if pins != nil {
		if p.trust, err = trust.KeysOf(ctx, people, pins, i); err != nil {
			return p, err
		}
		p.doubt(keys, address.WellFormed(string(i)))
	}
	p.Gone = keys.RevokedAt()
	for _, k := range p.Keys.Revoked {
		if _, known := p.Gone[k]; !known && !p.leftAt.IsZero() {
			p.Gone[k] = p.leftAt
		}
	}
	return p, nil
}

// here refuses who was taken out of service.
func (b *bench) here(i address.Instance) error {
	if left := b.person(i).left; left != nil {
		return refuse("see `tutti discover`", "%v", left)
	}
	return nil
}

// maxKeys is how many active and how many revoked keys of one instance are tried.
const maxKeys = 16

// tried are the first keys of an instance and the latest ones. Others can have added as many as they like in between, so that
// neither what was signed long ago nor what is signed now is out of reach.
func tried(keys []signature.Public) []signature.Public {
	if len(keys) <= maxKeys {
		return keys
	}
	return slices.Concat(keys[:maxKeys/2], keys[len(keys)-maxKeys/2:])
}

// maxTried is how many verifications one judgement makes at most for entries that say nothing reliable: half a second.
const maxTried = 8192

// seal looks at who has sealed an entry.
func (b *bench) seal(e *journal.Entry) journal.Seals {
	keys := b.person(e.Actor.Instance).Keys
	if b.tried += max(0, len(keys.Active)+len(keys.Revoked)+len(keys.Doubted)-1) + 1; b.tried > maxTried && !e.Linked() {
		return journal.SealElsewhere
	}
	return journal.SealOf(e, keys)
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

// underOne is the place of the key that has signed an artifact, -1 for none.
func underOne(s *Signed, keys []signature.Public) int {
	text := signedText(s.Hash)
	return slices.IndexFunc(keys, func(k signature.Public) bool { return s.Object.Verify(text, k) })
}

func under(o signature.Object, message []byte, keys []signature.Public) bool {
	return slices.ContainsFunc(keys, func(k signature.Public) bool { return o.Verify(message, k) })
}

// check tells what is wrong with a signature, nil for one that counts and of which there is nothing to say. former lets keys
// count that were revoked since: for what was settled already.
func (f *fold) check(s *Signed, former bool) *Judgement {
	v := f.alone(s, former)
	if v != nil && !v.Counts {
		return v
	}
	for i := range f.signed {
		o := &f.signed[i]
		if o.Hash != s.Hash || o.who == s.who || !f.twins(o, s, former) {
			continue
		}
		j := &Judgement{Index: s.Index, By: s.By, Code: CodeSameKey, Why: say("%s has signed with the same key: of a quorum they are one", o.By)}
		if f.record.Quorum == nil {
			j.Why, j.Counts = say("%s has signed with the same key: nothing shows that they are two", o.By), true
			if v != nil {
				j.Why += "; " + v.Why
			}
		}
		return j
	}
	return v
}

// twins tells whether a signature counts in the place of another one, of a quorum, which was made with the same key under
// another name. A signature that covers the negotiation names its signer; any other could be copied.
func (f *fold) twins(o, s *Signed, former bool) bool {
	if f.record == nil {
		return false
	}
	if v := f.alone(o, former); v != nil && !v.Counts || o.under != s.under {
		return false
	}
	return firstOfTwins(o, s) == o
}

// firstOfTwins is the one that counts of two with one key.
func firstOfTwins(a, b *Signed) *Signed {
	if a.Bound != b.Bound {
		if a.Bound {
			return a
		}
		return b
	}
	if a.Index < b.Index {
		return a
	}
	return b
}

// alone is check without a look at the other signatures.
func (f *fold) alone(s *Signed, former bool) *Judgement {
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
	end, known := f.b.person(s.By).Gone[s.under]
	if !known || f.ends == nil || f.hadSettled(s.Index) {
		return true
	}
	return !after(f.ends.CreatedAt, end) && !(f.witnessed.By != "" && after(f.witnessed.Date, end))
}

func (f *fold) judge(s *Signed) Judgement {
	no := func(code, format string, args ...any) Judgement {
		return Judgement{Code: code, Why: say(format, args...)}
	}
	p := f.b.person(s.By)
	switch {
	case !p.registered:
		return no(CodeUnknownKey, "%s is not registered", s.By)
	case len(p.Keys.Active)+len(p.Keys.Revoked)+len(p.Keys.Doubted) == 0:
		return no(CodeUnknownKey, "%s has no key in the registry", s.By)
	}
	if kind := f.kindOf(s.Hash); declaration.Signers(kind) != nil && !declaration.MaySign(kind, p.Roles...) {
		why := p.unfit(s.By, kind)
		if p.claimsToSign(kind) != "" {
			why += "; `" + bare(RoleHint(s.By, kind, p.Claimed)) + "` gives it"
		}
		return no(CodeRole, "%s", why)
	}
	if p.vain && f.b.vain > maxTried {
		return no(CodeInvalid, "too many signatures were wrong before: it was not looked at")
	}
	keys, revoked := p.Keys.Active, false
	at := underOne(s, keys)
	if at < 0 {
		keys, revoked = p.Keys.Revoked, true
		at = underOne(s, keys)
	}
	if n := underOne(s, p.Keys.Doubted); at < 0 && n >= 0 {
		code, why := p.doubts(s.By, p.Keys.Doubted[n])
		return no(code, "%s", why)
	}
	if at < 0 {
		p.vain = true
		f.b.vain += len(p.Keys.Active) + len(p.Keys.Revoked) + len(p.Keys.Doubted)
		return no(CodeInvalid, "no key of %s has signed %s", s.By, s.Hash)
	}
	s.under = keys[at]
	p.meets(s.under)
	if s.Context != nil {
		s.Bound = f.record != nil && under(*s.Context, contextText(s.Hash, f.id, f.record.Scope, s.By), keys)
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
	case !s.Bound && (f.seals(s.By) || f.b.n.Strict || f.opening != nil):
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

// sealedAgain reports whether the signer itself put a signature at its place: only that is a repetition, any other may be a
// copy by another agent.
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
	first := map[signature.Public]*Signed{}
	var valid []*Signed
	for i := range f.signed {
		s := &f.signed[i]
		if s.Hash != hash {
			continue
		}
		if v := f.alone(s, former); v != nil && !v.Counts {
			continue
		}
		valid = append(valid, s)
		if o := first[s.under]; o == nil || firstOfTwins(o, s) == s {
			first[s.under] = s
		}
	}
	for _, s := range valid {
		if f.record != nil && f.record.Quorum != nil && first[s.under] != s {
			continue
		}
		all = append(all, s.By)
		rests = rests || s.verdict.Code == CodeRevoked
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
