package envelope

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// MaxPreview is how much of a text a list keeps, in bytes: a line on a wide terminal, and some to cut.
const MaxPreview = 400

// A Summary is what lists and verdicts need of an envelope without reading it again.
type Summary struct {
	ID            string
	Type          string
	Kind          string
	Via           string
	Actor         Actor
	Target        address.Instance
	ThreadID      string
	ReplyTo       string
	CausationID   string
	CorrelationID string
	CreatedAt     string
	Preview       string // the first MaxPreview bytes of the text, no character cut
	TextSize      int    // bytes of the whole text
	Size          int    // bytes of the document
	Signed        int    // signatures that were read
	Own           int    // those of them that say they are by the actor
	Whole         bool   // a signature can cover the whole document; false: no signature of it counts
	SignedHash    [32]byte
	// VerifiedBy is the key of KeySet under which a signature of the actor verified; the zero key: under none of them.
	VerifiedBy signature.Public
	// KeySet names the keys that were tried; "": none were, and VerifiedBy says nothing.
	KeySet string
}

// Time returns when the envelope was made, by its sender's word.
func (s *Summary) Time() (time.Time, bool) { return ParseTime(s.CreatedAt) }

// KeySet names a set of keys, whatever their order and however often one is in it. The name of the empty set is not "".
func KeySet(keys []signature.Public) string {
	sorted := slices.Clone(keys)
	slices.SortStableFunc(sorted, func(a, b signature.Public) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, k := range slices.Compact(sorted) {
		h.Write(k[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Keys of a row: the id as it is, and these words before a thread and before a sender in canonical form. An id may look like
// one of the others; the Summary tells them apart.
const (
	ThreadKey = "thread:"
	FromKey   = "from:"
)

// Projection is what lists show of envelopes, without a word on signatures but their number.
var Projection = store.Projection{Name: "envelope", Version: 1, Make: func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
	return project(data, stored, nil)
}}

// ProjectionWith is Projection that also looks which key a signature of the sender verifies under, so that it need not be
// done again at each look: keys returns the candidates for a sender, which are all that may decide a verdict. It is then no
// pure function, and therefore the row names the candidates that were tried. Who uses it compares Summary.KeySet with
// KeySet of the present candidates, and verifies from the document when they differ. Keep version above that of a projection
// whose rows meant something else.
func ProjectionWith(version int, keys func(by address.Instance) []signature.Public) store.Projection {
	return store.Projection{Name: "envelope-verified", Version: version, Make: func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
		return project(data, stored, keys)
	}}
}

func project(data []byte, stored time.Time, keys func(address.Instance) []signature.Public) ([]string, int64, []byte, error) {
	e, err := Parse(data)
	if err != nil {
		return nil, 0, nil, err
	}
	s := e.Summary()
	if keys != nil {
		candidates := keys(e.Actor.Instance)
		s.KeySet = KeySet(candidates)
		s.VerifiedBy, _ = e.VerifiedBy(candidates)
	}
	names := []string{e.ID}
	if e.ThreadID != "" {
		names = append(names, ThreadKey+e.ThreadID)
	}
	names = append(names, FromKey+string(e.Actor.Instance.Canonical()))
	return names, Order(e.CreatedAt, stored), s.encode(), nil
}

// VerifiedBy returns the first of keys under which a signature of the actor verifies. An envelope that a signature cannot
// cover whole verifies under none.
func (e *Envelope) VerifiedBy(keys []signature.Public) (signature.Public, bool) {
	own := e.Own()
	if len(own) == 0 || len(keys) == 0 || canonjson.Check(e.Raw) != nil {
		return signature.Public{}, false
	}
	message, err := e.SignedBytes()
	if err != nil {
		return signature.Public{}, false
	}
	for _, k := range keys {
		for _, o := range own {
			if o.Verify(message, k) {
				return k, true
			}
		}
	}
	return signature.Public{}, false
}

// Summary returns what lists show of the envelope. KeySet is "".
func (e *Envelope) Summary() Summary {
	text := e.Text()
	s := Summary{
		ID: e.ID, Type: e.Type, Kind: e.Kind(), Via: e.Via(), Actor: e.Actor, Target: e.Target, ThreadID: e.ThreadID, ReplyTo: e.ReplyTo,
		CausationID: e.CausationID, CorrelationID: e.CorrelationID, CreatedAt: e.CreatedAt,
		Preview: head(text, MaxPreview), TextSize: len(text), Size: len(e.Raw), Signed: len(e.Signatures), Own: len(e.Own()),
		Whole: canonjson.Check(e.Raw) == nil,
	}
	if message, err := e.SignedBytes(); err == nil && s.Signed > 0 {
		s.SignedHash = sha256.Sum256(message)
	}
	return s
}

// The encoding of a summary: strings as length and bytes, numbers as varints, then a byte of flags and the fixed parts that
// they announce. Its version is that of the projections.
const (
	flagWhole = 1 << iota
	flagSigned
	flagVerified
)

func (s *Summary) texts() [summaryTexts]*string {
	return [...]*string{
		&s.ID, &s.Type, &s.Kind, &s.Via, (*string)(&s.Actor.Instance), &s.Actor.Role, &s.Actor.Scope, &s.Actor.Mandate,
		(*string)(&s.Target), &s.ThreadID, &s.ReplyTo, &s.CausationID, &s.CorrelationID, &s.CreatedAt, &s.Preview, &s.KeySet,
	}
}

const summaryTexts = 16

func (s *Summary) numbers() [4]*int { return [...]*int{&s.TextSize, &s.Size, &s.Signed, &s.Own} }

func (s *Summary) encode() []byte {
	b := make([]byte, 0, 320+len(s.Preview))
	for _, t := range s.texts() {
		b = binary.AppendUvarint(b, uint64(len(*t)))
		b = append(b, *t...)
	}
	for _, n := range s.numbers() {
		b = binary.AppendUvarint(b, uint64(*n))
	}
	flags := byte(0)
	if s.Whole {
		flags |= flagWhole
	}
	if s.Signed > 0 {
		flags |= flagSigned
	}
	if s.VerifiedBy != (signature.Public{}) {
		flags |= flagVerified
	}
	b = append(b, flags)
	if flags&flagSigned != 0 {
		b = append(b, s.SignedHash[:]...)
	}
	if flags&flagVerified != 0 {
		b = append(b, s.VerifiedBy[:]...)
	}
	return b
}

var errSummary = errors.New("read summary of an envelope: cut or too long")

// Decode reads the summary of a row. Its texts are parts of data.
func Decode(data string) (Summary, error) {
	var s Summary
	if err := s.Decode(data); err != nil {
		return Summary{}, err
	}
	return s, nil
}

// Decode is [Decode] for callers with many. What the summary held before is overwritten, all of it; after an error it is to be
// thrown away.
func (s *Summary) Decode(data string) error {
	rest := data
	for _, t := range s.texts() {
		n, ok := number(&rest)
		if !ok || n > len(rest) {
			return errSummary
		}
		*t, rest = rest[:n], rest[n:]
	}
	for _, p := range s.numbers() {
		n, ok := number(&rest)
		if !ok {
			return errSummary
		}
		*p = n
	}
	if rest == "" {
		return errSummary
	}
	flags := rest[0]
	rest = rest[1:]
	s.Whole = flags&flagWhole != 0
	if ok := fixed(&rest, flags&flagSigned, &s.SignedHash) && fixed(&rest, flags&flagVerified, (*[32]byte)(&s.VerifiedBy)); !ok || rest != "" {
		return errSummary
	}
	return nil
}

// fixed takes 32 bytes if they were announced, else they are zero.
func fixed(rest *string, announced byte, to *[32]byte) bool {
	if announced == 0 {
		*to = [32]byte{}
		return true
	}
	if len(*rest) < len(to) {
		return false
	}
	*rest = (*rest)[copy(to[:], *rest):]
	return true
}

// number takes a varint that is a length or a count.
func number(rest *string) (int, bool) {
	n := 0
	for i, shift := 0, 0; i < len(*rest) && shift <= 28; i, shift = i+1, shift+7 {
		c := (*rest)[i]
		n |= int(c&0x7f) << shift
		if c < 0x80 {
			*rest = (*rest)[i+1:]
			return n, n <= 1<<30
		}
	}
	return 0, false
}

// SummaryID returns the id of an encoded summary without looking at the rest.
func SummaryID(data string) (string, error) {
	n, ok := number(&data)
	if !ok || n > len(data) {
		return "", errSummary
	}
	return data[:n], nil
}
