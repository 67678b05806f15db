package negotiation

import (
	"bytes"
	"slices"
	"sync/atomic"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
)

// An early is what was verified of a signature before it was its turn, on another processor: verifying takes a hundred times as
// long as all the rest. It says nothing of whether the signature counts.
type early struct {
	tried  []signature.Public // under which the artifact was tried, in this order; the last one may have it
	signed bool
	scope  string // for which the context was tried
	within bool   // and holds
}

const (
	// maxEarly is how many keys of one writer are tried early. Who has more waits for his turn.
	maxEarly = 4
	// maxVain is how many signatures may be bad before none is verified early any more: a journal may be full of them, and of most
	// nothing but their place in it would be looked at.
	maxVain = 1024
)

// beside returns what verifies the signatures in entries early. It may be called by several at once, and knows what the fold does
// before the first entry.
func (f *fold) beside() func(e *journal.Entry) func(k journal.Keys) any {
	id, record := f.id, f.record
	vain := new(atomic.Int64)
	return func(e *journal.Entry) func(k journal.Keys) any {
		if !bytes.Contains(e.Body, []byte(`"artifactHash"`)) || member(e.Body, "kind") != bodySignature {
			return nil
		}
		s := Signed{By: e.Actor.Instance, Hash: member(e.Body, "artifactHash")}
		o, _ := canonjson.Get(e.Body, "signature")
		s.Object, _ = journal.ReadSignature(o)
		if c, has := canonjson.Get(e.Body, "context"); has {
			o, _ := journal.ReadSignature(c)
			s.Context = &o
		}
		return func(k journal.Keys) any {
			if len(k.Active) == 0 || len(k.Active) > maxEarly || vain.Load() > maxVain {
				return nil
			}
			known := &early{}
			at := underOne(&s, k.Active)
			if known.signed = at >= 0; !known.signed {
				vain.Add(int64(len(k.Active)))
				known.tried = k.Active
				return known
			}
			known.tried = k.Active[:at+1]
			if s.Context != nil && record != nil {
				known.scope = record.Scope
				known.within = under(*s.Context, contextText(s.Hash, id, record.Scope, s.By), k.Active)
			}
			return known
		}
	}
}

// underOne is the place of the key that has signed an artifact, -1 for none.
func underOne(s *Signed, keys []signature.Public) int {
	text := signedText(s.Hash)
	return slices.IndexFunc(keys, func(k signature.Public) bool { return s.Object.Verify(text, k) })
}

// underOne is underOne for what may have been tried early, with the same keys.
func (v *early) underOne(s *Signed, keys []signature.Public) int {
	if v != nil && v.signed && len(v.tried) <= len(keys) && slices.Equal(v.tried, keys[:len(v.tried)]) {
		return len(v.tried) - 1
	}
	if v != nil && !v.signed && slices.Equal(v.tried, keys) {
		return -1
	}
	return underOne(s, keys)
}

// bound tells whether the context was found to hold.
func (v *early) bound(scope string) bool { return v != nil && v.within && v.scope == scope }
