package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// What an audit line of a subagent can say.
const (
	SubRegistered = "registered"
	SubRouted     = "routed"
	SubRevoked    = "revoked"
)

// ErrBound reports a subagent that is there already. One that was revoked is there for good.
var ErrBound = errors.New("the subagent is bound already")

// ErrNotBound reports a subagent that is not bound.
var ErrNotBound = errors.New("the subagent is not registered")

// A Binding says that a subagent works for a parent. What may be bound is the rule of package subagent.
type Binding struct {
	ID        string // of the subagent, which is its address
	Parent    string
	Name      string
	CreatedAt string
	// Capabilities it has of its parent's. Bounded: the line has a list, which may be empty; without one it has them all.
	Capabilities []string
	Bounded      bool
	Raw          []byte // the line; nil of one that is to be written
}

// ParseBinding reads a binding as tolerantly as possible: only an object with an id is asked for.
func ParseBinding(raw []byte) (Binding, error) {
	var v [5][]byte
	if !canonjson.Pick(raw, []string{"id", "parentInstance", "name", "capabilities", "createdAt"}, v[:]) {
		return Binding{}, errors.New("is not a JSON object")
	}
	b := Binding{ID: text(v[0]), Parent: text(v[1]), Name: text(v[2]), CreatedAt: text(v[4]), Raw: raw}
	if canonjson.Kind(v[3]) == canonjson.TypeArray {
		b.Capabilities, b.Bounded = texts(v[3]), true
	}
	if b.ID == "" {
		return b, errNoID
	}
	return b, nil
}

// Line is the binding as it is recorded.
func (b *Binding) Line() []byte {
	var o canonjson.Object
	o.Str("id", b.ID)
	o.Str("parentInstance", b.Parent)
	o.Str("name", b.Name)
	if b.Bounded {
		o.Strs("capabilities", b.Capabilities)
	}
	o.Str("createdAt", b.CreatedAt)
	return o.Bytes()
}

// An Audit is one line of the record of what became of subagents.
type Audit struct {
	Subagent string
	Type     string // SubRegistered, SubRouted, SubRevoked
	At       string
	Envelope string // of SubRouted
	Mailbox  string // likewise: inbox or outbox
	Reason   string // of SubRevoked
	Raw      []byte // the line; nil of one that is to be written
}

func parseAudit(raw []byte) (Audit, error) {
	var v [6][]byte
	if !canonjson.Pick(raw, []string{"subagent", "type", "at", "envelopeId", "mailbox", "reason"}, v[:]) {
		return Audit{}, errors.New("is not a JSON object")
	}
	a := Audit{Subagent: text(v[0]), Type: text(v[1]), At: text(v[2]), Envelope: text(v[3]), Mailbox: text(v[4]), Reason: text(v[5]), Raw: raw}
	if a.Subagent == "" {
		return a, errors.New("lacks its subagent")
	}
	return a, nil
}

// Line is the audit line as it is recorded.
func (a *Audit) Line() []byte {
	var o canonjson.Object
	o.Str("subagent", a.Subagent)
	o.Str("type", a.Type)
	o.Str("at", a.At)
	o.Opt("envelopeId", a.Envelope)
	o.Opt("mailbox", a.Mailbox)
	o.Opt("reason", a.Reason)
	return o.Bytes()
}

var (
	subagents = store.Key{Kind: store.Subagents}
	audits    = store.Key{Kind: store.SubagentAudit}
)

// bindingRows makes the rows of the log of bindings.
var bindingRows = &store.Projection{
	Name: "subagents", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		b, err := ParseBinding(line)
		if err != nil {
			return nil, 0, nil, err
		}
		return []string{byInstance + address.Canonical(b.ID)}, 0, nil, nil
	},
}

// revocationRows makes the rows of the audit log: those that take a subagent out of service.
var revocationRows = &store.Projection{
	Name: "subagent-revocations", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		a, err := parseAudit(line)
		if err != nil || a.Type != SubRevoked {
			return nil, 0, nil, err
		}
		return []string{byInstance + address.Canonical(a.Subagent)}, 0, nil, nil
	},
}

