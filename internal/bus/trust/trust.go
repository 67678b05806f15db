// Package trust says in one of five words how far an envelope can be believed to be from whom it says, and remembers for one
// user which key each agent was first met with.
//
// A registry says which keys an agent has, but anyone who can write the bus can write the registry. A pin is the user's own
// memory: it is kept in the user's state folder, never on a bus. The first key that an envelope of an agent verifies under is
// pinned by the caller; from then on another key, registered or not, is not accepted until a person has confirmed it, or the
// registry has a proof by the pinned key, or by one that it has signed: [KeysOf] finds these. Without a pin a key that was
// added later needs such a proof by a key with which the agent began. A key that was revoked is not accepted, pinned or not: a
// forged revocation can silence an agent, but not speak for it.
//
// A sender whose name is not [address.WellFormed] is never verified and never pinned: the name can look like that of another agent.
//
// The pins have a limit that strangers cannot use up: when it is reached, keys that were only met are forgotten, never those that a person
// trusted.
//
// The judgement is a pure function. It is made at each look, because pins and keys change while envelopes do not.
package trust

import (
	"context"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// A Word is the verdict on an envelope's origin. The zero Word is not a verdict.
type Word uint8

// The words.
const (
	_ Word = iota
	// Verified: a signature of the sender verifies under a pinned key, or one that a pinned key has proven.
	Verified
	// NewKey: it verifies under a registered key, and the sender has no pin yet. The caller pins it.
	NewKey
	// KeyChanged: it verifies under a registered key, and another one is pinned; or that key was added without a proof.
	KeyChanged
	// Unsigned: there is no signature at all.
	Unsigned
	// BadSignature: there is a signature, and none that proves anything.
	BadSignature
)

var words = [...]string{"no verdict", "verified", "new key", "key changed", "unsigned", "bad signature"}

func (w Word) String() string {
	if int(w) >= len(words) {
		return words[0]
	}
	return words[w]
}

// A Verdict is a word with what led to it.
type Verdict struct {
	Word Word
	// Key is the key that a signature of the sender verified under; the zero key when there is none.
	Key signature.Public
	// Detail is the reason for people, "" where the word says it all. It holds no text of the sender.
	Detail string
	// RoleNotRegistered is for the caller to set, from the function of that name: Judge is not told of roles.
	RoleNotRegistered bool
	// User: it is this user's own word, signed at a terminal with a key that the user bound and that is here. It is for the caller to set.
	User bool
	// Gone: the sender was taken out of service, whatever its signature is worth.
	Gone bool
	// AddressedTo is whom the message was addressed to where that is not its reader, else "". It is for the caller to set.
	AddressedTo address.Instance
}

// Counts reports whether the message is one of its sender to this reader: signed with a key that is pinned, or met for the first
// time, and not addressed to another one. Nothing but this makes a message count as signed.
func (v *Verdict) Counts() bool {
	return (v.Word == Verified || v.Word == NewKey) && v.AddressedTo == ""
}

// Said is the verdict in words. For a message that was addressed to another agent it says so instead of "verified".
func (v *Verdict) Said() string {
	if v.AddressedTo == "" {
		return v.Word.String()
	}
	elsewhere := "addressed to " + address.Shown(string(v.AddressedTo)) + ", not to you"
	if v.Word == Verified || v.Word == NewKey {
		return elsewhere
	}
	return v.Word.String() + ", " + elsewhere
}

// Remark is what a reader should know of the verdict beside what is Said, "" when that says it all.
func (v *Verdict) Remark() string {
	switch {
	case v.AddressedTo != "" && (v.Word == Verified || v.Word == NewKey):
		return "its signature is valid, and for another recipient: it was not sent to you"
	case v.Word == Verified:
		return ""
	}
	return v.Detail
}

// Keys is what there is to know of an agent's keys: those the registry has as active and as revoked, those that the user has pinned, and
// those that are proven: by the pinned ones or, without any, by those that the agent began with. Of an agent that is Gone none counts.
type Keys struct {
	Active, Revoked, Pins []signature.Public
	Proven                []registry.OwnKey
	Gone                  bool
}

// A Memory is which keys a user has pinned for an agent. *Pins is one.
type Memory interface {
	Get(i address.Instance) ([]signature.Public, bool)
	Err() error
}

// People are who is registered, with which keys. A *registry.Registry is one.
type People interface {
	Keys(ctx context.Context, i address.Instance) (*registry.Keys, error)
}

// KeysOf finds what there is to know of an agent's keys. It is the one place where keys of the registry meet the pins of a user: whose
// signature something bears is judged by what it returns, for mail, agreements, instructions and answers alike. A subagent has the keys of
// its agent and no others, whatever is registered under its name.
func KeysOf(ctx context.Context, people People, pins Memory, who address.Instance) (Keys, error) {
	who = who.Agent()
	keys, err := people.Keys(ctx, who)
	if err != nil {
		return Keys{}, err
	}
	pinned, ok := pins.Get(who)
	if !ok {
		if err := pins.Err(); err != nil { // then it is unknown whether a key is new
			return Keys{}, err
		}
	}
	return By(keys, pinned), nil
}

// By is KeysOf for a caller that has read the registry and the pins already.
func By(keys *registry.Keys, pinned []signature.Public) Keys {
	k := Keys{Active: keys.Active, Revoked: keys.Revoked, Pins: pinned}
	if len(pinned) == 0 {
		pinned = keys.First()
	}
	k.Proven = keys.Own(pinned)
	return k
}

// Believed tells whether a key is the agent's own to this user: pinned, proven by a pinned one, or one of a first contact.
func (k Keys) Believed(key signature.Public) bool {
	return slices.Contains(k.Pins, key) || slices.ContainsFunc(k.Proven, func(o registry.OwnKey) bool { return o.Key == key })
}

// MaxKeys is how many keys of a sender are tried. An agent has one, or a few after it was given new ones; without a limit who
// can write the registry could cost each reader minutes of verifying. A signature under a key beyond it is a bad one.
const MaxKeys = 64

// All returns every key that can decide a verdict, each once, in the order in which they are tried, and at most MaxKeys. It is
// what an index of verified envelopes is made with.
func (k Keys) All() []signature.Public {
	all := make([]signature.Public, 0, min(len(k.Pins)+len(k.Active)+len(k.Revoked), MaxKeys))
	for _, list := range [][]signature.Public{k.Pins, k.Active, k.Revoked} {
		for _, key := range list {
			if len(all) == MaxKeys {
				return all
			}
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	return all
}

// uncovered is the verdict on an envelope with members that no signature covers.
var uncovered = Verdict{Word: BadSignature, Detail: "a signature cannot cover all of it"}

// nameless is the verdict on a signed envelope whose sender has a name that can look like another one.
var nameless = Verdict{Word: BadSignature, Detail: "the name of its sender has characters that no address has"}

// Judge reads the signatures of an envelope whose sender has these keys.
func (k Keys) Judge(e *envelope.Envelope) Verdict {
	switch signed := len(e.Signatures) > 0; {
	case signed && !address.WellFormed(string(e.Actor.Instance)):
		return k.over(nameless)
	case signed && canonjson.Check(e.Raw) != nil:
		return k.over(uncovered)
	}
	key, _ := e.VerifiedBy(k.All())
	return k.Rate(len(e.Signatures), len(e.Own()), key)
}

// JudgeSummary judges a row of a list. It reports false when the row was made with other keys, or with none: then the
// envelope has to be read.
func JudgeSummary(s *envelope.Summary, k Keys) (Verdict, bool) {
	switch {
	case s.Signed == 0:
		return k.over(Verdict{Word: Unsigned}), true
	case !address.WellFormed(string(s.Actor.Instance)):
		return k.over(nameless), true
	case !s.Whole:
		return k.over(uncovered), true
	case s.Own > 0 && s.KeySet != envelope.KeySet(k.All()):
		return Verdict{}, false
	}
	return k.Rate(s.Signed, s.Own, s.VerifiedBy), true
}

// Rate finds the word for an envelope with so many signatures, so many of them by its actor, of which one verified under key;
// the zero key when none did.
func (k Keys) Rate(signed, own int, key signature.Public) Verdict {
	return k.over(k.rate(signed, own, key))
}

// over has a verdict say that the sender is gone, if it is.
func (k Keys) over(v Verdict) Verdict {
	if v.Gone = k.Gone; v.Gone && v.Word != Unsigned {
		v.Word, v.Detail = BadSignature, "its sender was taken out of service"
	}
	return v
}

func (k Keys) rate(signed, own int, key signature.Public) Verdict {
	v := Verdict{Word: BadSignature, Key: key}
	none := key == signature.Public{}
	switch {
	case signed == 0:
		return Verdict{Word: Unsigned}
	case own == 0:
		v.Detail = "signed, but not by the sender it names"
	case none && len(k.Active)+len(k.Revoked)+len(k.Pins) == 0:
		v.Detail = "signed, but no key of the sender is known"
	case none:
		v.Detail = "it fits no key of the sender"
	case slices.Contains(k.Revoked, key):
		v.Detail = fmt.Sprintf("made with the key %s, which was revoked", key.Short())
	case slices.Contains(k.Pins, key):
		v.Word = Verified
		if !slices.Contains(k.Active, key) {
			v.Detail = fmt.Sprintf("the pinned key %s is not registered", key.Short())
		}
	case !slices.Contains(k.Active, key):
		v.Key, v.Detail = signature.Public{}, "it fits no key of the sender"
	default:
		v.Word, v.Detail = k.Of(key)
	}
	return v
}

// First tells whether the user has pinned no key of the agent yet, so that what is believed now is a first contact.
func (k Keys) First() bool { return len(k.Pins) == 0 && len(k.Proven) > 0 }

// Of is the word for an active key, with the reason.
func (k Keys) Of(key signature.Public) (Word, string) {
	switch believed := k.Believed(key); {
	case believed && len(k.Pins) > 0:
		return Verified, ""
	case believed:
		return NewKey, fmt.Sprintf("first contact: its key is %s", key.Short())
	case len(k.Pins) > 0:
		return KeyChanged, fmt.Sprintf("the pinned key is %s, this one is %s", k.Pins[len(k.Pins)-1].Short(), key.Short())
	}
	return KeyChanged, fmt.Sprintf("the key %s was added without a proof by an earlier key", key.Short())
}

// RoleNotRegistered reports whether an envelope claims a role that the registration of its sender does not have. A sender
// without a registration has none.
func RoleNotRegistered(claimed string, registered []string) bool {
	return !slices.Contains(registered, claimed)
}
