package mail

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// A Recipient is a reader with all names that mean it. Every message counts as addressed to the zero Recipient.
type Recipient struct {
	who     address.Instance // canonical; "": not known
	folders []string         // its mailboxes
	scopes  []string
}

// Recipient returns what decides which messages are addressed to a reader.
func (o *Service) Recipient(ctx context.Context, reader address.Instance) (Recipient, error) {
	if reader == "" {
		return Recipient{}, nil
	}
	t := Recipient{who: reader.Canonical()}
	sources, err := o.Mail.Sources(ctx, reader)
	if err != nil {
		return t, err
	}
	aliases, err := o.Mail.Aliases(ctx, reader)
	if err != nil {
		return t, err
	}
	for _, s := range append(sources, mailbox.Source{Owner: address.Mailbox(reader.Channel())}) {
		t.folders = append(t.folders, s.Owner)
	}
	for _, a := range aliases {
		t.folders = append(t.folders, address.Mailbox(a))
	}
	reg, err := o.Registry.Registered(ctx, reader)
	if errors.Is(err, registry.ErrNotRegistered) {
		return t, nil
	}
	if err == nil {
		t.scopes = reg.Scopes
	}
	return t, err
}

// Elsewhere returns whom a message was addressed to where that is not the reader, "" where it is. The reader's id, label, aliases, scopes
// and subagents are the reader, and so is the parent of a subagent. A message that names no recipient is not
// addressed to another one.
func (t Recipient) Elsewhere(target address.Instance) address.Instance {
	to := target.Canonical()
	switch {
	case t.who == "", target == "", family(to) == family(t.who):
		return ""
	case slices.Contains(t.folders, to.Mailbox()), slices.Contains(t.scopes, string(target)):
		return ""
	}
	if label := family(to); label != to && slices.Contains(t.folders, label.Mailbox()) { // a subagent of the label
		return ""
	}
	return target
}

// family is the agent of a subagent, and of any other address that one itself.
func family(i address.Instance) address.Instance {
	parent, _, _ := strings.Cut(string(i), "~")
	return address.Instance(parent)
}

// speaksFor tells whether an agent is the one that an address means: itself, a subagent of it, or one that works under it where it is a
// label.
func speaksFor(from, to address.Instance) bool {
	from, to = family(from.Canonical()), family(to.Canonical())
	return from == to || string(to) == to.Channel() && from.Channel() == string(to)
}
