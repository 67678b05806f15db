package fast

import (
	"bytes"
	"context"
	"errors"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// again looks into the speaker's own outbox whether a letter whose id the caller chose was sent before. Then it is the same
// message again, with its old time and the old signature, or it is refused. A receipt without an outcome means that the letter
// is to be sent as it is; the letter may have been changed to the old one.
func again(ctx context.Context, d *kit.Account, l *mail.Draft) (mail.Receipt, error) {
	r := mail.Receipt{Outcome: mail.Refused, To: l.To, ID: l.ID}
	if l.ID == "" || len(l.Raw) > 0 {
		return mail.Receipt{}, nil
	}
	key := store.Key{Kind: store.Outbox, Owner: d.Who.Instance.Mailbox(), Name: address.Segment(l.ID)}
	if err := errors.Join(address.Check(l.ID), key.Check()); err != nil {
		return r, kit.Usagef("--id: %v", err)
	}
	doc, err := d.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return mail.Receipt{}, nil
	}
	if err != nil {
		return r, err
	}
	old, err := envelope.Parse(doc.Data)
	if err != nil || !agrees(d, old, l) {
		return r, takenID(l.ID)
	}
	r.To, r.Thread, r.Signed = old.Target, old.ThreadID, len(old.Signatures) > 0
	states, err := d.Mail.State(ctx, old.Target, []string{l.ID})
	if err != nil {
		return r, err
	}
	switch states[l.ID].Way().Step {
	case mailbox.Queued, mailbox.Carried:
		r.Outcome = mail.Already
		return r, nil
	case mailbox.Returned: // it goes there again
		l.To, l.Raw, l.From = old.Target, old.Raw, d.Who
		return mail.Receipt{}, nil
	}
	there, err := d.Mail.Get(ctx, old.Target, l.ID)
	if err == nil && bytes.Equal(there.Envelope.Raw, old.Raw) {
		r.Outcome = mail.Already
		return r, nil
	}
	if err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
		return r, err
	}
	// The copy is all there is: the mailbox has lost it. It goes there again as it was, signed by nobody anew.
	l.To, l.Raw, l.From, l.Unsigned, l.Exact = old.Target, old.Raw, &identity.Speaker{}, true, true
	return mail.Receipt{}, nil
}

// sameAgain turns the refusal of an id that is taken by this very message into the word for that: it was delivered, and the
// copy in the outbox was not written any more or is gone.
func sameAgain(ctx context.Context, d *kit.Account, l *mail.Draft, r *mail.Receipt, err error) error {
	var taken *mailbox.TakenIDError
	if !errors.As(err, &taken) || len(l.Raw) > 0 {
		return err
	}
	doc, gerr := d.Store.Get(ctx, taken.Key)
	if gerr != nil {
		return err
	}
	old, perr := envelope.Parse(doc.Data)
	if perr != nil || !agrees(d, old, l) {
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: takenHint}
	}
	r.Outcome, r.Thread, r.Signed, r.Err = mail.Already, old.ThreadID, len(old.Signatures) > 0, nil
	return nil
}

const takenHint = "another --id, or none; the one that is there is not changed"

func takenID(id string) error {
	return kit.Refuse(takenHint, "message id %q is taken: you sent another message under it", kit.Clean(id))
}

// agrees tells whether an envelope is what the letter would have become at the time of the envelope. As what its sender was
// taken then, and in which thread it went when the letter names none, is no difference.
func agrees(d *kit.Account, old *envelope.Envelope, l *mail.Draft) bool {
	at, ok := old.Time()
	if !ok || old.Actor.Instance.Canonical() != d.Who.Instance.Canonical() || !meant(old.Target, l.To) {
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
