package negotiation

import (
	"slices"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/governance/journal"
)

// A Demand knows what has to be so before a negotiation is settled. It is shown the entries in their order.
type Demand interface {
	Add(e *journal.Entry)
	// Against says what stands against settling the artifact of that hash by these signers, behind the entries that were added:
	// one sentence a reason.
	Against(hash string, artifact []byte, signers []address.Instance) []string
}

// A court is a demand with how far it has read.
type court struct {
	demand Demand // nil: nothing is demanded
	tip    journal.Tip
}

// against says why an entry may not settle the artifact of that hash, "" when nothing stands against it. All entries before it are
// read for that, each once however many are judged.
func (f *fold) against(e *journal.Entry, hash string, signers []address.Instance) string {
	if f.b.n.Demands == nil {
		return ""
	}
	fail := func(err error) string {
		if f.b.err == nil {
			f.b.err = err
		}
		return err.Error()
	}
	if f.court == nil {
		d, err := f.b.n.Demands(f.b.ctx, f.record, f.since(e))
		if err != nil {
			return fail(err)
		}
		f.court = &court{demand: d}
	}
	c := f.court
	if c.demand == nil {
		return ""
	}
	for before, err := range f.b.n.journals.ReadBehind(f.b.ctx, f.id, c.tip) {
		if err != nil {
			return fail(err)
		}
		if before.Sequence >= e.Sequence {
			break
		}
		c.demand.Add(before)
		c.tip = before.Tip()
	}
	at := slices.IndexFunc(f.offers, func(o Offered) bool { return o.Hash == hash })
	artifact, err := f.b.n.artifactAt(f.b.ctx, f.id, f.offers[at].At, hash)
	if err != nil {
		return fail(err)
	}
	return strings.Join(c.demand.Against(hash, artifact, signers), "; ")
}
