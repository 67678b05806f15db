package agreement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// Matters are the escalations on this bus, for one look.
func (b *Bus) Matters() *escalation.Matters {
	return escalation.New(b.store, b.registry, b.Persons, (&router{b: b}).route)
}

// Escalate escalates a question to the parties' superior, through one of declaration.Channels. A nil payload is null. The
// enforcement plan agreed for the scope determines who receives it; without one, it goes to a PRINCIPAL; the entry says so.
func (b *Bus) Escalate(ctx context.Context, id string, a negotiation.Act, channel string, payload []byte, now time.Time) (*journal.Entry, error) {
	if !slices.Contains(declaration.Channels, channel) {
		return nil, &negotiation.RefusedError{Why: []string{"channel: one of " + strings.Join(declaration.Channels, " ")}}
	}
	terms := escalation.TermsOf(payload)
	if err := terms.Check(now); err != nil {
		return nil, &negotiation.RefusedError{Why: []string{err.Error()}}
	}
	if payload == nil {
		payload = []byte("null")
	}
	to, err := b.Destination(ctx, id, channel, terms, now)
	if err != nil {
		return nil, err
	}
	var body canonjson.Object
	body.Str("kind", "escalation")
	body.Str("channel", channel)
	body.Raw("payload", payload)
	body.Raw("route", escalation.Route(to))
	return b.Negotiations().Note(ctx, id, a, "escalate", declaration.Mandataire, body.End(), now)
}

// Destination finds the receiver of a matter of a negotiation.
func (b *Bus) Destination(ctx context.Context, id, channel string, t escalation.Terms, now time.Time) (declaration.Destination, error) {
	n := b.Negotiations()
	s, err := n.Status(ctx, id, now)
	if err != nil || s.Record == nil {
		return declaration.Destination{}, err // the writer of the entry learns what is missing
	}
	plan, err := n.Agreed(ctx, planKind, s.Record.Scope, now)
	if err != nil {
		return declaration.Destination{}, err
	}
	fallback, err := b.principal(ctx, s.Record, b.principals)
	q := declaration.Request{Scope: s.Record.Scope, Channel: channel, Trigger: t.Trigger, Domain: t.Domain}
	return declaration.Escalate(declaration.RoutesOf(plan), q, fallback), err
}

// principal is the PRINCIPAL that receives a matter without a route in a plan: a party, else a member of the scope. "": there
// is none, and any person may answer. An agent with that role is passed over: it could not answer. all returns what principals
// does; it is asked where no party is one.
func (b *Bus) principal(ctx context.Context, r *negotiation.Record, all func(context.Context) ([]registry.Effective, error)) (string, error) {
	for _, p := range r.Parties {
		if p.Canonical().Host() != identity.Human {
			continue
		}
		reg, err := b.registry.Registered(ctx, p)
		switch {
		case errors.Is(err, registry.ErrNotRegistered):
		case err != nil:
			return "", err
		case b.has(p, reg, registry.Principal):
			return string(reg.Instance), nil
		}
	}
	chiefs, err := all(ctx)
	for _, e := range chiefs {
		if e.Instance.Canonical().Host() == identity.Human && slices.Contains(e.Scopes, r.Scope) {
			return string(e.Instance), nil
		}
	}
	return "", err
}

// principals are all who are PRINCIPAL. What is granted does not count, as anybody may grant it.
func (b *Bus) principals(ctx context.Context) (all []registry.Effective, err error) {
	for e, err := range b.registry.Everybody(ctx) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(e.Roles, registry.Principal) {
			continue
		}
		if reg, err := b.registry.Registered(ctx, e.Instance); err == nil && b.has(e.Instance, reg, registry.Principal) {
			all = append(all, e)
		}
	}
	return all, nil
}

