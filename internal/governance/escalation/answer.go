package escalation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/journal"
)

// May reports whether a person may answer a matter, also by role. attended is false if no one was shown to be at the terminal.
func (m *Matters) May(ctx context.Context, one *Escalation, who address.Instance, attended bool) error {
	if err := one.May(who, attended); err != nil {
		return err
	}
	role := one.Role()
	if role == "" || one.Negotiation == "" {
		return nil
	}
	r, err := m.people.Registered(ctx, who)
	if errors.Is(err, registry.ErrNotRegistered) {
		r, err = &registry.Registration{}, nil
	}
	if err == nil && !slices.Contains(r.Roles, role) {
		err = &RoleError{Role: role, Who: who}
	}
	return err
}

// A RoleError reports a person without the role for which a matter is.
type RoleError struct {
	Role string
	Who  address.Instance
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("it is for a %s, and %s is not registered as one", e.Role, e.Who)
}

// answer takes an answer if it is one: by a person who may, under that person's key, before the end.
func (f *fold) answer(one *Escalation, e *journal.Entry, said, note []byte) {
	a := Answer{By: e.Actor.Instance}
	a.Text, _ = canonjson.String(said)
	a.Note, _ = canonjson.String(note)
	at, known := envelope.ParseTime(e.CreatedAt)
	a.At = at
	late := !one.Until.IsZero() && (!known || !at.Before(one.Until))
	if late || a.Text == "" || len(a.Text) > MaxAnswer || one.May(a.By, true) != nil {
		return
	}
	a.Hash = e.EntryHash()
	key, sealed, err := f.m.sealed(f.ctx, a.By, a.Hash, func(key signature.Public) bool {
		return journal.SealOf(e, journal.Keys{Active: []signature.Public{key}}) == journal.SealGood
	})
	if err != nil {
		f.err = err
	}
	if a.Key = key; !sealed {
		if err == nil && one.Doubt == "" {
			f.doubt(one, e)
		}
		return
	}
	if err := f.m.May(f.ctx, one, a.By, true); err != nil {
		if _, not := errors.AsType[*RoleError](err); !not {
			f.err = err
		}
		return
	}
	a.Note = termsafe.Cut(a.Note, MaxAnswer)
	if len(one.Options) > 0 {
		o, ok := one.Option(a.Text)
		if !ok {
			return
		}
		a.Text = o.ID
	}
	one.Answer = &a
}

// doubt notes an answer under a key that the registry has for a person, now or once, and of which nothing is known here. A
// known key that was revoked is not in doubt.
func (f *fold) doubt(one *Escalation, e *journal.Entry) {
	if seal := f.seal(e); seal != journal.SealGood && seal != journal.SealRevoked {
		return
	}
	who := e.Actor.Instance
	keys, err := f.m.people.Keys(f.ctx, who)
	if err != nil {
		f.err = err
		return
	}
	held, err := f.m.OwnKeys(f.ctx, who)
	if err != nil {
		f.err = err
		return
	}
	tried := f.m.tries(keys)
	for _, key := range slices.Concat(tried.Active, tried.Revoked) {
		if journal.SealOf(e, journal.Keys{Active: []signature.Public{key}}) != journal.SealGood {
			f.m.tried++
			continue
		}
		if !slices.ContainsFunc(held, func(h registry.OwnKey) bool { return h.Key == key }) {
			one.Doubt, one.DoubtKey = who, key
		}
		return
	}
}

// seal is what the seal of an entry proves.
func (f *fold) seal(e *journal.Entry) journal.Seals {
	keys, err := f.m.people.Keys(f.ctx, e.Actor.Instance)
	if err != nil {
		f.err = err
		return journal.SealBad
	}
	tried := f.m.tries(keys)
	seal := journal.SealOf(e, tried)
	if seal != journal.SealGood {
		f.m.tried += len(tried.Active) + len(tried.Revoked)
	}
	return seal
}
