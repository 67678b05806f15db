package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// An Outgoing is a message that waits here for another machine.
type Outgoing struct {
	*Message
	To  address.Instance // owner of its folder of the queue
	rev store.Rev
}

// Waits tells whether it is still to be sent: its machine has not refused it since it was put there.
func (q *Outgoing) Waits() bool { return q.State.Way().Step != Returned }

// Queue stores a message for an agent on another machine, durably, until it is carried there.
func (m *Mailbox) Queue(ctx context.Context, to address.Instance, f Fit) (Result, error) {
	if err := address.Check(string(to)); err != nil {
		return Result{}, fmt.Errorf("queue message: %w", err)
	}
	r, err := m.create(ctx, store.Key{Kind: store.Outgoing, Owner: to.Mailbox()}, f.id, f.raw)
	if err != nil {
		return Result{}, fmt.Errorf("queue message for %s: %w", to, err)
	}
	return r, nil
}

// Outgoing returns the messages that wait for other machines, oldest first, and the files among them that are not messages.
func (m *Mailbox) Outgoing(ctx context.Context) (all []*Outgoing, bad []error, err error) {
	for owner, err := range m.s.Owners(ctx, store.Outgoing) {
		if err != nil {
			if store.IsUnfit(err) {
				bad = append(bad, err)
				continue
			}
			return nil, nil, fmt.Errorf("read the queue for other machines: %w", err)
		}
		of, unfit, err := m.outgoingTo(ctx, owner)
		if err != nil {
			return nil, nil, fmt.Errorf("read the queue for other machines: %w", err)
		}
		all, bad = append(all, of...), append(bad, unfit...)
	}
	slices.SortFunc(all, func(a, b *Outgoing) int { return cmp.Or(a.Stored.Compare(b.Stored), cmp.Compare(a.ID, b.ID)) })
	return all, bad, nil
}

func (m *Mailbox) outgoingTo(ctx context.Context, owner string) (all []*Outgoing, bad []error, err error) {
	var ids []string
	for entry, err := range m.s.List(ctx, store.Outgoing, owner) {
		var doc store.Doc
		if err == nil {
			doc, err = m.s.Get(ctx, entry.Key)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case store.IsUnfit(err):
			bad = append(bad, err)
			continue
		case err != nil:
			return nil, nil, err
		}
		e, perr := envelope.Parse(doc.Data)
		if perr == nil && e.Target.Mailbox() != owner {
			perr = errors.New("it is written to another agent than the owner of its folder")
		}
		if perr != nil {
			bad = append(bad, &store.UnfitError{Key: entry.Key, Where: entry.Key.Path(), Why: perr.Error()})
			continue
		}
		all = append(all, &Outgoing{
			Message: &Message{Key: entry.Key, Envelope: e, Summary: e.Summary(), ID: e.ID, Stored: doc.Stored, Size: int64(len(doc.Data))},
			To:      e.Target, rev: doc.Rev,
		})
		ids = append(ids, e.ID)
	}
	if len(all) == 0 {
		return nil, bad, nil
	}
	states, err := m.states(ctx, []string{owner}, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, q := range all {
		q.State = states[q.ID]
	}
	return all, bad, nil
}

// Note adds a step to the trail of a message in the queue.
func (m *Mailbox) Note(ctx context.Context, q *Outgoing, step Step, by, result string, now time.Time) error {
	mark := Mark{ID: q.ID, Step: step, By: by, Result: result, At: now}
	if _, err := m.s.Append(ctx, trailKey(q.Key.Owner), store.AnyEnd, mark.line()); err != nil {
		return fmt.Errorf("note %s of message %s: %w", step, q.ID, err)
	}
	q.State.apply(&mark)
	return nil
}

// Unqueue takes a message out of the queue: it was carried, or it is no longer requested. The copy of its sender stays.
func (m *Mailbox) Unqueue(ctx context.Context, q *Outgoing) error {
	err := m.s.Delete(ctx, q.Key, q.rev)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// A Way is how far a message to another machine has come.
type Way struct {
	Step   Step   // Queued, Carried, Returned; "": it had no recipient on another machine
	Result string // why it was refused, or what has kept it here; "": nothing
}

// Way tells how far a message to another machine has come.
func (s State) Way() Way {
	// The sender notes that it was queued after it is stored, so that the other steps may come first.
	switch {
	case !s.Carried.IsZero():
		return Way{Step: Carried}
	case !s.Returned.IsZero() && !s.Returned.Before(s.Queued):
		return Way{Returned, s.Result}
	case s.Queued.IsZero() && s.Carrying.IsZero():
		return Way{}
	case !s.Failed.IsZero():
		return Way{Queued, s.Result}
	}
	return Way{Step: Queued}
}

// Said is that in a few words for lists.
func (w Way) Said() string {
	switch {
	case w.Step == Returned:
		return "refused there: " + w.Result
	case w.Result != "":
		return "queued: " + w.Result
	}
	return string(w.Step)
}
