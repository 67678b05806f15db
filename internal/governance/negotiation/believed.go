package negotiation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/journal"
)

// doubt takes the keys away that the user does not believe to be the person's own; all of them, of a name that can look like another one.
func (p *Person) doubt(keys *registry.Keys, wellFormed bool) {
	own := func(all []signature.Public) (yes []signature.Public) {
		for _, key := range all {
			if wellFormed && p.trust.Believed(key) {
				yes = append(yes, key)
			} else {
				p.Keys.Doubted = append(p.Keys.Doubted, key)
			}
		}
		return tried(yes)
	}
	p.Keys.Active, p.Keys.Revoked = own(keys.Active), own(keys.Revoked)
	p.Keys.Doubted = tried(p.Keys.Doubted)
}

// doubts returns why no signature counts under a key that the registry has for an agent, with the code of a Judgement.
func (p *Person) doubts(who address.Instance, key signature.Public) (code, why string) {
	if !address.WellFormed(string(who)) {
		return CodeName, say("the name %s has characters that no address has: it can look like the name of another", who)
	}
	_, why = p.trust.Of(key)
	why = fmt.Sprintf("%s: %s; `tutti keys trust %s` has it count if it is %s's own", who, why, termsafe.Word(string(who)), who)
	if len(p.trust.Pins) > 0 {
		return CodeKeyChanged, why
	}
	return CodeUnproven, why
}

// doubtedSeal is the key under which an entry is sealed that the user does not believe to be its writer's.
func (p *Person) doubtedSeal(e *journal.Entry) signature.Public {
	return sealedUnder(e, p.Keys.Doubted)
}

// sealedUnder is the one of some keys that has sealed an entry, the zero key for none.
func sealedUnder(e *journal.Entry, keys []signature.Public) signature.Public {
	at := slices.IndexFunc(keys, func(key signature.Public) bool {
		return journal.SealOf(e, journal.Keys{Active: []signature.Public{key}}) == journal.SealGood
	})
	if at < 0 {
		return signature.Public{}
	}
	return keys[at]
}

// meets remembers the key of a first contact, once.
func (p *person) meets(key signature.Public) {
	if p.trust.First() && p.met == (signature.Public{}) {
		p.met = key
	}
}

// meetsBy is meets for an agent that has sealed an entry.
func (p *person) meetsBy(e *journal.Entry) {
	if p.trust.First() && p.met == (signature.Public{}) {
		p.met = sealedUnder(e, p.Keys.Active)
	}
}

// pin has the user know the keys that were met, as reading a message does.
func (n *Negotiations) pin(b *bench, now time.Time) error {
	if n.Pins == nil || b.err != nil {
		return nil
	}
	for i, p := range b.people {
		if p.met == (signature.Public{}) {
			continue
		}
		if err := n.Pins.Pin(i, p.met, now); err != nil && !errors.Is(err, trust.ErrPinned) && !errors.Is(err, trust.ErrName) {
			return err
		}
	}
	return nil
}

// mustSeal tells whether a registered agent has a key to seal entries with.
func (p *person) mustSeal() bool { return p.registered && len(p.Keys.Active) > 0 }
