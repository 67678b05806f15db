package org

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
)

// The kinds of the bodies that carry a manifest.
const (
	KindProposal = "org-proposal"
	KindRatified = "org-ratified"
)

// hashLetters is how much of a content hash goes into the id of an envelope: what existing programs take, "sha256:" with it. It
// tells envelopes apart by chance, and proves nothing.
const hashLetters = 16

// Draft returns the envelope that carries a manifest, unsigned and without a recipient. kind is KindProposal or KindRatified.
// Who it is from, the manifest and the time decide its id.
func Draft(o *Org, kind string, by envelope.Actor, now time.Time) (envelope.Draft, error) {
	var body canonjson.Object
	body.Str("kind", kind)
	body.Raw("manifest", o.JSON())
	d := envelope.Draft{Actor: by, Created: now, Body: body.Bytes()}
	var content canonjson.Object
	content.Str("by", string(by.Instance))
	content.Raw("body", d.Body)
	content.Str("createdAt", envelope.Stamp(now))
	hash, err := canonjson.Hash(content.Bytes())
	if err != nil {
		return d, fmt.Errorf("name the envelope: %w", err)
	}
	d.ID = "org-" + hash[:hashLetters]
	return d, nil
}

// ErrOtherManifest reports an envelope that ratifies another manifest than the one at hand.
var ErrOtherManifest = errors.New("it ratifies another manifest")

// Ratifies tells whether an envelope says that a manifest is ratified, by one whom that manifest declares PRINCIPAL. Whether
// that one has signed it is for the caller to find out.
func Ratifies(e *envelope.Envelope, o *Org) error {
	if e.Kind() != KindRatified {
		return fmt.Errorf("its kind is not %s", KindRatified)
	}
	raw, _ := canonjson.Get(e.Body, "manifest")
	if !canonjson.IsObject(raw) {
		return errors.New("it holds no manifest")
	}
	theirs, err := Parse(raw)
	if err != nil {
		return fmt.Errorf("its manifest: %w", err)
	}
	have, err := canonjson.Canonical(theirs.JSON())
	if err != nil {
		return err
	}
	want, err := canonjson.Canonical(o.JSON())
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return ErrOtherManifest
	}
	return MayRatify(o, e.Actor)
}

// MayRatify tells whether an actor may ratify a manifest: it has to declare that one PRINCIPAL, and so has the envelope.
func MayRatify(o *Org, by envelope.Actor) error {
	m := o.member(by.Instance)
	switch {
	case m == nil || m.Role != registry.Principal:
		return fmt.Errorf("%s is not declared %s in it", by.Instance, registry.Principal)
	case by.Role != registry.Principal:
		return fmt.Errorf("%s ratifies as %s and not as %s", by.Instance, by.Role, registry.Principal)
	}
	return nil
}
