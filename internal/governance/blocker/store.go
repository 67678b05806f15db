package blocker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// Blockages are those of one bus. They are safe for concurrent use if their store is.
type Blockages struct{ docs store.Docs }

// New returns the blockages of a bus.
func New(docs store.Docs) *Blockages { return &Blockages{docs} }

func key(i address.Instance) store.Key {
	return store.Key{Kind: store.Blockage, Name: address.Segment(string(i))}
}

// find returns the document of an agent, in the spelling given or in the canonical one. store.ErrNotFound: there is none.
func (b *Blockages) find(ctx context.Context, i address.Instance) (store.Doc, error) {
	doc, err := b.docs.Get(ctx, key(i))
	if errors.Is(err, store.ErrNotFound) && i.Canonical() != i {
		doc, err = b.docs.Get(ctx, key(i.Canonical()))
	}
	return doc, err
}

// Get returns what an agent has said last, resolved or not. ErrNone: it has said nothing.
func (b *Blockages) Get(ctx context.Context, i address.Instance) (*Blockage, error) {
	doc, err := b.find(ctx, i)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("blockage of %s: %w", i, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("blockage of %s: %w", i, err)
	}
	return read(doc.Key, doc.Data)
}

// read parses a document, which is that of the agent whose name its file bears.
func read(k store.Key, data []byte) (*Blockage, error) {
	one, err := Parse(data)
	if err == nil && address.Segment(string(one.Instance)) != k.Name {
		err = errors.New("is that of another agent than its name says")
	}
	if err != nil {
		return nil, &store.UnfitError{Key: k, Where: k.String(), Why: err.Error()}
	}
	return one, nil
}

// tries is how often a change is made again that another process was faster with.
const tries = 100

// Raise writes what an agent is blocked by. replaced is what it was blocked by until then, nil when that was nothing.
func (b *Blockages) Raise(ctx context.Context, c Call, now time.Time) (made, replaced *Blockage, err error) {
	if err := c.check(); err != nil {
		return nil, nil, fmt.Errorf("raise a blockage: %w", err)
	}
	for range tries {
		var doc store.Doc
		var raw []byte
		doc, err = b.find(ctx, c.Instance)
		switch {
		case err == nil:
			if replaced, _ = read(doc.Key, doc.Data); replaced != nil && !replaced.Active() {
				replaced = nil
			}
			if doc.Key != key(c.Instance) {
				c.Instance = c.Instance.Canonical() // as its file is called
			}
			raw = c.over(doc.Data, now)
			_, err = b.docs.Replace(ctx, doc.Key, pretty(raw), doc.Rev)
		case errors.Is(err, store.ErrNotFound):
			replaced, raw = nil, c.over(nil, now)
			_, err = b.docs.Create(ctx, key(c.Instance), pretty(raw))
		}
		if err == nil {
			made, err = Parse(raw)
			return made, replaced, err
		}
		if !again(err) {
			break
		}
	}
	return nil, nil, fmt.Errorf("raise a blockage of %s: %w", c.Instance, err)
}

// again reports whether another process was faster.
func again(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound)
}

// Resolve marks the blockage of an agent as resolved. One that is resolved already stays as it is, with the first who did so.
// ErrNone: the agent has none.
func (b *Blockages) Resolve(ctx context.Context, i, by address.Instance, now time.Time) (*Blockage, error) {
	var err error
	for range tries {
		var doc store.Doc
		if doc, err = b.find(ctx, i); errors.Is(err, store.ErrNotFound) {
			err = ErrNone
			break
		}
		var one *Blockage
		if err == nil {
			one, err = read(doc.Key, doc.Data)
		}
		if err != nil {
			break
		}
		if !one.Active() {
			return one, nil
		}
		raw := canonjson.Set(canonjson.Compact(doc.Data), "resolvedAt", canonjson.AppendString(nil, envelope.Stamp(now)))
		if by != "" {
			raw = canonjson.Set(raw, "resolvedBy", canonjson.AppendString(nil, string(by)))
		}
		if _, err = b.docs.Replace(ctx, doc.Key, pretty(raw), doc.Rev); err == nil {
			return Parse(raw)
		}
		if !again(err) {
			break
		}
	}
	return nil, fmt.Errorf("resolve the blockage of %s: %w", i, err)
}

// A Filter chooses blockages. The zero value chooses all.
type Filter struct {
	Active bool     // the unresolved ones
	Scope  string   // of exactly this scope; "": of any
	Scopes []string // of one of these; nil: of any
}

func (f *Filter) takes(b *Blockage) bool {
	return (!f.Active || b.Active()) && (f.Scope == "" || b.Scope == f.Scope) && (f.Scopes == nil || slices.Contains(f.Scopes, b.Scope))
}

// List is the function List for this bus.
func (b *Blockages) List(ctx context.Context, f Filter) (all []*Blockage, problems []error, err error) {
	return List(ctx, b.docs, f)
}

// At returns the blockage of one document. store.ErrNotFound: there is none any more.
func At(ctx context.Context, r store.Reader, k store.Key) (*Blockage, error) {
	doc, err := r.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	return read(doc.Key, doc.Data)
}

// List returns the blockages that a filter takes: those first that were raised first. Files that are not blockers are returned
// in problems.
func List(ctx context.Context, r store.Reader, f Filter) (all []*Blockage, problems []error, err error) {
	for e, err := range r.List(ctx, store.Blockage, "") {
		var one *Blockage
		if err == nil {
			one, err = At(ctx, r, e.Key)
		}
		switch _, unfit := errors.AsType[*store.UnfitError](err); {
		case err == nil:
			if f.takes(one) {
				all = append(all, one)
			}
		case errors.Is(err, store.ErrNotFound): // it went away meanwhile
		case unfit:
			problems = append(problems, err)
		default:
			return nil, nil, fmt.Errorf("list blockages: %w", err)
		}
	}
	slices.SortFunc(all, func(x, y *Blockage) int {
		return cmp.Or(strings.Compare(x.RaisedAt, y.RaisedAt), cmp.Compare(x.Instance, y.Instance))
	})
	return all, problems, nil
}

// pretty is how records stand on disk.
func pretty(raw []byte) []byte { return append(canonjson.Indent(raw), '\n') }
