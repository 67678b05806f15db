package escalation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// People are who is registered, with which keys and roles. A *registry.Registry is one.
type People interface {
	Keys(ctx context.Context, i address.Instance) (*registry.Keys, error)
	Registered(ctx context.Context, i address.Instance) (*registry.Registration, error)
}

// Persons are the keys that a person has confirmed: the reader's own memory, which no one who can write a bus can change. A
// *trust.Pins is one.
type Persons interface {
	Bound(i address.Instance) []signature.Public
	// Err is why that memory cannot be read now: no person is known then, which proves nothing about any of them.
	Err() error
}

// A Router finds the receiver of a matter by the rules, whatever its writer says. known is false when that is unknown.
type Router func(ctx context.Context, m *Escalation) (to declaration.Destination, known bool, err error)

// Store is what matters are read from.
type Store interface {
	store.Docs
	store.Log
}

// Matters are those of one bus.
type Matters struct {
	store   Store
	people  People
	persons Persons
	route   Router

	held  Memo[address.Instance, []registry.OwnKey]
	tried int // verifications in vain
}

// New returns the matters of a bus, for one look: registrations are read once. Without known persons (nil) no answer counts.
// Without a router (nil) matters are for the receivers that their writers name.
func New(s Store, p People, known Persons, r Router) *Matters {
	return &Matters{store: s, people: &remembered{people: p}, persons: known, route: r}
}

// mark is the index key of the lines of a journal that say something of a matter.
const mark = "escalation"

// lines find these. A journal of a hundred thousand entries has few.
var lines = &store.Projection{
	Name: "escalations", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		e, err := journal.Parse(line)
		if err != nil {
			return nil, 0, nil, err
		}
		kind, _ := canonjson.Get(e.Body, "kind")
		if s, _ := canonjson.String(kind); s == KindAnswer || s == KindLapse || s == kindMatter && e.Type == "escalate" {
			return []string{mark}, 0, nil, nil
		}
		return nil, 0, nil, nil
	},
}

// Limits of what one look takes into account: who may write on a bus could make any number.
const (
	maxJournals = 10_000
	maxMatters  = 10_000 // of one journal
)

