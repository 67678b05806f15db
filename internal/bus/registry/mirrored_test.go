package registry_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// TestMirrored: a mirrored agent never replaces a registration, in any order and spelling, and its keys are valid only for more mirrored
// data.
func TestMirrored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shown      address.Instance
		localFirst bool
	}{
		"before": {"claude:api:111111111111", false}, "before, in another spelling": {"Claude:API:111111111111", false}, "after, in another spelling": {"Claude:API:111111111111", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			r := registry.New(memstore.New(memstore.Options{}))
			const own = address.Instance("claude:api:111111111111")
			theirs, ours := signature.Generate(), signature.Generate()
			shown := canonjson.Set(registry.Build(registry.Agent{Instance: c.shown, Name: "theirs", PublicKeys: []string{theirs.Public().PEM()}}, now), "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))
			local := registry.Build(registry.Agent{Instance: own, Name: "ours", PublicKeys: []string{ours.Public().PEM()}}, now)
			first, second := shown, local
			if c.localFirst {
				first, second = local, shown
			}
			if err := r.Register(ctx, first); err != nil {
				t.Fatal(err)
			}
			if !c.localFirst {
				keys, err := r.Keys(ctx, own)
				if err != nil || keys.ID != "" || len(keys.PEM) > 0 || len(keys.Active) > 0 {
					t.Errorf("a mirrored key counts: %+v %v", keys, err)
				}
				if keys, err := r.MirrorKeys(ctx, own); err != nil || !slices.Equal(keys.Active, []signature.Public{theirs.Public()}) {
					t.Errorf("for more of the same: %+v %v", keys, err)
				}
				if err := r.Register(ctx, shown); !errors.Is(err, registry.ErrRegistered) {
					t.Errorf("shown twice: %v", err)
				}
			}
			if err := r.Register(ctx, second); err != nil {
				t.Fatal(err)
			}
			for _, i := range []address.Instance{own, "CLAUDE:api:111111111111"} {
				reg, err := r.Registered(ctx, i)
				if err != nil || reg.Name != "ours" || reg.Mirrored() {
					t.Errorf("%s: %+v %v", i, reg, err)
				}
				for _, keys := range []func(context.Context, address.Instance) (*registry.Keys, error){r.Keys, r.MirrorKeys} {
					if k, err := keys(ctx, i); err != nil || !slices.Equal(k.Active, []signature.Public{ours.Public()}) {
						t.Errorf("keys of %s: %+v %v", i, k, err)
					}
				}
			}
			if err := r.Register(ctx, local); !errors.Is(err, registry.ErrRegistered) {
				t.Errorf("registered twice: %v", err)
			}
			var all []string
			for reg, err := range r.All(ctx) {
				if err != nil {
					t.Error(err)
					continue
				}
				all = append(all, reg.Name)
			}
			if !slices.Equal(all, []string{"ours"}) {
				t.Errorf("all: %q", all)
			}
		})
	}
}

// TestMirroredKeys: a mirrored key is valid from when a local agent adds it until it is revoked. It can be revoked before that.
func TestMirroredKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := registry.New(memstore.New(memstore.Options{}))
	const far = address.Instance("claude:far:111111111111")
	key, other := signature.Generate().Public(), signature.Generate().Public()
	raw := registry.Build(registry.Agent{Instance: far, PublicKeys: []string{key.PEM(), other.PEM()}}, now)
	if err := r.Register(ctx, canonjson.Set(raw, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))); err != nil {
		t.Fatal(err)
	}
	wants := func(what string, believed, shows []signature.Public) {
		t.Helper()
		k, err := r.Keys(ctx, far)
		m, err2 := r.MirrorKeys(ctx, far)
		if err != nil || err2 != nil || !slices.Equal(k.Active, believed) || !slices.Equal(m.Active, shows) {
			t.Errorf("%s: %v believed, %v show; want %v and %v (%v, %v)", what, k.Active, m.Active, believed, shows, err, err2)
		}
	}
	wants("at first", nil, []signature.Public{key, other})
	if err := r.RevokeKey(ctx, far, other.PEM(), now); err != nil {
		t.Fatal(err)
	}
	wants("one revoked", nil, []signature.Public{key})
	if err := r.AddKey(ctx, far, key.PEM(), nil, now); err != nil {
		t.Fatal(err)
	}
	wants("the other added", []signature.Public{key}, []signature.Public{key})
	if err := r.AddKey(ctx, far, other.PEM(), nil, now); !errors.Is(err, registry.ErrKeyRevoked) {
		t.Errorf("a revoked one added: %v", err)
	}
	if err := r.RevokeKey(ctx, far, key.PEM(), now); err != nil {
		t.Fatal(err)
	}
	wants("both revoked", nil, nil)
}

