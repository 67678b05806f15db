package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
)

// noteWithin bounds the writing of one line of the record.
const noteWithin = 5 * time.Second

// note puts a knock on record.
func (k *knocker) note(m mailbox.Mark) {
	k.v.record(k.b, k.own.Instance, k.own.Instance, k.own.SessionID, m)
}

// record puts what was tried for a reader into the trail of its mailbox.
func (v *server) record(b *bus, reader, by address.Instance, session address.SessionID, m mailbox.Mark) {
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	m.By, m.Session = string(by), string(session)
	if err := b.Mail.Step(ctx, reader, m); err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
		v.log(fmt.Sprintf("a knock is not on record: %v", err))
	}
}
