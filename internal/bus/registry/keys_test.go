package registry_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

const inst = address.Instance("claude:api:0a1b2c3d4e5f")

func wantKeys(t *testing.T, r *registry.Registry, what string, active, revoked []signature.Public) {
	t.Helper()
	k, err := r.Keys(t.Context(), inst)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !slices.Equal(k.Active, active) || !slices.Equal(k.Revoked, revoked) {
		t.Errorf("%s: active %d, revoked %d keys %q %q; want %d and %d in order", what, len(k.Active), len(k.Revoked), k.PEM, k.Gone, len(active), len(revoked))
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r, ctx := registry.New(log), t.Context()
		one, two, three := signature.Generate(), signature.Generate(), signature.Generate()
		p1, p2, p3 := one.Public(), two.Public(), three.Public()
		wantErr := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		if k, err := r.Keys(ctx, inst); err != nil || len(k.PEM) != 0 || k.ID != "" {
			t.Errorf("keys of an unregistered agent: %+v, %v", k, err)
		}
		wantErr("add to an unregistered agent", r.AddKey(ctx, inst, p1.PEM(), nil, now), registry.ErrNotRegistered)
		wantErr("revoke of an unregistered agent", r.RevokeKey(ctx, inst, p1.PEM(), now), registry.ErrNotRegistered)
		register(t, r, agent(string(inst), p1.PEM()))
		wantKeys(t, r, "registered", []signature.Public{p1}, nil)
		wantErr("add what is there", r.AddKey(ctx, inst, strings.ReplaceAll(p1.PEM(), "\n", "\r\n"), nil, now), registry.ErrKeyActive)
		wantErr("add no key", r.AddKey(ctx, inst, "K", nil, now), signature.ErrKey)
		wantErr("revoke what is not there", r.RevokeKey(ctx, inst, p2.PEM(), now), registry.ErrKeyNotActive)

		message, err := canonjson.Canonical(registry.AddedEvent(string(inst), p2, now))
		if err != nil {
			t.Fatal(err)
		}
		bad, good := two.Object(string(inst), message), one.Object(string(inst), message)
		wantErr("proof by the new key itself", r.AddKey(ctx, inst, p2.PEM(), &bad, now), registry.ErrProof)
		wantErr("proof of another time", r.AddKey(ctx, inst, p2.PEM(), &good, now.Add(1e9)), registry.ErrProof)
		wantErr("add with a proof", r.AddKey(ctx, "CLAUDE:api:0a1b2c3d4e5f", p2.PEM(), &good, now), nil)
		wantKeys(t, r, "added", []signature.Public{p1, p2}, nil)

		wantErr("revoke", r.RevokeKey(ctx, inst, strings.TrimSpace(p1.PEM()), now), nil)
		wantKeys(t, r, "revoked", []signature.Public{p2}, []signature.Public{p1})
		wantErr("revoke again", r.RevokeKey(ctx, inst, p1.PEM(), now), registry.ErrKeyNotActive)
		wantErr("add what was revoked", r.AddKey(ctx, inst, p1.PEM(), nil, now), registry.ErrKeyRevoked)

		// What programs write that check nothing.
		crlf := strings.ReplaceAll(p1.PEM(), "\n", `\r\n`)
		foreign(t, log, store.Keys, `{"instance":"`+string(inst)+`","publicKey":"`+crlf+`","type":"added","at":"t"}`)
		wantKeys(t, r, "another spelling of a revoked key", []signature.Public{p2}, []signature.Public{p1})
		lf := strings.ReplaceAll(p3.PEM(), "\n", `\n`)
		foreign(t, log, store.Keys, `{"instance":"CLAUDE:api:0a1b2c3d4e5f","publicKey":"`+lf+`","type":"added","at":"t"}`)
		wantKeys(t, r, "added under another spelling", []signature.Public{p2}, []signature.Public{p1})
		lf = strings.ReplaceAll(p2.PEM(), "\n", `\n`)
		foreign(t, log, store.Keys, `{"instance":"CLAUDE:api:0a1b2c3d4e5f","publicKey":"`+lf+`","type":"revoked","at":"t"}`)
		wantKeys(t, r, "revoked under another spelling", nil, []signature.Public{p1, p2})
	})
}

// TestRevokeAllSpellings: existing programs compare texts, so a revocation has to name each.
func TestRevokeAllSpellings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		pem := signature.Generate().Public().PEM()
		crlf := strings.ReplaceAll(pem, "\n", "\r\n")
		register(t, r, agent(string(inst), pem, crlf, "no key"))
		for _, text := range []string{crlf, "no key"} {
			if err := r.RevokeKey(t.Context(), inst, text, now); err != nil {
				t.Fatal(err)
			}
		}
		var revoked []string
		for line, err := range log.Read(t.Context(), store.Key{Kind: store.Keys}, "") {
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := canonjson.Get(line.Data, "publicKey")
			text, _ := canonjson.String(raw)
			revoked = append(revoked, text)
		}
		if want := []string{pem, crlf, "no key"}; !slices.Equal(revoked, want) {
			t.Errorf("revoked texts %q, want %q", revoked, want)
		}
	})
}

// TestOneKeyOnce: of many concurrent additions of one key, one succeeds.
func TestOneKeyOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, log store.Log) {
		r := registry.New(log)
		register(t, r, agent(string(inst)))
		pem := signature.Generate().Public().PEM()
		results := make([]error, 10)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i] = r.AddKey(t.Context(), inst, pem, nil, now) })
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else if !errors.Is(err, registry.ErrKeyActive) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d added the key", won, len(results))
		}
	})
}
