// Package envelope knows the message format of the bus: how an envelope is read, judged, written and signed, and what a
// list shows of it.
//
// An Envelope keeps the bytes it was read from. Everything that has to stay as it is (unknown members, the digits of a
// number, what a signature covers) is taken from these bytes and never from the fields beside them, which are copies for
// looking at.
//
// There are two doors. [Parse] is the one for reading: what it refuses is not an envelope to anybody on the bus and is
// skipped. [Problems] is the one for writing: it names everything that is wrong, field by field, and is stricter.
//
// All of it is pure. Whose key a signature must verify under, and whether that key is trusted, is package trust's question;
// where envelopes lie is package mailbox's.
package envelope

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// What every envelope says of its own format.
const (
	Protocol = "sentropic.h2a"
	Version  = "0.1"
)

const (
	// MaxBody is the longest text or body that we write, in bytes: more belongs in a file that the message names.
	MaxBody = 256 << 10
	// MaxDocument is the longest envelope that we write, in bytes of JSON. Readers take four times as much.
	MaxDocument = 1 << 20
	// MaxID is the longest id that we write, in bytes: it has to fit into a file name.
	MaxID = address.MaxSegment
	// MaxSignatures is how many signatures of an envelope are read. Agreements have a handful; without a limit one hostile
	// message could cost its reader minutes of verifying.
	MaxSignatures = 16
)

// Types lists what an envelope may be. Messages are events.
var Types = []string{"register", "propose", "accept", "reject", "counter", "withdraw", "event", "escalate"}

// Roles lists whom an actor may claim to be.
var Roles = []string{"PRINCIPAL", "EXECUTIF", "CONDUCTOR", "AGENTS", "CONTROL", "MANDATAIRE"}

// An Actor is who speaks, by his own word.
type Actor struct {
	Instance address.Instance `json:"instance"`
	Role     string           `json:"role"`
	Scope    string           `json:"scope"`
	Mandate  string           `json:"mandate,omitempty"` // "" when the envelope has none
}

// An Envelope is a message that passed Parse. Optional members that are absent, or are not strings where that is not checked,
// are "".
type Envelope struct {
	Raw           []byte // the whole document as it was read; not to be changed
	ID            string
	Type          string
	Actor         Actor
	Target        address.Instance // the member target.instance
	ThreadID      string
	ReplyTo       string
	CausationID   string
	CorrelationID string
	CreatedAt     string // as it is spelled; see Time
	Body          []byte // raw JSON, a part of Raw; an object if the writer was careful
	Signatures    []signature.Object
	Unread        int // signatures beyond MaxSignatures, which are not looked at
}

// ErrInvalid is in the chain of every error about bytes that are not an envelope.
var ErrInvalid = errors.New("not an envelope")

// Numbers of the members in the order of names.
const (
	mProtocol = iota
	mVersion
	mID
	mType
	mActor
	mTarget
	mThreadID
	mReplyTo
	mCausationID
	mCorrelationID
	mBody
	mCreatedAt
	mSignatures
	mEnd
)

var names = []string{
	"protocol", "version", "id", "type", "actor", "target", "threadId", "replyTo", "causationId",
	"correlationId", "body", "createdAt", "signatures",
}

var (
	actorNames     = []string{"instance", "role", "scope", "mandate"}
	signatureNames = []string{"by", "alg", "value"}
)

// members picks the members of an envelope. It reports false for text that is not a JSON object.
func members(raw []byte) (m [mEnd][]byte, ok bool) {
	ok = canonjson.Pick(raw, names, m[:])
	return m, ok
}

// guarded picks the members of an envelope in a mailbox, if it is one.
func guarded(raw []byte) (m [mEnd][]byte, err error) {
	m, ok := members(raw)
	if !ok {
		return m, fmt.Errorf("read envelope: %w: not a JSON object", ErrInvalid)
	}
	if p := guard(&m); p != "" {
		return m, fmt.Errorf("read envelope: %w: %s", ErrInvalid, p)
	}
	return m, nil
}

// Parse reads an envelope from a mailbox. The error says what the first fault is; its chain has ErrInvalid. raw belongs to the
// envelope from then on.
func Parse(raw []byte) (*Envelope, error) {
	m, err := guarded(raw)
	if err != nil {
		return nil, err
	}
	a := actorOf(m[mActor])
	target, _ := canonjson.Get(m[mTarget], "instance")
	e := &Envelope{Raw: raw, Type: wordOf(m[mType], Types), Body: m[mBody]}
	e.Actor.Role = wordOf(a[1], Roles)
	var buf [256]byte // enough for all of most
	t := texts(buf[:0], m[mID], m[mThreadID], m[mReplyTo], m[mCausationID], m[mCorrelationID], m[mCreatedAt], a[0], a[2], a[3], target)
	e.ID, e.ThreadID, e.ReplyTo, e.CausationID, e.CorrelationID, e.CreatedAt = t[0], t[1], t[2], t[3], t[4], t[5]
	e.Actor.Instance, e.Actor.Scope, e.Actor.Mandate, e.Target = address.Instance(t[6]), t[7], t[8], address.Instance(t[9])
	e.Signatures, e.Unread = signaturesOf(m[mSignatures])
	return e, nil
}

