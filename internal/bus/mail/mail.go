// Package mail is the verbs on mail: send, reply, receive, acknowledge.
//
// It returns an honest receipt for each recipient. A message that returned *delivered* or *deposited* is in the mailbox of the
// instance that the receipt names, signed by the speaker, and survives a power cut; one that returned *refused* is not stored.
// A message that was received is offered to one session, verified, and shown with what the verification said; it leaves the
// mailbox only when it is acknowledged, and then into the archive.
//
// It asks the halt switch before anything that sends or takes. Who an address means is the question of package members, who
// speaks that of identity, where bytes lie that of mailbox, whose key is believed that of trust; no face writes to a mailbox
// but through here. Reading without taking (inbox, threads) needs no service.
package mail

import (
	"context"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/halt"
)

// An Service does the work. Its members are set once, before the first call; it is safe for concurrent use.
type Service struct {
	Mail     *mailbox.Mailbox
	Book     *members.Book
	Registry *registry.Registry
	Ring     *keyring.Ring
	Pins     *trust.Pins
	Policy   Policy
	// Halted tells whether the switch is on; it is asked with what is about to be done.
	Halted func(action string) error
	// Memory is what is remembered of the last halt; nil: as package halt has it.
	Memory func() (halt.Entry, error)
	Now    func() time.Time
}

// A Policy is what the user wants of mail that comes in.
type Policy struct {
	RequireSigned bool     // only verified and new keys are shown; the rest goes to quarantine
	Allow         []string // when not empty, only what these have signed: instance, host:label, or host:*
	Block         []string // never these; outranks Allow
}

func actorOf(s *identity.Speaker) envelope.Actor {
	return envelope.Actor{Instance: s.Instance, Role: s.Role, Scope: s.Scope}
}

// settle goes on although the caller has given up: what was begun gets its word.
func settle(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Unattended is the text for readers of a message that was not sent by hand: neither by a person at a terminal nor by an agent
// CLI.
func Unattended(e *envelope.Envelope) string {
	switch {
	case e.Via() != identity.Unattended:
		return ""
	case e.Actor.Instance.Canonical().Host() == identity.Human:
		return "sent without a person at the terminal: unattended"
	}
	return "sent by a script, not by its agent CLI: unattended"
}