// revocation returns the first line that revokes a subagent in any spelling, nil for none.
func (r *Registry) revocation(ctx context.Context, i address.Instance) (*Audit, error) {
	for line, err := range store.FindIn(ctx, r.log, audits, revocationRows, byInstance+string(i.Canonical())) {
		if err != nil {
			return nil, fmt.Errorf("look up whether %q was revoked: %w", i, err)
		}
		if a, err := parseAudit(line.Data); err == nil {
			return &a, nil
		}
	}
	return nil, nil
}

// Bound returns the binding of a subagent in any spelling of its parent's id. ErrNotBound: there is none.
func (r *Registry) Bound(ctx context.Context, i address.Instance) (*Binding, error) {
	for line, err := range store.FindIn(ctx, r.log, subagents, bindingRows, byInstance+string(i.Canonical())) {
		if err != nil {
			return nil, fmt.Errorf("look up the subagent %q: %w", i, err)
		}
		if b, err := ParseBinding(line.Data); err == nil {
			return &b, nil
		}
	}
	return nil, fmt.Errorf("%q: %w", i, ErrNotBound)
}

// Bind adds a binding; the caller makes sure that no other process adds one at the same time.
func (r *Registry) Bind(ctx context.Context, b Binding) error {
	err := r.add(ctx, subagents, func() ([]byte, error) {
		switch _, err := r.Bound(ctx, address.Instance(b.ID)); {
		case err == nil:
			return nil, ErrBound
		case !errors.Is(err, ErrNotBound):
			return nil, err
		}
		return b.Line(), nil
	})
	if err != nil {
		return fmt.Errorf("bind %q: %w", b.ID, err)
	}
	return nil
}

// Bindings yields every binding, oldest first: of those with one id the first. Bad lines are skipped.
func (r *Registry) Bindings(ctx context.Context) iter.Seq2[Binding, error] {
	return func(yield func(Binding, error) bool) {
		seen := map[string]bool{}
		for line, err := range r.log.Read(ctx, subagents, "") {
			if store.IsUnfit(err) {
				continue
			}
			if err != nil {
				yield(Binding{}, fmt.Errorf("read the subagents: %w", err))
				return
			}
			b, err := ParseBinding(line.Data)
			if who := address.Canonical(b.ID); err == nil && !seen[who] {
				seen[who] = true
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// Audits yields every line of the audit log, oldest first. Bad lines are skipped.
func (r *Registry) Audits(ctx context.Context) iter.Seq2[Audit, error] {
	return func(yield func(Audit, error) bool) {
		for line, err := range r.log.Read(ctx, audits, "") {
			if store.IsUnfit(err) {
				continue
			}
			if err != nil {
				yield(Audit{}, fmt.Errorf("read the record of the subagents: %w", err))
				return
			}
			if a, err := parseAudit(line.Data); err == nil && !yield(a, nil) {
				return
			}
		}
	}
}

// Note adds a line to the audit log. One that revokes is added once: others at the same time, and later ones, get ErrGone.
func (r *Registry) Note(ctx context.Context, a Audit) error {
	var err error
	if a.Type != SubRevoked {
		_, err = r.log.Append(ctx, audits, store.AnyEnd, a.Line())
	} else {
		err = r.add(ctx, audits, func() ([]byte, error) {
			who := address.Instance(a.Subagent)
			switch e, err := r.revocation(ctx, who); {
			case err != nil:
				return nil, err
			case e != nil:
				return nil, &GoneError{Asked: who, Who: who, Sub: true, At: e.At, Reason: e.Reason}
			}
			return a.Line(), nil
		})
	}
	if err != nil {
		return fmt.Errorf("record of %q that it was %s: %w", a.Subagent, a.Type, err)
	}
	return nil
}

// KeyEvents yields every event of the key log, oldest first. Bad lines are skipped.
func (r *Registry) KeyEvents(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for line, err := range r.log.Read(ctx, keyEvents, "") {
			if store.IsUnfit(err) {
				continue
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("read the keys: %w", err))
				return
			}
			if e, err := parseEvent(line.Data); err == nil && !yield(e, nil) {
				return
			}
		}
	}
}