// TestMirroredUnder: a label belongs to the registered agent. A mirrored one counts only if no agent is registered under it.
func TestMirroredUnder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		ctx := t.Context()
		r := registry.New(log)
		shown := func(i address.Instance) []byte {
			return canonjson.Set(registry.Build(registry.Agent{Instance: i}, now), "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))
		}
		const other, both, own = address.Instance("claude:api:eeeeeeeeeee1"), address.Instance("claude:api:eeeeeeeeeee2"), address.Instance("claude:api:111111111111")
		register(t, r, shown(other))
		register(t, r, shown(both))
		if all, err := r.Channel(ctx, "claude:api"); err != nil || !slices.Equal(all, []address.Instance{other, both}) {
			t.Errorf("mirrored ones alone: %v %v", all, err)
		}
		register(t, r, agent(string(both)))
		register(t, r, agent(string(own)))
		if all, err := r.Channel(ctx, "claude:api"); err != nil || !slices.Equal(all, []address.Instance{both, own}) {
			t.Errorf("beside those of this bus: %v %v", all, err)
		}
		if here, mirrored, err := r.Under(ctx, "Claude:API"); err != nil || !slices.Equal(here, []address.Instance{both, own}) || !slices.Equal(mirrored, []address.Instance{other}) {
			t.Errorf("apart: %v and %v, %v", here, mirrored, err)
		}
	})
}

// TestMirroredRoles: the roles of an agent are those with which it is registered here, whatever was shown of it before.
func TestMirroredRoles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		const own, other = address.Instance("claude:api:111111111111"), address.Instance("claude:api:eeeeeeeeeee1")
		mirror := func(i address.Instance) {
			register(t, r, canonjson.Set(registry.Build(registry.Agent{Instance: i}, now), "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`)))
		}
		mirror(own)
		mirror(other)
		register(t, r, registry.Build(registry.Agent{Instance: own, Roles: []string{registry.Principal}}, now))
		register(t, r, registry.Build(registry.Agent{Instance: "Claude:API:111111111111", Roles: []string{registry.Conductor}}, now))
		roles, err := r.Roles(t.Context(), []address.Instance{own, other, "claude:api:999999999999"})
		if err != nil || len(roles) != 2 || !slices.Equal(roles[own], []string{registry.Principal}) || !slices.Equal(roles[other], []string{registry.Agents}) {
			t.Errorf("roles: %v %v", roles, err)
		}
	})
}

// TestEverListsAllRegistrations: replaced registrations can still be read.
func TestEverListsAllRegistrations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		const own = "claude:api:111111111111"
		register(t, r, canonjson.Set(agent(own), "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`)))
		foreign(t, log, store.Instances, "{}")
		register(t, r, agent(own))
		foreign(t, log, store.Instances, string(agent(own)))
		var got []bool
		unfit := 0
		for reg, err := range r.Ever(t.Context()) {
			if err != nil {
				unfit++
				continue
			}
			got = append(got, reg.Mirrored())
		}
		if !slices.Equal(got, []bool{true, false, false}) || unfit != 1 {
			t.Errorf("mirrored: %v, and %d unfit lines", got, unfit)
		}
	})
}
