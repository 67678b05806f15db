package journal

import (
	"crypto/sha256"
	"encoding/hex"
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
		return nil, errors.New("is no JSON object")
	}
	return take(raw, &v), nil
}

// A hashed is an entry with the hashes that are compared with what it says of itself.
type hashed struct {
	e       *Entry
	content string // the hash of the payload
	signed  []byte // what the signature of the writer covers, if that was asked for and there is one
	err     error  // why it has no canonical form
}

// read is parse and hashes, in one pass over a line that is as it should be. What is signed is written to room, where it fits.
func read(raw []byte, sealed bool, room []byte) (h hashed, err error) {
	d, derr := canonjson.Dissect(raw)
	if derr != nil {
		if h.e, err = parse(raw); err == nil {
			h.content, h.signed, h.err = h.e.hashes(sealed && len(h.e.Signatures) > 0)
		}
		return h, err
	}
	defer d.Free()
	var v [16][]byte
	for name, value := range d.Members() {
		if n := memberNumber(name); n >= 0 {
			v[n] = value
		}
	}
	h.e = take(raw, &v)
	h.e.entryHash, h.content = d.Hash(), d.HashWithout(inFrame)
	if sealed && len(h.e.Signatures) > 0 {
		h.signed = d.AppendWithout(room[:0], outsideSeal)
	}
	return h, nil
}

// memberNumber is the place of a name in members, -1 for any other.
func memberNumber(name []byte) int {
	for n, m := range members {
		if string(name) == m {
			return n
		}
	}
	return -1
}

func inFrame(name []byte) bool { return isFrame(string(name)) }

func outsideSeal(name []byte) bool { return string(name) == mSigs || inFrame(name) }

// take takes the members of a line.
func take(raw []byte, v *[16][]byte) *Entry {
	e := &Entry{Raw: raw, Sequence: -1, hasPrev: v[3] != nil, link: v[5], Body: v[10]}
	if n, ok := canonjson.Int(v[2]); ok && n >= 0 {
		e.Sequence = int(n)
	}
	e.protocol, e.version = usual(v[0], envelope.Protocol), usual(v[1], envelope.Version)
	e.Signatures = readSignatures(v[6])
	var a [4][]byte
	if v[9] != nil {
		canonjson.Pick(v[9], actorMembers, a[:])
	}
	texts([]source{
		{v[3], &e.PrevHash},
		{v[4], &e.ContentHash},
		{v[7], &e.ID},
		{v[8], &e.Type},
		{v[11], &e.CreatedAt},
		{v[12], &e.NegotiationID},
		{v[13], &e.BaseArtifactHash},
		{v[14], &e.CausationID},
		{v[15], &e.CorrelationID},
		{a[0], (*string)(&e.Actor.Instance)},
		{a[1], &e.Actor.Role},
		{a[2], &e.Actor.Scope},
		{a[3], &e.Actor.Mandate},
	})
	return e
}

// A source is a raw text and what becomes of it.
type source struct {
	raw []byte
	to  *string
}

// atOnce is up to how many bytes of text are kept as one piece of memory.
const atOnce = 1 << 10

// texts decodes several texts. They share their memory, as a long journal has many; long ones have their own, as who keeps one of
// them would keep all.
func texts(all []source) {
	var room [atOnce]byte
	var ends [16]int
	buf := room[:0]
	for n, s := range all {
		if s.raw != nil {
			buf, _ = canonjson.AppendText(buf, s.raw)
		}
		ends[n] = len(buf)
	}
	whole, start := "", 0
	if len(buf) <= atOnce {
		whole = string(buf)
	}
	for n, s := range all {
		if len(buf) <= atOnce {
			*s.to = whole[start:ends[n]]
		} else {
			*s.to = string(buf[start:ends[n]])
		}
		start = ends[n]
	}
}

// usual is the text that raw is, which nearly always is the same.
func usual(raw []byte, same string) string {
	if raw != nil && canonjson.Is(raw, same) {
		return same
	}
	return text(raw)
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
	o := signature.Object{Alg: usual(v[1], signature.Alg)}
	texts([]source{{v[0], &o.By}, {v[2], &o.Value}})
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
func (e *Entry) Tip() Tip { return e.tip() }

func (e *Entry) tip() Tip {
	return Tip{
		Count: e.Sequence + 1, At: e.At, Pos: e.Next, ContentHash: e.ContentHash, EntryHash: e.EntryHash(),
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
