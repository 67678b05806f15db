package nhi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/subagent"
	"tutti/internal/store"
)

// A Service takes identities out of service. Its members are set once, before the first call.
type Service struct {
	Registry *registry.Registry
	Presence *presence.Presence
	Log      store.Log
	// Sealed are the hashes of what an agent has sealed under a key that stay valid when the key is revoked; nil: none do. It
	// reports read errors to their owner: they do not prevent a retirement.
	Sealed func(ctx context.Context, who address.Instance, key signature.Public) []string
}

// A Leave says who goes.
type Leave struct {
	Instance address.Instance
	Reason   string
	By       address.Instance // the requester; "": unknown
	// Key is one of the retired agent; it shows readers who know it that the instance itself revokes; nil: there is none.
	Key *signature.Private
}

// Offboard takes an instance out of service for good. In this order: its keys are revoked, so that nothing it signs verifies;
// its subagents are; its claims to conduct are released; a tombstone closes every door to it, of whatever is added later; and
// its sessions are closed. It may be repeated, also after it was cut off, and each time adds a tombstone that says what was
// still to be done. registry.ErrNotRegistered: there is no such instance, and nothing is done.
func (d *Service) Offboard(ctx context.Context, l Leave, now time.Time) (*registry.Tombstone, error) {
	t, err := d.offboard(ctx, l, now)
	if err != nil {
		return nil, fmt.Errorf("offboard %s: %w", l.Instance, err)
	}
	return t, nil
}

func (d *Service) offboard(ctx context.Context, l Leave, now time.Time) (*registry.Tombstone, error) {
	reg, err := d.Registry.Registered(ctx, l.Instance)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // what was begun is brought to its end
	t := &registry.Tombstone{Instance: l.Instance, Reason: l.Reason, At: envelope.Stamp(now), By: string(l.By)}
	if t.Keys, err = d.revokeKeys(ctx, reg, l.Key, now); err != nil {
		return nil, err
	}
	reason := l.Reason
	if reason == "" {
		reason = "offboard"
	}
	subs := subagent.Agents{Registry: d.Registry}
	if t.Subagents, err = subs.RevokeBelow(ctx, reg.Instance, reason, now); err != nil {
		return nil, err
	}
	if t.Claims, err = d.releaseClaims(ctx, reg.Instance, now); err != nil {
		return nil, err
	}
	open, err := d.sessions(ctx, reg.Instance, now)
	if err != nil {
		return nil, err
	}
	for _, s := range open {
		t.Sessions = append(t.Sessions, string(s.SessionID))
	}
	if t.Grants, err = d.Registry.Grants(ctx, reg.Instance); err != nil {
		return nil, err
	}
	if err := d.bury(ctx, reg, t); err != nil {
		return nil, err
	}
	return t, d.close(ctx, reg.Instance, now)
}

