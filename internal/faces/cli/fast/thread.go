package fast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

type threadOptions struct {
	ID, Instance string
	Trace        bool
}

// runThread shows a thread, or with --trace what became of its messages.
func runThread(ctx context.Context, c *kit.Call, opt *threadOptions) error {
	id := c.Arg(0)
	if c.Under == kit.H2A {
		id = opt.ID
	}
	switch {
	case id == "" && c.Under == kit.H2A:
		return c.Missing(&opt.ID)
	case id == "":
		return kit.UsageHint("usage: "+c.Usage()+"\n\"tutti inbox\" and \"tutti outbox\" show the ids of messages and threads", "thread: which one?")
	}
	t, err := openThreadReader(ctx, c, opt.Instance)
	if err != nil || t == nil {
		return c.Empty(err)
	}
	defer t.Close()
	switch {
	case c.Under == kit.H2A:
		err = t.thread(ctx, id)
	case opt.Trace:
		err = t.find(ctx, id, false)
	default:
		err = t.find(ctx, id, true)
	}
	switch {
	case err != nil && t.across:
		return kit.NoMessage(err, "\"tutti keys list\" shows the agents whose keys are here; \"tutti inbox --as AGENT\" lists the mail of one")
	case err != nil:
		return kit.NoMessage(err, ListHint(c))
	case opt.Trace:
		return showTraces(ctx, c, t)
	}
	all := make([]*mailbox.Message, len(t.parts))
	for i := range t.parts {
		all[i] = t.parts[i].Message
	}
	ends := Ends(FromOnly)
	if t.across {
		ends = fromTo
	}
	return Messages(ctx, c, t.Account, all, t.bad, "nothing in this thread", ends)
}

// A threadReader is an account, and the messages of a thread found in its mailboxes.
type threadReader struct {
	*kit.Account
	readers []address.Instance
	across  bool // the user looks through the mailboxes of all agents whose keys are here
	parts   []threadPart
	bad     []error
}

// A threadPart is a message of a thread, and the agent that has it in its mailbox.
type threadPart struct {
	*mailbox.Message
	of address.Instance
}

// openThreadReader opens the bus for one who reads a thread. A user who names no agent reads the threads of all agents whose keys are
// here, and needs no mailbox for it.
func openThreadReader(ctx context.Context, c *kit.Call, as string) (*threadReader, error) {
	d, err := c.Looker(ctx, as)
	if unknown, ok := errors.AsType[*identity.UnknownError](err); ok && unknown.Person {
		if d, err = c.Counter(app.Reading); err == nil {
			d.Who = &identity.Speaker{}
		}
	}
	if d == nil || err != nil {
		return nil, err
	}
	t := &threadReader{Account: d, readers: []address.Instance{d.Who.Instance}}
	if c.Under == kit.H2A || as != "" || d.Who.Instance != "" && d.Who.Instance.Canonical().Host() != identity.Human {
		return t, nil
	}
	t.across = true
	if t.readers, err = t.keyHolders(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return t, nil
}

// keyHolders returns the registered agents whose keys are here, and the user's own mailbox before them where there is one.
func (t *threadReader) keyHolders(ctx context.Context) (all []address.Instance, err error) {
	if t.Who.Instance != "" {
		all = append(all, t.Who.Instance)
	}
	seen := map[address.Instance]bool{t.Who.Instance.Canonical(): true}
	for reg, err := range t.Registry.All(ctx) {
		if store.IsUnfit(err) {
			continue // doctor names it
		}
		if err != nil {
			return nil, err
		}
		if who := reg.Instance.Canonical(); !seen[who] && t.Ring.Has(reg.Instance) {
			seen[who] = true
			all = append(all, reg.Instance)
		}
	}
	return all, nil
}

// find finds the thread with this id. If there is none, it finds the message with this id, with its thread if whole says so.
func (t *threadReader) find(ctx context.Context, id string, whole bool) error {
	if err := t.thread(ctx, id); err != nil || len(t.parts) > 0 {
		return err
	}
	var found []threadPart
	for _, who := range t.readers {
		m, err := t.Mail.Find(ctx, who, id)
		switch {
		case errors.Is(err, mailbox.ErrNoMessage):
		case err != nil && t.across && ctx.Err() == nil:
			t.bad = append(t.bad, err) // one mailbox hides no other
		case err != nil:
			return err
		default:
			found = append(found, threadPart{m, who})
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("%w or thread: %q", mailbox.ErrNoMessage, id)
	}
	if thread := found[0].Envelope.ThreadID; whole && thread != "" {
		return t.thread(ctx, thread)
	}
	t.add(found)
	return nil
}

// thread finds the messages of a thread in all mailboxes of the readers.
func (t *threadReader) thread(ctx context.Context, id string) error {
	for _, who := range t.readers {
		all, bad, err := t.Mail.Thread(ctx, who, id)
		if err != nil {
			if !t.across || ctx.Err() != nil {
				return err
			}
			bad = append(bad, err) // one mailbox hides no other
		}
		t.bad = append(t.bad, bad...)
		found := make([]threadPart, len(all))
		for i, m := range all {
			found[i] = threadPart{m, who}
		}
		t.add(found)
	}
	if t.across {
		slices.SortStableFunc(t.parts, func(a, b threadPart) int { return strings.Compare(a.Envelope.CreatedAt, b.Envelope.CreatedAt) })
	}
	return nil
}

// add adds messages. Of the copies of a message with the same bytes only one is kept, that of its reader before that of its sender.
// A message that only has the id of another one is kept beside it.
func (t *threadReader) add(found []threadPart) {
	for _, p := range found {
		same := func(q threadPart) bool { return q.ID == p.ID && mailbox.Duplicate(q.Envelope.Raw, p.Envelope.Raw) }
		switch i := slices.IndexFunc(t.parts, same); {
		case i < 0 || !t.across:
			t.parts = append(t.parts, p)
		case t.parts[i].Key.Kind == store.Outbox && p.Key.Kind != store.Outbox:
			t.parts[i] = p
		}
	}
}

// Ends names the sender of a message, and perhaps its recipient.
type Ends func(*envelope.Envelope) string

// FromOnly names the sender of a message, for a reader who is its recipient or its sender.
func FromOnly(e *envelope.Envelope) string { return "from " + kit.Name(e.Actor.Instance) }

// fromTo names both ends of a message.
func fromTo(e *envelope.Envelope) string { return FromOnly(e) + " to " + kit.Name(e.Target) }
