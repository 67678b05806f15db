package nhi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
)

// ErrNoActor reports an instance whose role or scope was not given, and that is not registered with one.
var ErrNoActor = errors.New("role and scope are not known")

// ErrRole reports a role that there is not.
var ErrRole = errors.New("there is no such role")

// A Statement is who attests.
type Statement struct {
	Instance address.Instance
	Key      *signature.Private
	Role     string // "": the first one of the registration
	Scope    string // likewise
}

// Roles are those that a statement may bear.
func Roles() []string {
	return []string{registry.Principal, registry.Executif, registry.Conductor, registry.Agents, registry.Control, registry.Mandataire}
}

// AttestationKind is the kind of the envelope of an attestation.
const AttestationKind = "nhi-attestation"

// Attest signs a report: an envelope that says what the posture was at its time. foreign: the key is not one of the
// instance's, so that no reader will believe it. ErrNoActor, ErrRole; registry.ErrGone and ErrKeyRevoked: it may not sign
// any more.
func Attest(ctx context.Context, r *registry.Registry, s Statement, report *Report) (raw []byte, foreign bool, err error) {
	if err := s.complete(ctx, r); err != nil {
		return nil, false, fmt.Errorf("attest as %s: %w", s.Instance, err)
	}
	keys, err := r.Keys(ctx, s.Instance)
	if err == nil && slices.Contains(keys.Revoked, s.Key.Public()) {
		err = registry.ErrKeyRevoked
	}
	if err != nil {
		return nil, false, fmt.Errorf("attest as %s: %w", s.Instance, err)
	}
	raw, err = s.sign(report)
	if err != nil {
		return nil, false, fmt.Errorf("attest as %s: %w", s.Instance, err)
	}
	return raw, !slices.Contains(keys.Active, s.Key.Public()), nil
}

// complete finds role and scope, and refuses who is gone.
func (s *Statement) complete(ctx context.Context, r *registry.Registry) error {
	if err := address.Check(string(s.Instance)); err != nil {
		return err
	}
	if err := r.Standing(ctx, s.Instance); err != nil {
		return err
	}
	if s.Role == "" || s.Scope == "" {
		reg, err := r.Registered(ctx, s.Instance)
		if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
			return err
		}
		if err == nil && s.Role == "" && len(reg.Roles) > 0 {
			s.Role = reg.Roles[0]
		}
		if err == nil && s.Scope == "" && len(reg.Scopes) > 0 {
			s.Scope = reg.Scopes[0]
		}
	}
	switch {
	case s.Role == "" || s.Scope == "":
		return ErrNoActor
	case !slices.Contains(Roles(), s.Role):
		return fmt.Errorf("%q: %w", s.Role, ErrRole)
	}
	return nil
}

// idHash is how much of the hash is in the id of an attestation, with its prefix. It is a name, and proves nothing.
const idHash = 16

func (s *Statement) sign(report *Report) ([]byte, error) {
	var body canonjson.Object
	body.Str("kind", AttestationKind)
	body.Raw("report", render.JSON(report))
	var content canonjson.Object
	content.Str("by", string(s.Instance))
	content.Raw("body", body.Bytes())
	content.Str("createdAt", envelope.Stamp(report.At))
	hash, err := canonjson.Hash(content.Bytes())
	if err != nil {
		return nil, err
	}
	d := envelope.Draft{
		ID: "nhi-attest-" + hash[:idHash], Actor: envelope.Actor{Instance: s.Instance, Role: s.Role, Scope: s.Scope},
		Created: report.At, Body: body.Bytes(),
	}
	raw, err := d.Bytes()
	if err != nil {
		return nil, err
	}
	return envelope.Sign(raw, s.Instance, s.Key)
}

// Days checks an age in days from which on a key is long-lived; 0 is DefaultDays.
func Days(n float64) (int, error) {
	switch {
	case n == 0:
		return DefaultDays, nil
	case !(n >= 1) || n != float64(int(n)) || n > maxDays:
		return 0, fmt.Errorf("the age of a long-lived key is a whole number of days, from 1 to %d", maxDays)
	}
	return int(n), nil
}

// maxDays is a hundred years, of which time.Duration still can count the nanoseconds.
const maxDays = 36500
