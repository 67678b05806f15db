package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/nhi"
)

// posture reads all identities.
func (c *call) posture(ctx context.Context) (*nhi.Snapshot, int, error) {
	days := float64(0)
	if c.raw("longLivedKeyMaxDays") != nil {
		if days = c.number("longLivedKeyMaxDays", -1); days == 0 {
			days = -1 // 0 stands for none given
		}
	}
	n, err := nhi.Days(days)
	if err != nil {
		return nil, 0, c.refuse("", "longLivedKeyMaxDays: %s", err)
	}
	s, err := nhi.Take(ctx, c.Registry)
	if err != nil {
		return nil, 0, err
	}
	s.Specified = true
	return s, n, nil
}

// cutToFit makes an answer with as many elements as it takes: all, or half as often as needed.
func cutToFit(answer func(most int) any) any {
	for most := 0; ; {
		if o := answer(most); most == 1 || fits(o) {
			return o
		}
		if most == 0 {
			most = 256
			continue
		}
		most /= 2
	}
}

// nhiReport says what is wrong with the identities of the bus.
func nhiReport(ctx context.Context, c *call) (any, error) {
	s, days, err := c.posture(ctx)
	if err != nil {
		return nil, err
	}
	r := s.Report(days, time.Now())
	return cutToFit(func(most int) any { return reported{r.Short(most)} }), nil
}

// A reported is a report on the identities of the bus.
type reported struct {
	Report nhi.Report `json:"report"`
}

// An inventoried lists the identities of the bus.
type inventoried struct {
	Inventory nhi.Inventory `json:"inventory"`
}

// nhiInventory lists them.
func nhiInventory(ctx context.Context, c *call) (any, error) {
	s, days, err := c.posture(ctx)
	if err != nil {
		return nil, err
	}
	inv := s.Inventory(days, time.Now())
	return cutToFit(func(most int) any { return inventoried{inv.Short(most)} }), nil
}

// nhiAttest signs the report in the name of the connection, with the key of the keyring unless one is given.
func nhiAttest(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	name := c.text("instance")
	st := nhi.Statement{Instance: address.Instance(name), Role: c.text("role"), Scope: c.text("scope")}
	if st.Instance.Canonical() != own.Instance.Canonical() {
		return nil, foreign(own.Instance, fmt.Sprintf("nothing is signed in the name of %s", termsafe.Cut(name, maxWord)), "")
	}
	var warning string
	var err error
	if st.Key, warning, err = c.key(st.Instance); err != nil {
		return nil, err
	}
	s, days, err := c.posture(ctx)
	if err != nil {
		return nil, err
	}
	raw, foreign, err := nhi.Attest(ctx, c.Registry, st, s.Report(days, time.Now()))
	switch {
	case errors.Is(err, nhi.ErrNoActor):
		return nil, c.refuse("give role and scope", "%s", err)
	case err != nil:
		return nil, err
	case foreign:
		warning = "the key does not belong to " + word(name) + ", so no one will accept this signature"
	}
	o := nhiAttested{raw, warning}
	if !fits(o) {
		return nil, c.refuse("tutti nhi attest prints it on a command line", "the attestation has %d bytes, more than one answer takes", len(raw))
	}
	return o, nil
}

// An nhiAttested is a signed report on the identities of the bus.
type nhiAttested struct {
	Attestation json.RawMessage `json:"attestation"` // a signed envelope
	Warning     string          `json:"warning,omitempty"`
}

// nhiOffboard takes an agent out of service: oneself, or one that names this agent as its principal or conductor. All others
// are a person's to offboard, because nothing brings them back.
func nhiOffboard(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	who := address.Instance(c.text("instance"))
	if err := c.mayOffboard(ctx, own.Instance, who); err != nil {
		return nil, err
	}
	d := nhi.Service{Registry: c.Registry, Presence: c.World.Presence, Log: c.Store}
	t, err := d.Offboard(ctx, nhi.Leave{Instance: who, Reason: termsafe.Cut(c.text("reason"), maxError), By: own.Instance}, time.Now())
	if err != nil {
		return nil, err
	}
	return tombstone(t), nil
}

// A buried says what was ended with an identity. What it names is on record whole.
type buried struct {
	Tombstone nhi.Gone `json:"tombstone"`
}

func tombstone(t *registry.Tombstone) any {
	for {
		if o := (buried{nhi.GoneOf(t)}); fits(o) {
			return o
		}
		t.Subagents, t.Claims, t.Sessions = t.Subagents[:len(t.Subagents)/2], t.Claims[:len(t.Claims)/2], t.Sessions[:len(t.Sessions)/2]
	}
}

func (c *call) mayOffboard(ctx context.Context, own, who address.Instance) error {
	if err := noPerson(who); err != nil {
		return err
	}
	if own.Canonical() == who.Canonical() {
		return nil
	}
	if err := c.Registry.Standing(ctx, own); err != nil {
		return err
	}
	reg, err := c.Registry.Registered(ctx, who)
	if err != nil {
		return err
	}
	for _, over := range []string{reg.Principal, reg.Conductor} {
		if over != "" && address.Canonical(over) == string(own.Canonical()) {
			return nil
		}
	}
	return foreign(own, fmt.Sprintf("%s does not answer to this agent, and is not offboarded by it", termsafe.Cut(string(who), maxWord)),
		"ask your user, who can do so on a command line: tutti retire INSTANCE")
}

// nhiExport lists the public keys of an agent for other systems.
func nhiExport(ctx context.Context, c *call) (any, error) {
	bundle, err := nhi.Bundle(ctx, c.Registry, address.Instance(c.text("instance")), c.text("trustDomain"))
	if err != nil {
		return nil, err
	}
	o := exported{bundle}
	if !fits(o) {
		return nil, c.refuse("tutti nhi export prints it on a command line", "the bundle has %d bytes, more than one answer takes", len(render.JSON(bundle)))
	}
	return o, nil
}

// An exported is a set of public keys for other systems.
type exported struct {
	Bundle *nhi.KeyBundle `json:"bundle"`
}
