package crashtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	chain "tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

const agreed = "nego:agreed"

var (
	signer   = address.Instance("claude:api:3f2a9c01b7de")
	charter  = []byte(`{"kind":"ENGAGEMENT","id":"eng:1","scope":"scope:default","charter":{"goal":"x"},"roleBindings":[],"controls":[],"policies":[],"successCriteria":["y"]}`)
	theTime  = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)
	aRecord  = []byte(`{"id":"nego:agreed","scope":"scope:default","parties":["claude:api:3f2a9c01b7de"],"subject":"engagement","status":"draft","requiredSigners":["claude:api:3f2a9c01b7de"]}`)
	theSteps = op{name: "stabilising an agreement", setup: agree, do: stabilise, check: stabilisedOnce, long: true}
)

func init() { ops = append(ops, theSteps) }

func negotiations(s *filestore.Store) *negotiation.Negotiations {
	n := negotiation.New(s, chain.New(s), registry.New(s))
	n.Advise = func(context.Context, negotiation.Material) ([][]byte, error) {
		return [][]byte{[]byte(`{"kind":"postureConfiance"}`)}, nil
	}
	return n
}

// agree brings an agreement to where it only has to be stabilised.
func agree(ctx context.Context, s *filestore.Store) error {
	key := signature.Generate()
	raw := registry.Build(registry.Agent{Instance: signer, Roles: []string{registry.Conductor}, Root: "/bus", PublicKeys: []string{key.Public().PEM()}}, theTime)
	err := registry.New(s).Register(ctx, raw)
	n, a := negotiations(s), negotiation.Act{By: signer, Key: key}
	if err == nil {
		_, err = n.Open(ctx, aRecord, negotiation.Act{}, theTime)
	}
	if err == nil {
		_, err = n.Offer(ctx, agreed, a, negotiation.Offering{Artifact: charter}, theTime)
	}
	if err == nil {
		_, err = n.Sign(ctx, agreed, a, "", theTime)
	}
	return err
}

func stabilise(ctx context.Context, s *filestore.Store) error {
	_, err := negotiations(s).Stabilize(ctx, agreed, negotiation.Act{}, theTime)
	return err
}

// stabilisedOnce stabilises what a crash has left: after that everything is there, and nothing twice.
func stabilisedOnce(ctx context.Context, s *filestore.Store, acked bool) error {
	n := negotiations(s)
	if at, err := n.Status(ctx, agreed, theTime); err != nil || acked && at.State != negotiation.Stabilized {
		return fmt.Errorf("acknowledged %v, and it is %+v: %w", acked, at, err)
	}
	if err := stabilise(ctx, s); err != nil && !errors.Is(err, negotiation.ErrStabilized) {
		return err
	}
	v, err := n.Verify(ctx, agreed, theTime)
	if err != nil || !v.OK() {
		return fmt.Errorf("verified: %+v: %w", v, err)
	}
	kinds := map[string]int{}
	for l, err := range s.Read(ctx, store.Key{Kind: store.Journal, Name: address.Segment(agreed)}, "") {
		if err != nil {
			return err
		}
		body, _ := canonjson.Get(l.Data, "body")
		kind, _ := canonjson.Get(body, "kind")
		kinds[string(kind)]++
	}
	for _, kind := range []string{`"stabilizing"`, `"escalation"`, `"stabilized"`} {
		if kinds[kind] != 1 {
			return fmt.Errorf("entries %v, want one of the kind %s", kinds, kind)
		}
	}
	return nil
}
