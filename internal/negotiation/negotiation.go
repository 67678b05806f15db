package negotiation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/envelope"
	"tutti/internal/journal"
	"tutti/internal/plain"
	"tutti/internal/registry"
	"tutti/internal/signature"
	"tutti/internal/store"
)

// People are who is registered, with which roles and keys. A *registry.Registry is one.
type People interface {
	Registered(ctx context.Context, i address.Instance) (*registry.Registration, error)
	Keys(ctx context.Context, i address.Instance) (*registry.Keys, error)
}

// Negotiations are those of one bus.
type Negotiations struct {
	store    Store
	journals *journal.Journal
	people   People

	// Strict: signatures that cover the artifact alone do not count, so that existing programs cannot sign. Set it before the
	// first call, like the ones below.
	Strict bool
	// Gate is asked before an artifact is offered or signed and before it is stabilised, for what a chosen profile forbids: one
	// sentence a reason. nil: nothing is forbidden. It cannot be forced.
	Gate func(act Event, r *Record, artifact []byte) []string
	// Advise returns the payloads of the escalations that stand between the artifact and the end of a stabilisation, each an object
	// that becomes the payload of an escalate entry. nil: none.
	Advise func(ctx context.Context, m Material) ([][]byte, error)
}

// Store is what negotiations need of a bus.
type Store interface {
	store.Docs
	store.Log
}

// Material is what declarations and dossiers are made from.
type Material struct {
	Record   *Record
	Hash     string // of the artifact in question: of what is being stabilised, else of the latest offer
	Artifact []byte
	Entries  []*journal.Entry
}

// New returns the negotiations of a bus.
func New(s Store, j *journal.Journal, p People) *Negotiations {
	return &Negotiations{store: s, journals: j, people: p}
}

// Journal is the log behind the negotiations.
func (n *Negotiations) Journal() *journal.Journal { return n.journals }

var (
	// ErrNotFound reports a negotiation of which there is neither a record nor an entry with its terms.
	ErrNotFound = errors.New("not found")
	// ErrOpen reports an id that is taken.
	ErrOpen = errors.New("already open")
	// ErrStabilized reports a negotiation that has come to its end already.
	ErrStabilized = errors.New("already stabilized")
	// ErrTerms reports a record that is not the one of which the journal tells.
	ErrTerms = errors.New("state.json and the journal tell of different terms")
	// ErrQuorum reports signatures that are missing.
	ErrQuorum = errors.New("no artifactHash has the full quorum")
)

// A RefusedError says why an act is refused, and what to do instead.
type RefusedError struct {
	Why  []string
	Hint string
}

