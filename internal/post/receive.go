package post

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/address"
	"tutti/internal/envelope"
	"tutti/internal/mailbox"
	"tutti/internal/registry"
	"tutti/internal/trust"
)

// A Reader is whose mail is read, and in which of its sessions.
type Reader struct {
	Instance address.Instance
	Session  string // "" for a one-shot command
}

// An Item is one message as its reader is shown it.
type Item struct {
	*mailbox.Message
	Verdict trust.Verdict
}

// Taken is what one Receive gave out.
type Taken struct {
	Items   []Item
	Left    int     // unread ones that the limit left
	Held    []Item  // quarantined now, because the policy does not let them through
	Strange []error // files in the mailbox that are no messages; they stay where they are
}

// Receive offers the reader what was not shown yet, oldest first, at most limit (0: all). What it returns is claimed: no
// other session of the instance is offered it. The caller prints it and then calls Shown.
func (o *Office) Receive(ctx context.Context, r Reader, limit int) (*Taken, error) {
	if err := o.Halted("receive as " + string(r.Instance)); err != nil {
		return nil, err
	}
	who := mailbox.Reader{By: r.Instance, Session: r.Session}
	found, strange, err := o.Mail.List(ctx, r.Instance, mailbox.Query{For: &who, Now: o.Now(), Exact: true})
	if err != nil {
		return nil, err
	}
	t := &Taken{Strange: strange}
	var ids []string
	byID := map[string]Item{}
	slices.SortFunc(found, older)
	for _, m := range found {
		item := Item{Message: m}
		if item.Verdict, err = o.Judge(ctx, m.Envelope); err != nil {
			return nil, err
		}
		if why := o.Policy.refuses(m.Envelope.Actor.Instance, item.Verdict.Word); why != "" {
			if err := o.Mail.Quarantine(ctx, r.Instance, m.Envelope.ID, why, o.Now()); err != nil {
				return nil, err
			}
			t.Held = append(t.Held, item)
			continue
		}
		ids = append(ids, m.Envelope.ID)
		byID[m.Envelope.ID] = item
	}
	if limit > 0 && len(ids) > limit {
		t.Left = len(ids) - limit
		ids = ids[:limit]
	}
	claimed, err := o.Mail.Offer(ctx, r.Instance, ids, who, o.Now())
	if err != nil {
		return nil, err
	}
	for _, id := range claimed {
		item := byID[id]
		if item.Verdict.Word == trust.NewKey {
			if err := o.Pins.Pin(item.Envelope.Actor.Instance, item.Verdict.Key, o.Now()); err != nil {
				return nil, err
			}
		}
		t.Items = append(t.Items, item)
	}
	return t, nil
}

// older sorts as messages were written, then as they arrived.
func older(a, b *mailbox.Message) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), a.Stored.Compare(b.Stored), cmp.Compare(a.ID, b.ID))
}

// Shown records that the reader has what Receive gave out.
func (o *Office) Shown(ctx context.Context, r Reader, t *Taken) error {
	var errs []error
	for _, i := range t.Items {
		errs = append(errs, o.Mail.Step(settle(ctx), r.Instance,
			mailbox.Mark{ID: i.Envelope.ID, Step: mailbox.Shown, By: string(r.Instance), Session: r.Session, At: o.Now()}))
	}
	return errors.Join(errs...)
}

// Judge says what the signatures of a message are worth to this user.
func (o *Office) Judge(ctx context.Context, e *envelope.Envelope) (trust.Verdict, error) {
	keys, err := o.Registry.Keys(ctx, e.Actor.Instance)
	if err != nil {
		return trust.Verdict{}, err
	}
	pins, _ := o.Pins.Get(e.Actor.Instance)
	v := trust.Judge(e, keys.Active, keys.Revoked, pins)
	roles, _, err := o.Registry.Effective(ctx, e.Actor.Instance)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return trust.Verdict{}, err
	}
	v.RoleNotRegistered = trust.RoleNotRegistered(e.Actor.Role, roles)
	return v, nil
}

// Ack takes messages away from the mailbox into the archive. An id that is not there is an error beside the others.
func (o *Office) Ack(ctx context.Context, r Reader, ids []string) (acked []string, err error) {
	if err := o.Halted("acknowledge as " + string(r.Instance)); err != nil {
		return nil, err
	}
	var errs []error
	for _, id := range ids {
		if _, err := o.Mail.Take(settle(ctx), r.Instance, id); err != nil {
			errs = append(errs, err)
			continue
		}
		acked = append(acked, id)
		errs = append(errs, o.Mail.Step(settle(ctx), r.Instance,
			mailbox.Mark{ID: id, Step: mailbox.Taken, By: string(r.Instance), Session: r.Session, At: o.Now()}))
	}
	return acked, errors.Join(errs...)
}

// AckShown takes everything that this instance was shown; what nobody has seen stays.
func (o *Office) AckShown(ctx context.Context, r Reader) ([]string, error) {
	if err := o.Halted("acknowledge as " + string(r.Instance)); err != nil {
		return nil, err
	}
	found, _, err := o.Mail.List(ctx, r.Instance, mailbox.Query{Exact: true})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(found))
	for _, m := range found {
		ids = append(ids, m.Envelope.ID)
	}
	states, err := o.Mail.State(ctx, r.Instance, ids)
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, id := range ids {
		if s := states[id]; s.Seen() {
			shown = append(shown, id)
		}
	}
	return o.Ack(ctx, r, shown)
}

// Reply answers a message in its thread and acknowledges it. The message may have been acknowledged before.
func (o *Office) Reply(ctx context.Context, r Reader, id string, l Letter) (Receipt, error) {
	m, err := o.Mail.Get(ctx, r.Instance, id)
	if err != nil {
		return Receipt{Outcome: Refused, Err: err}, err
	}
	l.To, l.ReplyTo, l.Thread = m.Envelope.Actor.Instance, m.Envelope.ID, m.Envelope.ThreadID
	receipt, err := o.Send(ctx, l)
	if err != nil || m.Archived {
		return receipt, err
	}
	_, err = o.Ack(ctx, r, []string{id})
	return receipt, err
}

// An Answer waits for the reply to a message that was sent. It looks whenever look delivers, and every second, because
// hints of a watcher may be lost.
func (o *Office) Answer(ctx context.Context, r Reader, id string, look <-chan struct{}) (*Item, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		m, err := o.Mail.ReplyTo(ctx, r.Instance, id)
		if err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
			return nil, err
		}
		if err == nil {
			item := &Item{Message: m}
			item.Verdict, err = o.Judge(ctx, m.Envelope)
			return item, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look:
		case <-tick.C:
		}
	}
}
