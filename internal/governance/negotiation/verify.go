package negotiation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// A witness is who has read a whole journal, with every signature in it.
type witness struct {
	p         *place
	tip       journal.Tip
	report    *journal.Report
	entries   []*journal.Entry
	artifacts map[string][]byte // by hash, of the first offer that has it
	told      []Judgement
	kept      error // what is wrong with the file of the stabilised artifact
}

// maxTold is how many judgements are kept.
const maxTold = 1000

// witness reads all of a journal. all: the entries are needed.
func (n *Negotiations) witness(ctx context.Context, id string, all bool, now time.Time) (*witness, error) {
	p, err := n.find(ctx, id, now)
	if err != nil {
		return nil, err
	}
	w := &witness{p: p, artifacts: map[string][]byte{}}
	p.f.told = func(j Judgement) {
		if len(w.told) < maxTold {
			w.told = append(w.told, j)
		}
	}
	w.report, err = n.journals.Verify(ctx, id, journal.Checks{
		Keys: func(_ context.Context, by address.Instance) (journal.Keys, error) {
			return p.f.b.person(by).Keys, p.f.b.err
		},
		Now: now,
		Also: func(e *journal.Entry, s journal.Seals) {
			if all {
				w.entries = append(w.entries, e)
			}
			p.f.add(e, &s)
			if n.Looked != nil {
				n.Looked(e.Sequence + 1)
			}
			if a, ok := canonjson.Get(e.Body, "artifact"); ok && (e.Type == "propose" || e.Type == "counter") {
				if hash, err := canonjson.Hash(a); err == nil && w.artifacts[hash] == nil {
					w.artifacts[hash] = a
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	w.tip, p.tip = w.report.Tip, w.report.Tip
	if w.report.Bad == nil || w.report.Entries > 0 {
		if err := p.known(); err != nil {
			return nil, err
		}
	}
	w.settle()
	if !w.report.Broken {
		p.keep(now)
	}
	w.kept = n.keeps(ctx, w)
	return w, nil
}

// settle judges the signatures of what was settled anew: each was judged on its own, and a key that was revoked since takes nothing back.
func (w *witness) settle() {
	f := w.p.f
	if f.final == nil {
		return
	}
	for i := range f.signed {
		s := &f.signed[i]
		at := slices.IndexFunc(w.told, func(j Judgement) bool { return j.Index == s.Index && j.Code == CodeRevoked })
		if v := f.check(s, true); at >= 0 && s.Hash == f.final.Hash && v != nil && v.Counts {
			w.told[at].Code, w.told[at].Counts = CodeFormer, true
			w.told[at].Why += " after the agreement was settled"
		}
	}
}

// keeps looks at the file of what was stabilised.
func (n *Negotiations) keeps(ctx context.Context, w *witness) error {
	f := w.p.f.final
	if f == nil || !f.Done {
		return nil
	}
	key := ArtifactKey(w.artifacts[f.Hash], f.Hash)
	doc, err := n.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &ArtifactError{key.Path(), "the artifact that was stabilised is not there; `" + command("stabilize", w.p.id) + "` writes it again"}
	}
	if err != nil {
		return &ArtifactError{key.Path(), err.Error()}
	}
	got, err := canonjson.HashWhole(doc.Data)
	if whole := (*canonjson.Error)(nil); errors.As(err, &whole) {
		return &ArtifactError{key.Path(), "it was changed after it was stabilised: " + err.Error()}
	}
	if got != f.Hash {
		return &ArtifactError{key.Path(), fmt.Sprintf("it was changed after it was stabilised: it is %s now, and %s was signed", got, f.Hash)}
	}
	return nil
}

// A Verdict is what reading all of a negotiation has come to.
type Verdict struct {
	Standing *Standing
	Report   *journal.Report
	Entries  []Judgement // what there is to say of single entries
	Artifact error       // what is wrong with the file of the stabilised artifact
	Problems []string    // what else is wrong, for people
	Untold   []string    // what cannot be known from these files
}

// OK tells that nothing is wrong: no bad entry, no entry that does not count, and the files say what the journal says. Entries
// that count but have a remark are not a fault.
func (v *Verdict) OK() bool {
	if v.Report.Bad != nil || v.Artifact != nil || len(v.Problems) > 0 {
		return false
	}
	for _, j := range v.Entries {
		if !j.Counts {
			return false
		}
	}
	return true
}

// Verify reads all of a negotiation and believes nothing but signatures.
func (n *Negotiations) Verify(ctx context.Context, id string, now time.Time) (*Verdict, error) {
	w, err := n.witness(ctx, id, false, now)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", id, err)
	}
	v := &Verdict{Report: w.report, Entries: w.told, Artifact: w.kept, Standing: n.standing(w.p, now), Untold: w.p.untold()}
	f := w.p.f
	lost := w.p.lost()
	if w.report.Broken { // which says more
		lost = ""
	}
	for _, why := range []string{lost, w.p.claims(now)} {
		if why != "" {
			v.Problems = append(v.Problems, why)
		}
	}
	if f.differ() {
		v.Problems = append(v.Problems, fmt.Sprintf("%v: entry %d holds %s, the record %s", ErrTerms, f.termsAt, f.terms, f.record.terms()))
	}
	if w.p.doc == nil {
		v.Problems = append(v.Problems, w.p.note)
	} else if r := w.p.kept; f.opening == nil && r.Status == Stabilized && (f.final == nil || !f.final.Done) {
		v.Problems = append(v.Problems, "state.json says stabilized, and the journal does not show it")
	} else if f.final != nil && f.final.Done && !w.p.says(f.final.Hash) && w.p.claims(now) == "" {
		v.Problems = append(v.Problems, fmt.Sprintf("the journal shows that %s was stabilised, and state.json says %s %s", f.final.Hash, r.Status, r.CurrentArtifactHash))
	}
	return v, nil
}

// Material returns what declarations and dossiers are made from. Signatures are not looked at.
func (n *Negotiations) Material(ctx context.Context, id string) (*Material, error) {
	w, err := n.witness(ctx, id, true, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	if w.report.Broken {
		return nil, fmt.Errorf("read %s: %w", id, w.report.Bad)
	}
	m := &Material{Record: w.p.f.record, Entries: w.entries}
	switch last := w.p.f.last(); {
	case w.p.f.final != nil:
		m.Hash = w.p.f.final.Hash
	case last != nil:
		m.Hash = last.Hash
	}
	m.Artifact = w.artifacts[m.Hash]
	return m, nil
}
