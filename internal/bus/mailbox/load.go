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

// Rows are the summaries of one folder of a mailbox or archive, newest first.
func (m *Mailbox) Rows(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Row, error] {
	return store.ViewOf(ctx, m.s, kind, owner, m.Projection, store.Query{})
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