func (e *RefusedError) Error() string {
	s := strings.Join(e.Why, "; ")
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func refuse(hint, format string, args ...any) error {
	return &RefusedError{Why: []string{fmt.Sprintf(format, args...)}, Hint: hint}
}

// A StaleError reports an offer that answers another version than the latest.
type StaleError struct {
	ID           string
	By           address.Instance // whose offer it is
	Given        string           // "": it names none
	Latest       Offered
	Event, Retry string
}

func (e *StaleError) Error() string {
	given := "it names no base"
	if e.Given != "" {
		given = "its base is " + e.Given
	}
	id, as := plain.Word(e.ID), ""
	if e.By != "" {
		as = " --instance " + plain.Word(string(e.By))
	}
	return fmt.Sprintf("stale: %s, and the latest offer is %s (entry %d, by %s). Look at what changed with `tutti negotiate diff %s`, then rebase: `tutti negotiate %s %s FILE%s --base %s`",
		given, e.Latest.Hash, e.Latest.Index, e.Latest.By, id, e.Retry, id, as, e.Latest.Hash)
}

func stateKey(id string) store.Key {
	return store.Key{Kind: store.Negotiation, Name: address.Segment(id)}
}

// Open begins a negotiation. Members that are not known here are kept.
func (n *Negotiations) Open(ctx context.Context, raw []byte, now time.Time) (*Record, error) {
	if canonjson.IsObject(raw) && member(raw, mStatus) == "" {
		raw = canonjson.Set(raw, mStatus, []byte(`"draft"`))
	}
	if p := CheckRecord(raw, now); len(p) > 0 {
		return nil, fmt.Errorf("open: %w", &RefusedError{Why: p})
	}
	r, err := ParseRecord(raw)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	// A journal without a record is that of a negotiation whose record was lost. It does not begin anew under other terms.
	f := newFold(n.bench(ctx), r.ID, r)
	if _, err := n.journals.Catch(ctx, r.ID, f); err != nil {
		return nil, fmt.Errorf("open %s: %w", r.ID, err)
	}
	if f.terms != nil && f.differ() {
		return nil, fmt.Errorf("open %s: %w, with other terms, by its journal", r.ID, ErrOpen)
	}
	_, err = n.store.Create(ctx, stateKey(r.ID), lay(raw))
	if errors.Is(err, store.ErrExists) {
		err = ErrOpen
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", r.ID, err)
	}
	return r, nil
}

// lay lays a document out as existing programs do.
func lay(raw []byte) []byte { return append(canonjson.Indent(raw), '\n') }

// differ tells whether the record is not the one that the journal tells of.
func (f *fold) differ() bool {
	if f.terms == nil || f.record == nil {
		return false
	}
	told, err := canonjson.Canonical(f.terms)
	return err != nil || string(told) != string(f.record.terms())
}

// A place is a negotiation as it is found: its record, if that is there, and what its journal comes to.
type place struct {
	id   string
	doc  *store.Doc // nil: there is no state.json, or it is none
	f    *fold
	tip  journal.Tip
	note string // what is odd about the record
}

// find reads the record and makes an empty fold for it.
func (n *Negotiations) find(ctx context.Context, id string) (*place, error) {
	if err := address.Check(id); err != nil {
		return nil, err
	}
	p := &place{id: id}
	doc, err := n.store.Get(ctx, stateKey(id))
	_, unfit := errors.AsType[*store.UnfitError](err)
	var r *Record
	switch {
	case err == nil:
		if r, err = ParseRecord(doc.Data); err != nil {
			p.note = "state.json cannot be read: " + err.Error()
		} else if r.ID == "" {
			r, p.note = nil, "state.json holds no record: it has no id"
		} else if r.ID != id {
			return nil, fmt.Errorf("negotiation %s: its folder holds the record of %q", id, r.ID)
		} else {
			p.doc = &doc
		}
	case errors.Is(err, store.ErrNotFound):
		p.note = "state.json is not there"
	case unfit:
		p.note = "state.json cannot be read: " + err.Error()
	default:
		return nil, fmt.Errorf("negotiation %s: %w", id, err)
	}
	p.f = newFold(n.bench(ctx), id, r)
	return p, nil
}

// settled judges what the fold of a place has come to.
func (n *Negotiations) look(ctx context.Context, id string) (*place, error) {
	p, err := n.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.tip, err = n.journals.Catch(ctx, id, p.f); err == nil {
		err = p.known()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// known is an error when there is nothing to judge by.
func (p *place) known() error {
	if err := p.f.b.err; err != nil {
		return err
	}
	if p.f.record == nil && (p.doc == nil && p.tip.Count == 0) {
		return fmt.Errorf("negotiation %s %w; `tutti negotiate open` begins it", p.id, ErrNotFound)
	}
	return nil
}

// state is where the negotiation stands now.
func (p *place) state(now time.Time) (s State, why string) {
	f := p.f
	switch {
	case f.final != nil && f.final.Done:
		return Stabilized, ""
	case f.final != nil:
		return Accepted, fmt.Sprintf("being stabilised since entry %d; `tutti negotiate stabilize %s` completes it", f.final.Index, p.id)
	case f.state.Terminal():
		return f.state, fmt.Sprintf("since entry %d", f.ended)
	}
	if r := f.record; r != nil && p.doc != nil && r.Status.Terminal() {
		if r.Status != Stabilized {
			return r.Status, "state.json says so, the journal does not"
		}
		why = "state.json says stabilized, and the journal does not show it"
	}
	if w, _ := f.winner(); w != nil {
		return Accepted, why
	}
	if r := f.record; r != nil && !r.end().IsZero() && now.After(r.end()) {
		return Expired, "the deadline was " + r.Deadline
	}
	return f.state, why
}

// An Act is by whom something is done, and how the entry is called.
type Act struct {
	By      address.Instance
	Key     *signature.Private // nil: the entry bears no seal
	Mandate string             // id of the mandate under which it is done, "" for none
	EventID string             // "": a new one is minted

	CausationID   string // "": the entry before
	CorrelationID string // "": that of the entry before
}

// actor writes who acts. The role is a constant of the agreed format; which roles count is asked of the registry.
func actor(by address.Instance, role, scope, mandate string) []byte {
	var o canonjson.Object
	o.Str("instance", string(by))
	o.Str("role", role)
	o.Str("scope", scope)
	o.Opt("mandate", mandate)
	return o.End()
}

// A draft is an entry to be: what is behind its type and body.
type draft struct {
	kind   string // for a minted id
	typ    string
	role   string
	body   []byte
	base   string
	forced []string
}

// write adds an entry of ours. judge looks at the place as it is then and returns the draft, or why not.
func (n *Negotiations) write(ctx context.Context, id string, a Act, now time.Time, judge func(p *place, state State) (draft, error)) (*journal.Entry, *place, error) {
	p, err := n.find(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	e, err := n.journals.Append(ctx, id, p.f, journal.Seal{By: a.By, Key: a.Key}, func(tip journal.Tip) ([]byte, error) {
		p.tip = tip
		if err := p.known(); err != nil {
			return nil, err
		}
		if p.f.record == nil {
			return nil, refuse("write it anew with `tutti negotiate open`", "%s and the journal does not hold its terms", p.note)
		}
		if p.f.differ() {
			return nil, fmt.Errorf("%w: see `tutti negotiate verify %s`", ErrTerms, id)
		}
		state, _ := p.state(now)
		d, err := judge(p, state)
		if err == nil {
			err = p.f.b.err
		}
		if err != nil {
			return nil, err
		}
		return p.payload(d, a, tip, now), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return e, p, nil
}

// payload writes an entry.
func (p *place) payload(d draft, a Act, tip journal.Tip, now time.Time) []byte {
	var o canonjson.Object
	eventID := a.EventID
	if eventID == "" {
		eventID = address.NewEvent(d.kind, now)
	}
	o.Str("id", eventID)
	o.Str("type", d.typ)
	o.Raw("actor", actor(a.By, d.role, p.f.record.Scope, a.Mandate))
	o.Raw("body", d.body)
	o.Str("createdAt", envelope.Stamp(now))
	o.Str("negotiationId", p.id)
	o.Opt("baseArtifactHash", d.base)
	o.Opt("causationId", firstOf(a.CausationID, tip.ID))
	o.Opt("correlationId", firstOf(a.CorrelationID, tip.CorrelationID))
	if p.f.terms == nil {
		o.Raw(mTerms, p.f.record.terms())
	}
	if len(d.forced) > 0 {
		o.Strs(mForced, d.forced)
	}
	return o.End()
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// may refuses who has no part in the negotiation, and what the state does not allow.
func (p *place) may(a Act, act string, ev Event, state State, now time.Time) error {
	if _, ok := Next(state, ev); !ok {
		if state == Stabilized {
			return fmt.Errorf("negotiation %s is %w", p.id, ErrStabilized)
		}
		return refuse(fmt.Sprintf("see `tutti negotiate show %s`", p.id), "negotiation %s is %s, which allows no %s", p.id, state, ev)
	}
	if p.f.final != nil {
		return refuse("complete it with `tutti negotiate stabilize "+p.id+"`", "negotiation %s is being stabilised since entry %d", p.id, p.f.final.Index)
	}
	r := p.f.record
	if a.Mandate != "" {
		if why := p.f.b.mandate(a.Mandate, a.By, r.Scope, act, now); why != "" {
			return refuse("", "%s", why)
		}
	} else if !r.Involved(a.By) {
		return refuse(fmt.Sprintf("the parties are %s; act as one of them, or name a mandate with --mandate", strings.Join(texts(r.Parties), " ")),
			"%s is no party of %s", a.By, p.id)
	}
	return p.mayKey(a)
}

// mayKey refuses an entry that every reader would take for a forgery.
func (p *place) mayKey(a Act) error {
	if a.Key == nil {
		if p.f.seals(a.By) {
			return refuse("give its private key", "%s has sealed its earlier entries here, so one without a seal would not count", a.By)
		}
		return nil
	}
	return p.f.b.mayKey(a)
}

// mayKey refuses a key that is not the writer's.
func (b *bench) mayKey(a Act) error {
	person := b.person(a.By)
	switch pub := a.Key.Public(); {
	case slices.Contains(person.keys.Revoked, pub):
		return refuse("make a new one with `tutti keys generate`", "the key of %s was revoked", a.By)
	case !person.registered:
		return refuse("register it with `tutti connect`", "%s is not registered", a.By)
	case !slices.Contains(person.keys.Active, pub):
		return refuse("see `tutti keys list`", "the key does not belong to %s: fingerprint %s is not among its active ones", a.By, pub.Short())
	}
	return nil
}

// follow brings the status of state.json to where the journal stands, for programs that read only that. It is no loss when it
// does not succeed: the next one to write does it, and the state is told from the journal.
func (n *Negotiations) follow(ctx context.Context, p *place, now time.Time) {
	state, _ := p.state(now)
	_ = n.setStatus(ctx, p.id, nil, func(raw []byte) []byte {
		if s := State(member(raw, mStatus)); s == state || s.Terminal() {
			return nil
		}
		return canonjson.Set(raw, mStatus, canonjson.AppendString(nil, string(state)))
	})
}

// setStatus rewrites state.json; change returns nil when it is right already. Without the document it is made of made.
func (n *Negotiations) setStatus(ctx context.Context, id string, made []byte, change func(raw []byte) []byte) error {
	const tries = 100
	var err error
	for range tries {
		var doc store.Doc
		doc, err = n.store.Get(ctx, stateKey(id))
		if errors.Is(err, store.ErrNotFound) && made != nil {
			if _, err = n.store.Create(ctx, stateKey(id), lay(change(made))); errors.Is(err, store.ErrExists) {
				continue
			}
			return err
		}
		if err != nil {
			return err
		}
		old := doc.Data
		if _, err := ParseRecord(old); err != nil || member(old, "id") == "" {
			if made == nil {
				return fmt.Errorf("state.json of %s is no record", id)
			}
			old = made
		}
		next := change(old)
		if next == nil {
			return nil
		}
		if _, err = n.store.Replace(ctx, stateKey(id), lay(next), doc.Rev); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// guards are what may be said against an artifact by its form alone.
func guards(artifact []byte) (problems []string) {
	problems = declaration.Guard(artifact)
	switch declaration.KindOf(artifact) {
	case "CONTRACT", "POLICY", "ENGAGEMENT":
		for _, issue := range declaration.Separate(artifact).Issues {
			if !slices.Contains(problems, issue) {
				problems = append(problems, issue)
			}
		}
	}
	return problems
}

// Pos is where an entry begins in the journal.
type Pos = store.Pos
