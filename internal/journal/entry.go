package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/signature"
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
		return nil, errors.New("is no JSON object")
	}
	e := &Entry{Raw: raw, Sequence: -1}
	if n, ok := canonjson.Int(v[2]); ok && n >= 0 {
		e.Sequence = int(n)
	}
	e.protocol, e.version, e.ContentHash = text(v[0]), text(v[1]), text(v[4])
	e.PrevHash, e.hasPrev, e.link = text(v[3]), v[3] != nil, v[5]
	e.ID, e.Type, e.Body, e.CreatedAt = text(v[7]), text(v[8]), v[10], text(v[11])
	e.NegotiationID, e.BaseArtifactHash, e.CausationID, e.CorrelationID = text(v[12]), text(v[13]), text(v[14]), text(v[15])
	e.Signatures = readSignatures(v[6])
	var a [4][]byte
	if v[9] != nil && canonjson.Pick(v[9], actorMembers, a[:]) {
		e.Actor = envelope.Actor{Instance: address.Instance(text(a[0])), Role: text(a[1]), Scope: text(a[2]), Mandate: text(a[3])}
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

func (e *Entry) tip() Tip {
	return Tip{
		Count: e.Sequence + 1, At: e.At, Pos: e.Next, ContentHash: e.ContentHash, EntryHash: e.EntryHash(),
		ID: e.ID, CorrelationID: e.CorrelationID,
	}
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

// hashes returns the hash of the payload and, when sealed is asked for, what the signature of the writer covers: the canonical
// form of the payload without its signatures.
func (e *Entry) hashes(sealed bool) (content string, signed []byte, err error) {
	p := e.payload()
	canonical, err := canonjson.Canonical(p)
	if err != nil {
		return "", nil, err
	}
	if sealed {
		signed = canonjson.Delete(canonical, mSigs) // what is canonical stays so
	}
	return hashOf(canonical), signed, err
}

// hashOf names bytes that are canonical already.
func hashOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	const prefix = "sha256:"
	out := make([]byte, len(prefix), len(prefix)+2*len(sum))
	copy(out, prefix)
	return string(hex.AppendEncode(out, sum[:]))
}

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
	_, signed, err := e.hashes(true)
	return signed, err
}
