package mail

import (
	"context"
	"errors"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// A listed is a sender in a list: its keys, and the verdict on its message before.
type listed struct {
	sender
	judged  bool // proof and verdict are those of a message
	proof   proof
	verdict trust.Verdict
}

// A proof is what the verdict on a message of a sender depends on.
type proof struct {
	signed, own  int
	whole        bool
	by           signature.Public
	keySet, role string
}

// ListJudge returns a Judge for the messages of a list of a reader's. It looks up each sender once, and opens a message only when its row does
// not say which key it was verified with.
func (o *Service) ListJudge(reader address.Instance) func(ctx context.Context, at store.Key, m *envelope.Summary) (trust.Verdict, error) {
	known := map[address.Instance]*listed{}
	var to *Recipient
	signed := func(ctx context.Context, at store.Key, m *envelope.Summary) (v trust.Verdict, err error) {
		from := known[m.Actor.Instance]
		p := proof{m.Signed, m.Own, m.Whole, m.VerifiedBy, m.KeySet, m.Actor.Role}
		switch {
		case from == nil:
			from = &listed{}
			if from.keys, from.roles, err = o.Sender(ctx, m.Actor.Instance); err != nil {
				return v, err
			}
			known[m.Actor.Instance] = from
		case from.judged && from.proof == p:
			return from.verdict, nil
		}
		v, ok := trust.JudgeSummary(m, from.keys)
		if !ok {
			full, err := o.Mail.At(ctx, at)
			switch {
			case err == nil:
				v = from.keys.Judge(full.Envelope)
			case !errors.Is(err, store.ErrNotFound) && !store.IsUnfit(err): // else it was taken meanwhile, and has no verdict any more
				return v, err
			}
		}
		v.RoleNotRegistered = trust.RoleNotRegistered(m.Actor.Role, from.roles)
		if ok {
			from.judged, from.proof, from.verdict = true, p, v
		}
		return v, nil
	}
	return func(ctx context.Context, at store.Key, m *envelope.Summary) (trust.Verdict, error) {
		if to == nil {
			recipient, err := o.Recipient(ctx, reader)
			if err != nil {
				return trust.Verdict{}, err
			}
			to = &recipient
		}
		v, err := signed(ctx, at, m)
		if at.Kind != store.Outbox {
			v.AddressedTo = to.Elsewhere(m.Target)
		}
		return v, err
	}
}
