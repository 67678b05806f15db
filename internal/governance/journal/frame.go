package journal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// A PayloadError reports a payload that may not become an entry, with everything that is wrong with it.
type PayloadError struct{ Problems []string }

func (e *PayloadError) Error() string {
	return "not a journal entry: " + strings.Join(e.Problems, "; ")
}

// Check returns nil for a payload that may be added, else a *PayloadError. The frame and the link are ours to write: a payload
// that names a member of the frame would make the journal unreadable for good.
func Check(payload []byte) error {
	var p []string
	if err := canonjson.Whole(payload); err != nil {
		return &PayloadError{[]string{err.Error()}}
	}
	if !canonjson.IsObject(payload) {
		return &PayloadError{[]string{"it is not a JSON object"}}
	}
	var names []string
	for name := range canonjson.Members(payload) {
		switch {
		case isFrame(name):
			p = append(p, fmt.Sprintf("%s: a member of the frame, which is written by the journal alone; take it out", name))
		case name == mLink:
			p = append(p, "link: the place of the entry in the journal, which is written by the journal alone; take it out")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) < len(names) {
		p = append(p, "a member is there twice")
	}
	p = append(p, problemsOf(payload)...)
	if len(payload) > MaxEntry-room {
		p = append(p, fmt.Sprintf("it has %d bytes, at most %d are written", len(payload), MaxEntry-room))
	}
	if len(p) > 0 {
		return &PayloadError{p}
	}
	return nil
}

// room is kept for the frame, the link and a signature, in bytes.
const room = 1 << 10

// problemsOf looks at the members that every reader uses.
func problemsOf(payload []byte) (p []string) {
	var v [5][]byte
	canonjson.Pick(payload, []string{"id", "type", "actor", "body", "createdAt"}, v[:])
	if id := text(v[0]); id == "" || len(id) > envelope.MaxID {
		p = append(p, fmt.Sprintf("id: a text of 1 to %d bytes", envelope.MaxID))
	}
	if !slices.Contains(envelope.Types, text(v[1])) {
		p = append(p, "type: one of "+strings.Join(envelope.Types, " "))
	}
	var a [4][]byte
	if v[2] == nil || !canonjson.Pick(v[2], actorMembers, a[:]) {
		p = append(p, "actor: an object of instance, role and scope")
	} else {
		if address.Check(text(a[0])) != nil {
			p = append(p, "actor.instance: the id of the writer of the entry")
		}
		if !slices.Contains(envelope.Roles, text(a[1])) {
			p = append(p, "actor.role: one of "+strings.Join(envelope.Roles, " "))
		}
		if text(a[2]) == "" {
			p = append(p, "actor.scope: a text, for example scope:default")
		}
		if a[3] != nil && text(a[3]) == "" {
			p = append(p, "actor.mandate: the id of a mandate, or nothing")
		}
	}
	if v[3] == nil {
		p = append(p, "body: is missing")
	}
	if _, ok := envelope.ParseTime(text(v[4])); !ok {
		p = append(p, "createdAt: a time like 2026-01-31T12:00:00.000Z")
	}
	return p
}

// checkSeal refuses what readers would take for a forgery: an entry that is signed, and by others than its writer only.
func checkSeal(payload []byte, seal Seal) error {
	e, err := parse(payload)
	if err != nil {
		return err
	}
	own := len(e.Own()) > 0
	if seal.Key != nil {
		own = seal.By.Canonical() == e.Actor.Instance.Canonical()
	} else if len(e.Signatures) == 0 {
		return nil
	}
	if !own {
		return &PayloadError{[]string{fmt.Sprintf("signatures: none is by %s, who is said to write the entry", e.Actor.Instance)}}
	}
	return nil
}

// link says behind which entry the next one is written.
func link(tip Tip) []byte {
	var o canonjson.Object
	if tip.Count > 0 {
		o.Str("prev", tip.EntryHash)
	}
	o.Int("seq", int64(tip.Count))
	return o.End()
}

// frame makes the line that follows a tip.
func frame(tip Tip, payload []byte, seal Seal) ([]byte, error) {
	if err := Check(payload); err != nil {
		return nil, err
	}
	payload = canonjson.Compact(payload)
	if err := checkSeal(payload, seal); err != nil {
		return nil, err
	}
	if e, err := parse(payload); err != nil || seal.Key != nil || len(e.Signatures) == 0 {
		payload = canonjson.Set(payload, mLink, link(tip))
	} // an envelope signed elsewhere stays as it was signed
	if seal.Key != nil {
		var err error
		if payload, err = envelope.Sign(payload, seal.By, seal.Key); err != nil {
			return nil, err
		}
	}
	content, err := canonjson.Hash(payload)
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Room(len(payload) + room)
	o.Str(mProtocol, envelope.Protocol)
	o.Str(mVersion, envelope.Version)
	o.Int(mSequence, int64(tip.Count))
	if tip.Count > 0 {
		o.Str(mPrev, tip.ContentHash)
	}
	o.Str(mContent, content)
	head := o.End()
	line := make([]byte, 0, len(head)+len(payload))
	line = append(append(append(line, head[:len(head)-1]...), ','), payload[1:]...)
	switch {
	case bytes.IndexByte(line, '\n') >= 0:
		return nil, errors.New("the entry is more than one line") // never: it is compact
	case len(line) > MaxEntry:
		return nil, &PayloadError{[]string{fmt.Sprintf("it has %d bytes, at most %d are written", len(line), MaxEntry)}}
	}
	return line, nil
}
