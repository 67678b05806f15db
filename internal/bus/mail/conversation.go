package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Conversation is a thread as one agent has it in its mailbox, or as several agents of one user have it together.
type Conversation struct {
	Thread string // "": messages of no thread
	Parts  []Part // by time
	Unfit  []error
}

// A Part is a message of a conversation, and the agent that has it in its mailbox.
type Part struct {
	*mailbox.Message
	Of address.Instance
}

// Messages are the messages of all parts.
func (v *Conversation) Messages() []*mailbox.Message {
	all := make([]*mailbox.Message, len(v.Parts))
	for i := range v.Parts {
		all[i] = v.Parts[i].Message
	}
	return all
}

// Conversation finds the thread with this id in the mailboxes of the readers. If there is none, it finds the thread of the message with this id.
// [mailbox.ErrNoMessage]: there is neither. Of several readers, one whose mailbox cannot be read hides no other.
func (o *Service) Conversation(ctx context.Context, readers []address.Instance, id string) (*Conversation, error) {
	return o.conversation(ctx, readers, id, true)
}

// Single is Conversation, but for the id of a message it returns that message only, once for each reader that has another one under the id.
func (o *Service) Single(ctx context.Context, readers []address.Instance, id string) (*Conversation, error) {
	return o.conversation(ctx, readers, id, false)
}

func (o *Service) conversation(ctx context.Context, readers []address.Instance, id string, whole bool) (*Conversation, error) {
	v := &Conversation{Thread: id}
	if err := o.thread(ctx, v, readers); err != nil || len(v.Parts) > 0 {
		return v, err
	}
	var found []Part
	for _, who := range readers {
		m, err := o.Mail.Find(ctx, who, id)
		switch {
		case errors.Is(err, mailbox.ErrNoMessage):
		case err != nil && len(readers) > 1 && ctx.Err() == nil:
			v.Unfit = append(v.Unfit, err)
		case err != nil:
			return v, err
		default:
			found = append(found, Part{m, who})
		}
	}
	if len(found) == 0 {
		return v, fmt.Errorf("%w or thread: %q", mailbox.ErrNoMessage, id)
	}
	if v.Thread = found[0].Envelope.ThreadID; whole && v.Thread != "" {
		return v, o.thread(ctx, v, readers)
	}
	v.add(found, len(readers) > 1)
	return v, nil
}

// thread adds the messages of the thread that the readers have.
func (o *Service) thread(ctx context.Context, v *Conversation, readers []address.Instance) error {
	for _, who := range readers {
		all, bad, err := o.Mail.Thread(ctx, who, v.Thread)
		if err != nil {
			if len(readers) == 1 || ctx.Err() != nil {
				return err
			}
			bad = append(bad, err)
		}
		v.Unfit = append(v.Unfit, bad...)
		found := make([]Part, len(all))
		for i, m := range all {
			found[i] = Part{m, who}
		}
		v.add(found, len(readers) > 1)
	}
	if len(readers) > 1 {
		slices.SortStableFunc(v.Parts, func(a, b Part) int { return strings.Compare(a.Envelope.CreatedAt, b.Envelope.CreatedAt) })
	}
	return nil
}

// add adds messages. If there are several readers, only one of the copies of a message with the same bytes is kept, that of its reader before
// that of its sender. A message that only has the id of another one is kept beside it.
func (v *Conversation) add(found []Part, several bool) {
	for _, p := range found {
		same := func(q Part) bool { return q.ID == p.ID && mailbox.Duplicate(q.Envelope.Raw, p.Envelope.Raw) }
		switch i := slices.IndexFunc(v.Parts, same); {
		case i < 0 || !several:
			v.Parts = append(v.Parts, p)
		case v.Parts[i].Key.Kind == store.Outbox && p.Key.Kind != store.Outbox:
			v.Parts[i] = p
		}
	}
}

// OwnAgents returns the registered agents whose keys are here, and first the given one, which may be "". A user who names no agent reads the
// mail of all of them.
func (o *Service) OwnAgents(ctx context.Context, first address.Instance) (all []address.Instance, err error) {
	if first != "" {
		all = append(all, first)
	}
	seen := map[address.Instance]bool{first.Canonical(): true}
	for reg, err := range o.Registry.All(ctx) {
		if store.IsUnfit(err) {
			continue // doctor names it
		}
		if err != nil {
			return nil, err
		}
		if who := reg.Instance.Canonical(); !seen[who] && o.Ring.Has(reg.Instance) {
			seen[who] = true
			all = append(all, reg.Instance)
		}
	}
	return all, nil
}

// ThreadOf returns the thread of a message that an agent received or sent; "" if the agent does not have the message. An answer that names no
// thread continues that one.
func (o *Service) ThreadOf(ctx context.Context, who address.Instance, id string) string {
	if id == "" {
		return ""
	}
	if m, err := o.Mail.Find(ctx, who, id); err == nil {
		return m.Envelope.ThreadID
	}
	return ""
}

// continues gives an answer that names no thread the thread of the message that it answers.
func (o *Service) continues(ctx context.Context, l *Draft) {
	if l.Thread == "" && len(l.Raw) == 0 && l.From != nil {
		l.Thread = o.ThreadOf(ctx, l.From.Instance, l.ReplyTo)
	}
}

// AsUser reports whether a speaker is the user and no agent: the user who names no agent reads for all own agents.
func AsUser(s *identity.Speaker) bool {
	return s.Instance == "" || s.Instance.Canonical().Host() == identity.Human
}
