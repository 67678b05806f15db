package envelope

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// A Draft is what a sender has to say. The zero value of each field but Actor and Created has a meaning.
type Draft struct {
	ID            string // "": a new one is minted
	Type          string // "": event
	Actor         Actor
	Target        address.Instance // "": none
	ThreadID      string
	ReplyTo       string
	CausationID   string
	CorrelationID string
	Created       time.Time
	Body          []byte // a JSON object; nil: {}. The three below are put into it
	Kind          string // "": as the body says, else message
	Text          string // "": as the body says
	Via           string
}

// Bytes returns the unsigned envelope in one line. The error names everything that is wrong with the draft.
func (d Draft) Bytes() ([]byte, error) {
	raw, err := d.write()
	if err != nil {
		return nil, err
	}
	if err := Check(raw); err != nil {
		return nil, fmt.Errorf("write envelope: %w", err)
	}
	return raw, nil
}

func (d Draft) write() ([]byte, error) {
	if max(len(d.Text), len(d.Body)) > MaxBody {
		return nil, fmt.Errorf("write envelope: the body has %d bytes, at most %d are allowed: send the name of a file instead",
			max(len(d.Text), len(d.Body)), MaxBody)
	}
	var body []byte
	if len(bytes.TrimSpace(d.Body)) > 0 {
		var err error
		if body, err = d.body(); err != nil {
			return nil, err
		}
	}
	id, kind := d.ID, d.Type
	if id == "" {
		id = string(address.NewEnvelope(d.Created))
	}
	if kind == "" {
		kind = "event"
	}
	var o canonjson.Object
	o.Room(usual + len(d.Text) + len(body))
	o.Str("protocol", Protocol)
	o.Str("version", Version)
	o.Str("id", id)
	o.Str("type", kind)
	o.Within("actor", d.Actor.members)
	if d.Target != "" {
		o.Within("target", func(o *canonjson.Object) { o.Str("instance", string(d.Target)) })
	}
	o.Opt("threadId", d.ThreadID)
	o.Opt("replyTo", d.ReplyTo)
	o.Opt("causationId", d.CausationID)
	o.Opt("correlationId", d.CorrelationID)
	if body != nil {
		o.Raw("body", body)
	} else {
		o.Within("body", func(o *canonjson.Object) {
			o.Str("kind", cmp.Or(d.Kind, "message"))
			o.Opt("text", d.Text)
			o.Opt("via", d.Via)
		})
	}
	o.Str("createdAt", Stamp(d.Created))
	return o.End(), nil
}

// usual is more than the bytes of most envelopes besides what their sender has to say and their signature.
const usual = 640

// body is Body with what stands in it besides.
func (d Draft) body() ([]byte, error) {
	body := d.Body
	if !canonjson.Valid(body) || !canonjson.IsObject(body) {
		return nil, errors.New("write envelope: the body is not a JSON object")
	}
	kind := d.Kind
	if _, has := canonjson.Get(body, "kind"); kind == "" && !has {
		kind = "message"
	}
	for _, m := range [][2]string{{"kind", kind}, {"text", d.Text}, {"via", d.Via}} {
		if m[1] != "" {
			body = canonjson.Set(body, m[0], canonjson.AppendString(nil, m[1]))
		}
	}
	return body, nil
}

func (a Actor) bytes() []byte {
	var o canonjson.Object
	a.members(&o)
	return o.End()
}

func (a Actor) members(o *canonjson.Object) {
	o.Str("instance", string(a.Instance))
	o.Str("role", a.Role)
	o.Str("scope", a.Scope)
	o.Opt("mandate", a.Mandate)
}

// Signed is Bytes with a signature of by, as Sign makes it.
func (d Draft) Signed(by address.Instance, key *signature.Private) ([]byte, error) {
	raw, err := d.write()
	if err != nil {
		return nil, err
	}
	message, err := canonjson.Covered(raw)
	if err != nil || len(problems(raw)) > 0 {
		return nil, fmt.Errorf("write envelope: %w", cmp.Or(Check(raw), err))
	}
	out := append(make([]byte, 0, len(raw)+len(by)+signatureRoom), raw[:len(raw)-1]...)
	out = canonjson.AppendString(append(out, `,"signatures":[{"by":`...), string(by))
	out = append(append(append(out, `,"alg":"`...), signature.Alg...), `","value":"`...)
	out = base64.StdEncoding.AppendEncode(out, key.Sign(message))
	return append(out, `"}]}`...), nil
}

// signatureRoom is more than the bytes of a signature besides its signer, unless that has to be escaped.
const signatureRoom = 160

// Fill adds to a handwritten envelope what it lacks and every writer would write alike: protocol, version, an id, the type
// event, the actor or what its actor lacks, and the time. Members that are present stay, also when they are wrong: Check
// reports them. It is an error only when raw is not a JSON object.
func Fill(raw []byte, a Actor, now time.Time) ([]byte, error) {
	m, ok := members(raw)
	if !ok {
		return nil, fmt.Errorf("complete envelope: %w: not a JSON object", ErrInvalid)
	}
	set := func(n int, value []byte) {
		if m[n] == nil {
			raw = canonjson.Set(raw, names[n], value)
		}
	}
	str := func(s string) []byte { return canonjson.AppendString(nil, s) }
	set(mProtocol, str(Protocol))
	set(mVersion, str(Version))
	set(mID, str(string(address.NewEnvelope(now))))
	set(mType, str("event"))
	set(mCreatedAt, str(Stamp(now)))
	actor := m[mActor]
	if actor == nil {
		return canonjson.Set(raw, "actor", a.bytes()), nil
	}
	if !canonjson.IsObject(actor) {
		return raw, nil
	}
	for n, v := range actorOf(actor) {
		if name := [...]string{"instance", "role", "scope"}; n < len(name) && v == nil {
			actor = canonjson.Set(actor, name[n], str([...]string{string(a.Instance), a.Role, a.Scope}[n]))
		}
	}
	return canonjson.Set(raw, "actor", actor), nil
}

// Sign returns raw with one more signature, that of by. Signatures which it has stay: none covers the others. An envelope that
// a signature could not cover whole is refused.
func Sign(raw []byte, by address.Instance, key *signature.Private) ([]byte, error) {
	if err := canonjson.Check(raw); err != nil {
		return nil, fmt.Errorf("sign envelope: %w", err)
	}
	message, err := canonjson.CanonicalWithout(raw, "signatures")
	if err != nil {
		return nil, fmt.Errorf("sign envelope: %w", err)
	}
	var list bytes.Buffer
	list.WriteByte('[')
	if old, ok := canonjson.Get(raw, "signatures"); ok {
		if canonjson.Kind(old) != canonjson.TypeArray {
			return nil, errors.New("sign envelope: its signatures are not an array")
		}
		for one := range canonjson.Elements(old) {
			list.Write(one)
			list.WriteByte(',')
		}
	}
	list.Write(SignatureJSON(key.Object(string(by), message)))
	list.WriteByte(']')
	return canonjson.Set(canonjson.Delete(raw, "signatures"), "signatures", list.Bytes()), nil
}

// SignatureJSON is a signature as it is written in documents.
func SignatureJSON(s signature.Object) []byte {
	var o canonjson.Object
	o.Str("by", s.By)
	o.Str("alg", s.Alg)
	o.Str("value", s.Value)
	return o.Bytes()
}