// Answer writes down what a person says to a matter: into the journal of its negotiation, or to the alert. attended says that the
// person is at the terminal. The entry is nil for an alert.
func (b *Bus) Answer(ctx context.Context, m *escalation.Escalation, a negotiation.Act, said, note string, attended bool, now time.Time) (*journal.Entry, error) {
	if err := b.Matters().May(ctx, m, a.By, attended); err != nil {
		return nil, fmt.Errorf("answer %s: %w", m.ID, err)
	}
	text, err := m.Settle(said, note, now)
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w", m.ID, err)
	}
	if a.Key == nil {
		return nil, fmt.Errorf("answer %s: %w", m.ID, &negotiation.RefusedError{Why: []string{"an answer counts only under the key of the person who gives it"}})
	}
	if err := b.Knows(ctx, a.By, a.Key.Public()); err != nil {
		return nil, fmt.Errorf("answer %s: %w", m.ID, err)
	}
	if m.Negotiation == "" {
		return nil, b.Matters().See(ctx, m.By, escalation.Answer{By: a.By, Text: text, Note: note, At: now}, a.Key)
	}
	return b.once(ctx, m, a, b.role(ctx, a.By), m.AnswerBody(text, note), now, func(is *escalation.Escalation) bool { return is.Answer == nil })
}

// A KeyError reports a key under which a person's answer would not count.
type KeyError struct {
	Who     address.Instance
	Key     signature.Public
	Unknown bool // no key of this person is known here; else it is none of those, or was revoked
}

func (e *KeyError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("the key of %s is not confirmed here", e.Who)
	}
	return fmt.Sprintf("%s is known here by another key than %s, or this one was revoked", e.Who, e.Key.Short())
}

// Knows tells whether a person's answers count under a key: nil, or a *KeyError.
func (b *Bus) Knows(ctx context.Context, who address.Instance, key signature.Public) error {
	held, err := b.Matters().OwnKeys(ctx, who)
	if err != nil {
		return err
	}
	keys, err := b.registry.Keys(ctx, who)
	switch {
	case err != nil:
		return err
	case slices.Contains(keys.Revoked, key), len(held) > 0 && !slices.ContainsFunc(held, func(h registry.OwnKey) bool { return h.Key == key && !h.Revoked }):
		return &KeyError{Who: who, Key: key}
	case len(held) == 0:
		return &KeyError{Who: who, Key: key, Unknown: true}
	}
	return nil
}

// once writes an entry to a matter if it still is to be written, also when several programs do so at the same time: the matter is read
// again whenever its journal has grown before the entry stands there.
func (b *Bus) once(ctx context.Context, m *escalation.Escalation, a negotiation.Act, role string, body []byte, now time.Time, still func(*escalation.Escalation) bool) (*journal.Entry, error) {
	return b.Negotiations().NoteIf(ctx, m.Negotiation, a, "event", role, body, now, func() error {
		all, err := b.Matters().In(ctx, m.Negotiation)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(o *escalation.Escalation) bool { return o.ID == m.ID })
		if at < 0 || all[at].Hash != m.Hash {
			return fmt.Errorf("escalation %s: %w", m.ID, escalation.ErrNone)
		}
		if !still(all[at]) {
			return fmt.Errorf("escalation %s: %w", m.ID, escalation.ErrClosed)
		}
		return nil
	})
}

// Settle records for every matter whose end has passed what applies since. It decides nothing that did not apply already, and
// returns those of which something was written. Read and write errors of one negotiation are returned in problems, and do not
// block the others. Nothing is settled while it is unknown who has answered. Callers that do this repeatedly pass the same ends
// each time.
func (b *Bus) Settle(ctx context.Context, a negotiation.Act, ends *escalation.Ends, now time.Time) (done []*escalation.Escalation, problems []error, err error) {
	if err := b.blind(); err != nil {
		return nil, []error{fmt.Errorf("settle: %w", err)}, nil
	}
	due, problems, err := b.Matters().Lapsed(ctx, ends, now)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range due {
		_, err := b.once(ctx, m, a, declaration.Mandataire, m.LapseBody(), now, func(is *escalation.Escalation) bool {
			return !is.Recorded && is.Answer == nil && is.Doubt == "" && b.blind() == nil
		})
		switch {
		case ctx.Err() != nil:
			return done, problems, context.Cause(ctx)
		case errors.Is(err, escalation.ErrClosed):
		case err != nil:
			problems = append(problems, fmt.Errorf("settle %s: %w", address.Segment(m.ID), err))
		default:
			done = append(done, m)
		}
	}
	return done, problems, nil
}

// blind is why the keys of persons are unknown now, nil where they are known or where there are none.
func (b *Bus) blind() error {
	if b.Persons == nil {
		return nil
	}
	return b.Persons.Err()
}
