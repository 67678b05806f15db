package negotiation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// Steward is the writer of the entries of a stabilisation that are not signed: the name that existing programs use.
const Steward = address.Instance("h2a-cli")

// A Result is a stabilised agreement.
type Result struct {
	Record       *Record
	ArtifactHash string
	Artifact     []byte
	Signers      []address.Instance // the required ones, or with a quorum those whose signatures count
	Path         string             // of the artifact, below the root of the bus
	Advisory     []EventRef
	Final        EventRef
}

// An EventRef names an entry.
type EventRef struct {
	ID       string `json:"id"`
	Sequence int    `json:"sequence"`
}

// errMoved reports that the journal grew between two steps.
var errMoved = errors.New("the journal has grown")

// Stabilize makes an agreement of what all have signed who have to. Its steps are an entry that settles the negotiation, the
// artifact, what advises, an entry that closes it, and the record. It may be interrupted after any of them and done again: what is
// there already is not done twice. Of several who do it at once each gets the same result.
func (n *Negotiations) Stabilize(ctx context.Context, id string, a Act, now time.Time) (*Result, error) {
	if a.By == "" {
		a.By, a.Key = Steward, nil
	}
	const tries = 1000
	for range tries {
		r, err := n.stabilize(ctx, id, a, now)
		if !errors.Is(err, errMoved) {
			if err != nil {
				return nil, fmt.Errorf("stabilize %s: %w", id, err)
			}
			return r, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("stabilize %s: %w", id, journal.ErrBusy)
}

func (n *Negotiations) stabilize(ctx context.Context, id string, a Act, now time.Time) (*Result, error) {
	w, err := n.witness(ctx, id, true, now)
	if err != nil {
		return nil, err
	}
	if err := w.mayStabilize(now); err != nil {
		return nil, err
	}
	f := w.p.f
	if f.final == nil || !f.final.Done {
		if err := w.unused(a.EventID); err != nil {
			return nil, err
		}
	}
	if f.final == nil {
		if err := n.settle(ctx, w, a, now); err != nil {
			return nil, err
		}
	}
	r := &Result{Record: f.record, ArtifactHash: f.final.Hash, Signers: f.final.Signers}
	if f.record.Quorum == nil {
		r.Signers = f.record.RequiredSigners
	}
	if r.Artifact = w.artifacts[r.ArtifactHash]; r.Artifact == nil {
		return nil, refuse("", "no offer/counter event matches %s", r.ArtifactHash)
	}
	key := ArtifactKey(r.Artifact, r.ArtifactHash)
	r.Path = key.Path()
	if err := n.keepArtifact(ctx, key, r.Artifact, r.ArtifactHash); err != nil {
		return nil, err
	}
	if !f.final.Done {
		if err := n.advise(ctx, w, a, r, now); err != nil {
			return nil, err
		}
		if err := n.closeUp(ctx, w, a, r, now); err != nil {
			return nil, err
		}
	}
	r.Final = EventRef{f.final.DoneID, f.final.DoneIndex}
	r.Record, err = n.record(ctx, w, r)
	return r, err
}

// mayStabilize refuses what is over, and what is not signed by all.
func (w *witness) mayStabilize(now time.Time) error {
	f := w.p.f
	if w.report.Broken {
		return w.report.Bad
	}
	if f.record == nil {
		return refuse(openAnew, "%s and the journal does not hold its terms", w.p.note)
	}
	if f.differ() {
		return fmt.Errorf("%w: see `%s`", ErrTerms, command("verify", w.p.id))
	}
	if lost := w.p.lost(); lost != "" {
		return refuse("see `"+command("verify", w.p.id)+"`", "%s", lost)
	}
	state, why := w.p.state(now)
	if f.final != nil {
		if f.final.Done && w.kept == nil && w.p.says(f.final.Hash) {
			return fmt.Errorf("it is %w, with entry %d", ErrStabilized, f.final.DoneIndex)
		}
		return nil // begun, or lacking a part: complete it
	}
	if state.Terminal() {
		return refuse("", "it is %s: %s", state, why)
	}
	if err := f.clock(now); err != nil {
		return err
	}
	if winner, _ := f.winner(); winner == nil {
		return fmt.Errorf("%w: %s", ErrQuorum, w.p.lacks())
	}
	return nil
}

// unused is Negotiations.unused for callers that have read the journal.
func (w *witness) unused(eventID string) error {
	for _, e := range w.entries {
		if eventID != "" && e.ID == eventID {
			return taken(e)
		}
	}
	return nil
}

// lacks says what an agreement lacks, in one line.
func (p *place) lacks() string {
	last := p.f.last()
	if last == nil {
		return "nothing was offered yet"
	}
	signed, _ := p.f.signersOf(last.Hash, false)
	must, more, of := p.f.record.Missing(signed)
	var parts []string
	if len(must) > 0 {
		parts = append(parts, "signatures of "+strings.Join(address.Texts(must), " "))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more of %s", more, strings.Join(address.Texts(of), " ")))
	}
	void := p.f.void
	for i := range p.f.signed {
		if v := p.f.check(&p.f.signed[i], false); v != nil && !v.Counts {
			void = append(slices.Clip(void), *v)
		}
	}
	for _, v := range void {
		parts = append(parts, fmt.Sprintf("entry %d does not count (%s: %s)", v.Index, v.Code, v.Why))
	}
	return fmt.Sprintf("%s lacks %s", last.Hash, strings.Join(parts, "; "))
}

// step adds an entry of the stabilisation if the journal still ends where it was judged.
func (n *Negotiations) step(ctx context.Context, w *witness, a Act, now time.Time, d draft) (*journal.Entry, error) {
	f := w.p.f
	next := newFold(f.b, w.p.id, f.record)
	e, err := n.journals.Append(ctx, w.p.id, next, journal.Seal{By: a.By, Key: a.Key}, func(tip journal.Tip) ([]byte, error) {
		if tip.EntryHash != w.tip.EntryHash {
			return nil, errMoved
		}
		return w.p.payload(d, a, tip, now), nil
	})
	if err != nil {
		return nil, err
	}
	w.tip = e.Tip()
	w.p.tip = w.tip
	f.add(e, nil)
	w.p.keep(now)
	return e, nil
}

// settle writes the entry from which the negotiation is settled: what comes after it changes nothing.
func (n *Negotiations) settle(ctx context.Context, w *witness, a Act, now time.Time) error {
	f := w.p.f
	winner, signers := f.winner()
	artifact := w.artifacts[winner.Hash]
	if err := n.gate(Stabilize, f.record, artifact); err != nil {
		return err
	}
	if a.By != Steward {
		if err := w.p.mayKey(a); err != nil {
			return err
		}
	}
	// A path that is taken is found now: once settled, nothing could be offered instead.
	if err := n.mayKeep(ctx, ArtifactKey(artifact, winner.Hash), winner.Hash); err != nil {
		return err
	}
	var body canonjson.Object
	body.Str("kind", bodyStabilizing)
	body.Str("artifactHash", winner.Hash)
	body.Strs("signers", address.Texts(signers))
	a.EventID = "" // the id that was asked for is that of the last entry
	if _, err := n.step(ctx, w, a, now, draft{kind: "stabilizing", typ: "event", role: "MANDATAIRE", body: body.End()}); err != nil {
		return err
	}
	if f.final == nil {
		return fmt.Errorf("%w: %s", ErrQuorum, w.p.lacks())
	}
	return nil
}

// ArtifactKey is where a stabilised artifact is kept.
func ArtifactKey(artifact []byte, hash string) store.Key {
	id := member(artifact, "id")
	if id != "" && address.Check(id) == nil {
		switch declaration.KindOf(artifact) {
		case "CONTRACT":
			return store.Key{Kind: store.Contract, Name: address.Segment(id)}
		case "POLICY":
			return store.Key{Kind: store.Policy, Name: address.Segment(id)}
		case "ENGAGEMENT":
			return store.Key{Kind: store.Charter, Name: address.Segment(id)}
		}
	}
	return store.Key{Kind: store.Artifact, Name: hashName(hash)}
}

// hashName is a hash as a file name.
func hashName(hash string) string { return strings.ReplaceAll(hash, ":", "_") }

// An ArtifactError says what is wrong with the file of a stabilised artifact.
type ArtifactError struct{ Path, Why string }

func (e *ArtifactError) Error() string { return e.Path + ": " + e.Why }

// mayKeep looks whether the place of an artifact is free or holds it already.
func (n *Negotiations) mayKeep(ctx context.Context, key store.Key, hash string) error {
	doc, err := n.store.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if got, err := canonjson.HashWhole(doc.Data); err != nil || got != hash {
		return &ArtifactError{key.Path(), fmt.Sprintf("another artifact exists already (%s); give this one another id, or amend that one", cmp.Or(got, "unreadable"))}
	}
	return nil
}

// keepArtifact writes the artifact, unless it is there.
func (n *Negotiations) keepArtifact(ctx context.Context, key store.Key, artifact []byte, hash string) error {
	_, err := n.store.Create(ctx, key, lay(artifact))
	if errors.Is(err, store.ErrExists) {
		return n.mayKeep(ctx, key, hash)
	}
	return err
}

// advise writes the entries that advise, each once: those that stand behind the settling entry are counted.
func (n *Negotiations) advise(ctx context.Context, w *witness, a Act, r *Result, now time.Time) error {
	if n.Advise == nil {
		return nil
	}
	payloads, err := n.Advise(ctx, Material{w.p.f.record, r.ArtifactHash, r.Artifact, w.entries[:min(len(w.entries), w.p.f.final.Index)]})
	if err != nil {
		return err
	}
	for i, payload := range payloads {
		id := fmt.Sprintf("%s-advice-%d", w.p.f.final.Intent, i+1)
		at := slices.IndexFunc(w.entries, func(e *journal.Entry) bool {
			return e.ID == id && e.Sequence > w.p.f.final.Index && advises(e, payload)
		})
		if at >= 0 {
			r.Advisory = append(r.Advisory, EventRef{id, w.entries[at].Sequence})
			continue
		}
		var body canonjson.Object
		body.Str("kind", bodyEscalation)
		body.Str("channel", "alert")
		body.Raw("payload", payload)
		b := a
		b.EventID = id
		e, err := n.step(ctx, w, b, now, draft{kind: "escalate", typ: "escalate", role: "MANDATAIRE", body: body.End()})
		if err != nil {
			return err
		}
		r.Advisory = append(r.Advisory, EventRef{e.ID, e.Sequence})
	}
	return nil
}

// advises tells whether an entry is that piece of advice. Anybody may have written one of that name.
func advises(e *journal.Entry, payload []byte) bool {
	got, ok := canonjson.Get(e.Body, "payload")
	if !ok || e.Type != "escalate" || member(e.Body, "kind") != bodyEscalation {
		return false
	}
	a, aerr := canonjson.Hash(got)
	b, berr := canonjson.Hash(payload)
	return aerr == nil && berr == nil && a == b
}

// closeUp writes the last entry.
func (n *Negotiations) closeUp(ctx context.Context, w *witness, a Act, r *Result, now time.Time) error {
	var body canonjson.Object
	body.Str("kind", bodyStabilized)
	body.Str("artifactHash", r.ArtifactHash)
	body.Strs("signers", address.Texts(r.Signers))
	body.Str("artifactPath", r.Path)
	_, err := n.step(ctx, w, a, now, draft{kind: "stabilize", typ: "event", role: "MANDATAIRE", body: body.End()})
	return err
}

// says tells whether state.json says that an artifact was stabilised.
func (p *place) says(hash string) bool {
	return p.doc != nil && !p.f.altered && p.kept.Status == Stabilized && p.kept.CurrentArtifactHash == hash
}

// record brings state.json to its end, and makes it anew from the terms when it is gone.
func (n *Negotiations) record(ctx context.Context, w *witness, r *Result) (*Record, error) {
	var raw []byte
	err := n.setStatus(ctx, w.p.id, w.p.f.record.Raw, func(old []byte) []byte {
		raw = old
		if State(member(old, mStatus)) == Stabilized && member(old, mCurrent) == r.ArtifactHash {
			return nil
		}
		raw = canonjson.Set(old, mStatus, []byte(`"stabilized"`))
		raw = canonjson.Set(raw, mCurrent, canonjson.AppendString(nil, r.ArtifactHash))
		return raw
	})
	if err != nil {
		return nil, err
	}
	return ParseRecord(canonjson.Compact(raw))
}