// All returns the matters of all negotiations, the oldest first, and the alerts. Files that are neither are returned in
// problems.
func (m *Matters) All(ctx context.Context) (all []*Escalation, problems []error, err error) {
	names, err := m.journals(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list escalations: %w", err)
	}
	if n := len(names) - maxJournals; n > 0 {
		problems = append(problems, &MoreError{Left: n, What: "journals"})
	}
	for _, name := range names[:min(len(names), maxJournals)] {
		found, notes, err := m.in(ctx, name)
		problems = append(problems, notes...)
		if store.IsUnfit(err) {
			problems = append(problems, err)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list escalations: %w", err)
		}
		all = append(all, found...)
	}
	alerts, bad, err := m.alerts(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list escalations: %w", err)
	}
	all, problems = append(all, alerts...), append(problems, bad...)
	slices.SortStableFunc(all, func(a, b *Escalation) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all, problems, nil
}

// journals are the names of all journals, in order.
func (m *Matters) journals(ctx context.Context) (names []string, err error) {
	add := func(name string, err error) error {
		_, unfit := errors.AsType[*store.UnfitError](err)
		if err == nil {
			names = append(names, name)
		}
		if unfit {
			err = nil // no receiver
		}
		return err
	}
	if logger, ok := m.store.(store.Logger); ok {
		for name, err := range logger.Logs(ctx, store.Journal) {
			if err := add(name, err); err != nil {
				return nil, err
			}
		}
	} else {
		for e, err := range m.store.List(ctx, store.Negotiation, "") {
			if err := add(e.Key.Name, err); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// In returns the matters of one negotiation, in the order of its journal.
func (m *Matters) In(ctx context.Context, negotiation string) ([]*Escalation, error) {
	k, err := journal.KeyOf(negotiation)
	if err != nil {
		return nil, err
	}
	all, _, err := m.in(ctx, k.Name)
	return all, err
}

// A MoreError says that more is there than one look takes into account.
type MoreError struct {
	Left int
	What string // what is left out: journals, or escalations
	Of   string // the negotiation; "" for all
}

func (e *MoreError) Error() string {
	text := fmt.Sprintf("%d more %s are not looked at", e.Left, e.What)
	if e.Of != "" {
		text += ": " + e.Of + " has too many"
	}
	return text
}

// in reads the matters of a journal, and the outcome of each; remarks beside them are returned in notes.
func (m *Matters) in(ctx context.Context, name string) (all []*Escalation, notes []error, err error) {
	f := fold{m: m, ctx: ctx, byID: map[string]*Escalation{}}
	for line, err := range store.FindIn(ctx, m.store, store.Key{Kind: store.Journal, Name: name}, lines, mark) {
		if err != nil {
			return nil, nil, err
		}
		if e, err := journal.Parse(line.Data); err == nil {
			f.take(e, name)
		}
		if f.err != nil {
			return nil, nil, f.err
		}
	}
	if f.more > 0 {
		f.notes = append(f.notes, &MoreError{Left: f.more, What: "escalations", Of: address.SegmentToAddress(name)})
	}
	if len(f.all) == 0 {
		return nil, f.notes, nil
	}
	ended, err := m.ended(ctx, name)
	for _, one := range f.all {
		one.ended = ended
	}
	return f.all, f.notes, err
}

// ended tells whether a negotiation has come to its end, by its record.
func (m *Matters) ended(ctx context.Context, name string) (bool, error) {
	doc, err := m.store.Get(ctx, store.Key{Kind: store.Negotiation, Name: name})
	if store.IsUnfit(err) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	status, _ := canonjson.Get(doc.Data, "status")
	s, _ := canonjson.String(status)
	return slices.Contains([]string{"stabilized", "rejected", "withdrawn", "expired", "abandoned"}, s), err
}

// A fold reads entries, each with those before it.
type fold struct {
	m    *Matters
	ctx  context.Context
	all  []*Escalation
	byID map[string]*Escalation
	more int // matters beyond those that are looked at

	notes []error // entries that are none although they say so; some of them
	err   error
}

// maxNotes is how many entries of a journal are named that are not matters.
const maxNotes = 20

// matter reads an entry that escalates something. Of several with one id the first counts.
func (f *fold) matter(e *journal.Entry, one *Escalation) {
	if first := f.byID[one.ID]; first != nil {
		first.Repeats++
		return
	}
	seal := f.seal(e)
	switch {
	case seal == journal.SealBad:
	case !slices.Contains(declaration.Channels, one.Channel):
		if len(f.notes) < maxNotes {
			f.notes = append(f.notes, fmt.Errorf("escalation %s of %s: its channel %s is none of %s", termsafe.Cut(one.ID, maxAbout), one.Negotiation,
				termsafe.Cut(one.Channel, maxAbout), strings.Join(declaration.Channels, ", ")))
		}
	case len(f.all) >= maxMatters:
		f.more++
	default:
		if seal != journal.SealGood && seal != journal.SealRevoked {
			keys, err := f.m.people.Keys(f.ctx, one.By)
			if f.err = err; err == nil {
				one.Loose = len(keys.Active)+len(keys.Revoked) > 0
			}
		}
		f.routed(one)
		f.byID[one.ID] = one
		f.all = append(f.all, one)
	}
}

// take reads one entry. What its writer has not sealed although the seal is what makes it count is nothing.
func (f *fold) take(e *journal.Entry, name string) {
	if e.NegotiationID == "" {
		e.NegotiationID = address.SegmentToAddress(name)
	}
	if address.Segment(e.NegotiationID) != name {
		return // written for another negotiation
	}
	if one := matterOf(e); one != nil {
		f.matter(e, one)
		return
	}
	var v [5][]byte
	canonjson.Pick(e.Body, []string{"kind", "escalation", "answer", "note", "of"}, v[:])
	id, _ := canonjson.String(v[1])
	one := f.byID[id]
	switch {
	case one == nil:
	case canonjson.Is(v[0], KindLapse):
		at, known := envelope.ParseTime(e.CreatedAt)
		one.Recorded = one.Recorded || known && !one.Until.IsZero() && !at.Before(one.Until) // one from before is about nothing
	case canonjson.Is(v[0], KindAnswer) && one.Answer == nil && canonjson.Is(v[4], one.Hash):
		f.answer(one, e, v[2], v[3])
	}
}

// routed finds whom a matter is for. What its writer says of that is believed where the rules say nothing.
func (f *fold) routed(one *Escalation) {
	if f.m.route == nil || f.err != nil {
		return
	}
	to, known, err := f.m.route(f.ctx, one)
	if err != nil {
		f.err = err
	}
	if err != nil || !known {
		return
	}
	if said := one.Target; said != "" && address.Canonical(said) != address.Canonical(tidy(to.Target)) {
		one.Said = said
	}
	one.Target, one.Authority, one.Source = tidy(to.Target), to.Authority, to.Source
}

// A ManyError reports an id that matters of several negotiations bear: anyone who can write a journal can take one. Nothing but
// a claim says which was first.
type ManyError struct {
	ID string
	Of []string // the negotiations
}

func (e *ManyError) Error() string {
	return fmt.Sprintf("escalation %s: there are several, in %s", e.ID, strings.Join(e.Of, " and "))
}

// Find returns a matter by its id: the entry, or the agent of an alert. Of several with one id in different negotiations it is the only
// one that is not loose, else a *ManyError names them. The alert of an agent stands before entries that bear its address: these are found
// with their negotiation. ErrNone: there is none.
func (m *Matters) Find(ctx context.Context, id string) (*Escalation, error) {
	all, _, err := m.All(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one *Escalation) bool {
		return one.ID != id && (one.Negotiation != "" || address.Canonical(one.ID) != address.Canonical(id))
	})
	firm := slices.DeleteFunc(slices.Clone(all), func(one *Escalation) bool { return one.Loose })
	for _, exact := range []bool{false, true} { // of the alerts of several spellings the very one
		if at := slices.IndexFunc(all, func(one *Escalation) bool { return one.Negotiation == "" && (one.ID == id || !exact) }); at >= 0 {
			firm = all[at : at+1 : at+1]
		}
	}
	if len(all) > 1 && len(firm) == 1 {
		firm[0].Repeats += len(all) - 1
		all = firm
	}
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("escalation %s: %w", id, ErrNone)
	case 1:
		return all[0], nil
	}
	many := &ManyError{ID: id}
	for _, one := range all[:min(len(all), maxNotes)] {
		many.Of = append(many.Of, one.Negotiation)
	}
	return nil, many
}
