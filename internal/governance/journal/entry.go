package journal

import (
	"errors"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// The members of the frame and the one that is ours.
const (
	mProtocol = "protocol"
	mVersion  = "version"
	mSequence = "sequence"
	mPrev     = "prevHash"
	mContent  = "contentHash"
	mLink     = "link"
	mSigs     = "signatures"
)

// isFrame tells whether a member belongs to the frame, which no payload may name: existing writers let it win.
func isFrame(name string) bool {
	switch name {
	case mProtocol, mVersion, mSequence, mPrev, mContent:
		return true
	}
	return false
}

// An Entry is one line of a journal. Texts are copies for looking at: what a signature or a hash covers is taken from Raw.
type Entry struct {
	Raw         []byte // the line; not to be changed
	Sequence    int    // -1 where the line has none
	PrevHash    string // "" on the first one
	ContentHash string

	ID               string
	Type             string
	Actor            envelope.Actor
	Body             []byte // raw JSON, a part of Raw; nil where there is none
	CreatedAt        string
	NegotiationID    string
	BaseArtifactHash string
	CausationID      string
	CorrelationID    string
	Signatures       []signature.Object
	At, Next         store.Pos // where it begins and ends; see Journal.Entry

	protocol, version string
	hasPrev           bool
	link              []byte // nil where there is none
	entryHash         string
	uncovered         error // why the hash of the entry does not cover all of it
}

var members = []string{
	mProtocol, mVersion, mSequence, mPrev, mContent, mLink, mSigs, "id", "type", "actor", "body",
	"createdAt", "negotiationId", "baseArtifactHash", "causationId", "correlationId",
}

var actorMembers = []string{"instance", "role", "scope", "mandate"}

// Parse reads a payload that is to become an entry, or a line, as leniently as can be.
func Parse(raw []byte) (*Entry, error) { return parse(raw) }

// parse reads a line as leniently as can be: whether it is a good entry is judged with those before it.
func parse(raw []byte) (*Entry, error) {
	var v [16][]byte
	if !canonjson.Pick(raw, members, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	var a [4][]byte
	if v[9] != nil {
		canonjson.Pick(v[9], actorMembers, a[:])
	}
	e := &Entry{
		Raw: raw, Sequence: -1, PrevHash: text(v[3]), ContentHash: text(v[4]),
		ID: text(v[7]), Type: text(v[8]), Body: v[10], CreatedAt: text(v[11]), NegotiationID: text(v[12]),
		Actor:            envelope.Actor{Instance: address.Instance(text(a[0])), Role: text(a[1]), Scope: text(a[2]), Mandate: text(a[3])},
		BaseArtifactHash: text(v[13]), CausationID: text(v[14]), CorrelationID: text(v[15]),
		Signatures: readSignatures(v[6]),
		protocol:   text(v[0]), version: text(v[1]), hasPrev: v[3] != nil, link: v[5],
	}
	if n, ok := canonjson.Int(v[2]); ok && n >= 0 {
		e.Sequence = int(n)
	}
	return e, nil
}

func text(raw []byte) string {
	if raw == nil {
		return ""
	}
	s, _ := canonjson.String(raw)
	return s
}

// readSignatures reads at most as many as an envelope has: each costs its reader a verification.
func readSignatures(raw []byte) []signature.Object {
	if raw == nil || canonjson.Kind(raw) != canonjson.TypeArray {
		return nil
	}
	var all []signature.Object
	for e := range canonjson.Elements(raw) {
		if len(all) == envelope.MaxSignatures {
			break
		}
		if o, ok := ReadSignature(e); ok {
			all = append(all, o)
		}
	}
	return all
}

// ReadSignature reads a signature object, false for what has no signer or no value.
func ReadSignature(raw []byte) (signature.Object, bool) {
	var v [3][]byte
	if raw == nil || !canonjson.Pick(raw, signatureMembers, v[:]) {
		return signature.Object{}, false
	}
	o := signature.Object{By: text(v[0]), Alg: text(v[1]), Value: text(v[2])}
	return o, o.By != "" && o.Value != ""
}

var signatureMembers = []string{"by", "alg", "value"}

// Member returns a member of the payload or the frame, nil where there is none.
func (e *Entry) Member(name string) []byte {
	v, _ := canonjson.Get(e.Raw, name)
	return v
}

// Linked tells whether the entry says which entry stands before it.
func (e *Entry) Linked() bool { return e.link != nil }

// EntryHash is the hash of the whole entry, frame included: what the link of the next one holds. "" where the line has no
// canonical form that covers all of it; such an entry is a bad one.
func (e *Entry) EntryHash() string {
	if e.entryHash == "" && e.uncovered == nil {
		e.entryHash, e.uncovered = canonjson.HashWhole(e.Raw)
	}
	return e.entryHash
}

// Tip is the end of a journal whose last entry this is.
func (e *Entry) Tip() Tip {
	return Tip{
		Count: e.Sequence + 1, Pos: e.Next, ContentHash: e.ContentHash, EntryHash: e.EntryHash(),
		ID: inherited(e.ID), CorrelationID: inherited(e.CorrelationID),
	}
}

// inherited is an id that the next entry may take over, "" for one that is too long: one such would leave no room for anybody.
func inherited(id string) string {
	if len(id) > envelope.MaxID {
		return ""
	}
	return id
}

// payload returns the object without its frame, in no canonical form yet.
func (e *Entry) payload() []byte {
	out := make([]byte, 0, len(e.Raw))
	for name, value := range canonjson.Members(e.Raw) {
		if isFrame(name) {
			continue
		}
		out = append(out, "{,"[min(len(out), 1)])
		out = canonjson.AppendString(out, name)
		out = append(append(out, ':'), value...)
	}
	if len(out) == 0 {
		return []byte("{}")
	}
	return append(out, '}')
}

// content is the hash of the payload.
func (e *Entry) content() (string, error) { return canonjson.Hash(e.payload()) }

// Own returns the signatures that say they are by the actor of the entry. Only these can seal it.
func (e *Entry) Own() []signature.Object {
	var own []signature.Object
	for _, o := range e.Signatures {
		if address.Instance(o.By).Canonical() == e.Actor.Instance.Canonical() {
			own = append(own, o)
		}
	}
	return own
}

// SignedBytes returns what the signature of the writer covers.
func (e *Entry) SignedBytes() ([]byte, error) {
	return canonjson.CanonicalWithout(e.payload(), mSigs)
}
