package negotiation

import (
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
	"tutti/internal/store"
)

// A mandate is a permission to act.
type mandate struct {
	instance, scope string
	rights          []string
	expires         string
	givers          []address.Instance // who have signed it
}

// maxMandates is how many artifacts are looked through for a mandate.
const maxMandates = 10_000

// mandate returns why an agent may not act under a mandate, "" when it may.
func (b *bench) mandate(id string, by address.Instance, scope, act string, at time.Time) (why string) {
	all, known := b.mandates[id]
	if !known {
		b.mandates[id] = nil // no agent gives one in its own name
		all = b.findMandates(id)
		if len(b.mandates) < maxPeople {
			b.mandates[id] = all
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("the mandate %s is not among the stabilised artifacts", id)
	}
	for _, m := range all {
		why = m.allows(b, id, by, scope, act, at)
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

// given says why a mandate is not given, "" when it is: an agent other than its holder, which has its scope, has to have signed it. Anyone can
// write any scope into a registration of their own, so that it has to be one that the user has accepted.
func (m mandate) given(b *bench, id string) string {
	why := fmt.Sprintf("the mandate %s was signed by %v, and no one but its holder has %s", id, address.Texts(m.givers), m.scope)
	for _, i := range m.givers {
		p := b.person(i)
		switch {
		case i.Canonical() == address.Instance(m.instance).Canonical() || !slices.Contains(p.Scopes, m.scope):
		case p.accepted:
			return ""
		default:
			why = fmt.Sprintf("the mandate %s was given by %s, whose scopes and roles you have not accepted; `tutti keys trust %s` does", id, i, termsafe.Word(string(i)))
		}
	}
	return why
}

func (m mandate) allows(b *bench, id string, by address.Instance, scope, act string, at time.Time) string {
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
	return m.given(b, id)
}

// findMandates looks for a mandate among the artifacts that were stabilised. One whose file is not what its name says does not
// count, and neither does an unsigned one.
func (b *bench) findMandates(id string) (found []mandate) {
	n := 0
	for entry, err := range b.n.store.List(b.ctx, store.Artifact, "") {
		if n++; n > maxMandates {
			break
		}
		if err != nil {
			continue // it is not a document, so it is not a mandate
		}
		doc, err := b.n.store.Get(b.ctx, entry.Key)
		if err != nil || declaration.KindOf(doc.Data) != "MANDATE" || member(doc.Data, "id") != id {
			continue
		}
		hash, err := canonjson.HashWhole(doc.Data)
		if err != nil || entry.Key.Name != address.Segment(hash) && entry.Key.Name != hashName(hash) || len(declaration.Guard(doc.Data)) > 0 {
			continue
		}
		givers := b.agreed(hash)
		if len(givers) == 0 {
			continue
		}
		rights, _ := canonjson.Get(doc.Data, "rights")
		m := mandate{instance: member(doc.Data, "instance"), scope: member(doc.Data, "scope"), expires: member(doc.Data, "expiresAt"), givers: givers}
		m.rights, _ = canonjson.Strings(rights)
		found = append(found, m)
	}
	return found
}

// maxGiven is how many mandates are followed that were given under mandates.
const maxGiven = 4

// agreed are who have signed an artifact that was stabilised, none for any other: there is a negotiation whose journal shows that all have signed it who
// had to. The record only says where to look.
func (b *bench) agreed(hash string) []address.Instance {
	if f := b.agreedOn(hash); f != nil {
		return f.Signers
	}
	return nil
}

// agreedOn is how an artifact was agreed on, nil for one that was not.
func (b *bench) agreedOn(hash string) *Final {
	if b.depth == maxGiven {
		return nil
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
			return f.final
		}
	}
	return nil
}
