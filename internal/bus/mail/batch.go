package mail

import (
	"context"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

// SendAll sends many letters and syncs once. The receipts are in the order of the letters. Letters that could not be
// written or addressed are refused each by itself. A halt that comes before the letters become visible refuses all, and is the
// error. When the batch fails otherwise, some of it may lie there: each letter is then put by itself, so that each has a true word.
func (o *Service) SendAll(ctx context.Context, letters []Draft) ([]Receipt, error) {
	receipts, remember, halted := o.Deliver(ctx, letters)
	remember()
	return receipts, halted
}

// Deliver is SendAll for callers that have to answer first: the letters are durable when it returns, and remember, which has to
// be called once, does the bookkeeping: the copies of the senders and the lines of the trails. Neither receipts nor letters may
// be changed before that.
func (o *Service) Deliver(ctx context.Context, letters []Draft) (receipts []Receipt, remember func(), halted error) {
	s := sending{letters: letters, receipts: make([]Receipt, len(letters)), raws: make([][]byte, len(letters))}
	err := o.Mail.Batch(settle(ctx), func(b *mailbox.Mailbox) error {
		c := counter{o: o, mail: b, found: map[address.Instance]members.Found{}, keys: map[address.Instance]*signature.Private{}, stand: map[address.Instance]error{}}
		for i := range letters {
			s.receipts[i], s.raws[i], _ = c.hand(ctx, &letters[i])
		}
		halted = o.Halted("send a batch")
		return halted
	})
	durable := o.Now() // before that none of them was
	for i := range letters {
		r := &s.receipts[i]
		switch {
		case r.Outcome == Refused:
		case halted != nil:
			r.Outcome, r.Err = Refused, halted
		case r.Outcome == "": // the batch failed before it came to the letter
			r.Outcome, r.Asked, r.To, r.Err = Refused, letters[i].To, letters[i].To, err
		default:
			if err != nil {
				o.putAgain(ctx, r, s.raws[i])
			}
		}
		if r.Stored = durable; r.Outcome == Refused || r.Outcome == Already {
			r.Stored = time.Time{}
		}
	}
	return s.receipts, func() { o.copiesAll(settle(ctx), &s) }, halted
}

// A sending is a batch of letters and what became of each.
type sending struct {
	letters  []Draft
	receipts []Receipt
	raws     [][]byte
}

// putAgain stores a letter of a batch that failed. One that the batch did store is there, and keeps its word.
func (o *Service) putAgain(ctx context.Context, r *Receipt, raw []byte) {
	if r.Err = o.Halted("send to " + string(r.To)); r.Err == nil {
		var fit mailbox.Fit
		if fit, r.Err = mailbox.Judge(raw); r.Err == nil {
			_, r.Err = lay(settle(ctx), o.Mail, r, fit)
		}
	} else if m, err := o.Mail.Get(settle(ctx), r.To, r.ID); err == nil && mailbox.Duplicate(m.Envelope.Raw, raw) {
		r.Err = nil
	}
	if r.Err != nil {
		r.Outcome = Refused
	}
}

// kept tells whether a letter gets a copy and a line in the trail.
func kept(r *Receipt) bool {
	return r.Outcome == Delivered || r.Outcome == Deposited || r.Outcome == Queued
}

// copiesAll is copies for a batch: the trails get their lines at once.
func (o *Service) copiesAll(ctx context.Context, s *sending) {
	var trails []address.Instance // in the order of their first message
	marks := map[address.Instance][]mailbox.Mark{}
	for i := range s.receipts {
		r, l := &s.receipts[i], &s.letters[i]
		if !kept(r) {
			continue
		}
		if !l.Arrived {
			_ = o.Mail.KeepCopy(ctx, l.From.Instance, r.ID, s.raws[i])
		}
		if r.Outcome == Queued {
			_ = o.Mail.Step(ctx, r.To, markOf(l, r))
			continue
		}
		if marks[r.To] == nil {
			trails = append(trails, r.To)
		}
		marks[r.To] = append(marks[r.To], mailbox.Mark{ID: r.ID, By: string(l.From.Instance), At: r.Stored})
	}
	for _, to := range trails {
		_ = o.Mail.StoredAll(ctx, to, marks[to])
	}
}
