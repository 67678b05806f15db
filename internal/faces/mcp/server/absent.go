package server

import (
	"context"
	"strconv"

	"tutti/internal/attention/wake"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// newAbsent looks after those whom this connection has sent mail and who have no session.
func (v *server) newAbsent(b *bus) *wake.Absent {
	return wake.NewAbsent(wake.AbsentOptions{
		Mail: b.Mail, Book: b.office.Book, Registry: b.Registry, Ring: b.Ring, Leases: b.Store,
		Holder: "mcp-serve " + strconv.Itoa(v.pid), Times: timesOf(v.waking()), Log: v.log,
		Say: func(ctx context.Context, who address.Instance, text string) (bool, error) {
			return v.desktop().Say(ctx, "Mail for "+string(who), text)
		},
		Note: func(reader, from address.Instance, m mailbox.Mark) { v.record(b, reader, from, "", m) },
	})
}

// tells reports whether the user hears of agents without a connection.
func (v *server) tells() bool {
	config := v.waking()
	return config.Enabled && config.Desktop && v.desktop().There()
}

// deposited notes a message to an agent without a connection. It does not wait for the notice.
func (v *server) deposited(b *bus, from *identity.Speaker, r *mail.Receipt) {
	if r.Outcome == mail.Deposited && v.tells() {
		b.absent.Mail(r.To, from.Instance, r.ID, halt.Epoch())
	}
}
