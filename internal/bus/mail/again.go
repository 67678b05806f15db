package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/store"
)

// A UsedIDError refuses a message whose id its sender chose and gave to another message before.
type UsedIDError struct {
	ID  string
	Err error // nil: the sender's copy of the other message shows it
}

func (e *UsedIDError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("message id %q is taken: you sent another message under it", termsafe.Clean(e.ID))
}

func (e *UsedIDError) Unwrap() error { return e.Err }

// Hint says what to type instead.
func (e *UsedIDError) Hint() string {
	return "another --id, or none; the one that is there is not changed"
}

// SendOnce is Send for callers that may repeat a message under an id of their own. A repeated message is reported as [Already],
// or stored again as it was when the mailbox has lost it; another message under the id is a *UsedIDError. An answer that names no
// thread goes into that of the message that it answers. The receipt is complete also with an error.
func (o *Service) SendOnce(ctx context.Context, l Draft) (Receipt, error) {
	asked := l.To
	o.continues(ctx, &l)
	r, err := o.repeated(ctx, &l)
	if err == nil && r.Outcome == "" {
		r, err = o.Send(ctx, l)
		err = o.stored(ctx, &l, &r, err)
	}
	return r, o.told(ctx, &r, asked, err)
}

// SendAllOnce is SendOnce for many messages, which are synced once. The error of each is in its receipt.
func (o *Service) SendAllOnce(ctx context.Context, letters []Draft) []Receipt {
	all := make([]Receipt, len(letters))
	var going []Draft
	var places []int
	for n := range letters {
		l := letters[n]
		o.continues(ctx, &l)
		r, err := o.repeated(ctx, &l)
		if err == nil && r.Outcome == "" {
			going, places = append(going, l), append(places, n)
			continue
		}
		_ = o.told(ctx, &r, letters[n].To, err)
		all[n] = r
	}
	receipts, _ := o.SendAll(ctx, slices.Clone(going)) // it fills in the drafts; each receipt has the error, too
	for i, n := range places {
		r := receipts[i]
		_ = o.told(ctx, &r, letters[n].To, o.stored(ctx, &going[i], &r, r.Err))
		all[n] = r
	}
	return all
}

// told completes a receipt.
func (o *Service) told(ctx context.Context, r *Receipt, asked address.Instance, err error) error {
	r.Asked = asked
	o.recall(ctx, r)
	if r.Err = err; err != nil {
		r.Outcome = Refused
	}
	return err
}

// recall says of a message that was there already when it was stored, if that is on record.
func (o *Service) recall(ctx context.Context, r *Receipt) {
	if r.Outcome != Already || !r.Stored.IsZero() {
		return
	}
	if states, err := o.Mail.State(ctx, r.To, []string{r.ID}); err == nil {
		r.Stored = states[r.ID].Stored
	}
}

// repeated looks in the sender's outbox whether a message whose id the sender chose was sent before. A receipt without an outcome means that
// the draft has to be sent; the draft may have been changed to the old message, with its time and signature.
func (o *Service) repeated(ctx context.Context, l *Draft) (Receipt, error) {
	if l.ID == "" || len(l.Raw) > 0 {
		return Receipt{}, nil
	}
	r := Receipt{Outcome: Refused, To: l.To, ID: l.ID}
	if err := address.Check(l.ID); err != nil {
		return r, err
	}
	copied, err := o.Mail.At(ctx, store.Key{Kind: store.Outbox, Owner: l.From.Instance.Mailbox(), Name: address.Segment(l.ID)})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Receipt{}, nil
	case err != nil && !store.IsUnfit(err):
		return r, err
	case err != nil || !repeats(copied.Envelope, l):
		return r, &UsedIDError{ID: l.ID}
	}
	old := copied.Envelope
	r.To, r.Thread, r.Signed = old.Target, old.ThreadID, len(old.Signatures) > 0
	states, err := o.Mail.State(ctx, old.Target, []string{l.ID})
	if err != nil {
		return r, err
	}
	switch states[l.ID].Way().Step {
	case mailbox.Queued, mailbox.Carried:
		r.Outcome = Already
		return r, nil
	case mailbox.Returned: // it goes there again
		l.To, l.Raw = old.Target, old.Raw
		return Receipt{}, nil
	}
	there, err := o.Mail.Get(ctx, old.Target, l.ID)
	if err == nil && mailbox.Duplicate(there.Envelope.Raw, old.Raw) {
		r.Outcome = Already
		return r, nil
	}
	if err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
		return r, err
	}
	// The mailbox has lost it. The copy is stored there again as it was, and is not signed anew.
	l.To, l.Raw, l.From, l.Unsigned, l.Exact = old.Target, old.Raw, &identity.Speaker{}, true, true
	return Receipt{}, nil
}

// stored judges the refusal of an id that is taken: by this very message, whose copy in the outbox was not written any more or
// is gone, or by another one.
func (o *Service) stored(ctx context.Context, l *Draft, r *Receipt, err error) error {
	taken, ok := errors.AsType[*mailbox.TakenIDError](err)
	if !ok || len(l.Raw) > 0 {
		return err
	}
	there, gone := o.Mail.At(ctx, taken.Key)
	if gone != nil && !store.IsUnfit(gone) {
		return err
	}
	if gone != nil || !repeats(there.Envelope, l) {
		return &UsedIDError{ID: l.ID, Err: err}
	}
	r.Outcome, r.Thread, r.Signed = Already, there.Envelope.ThreadID, len(there.Envelope.Signatures) > 0
	return nil
}

// repeats tells whether a draft, written at the time of an envelope, would be the same message but for the signatures. The role and scope of
// the sender then make no difference, nor does the thread if the draft names none.
func repeats(old *envelope.Envelope, l *Draft) bool {
	at, ok := old.Time()
	if !ok || old.Actor.Instance.Canonical() != l.From.Instance.Canonical() || !meant(old.Target, l.To) {
		return false
	}
	draft := envelope.Draft{
		ID: l.ID, Type: l.Type, Actor: old.Actor, Target: old.Target, ThreadID: l.Thread, ReplyTo: l.ReplyTo,
		Created: at, Body: l.Body, Kind: l.Kind, Text: l.Text, Via: old.Via(),
	}
	if l.Thread == "" {
		draft.ThreadID = old.ThreadID
	}
	raw, err := draft.Bytes()
	if err != nil {
		return false
	}
	was, err1 := canonjson.CanonicalWithout(old.Raw, "signatures")
	now, err2 := canonjson.CanonicalWithout(raw, "signatures")
	return err1 == nil && err2 == nil && bytes.Equal(was, now)
}

// meant tells whether a message to the one address may have been sent to the other: the same agent, or the agent that
// answered to the label then.
func meant(target, asked address.Instance) bool {
	return target.Canonical() == asked.Canonical() || !asked.Perennial() && target.Channel() == asked.Canonical().Channel()
}
