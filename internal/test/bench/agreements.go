package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	people "tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store/filestore"
)

const (
	conductors = 15
	quorum     = 3
	nego       = "nego:bench"
)

func agreementRows() []row {
	all := []row{
		{work: "16 register, 3 of 15 sign, verified: in one process", target: within(0.150), round: agreeInside},
		{work: "16 register, 3 of 15 sign, verified: 23 processes", target: within(2), round: agreeApart},
	}
	for i := range all {
		all[i].subject = "agreements"
	}
	return all
}

// A council is one PRINCIPAL and its conductors, with their keys.
type council struct {
	all  []address.Instance // the first is the PRINCIPAL
	keys []*signature.Private
}

func newCouncil() *council {
	c := &council{}
	for n := range conductors + 1 {
		c.all = append(c.all, address.Instance(fmt.Sprintf("claude:member%d:%012x", n, n)))
		c.keys = append(c.keys, signature.Generate())
	}
	return c
}

func (c *council) registration(n int, now time.Time) []byte {
	role := people.Conductor
	if n == 0 {
		role = people.Principal
	}
	return people.Build(people.Agent{
		Instance: c.all[n], Roles: []string{role}, Scopes: []string{"scope:bench"}, Root: "/bus", PublicKeys: []string{c.keys[n].Public().PEM()},
	}, now)
}

func (c *council) names(from int) []string {
	var out []string
	for _, i := range c.all[from:] {
		out = append(out, string(i))
	}
	return out
}

func (c *council) record() []byte {
	var o canonjson.Object
	o.Str("id", nego)
	o.Str("scope", "scope:bench")
	o.Str("subject", "engagement")
	o.Str("status", "draft")
	o.Strs("parties", c.names(0))
	o.Strs("requiredSigners", c.names(1))
	o.Within("authority", func(o *canonjson.Object) {
		o.Str("kind", "AUTHORITY")
		o.Str("id", "authority:bench")
		o.Str("authorityKind", "quorum")
		o.Strs("members", c.names(1))
		o.Int("threshold", quorum)
	})
	return o.End()
}

const charter = `{"kind":"ENGAGEMENT","id":"eng:bench","scope":"scope:bench","charter":{"goal":"g"},"roleBindings":[],"controls":[],"policies":[],"successCriteria":["c"]}`

// agreeInside is the whole course of an agreement in this process, each step from the disk and to it.
func agreeInside(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	s, err := filestore.Open(filepath.Join(dir, ".h2a"), filestore.Options{Create: true, CreatedBy: "bench"})
	if err != nil {
		return measured{}, err
	}
	defer s.Close()
	c := newCouncil()
	began := time.Now()
	reg := people.New(s)
	for n := range c.all {
		if err := reg.Register(e.ctx, c.registration(n, began)); err != nil {
			return measured{}, err
		}
	}
	err = c.agree(e.ctx, agreement.New(s, reg))
	return measured{value: time.Since(began).Seconds()}, err
}

func (c *council) agree(ctx context.Context, bus *agreement.Bus) error {
	act := func(n int) negotiation.Act { return negotiation.Act{By: c.all[n], Key: c.keys[n]} }
	if _, err := bus.Open(ctx, c.record(), act(0), time.Now()); err != nil {
		return err
	}
	n, err := bus.For(ctx, profile.Sign, c.all[0])
	if err != nil {
		return err
	}
	if _, err := n.Offer(ctx, nego, act(0), negotiation.Offering{Artifact: []byte(charter)}, time.Now()); err != nil {
		return err
	}
	for i := range quorum {
		if _, err := n.Sign(ctx, nego, act(i+1), "", time.Now()); err != nil {
			return err
		}
	}
	if _, err := n.Stabilize(ctx, nego, negotiation.Act{}, time.Now()); err != nil {
		return err
	}
	v, err := n.Verify(ctx, nego, time.Now())
	if err == nil && !v.OK() {
		err = errors.New("the agreement does not hold")
	}
	return err
}

// agreeApart is the same by the program itself, one process after the other.
func agreeApart(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	t := &town{e: e, dir: dir, root: filepath.Join(dir, "h2a-workspace", ".h2a")}
	if err := t.need("init", "negotiate verify"); err != nil {
		return measured{}, err
	}
	if _, err := t.run("", "init"); err != nil {
		return measured{}, err
	}
	c := newCouncil()
	key := func(n int) string { return filepath.Join(dir, fmt.Sprintf("key-%d.pem", n)) }
	for n := range quorum + 1 {
		if err := os.WriteFile(key(n), c.keys[n].PEM(), 0o600); err != nil {
			return measured{}, err
		}
	}
	began := time.Now()
	for n := range c.all {
		if _, err := t.run("", "register", string(c.registration(n, began))); err != nil {
			return measured{}, err
		}
	}
	steps := [][]string{
		{"negotiate", "open", string(c.record()), "--instance", string(c.all[0])},
		{"negotiate", "offer", nego, charter, "--instance", string(c.all[0]), "--private-key", key(0)},
	}
	for n := 1; n <= quorum; n++ {
		steps = append(steps, []string{"negotiate", "sign", nego, "--instance", string(c.all[n]), "--private-key", key(n)})
	}
	for _, args := range append(steps, []string{"negotiate", "stabilize", nego}, []string{"negotiate", "verify", nego}) {
		if _, err := t.run("", args...); err != nil {
			return measured{}, fmt.Errorf("%s: %w", strings.Join(args[:2], " "), err)
		}
	}
	return measured{value: time.Since(began).Seconds()}, nil
}
