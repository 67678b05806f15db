package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/bus/envelope"
	people "tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	conductors = 15
	quorum     = 3
	longest    = 100_000 // entries of the longest journal
	verified   = 5_000   // entries of the one that is verified: half a second of signatures
	nego       = "nego:bench"
)

func agreementRows() []row {
	all := []row{
		{work: "16 register, 3 of 15 sign, verified: in one process", target: within(0.150), round: agreeInside},
		{work: "16 register, 3 of 15 sign, verified: 23 processes", target: within(2), round: agreeApart},
		{work: "append to a journal of 100,000 entries, bare: an empty one", target: timesBase(2), once: true, round: appendLong},
		{work: "the same by `negotiate event`, a process each", target: timesBase(2), once: true, round: appendApart},
		{work: "`negotiate verify`, a signature, bare: ed25519 alone on all processors", target: rateOfBase(0.75), round: verifyLong},
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
	err = c.agree(e.ctx, agreement.New(s, reg, &journal.InProcess{}))
	return measured{value: time.Since(began).Seconds()}, err
}

func (c *council) agree(ctx context.Context, bus *agreement.Bus) error {
	if _, err := bus.Open(ctx, c.record(), c.all[0], time.Now()); err != nil {
		return err
	}
	act := func(n int) negotiation.Act { return negotiation.Act{By: c.all[n], Key: c.keys[n]} }
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
	if _, err := n.Stabilize(ctx, nego, negotiation.Act{}, everyCore, time.Now()); err != nil {
		return err
	}
	v, err := n.Verify(ctx, nego, everyCore, time.Now())
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

// everyCore runs a verification on all processors, in pieces as the program does.
func everyCore(n int, do func(i int)) {
	const piece = 4
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for from := int(taken.Add(piece)) - piece; from < n; from = int(taken.Add(piece)) - piece {
				for i := from; i < min(from+piece, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}

// entry is a payload as long as most are.
func entry(n int, by address.Instance) []byte {
	return fmt.Appendf(nil, `{"id":"evt-%d","type":"event","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:bench"},"body":{"kind":"note","n":%d},"createdAt":%q,"negotiationId":%q}`,
		n, by, n, envelope.Stamp(time.Now()), nego)
}

// framed are entries as existing programs write them, without link and seal: a hundred thousand of ours would take minutes.
func framed(n int, c *council) ([][]byte, error) {
	var lines [][]byte
	prev := ""
	for i := range n {
		payload := entry(i, c.all[1])
		content, err := canonjson.Hash(payload)
		if err != nil {
			return nil, err
		}
		var o canonjson.Object
		o.Str("protocol", envelope.Protocol)
		o.Str("version", envelope.Version)
		o.Int("sequence", int64(i))
		o.Opt("prevHash", prev)
		o.Str("contentHash", content)
		head := o.End()
		lines = append(lines, append(append(head[:len(head)-1], ','), payload[1:]...))
		prev = content
	}
	return lines, nil
}

// sealed are entries of ours.
func sealed(ctx context.Context, n int, c *council, k store.Key, seal journal.Seal) ([][]byte, error) {
	m := memstore.New(memstore.Options{})
	j := journal.New(m, &journal.InProcess{})
	for i := range n {
		if _, err := j.Append(ctx, nego, nil, seal, func(journal.Tip) ([]byte, error) { return entry(i, c.all[1]), nil }); err != nil {
			return nil, err
		}
	}
	var lines [][]byte
	for l, err := range m.Read(ctx, k, "") {
		if err != nil {
			return nil, err
		}
		lines = append(lines, append([]byte(nil), l.Data...))
	}
	return lines, nil
}

// A bareSeal is what has to be verified of an entry whatever else is done.
type bareSeal struct{ message, signature []byte }

// bareSeals are those of a journal: to verify one and the same again and again would be quicker, as a processor learns it.
func bareSeals(ctx context.Context, j *journal.Journal) ([]bareSeal, error) {
	var all []bareSeal
	for e, err := range j.Read(ctx, nego) {
		if err != nil {
			return nil, err
		}
		message, err := e.SignedBytes()
		if err != nil {
			return nil, err
		}
		sig, err := base64.StdEncoding.DecodeString(e.Own()[0].Value)
		if err != nil {
			return nil, err
		}
		all = append(all, bareSeal{message, sig})
	}
	return all, nil
}

// verifyLong sets a whole verification against the bare signatures of the same journal, per signature.
func verifyLong(e *env) (measured, error) {
	c := newCouncil()
	s, err := journalOf(e, verified, c, journal.Seal{By: c.all[1], Key: c.keys[1]})
	if err != nil {
		return measured{}, err
	}
	defer s.Close()
	n := agreement.New(s, people.New(s), nil).Negotiations()
	bare, err := bareSeals(e.ctx, n.Journal())
	if err != nil {
		return measured{}, err
	}
	pub := c.keys[1].Public()
	m, err := inTurns(e.ctx, 3, func(int) (time.Duration, error) {
		began := time.Now()
		v, err := n.Verify(e.ctx, nego, everyCore, began)
		if err == nil && v.Report.Sealed != verified {
			err = fmt.Errorf("%d of %d seals hold", v.Report.Sealed, verified)
		}
		return time.Since(began), err
	}, func(int) (time.Duration, error) {
		began := time.Now()
		var bad atomic.Int64
		everyCore(len(bare), func(i int) {
			if !ed25519.Verify(pub[:], bare[i].message, bare[i].signature) {
				bad.Add(1)
			}
		})
		took := time.Since(began)
		if len(bare) != verified || bad.Load() > 0 {
			return 0, fmt.Errorf("%d of %d bare signatures do not hold", bad.Load(), len(bare))
		}
		return took, nil
	})
	return measured{m.value / verified, m.base / verified}, err
}
