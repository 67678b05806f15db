package mailbox

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"tutti/internal/store"
)

// At reads the message at a place.
func (m *Mailbox) At(ctx context.Context, k store.Key) (*Message, error) { return m.read(ctx, k) }

// Rows yields the messages of one folder without their bodies, newest first. It passes over files that are not messages: the inbox names them.
func (m *Mailbox) Rows(ctx context.Context, kind store.Kind, owner string) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for row, err := range store.ViewOf(ctx, m.s, kind, owner, m.Projection, store.Query{}) {
			var msg *Message
			if err == nil {
				msg, err = fromRow(row, &Source{Owner: owner})
			}
			if store.IsUnfit(err) {
				continue
			}
			if err == nil {
				err = ctx.Err()
			}
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}

// Load reads the body of a message that was listed without one. ErrNoMessage: it was taken, or its place has another message
// now.
func (m *Mailbox) Load(ctx context.Context, msg *Message) error {
	if msg.Envelope != nil {
		return nil
	}
	full, _, err := m.readRev(ctx, msg.Key)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && full.ID != msg.ID:
		return fmt.Errorf("read message %s: %w", msg.ID, ErrNoMessage)
	case err != nil:
		return fmt.Errorf("read message %s: %w", msg.ID, err)
	}
	msg.Envelope = full.Envelope
	return nil
}