// texts is text for many, with one allocation for all of them: mailboxes of thousands are read at once. buf is scratch.
func texts(buf []byte, raw ...[]byte) (t [10]string) {
	var end [len(t)]int
	for n, r := range raw {
		buf, _ = canonjson.AppendText(buf, r)
		end[n] = len(buf)
	}
	all, at := string(buf), 0
	for n := range raw {
		t[n], at = all[at:end[n]], end[n]
	}
	return t
}

// wordOf returns which of the words raw is, "" for none.
func wordOf(raw []byte, words []string) string {
	for _, w := range words {
		if canonjson.Is(raw, w) {
			return w
		}
	}
	return ""
}

// text is the string that raw is, "" for anything else.
func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

// actorOf returns instance, role, scope and mandate.
func actorOf(raw []byte) (a [4][]byte) {
	canonjson.Pick(raw, actorNames, a[:])
	return a
}

// signaturesOf reads the signatures. An element that is none counts as one that verifies under no key: a damaged signature must
// not make an envelope look unsigned. So does a member that is not an array.
func signaturesOf(raw []byte) (all []signature.Object, unread int) {
	if raw == nil || canonjson.IsNull(raw) {
		return nil, 0
	}
	if canonjson.Kind(raw) != canonjson.TypeArray {
		return []signature.Object{{}}, 0
	}
	for one := range canonjson.Elements(raw) {
		if len(all) == MaxSignatures {
			unread++
			continue
		}
		var v [3][]byte
		canonjson.Pick(one, signatureNames, v[:])
		var buf [256]byte
		t := texts(buf[:0], v[:]...)
		all = append(all, signature.Object{By: t[0], Alg: t[1], Value: t[2]})
	}
	return all, unread
}

// Kind returns the category that the body names, "" when it names none.
func (e *Envelope) Kind() string { return e.bodyText("kind") }

// UserAnswer is the kind of the message by which the user answers a question of an agent.
const UserAnswer = "escalation-answer"

// Via returns how the sender was identified, if it says so: "unattended" if no agent CLI ran the command and no person was at a
// terminal.
func (e *Envelope) Via() string { return e.bodyText("via") }

// Text returns what a person reads: the text of the body, or the whole body in one line when it has none.
func (e *Envelope) Text() string {
	if v, ok := canonjson.Get(e.Body, "text"); ok {
		if s, ok := canonjson.String(v); ok {
			return s
		}
	}
	return string(canonjson.Compact(e.Body))
}

func (e *Envelope) bodyText(name string) string {
	v, _ := canonjson.Get(e.Body, name)
	return text(v)
}

// Time returns when the envelope was made, by its sender's word, and false when that is not a time.
func (e *Envelope) Time() (time.Time, bool) { return ParseTime(e.CreatedAt) }

// SignedBytes returns what a signature of the envelope covers: the canonical form of all of it but its signatures.
func (e *Envelope) SignedBytes() ([]byte, error) {
	b, err := canonjson.CanonicalWithout(e.Raw, "signatures")
	if err != nil {
		return nil, fmt.Errorf("signed bytes of %s: %w", e.ID, err)
	}
	return b, nil
}

// Verify reports whether a signature verifies under key: any of them when by is empty, else one that says it is by that
// instance. That is arithmetic and no judgement: who the envelope says it is from, and whose key it is, are not looked at.
func (e *Envelope) Verify(key signature.Public, by address.Instance) bool {
	if len(e.Signatures) == 0 {
		return false
	}
	message, err := e.SignedBytes()
	return err == nil && slices.ContainsFunc(e.Signatures, func(o signature.Object) bool {
		return (by == "" || o.By == string(by)) && o.Verify(message, key)
	})
}

// Own returns the signatures that say they are by the actor of the envelope. Only these can prove that it is from him.
func (e *Envelope) Own() []signature.Object {
	var own []signature.Object
	want := e.Actor.Instance.Canonical()
	for _, o := range e.Signatures {
		if address.Instance(o.By).Canonical() == want {
			own = append(own, o)
		}
	}
	return own
}

// quoteAll lists words for people.
func quoteAll(words []string) string { return strings.Join(words, ", ") }