// bury writes the tombstone, and another one for the id of a registration that is not its instance.
func (d *Service) bury(ctx context.Context, reg *registry.Registration, t *registry.Tombstone) error {
	names := []address.Instance{t.Instance}
	for _, i := range []address.Instance{reg.Instance, address.Instance(reg.ID)} {
		known := false
		for _, n := range names {
			known = known || n.Canonical() == i.Canonical()
		}
		if !known {
			names = append(names, i)
		}
	}
	for _, i := range names {
		one := *t
		one.Instance = i
		if err := d.Registry.Offboard(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// revokeKeys revokes what is active, and what would be without the tombstone that there may be already. The key that proves it goes last: after
// that it proves nothing.
func (d *Service) revokeKeys(ctx context.Context, reg *registry.Registration, own *signature.Private, now time.Time) (int, error) {
	keys, err := d.Registry.Keys(ctx, reg.Instance)
	if err != nil {
		return 0, err
	}
	if own != nil && !slices.Contains(slices.Concat(keys.Active, keys.Revoked), own.Public()) {
		own = nil
	}
	last := func(pem string) int {
		if key, err := signature.ParsePublic(pem); own != nil && err == nil && key == own.Public() {
			return 1
		}
		return 0
	}
	all := slices.Concat(keys.PEM, keys.Gone)
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(last(a), last(b)) })
	revoked := 0
	for _, pem := range all {
		switch err := d.Registry.Revoke(ctx, reg.Instance, pem, d.revocation(ctx, reg.Instance, pem, own), now); {
		case err == nil:
			revoked++
		case !errors.Is(err, registry.ErrKeyNotActive):
			return revoked, err
		}
	}
	return revoked, nil
}

func (d *Service) revocation(ctx context.Context, who address.Instance, pem string, own *signature.Private) (how registry.Revocation) {
	how.By = own
	key, err := signature.ParsePublic(pem)
	if d.Sealed != nil && err == nil {
		how.Before = d.Sealed(ctx, who, key)
		how.Before = how.Before[:min(len(how.Before), registry.MaxBefore)]
	}
	return how
}

// sessions are those of an instance and its subagents that are there.
func (d *Service) sessions(ctx context.Context, i address.Instance, now time.Time) ([]*presence.Session, error) {
	all, err := d.Presence.Fresh(ctx, now)
	if err != nil {
		return nil, err
	}
	var own []*presence.Session
	for _, s := range all {
		if of(i, s.Instance) {
			own = append(own, s)
		}
	}
	return own, nil
}

// of tells whether an address is that of an instance or of a subagent of it.
func of(i, other address.Instance) bool {
	c, o := string(i.Canonical()), string(other.Canonical())
	return o == c || strings.HasPrefix(o, c+"~")
}

func (d *Service) close(ctx context.Context, i address.Instance, now time.Time) error {
	all, err := d.sessions(ctx, i, now)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		if err := d.Presence.Close(ctx, s); err != nil && !errors.Is(err, presence.ErrTaken) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

var claims = store.Key{Kind: store.ConductorClaims}

// A claim is the last word of one spelling of an instance on one workspace.
type claim struct{ workspace, instance, at, what string }

// releaseClaims releases what the instance, in whatever spelling, claims to conduct. A claim that is dated into the future is
// released at that very time: the later one of two lines with one time counts.
func (d *Service) releaseClaims(ctx context.Context, i address.Instance, now time.Time) ([]string, error) {
	last := map[[2]string]*claim{}
	var order []*claim
	for line, err := range d.Log.Read(ctx, claims, "") {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, ok := parseClaim(line.Data)
		if !ok || !of(i, address.Instance(c.instance)) {
			continue
		}
		key := [2]string{address.Canonical(c.workspace), c.instance}
		was := last[key]
		if was == nil {
			was = &claim{}
			last[key] = was
			order = append(order, was)
		}
		if c.at >= was.at {
			*was = c
		}
	}
	var released []string
	for _, c := range order {
		if c.what != "claim" {
			continue
		}
		var o canonjson.Object
		o.Str("type", "release")
		o.Str("workspaceId", c.workspace)
		o.Str("instance", c.instance)
		o.Str("at", max(c.at, envelope.Stamp(now)))
		if _, err := d.Log.Append(ctx, claims, store.AnyEnd, o.Bytes()); err != nil {
			return released, err
		}
		released = append(released, c.workspace)
	}
	return released, nil
}

func parseClaim(raw []byte) (claim, bool) {
	var v [4][]byte
	if !canonjson.Pick(raw, []string{"type", "workspaceId", "instance", "at"}, v[:]) {
		return claim{}, false
	}
	var t [len(v)]string
	for n := range v {
		t[n], _ = canonjson.String(v[n])
	}
	ok := t[1] != "" && t[2] != "" && (t[0] == "claim" || t[0] == "release")
	return claim{what: t[0], workspace: t[1], instance: t[2], at: t[3]}, ok
}

// A Gone is what was ended with an identity.
type Gone struct {
	Instance  string   `json:"instance"`
	Reason    string   `json:"reason,omitempty"`
	Keys      int      `json:"revokedKeys"`
	Subagents []string `json:"revokedSubagents"`
	At        string   `json:"at"`
	Claims    []string `json:"releasedClaims"` // workspaces that it claimed to conduct
	Sessions  []string `json:"closedSessions"`
	Grants    int      `json:"endedGrants"`
}

// GoneOf returns what a tombstone says for programs.
func GoneOf(t *registry.Tombstone) Gone {
	return Gone{string(t.Instance), t.Reason, t.Keys, render.List(t.Subagents), t.At, render.List(t.Claims), render.List(t.Sessions), len(t.Grants)}
}
