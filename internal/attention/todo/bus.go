package todo

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/blocker"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store"
)

// human is the host of people.
const human = "human"

// A Bus is what is looked at on a bus.
type Bus struct {
	Agreements *agreement.Bus
	Mail       *mailbox.Mailbox
	Store      store.Reader
}

// For returns the items that wait on the bus for an agent or user.
func (b *Bus) For(ctx context.Context, me address.Instance, now time.Time) (all []Item, err error) {
	for _, look := range []func(context.Context, address.Instance, time.Time) ([]Item, error){b.matters, b.turns, b.held, b.blocked} {
		some, err := look(ctx, me, now)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// matters are those that are open and for the viewer; a person may answer them.
func (b *Bus) matters(ctx context.Context, me address.Instance, now time.Time) (all []Item, err error) {
	of := b.Agreements.Matters()
	matters, problems, err := of.All(ctx)
	if err != nil {
		return nil, err
	}
	person := me.Canonical().Host() == human
	for _, p := range problems {
		if more, is := errors.AsType[*escalation.MoreError](p); is && person { // an agent has nothing to do about it
			all = append(all, Item{Kind: Escalation, ID: "more", About: more.Error(), Command: "tutti escalation list", Actions: Shows("escalation", "list")})
		}
	}
	for _, m := range matters {
		if m.State(now) != escalation.Open || !m.For(me) || person && of.May(ctx, m, me, true) != nil {
			continue
		}
		command := "tutti escalation show " + termsafe.Word(m.ID)
		if person && m.Channel == "alert" && len(m.Options) == 0 {
			command = "tutti escalation answer " + termsafe.Word(m.ID)
		}
		about := m.About()
		if person && m.Negotiation == negotiation.QuestionsOf(m.By) {
			command = "tutti answer " + termsafe.Word(m.ID) + " ANSWER"
			about += m.Choices()
		}
		if text := m.Mismatch(); text != "" {
			about = termsafe.Cut(about, MaxAbout/2) + " (" + text + ")"
		}
		all = append(all, Item{
			Kind: Escalation, ID: m.ID, From: string(m.By), About: about, At: m.At, Command: command, Actions: answers(m, person),
		})
	}
	return all, nil
}

// answers are what can be done about an escalation: a person chooses one of its options, or writes an answer. Options have ids of
// ours, because those of their presenter may be words that screens have keys for.
func answers(m *escalation.Escalation, person bool) (all []Action) {
	switch asked := m.Negotiation == negotiation.QuestionsOf(m.By); {
	case person && asked && len(m.Options) > 0:
		for n, o := range m.Neutral(m.ID) {
			all = append(all, Action{ID: option + strconv.Itoa(n+1), Label: "Answer: " + termsafe.Cut(cmp.Or(o.Text, o.ID), maxLabel), Args: []string{"answer", m.ID, "--", o.ID}})
		}
	case person && asked:
		all = append(all, Action{ID: "answer", Label: "Answer", Input: "Your answer", Args: []string{"answer", m.ID, "--"}})
	case person && m.Channel == "alert" && len(m.Options) == 0:
		all = append(all, Action{ID: "seen", Label: "Mark as seen", Args: []string{"escalation", "answer", m.ID}})
	}
	return append(all, Shows("escalation", "show", m.ID)...)
}

// turns are the negotiations that go on when who looks signs, answers or completes.
func (b *Bus) turns(ctx context.Context, me address.Instance, now time.Time) (all []Item, err error) {
	turns, err := b.Agreements.Turns(ctx, me, now)
	for n := range turns {
		t := &turns[n]
		i := Item{Kind: Negotiation, ID: t.ID, Command: t.Command, Actions: Shows("negotiate", "show", t.ID)}
		if f := t.Offer; f != nil {
			i.From = string(f.By)
			i.About = t.Subject + ": " + cmp.Or(f.Kind, "the offer") + " " + short(f.Hash) + " waits for your answer; tutti negotiate show " + termsafe.Word(t.ID) + " shows it"
		} else {
			i.About = t.Subject + ": signed by all who have to, and to be stabilised"
		}
		all = append(all, i)
	}
	return all, err
}

// short is as much of a hash as tells it from others at a glance.
func short(hash string) string {
	const most = len("sha256:") + 12
	if len(hash) <= most {
		return hash
	}
	return hash[:most] + "…"
}

// held is mail that was held back.
func (b *Bus) held(ctx context.Context, me address.Instance, _ time.Time) (all []Item, err error) {
	held, _, err := b.Mail.ListQuarantine(ctx, me)
	for _, h := range held {
		all = append(all, Item{
			Kind: Held, ID: h.ID, From: string(h.Envelope.Actor.Instance), About: cmp.Or(h.Why, "it was held back"), At: h.Stored,
			Command: "tutti inbox held", Actions: Shows("inbox", "held"),
		})
	}
	return all, err
}

// blocked are the agents that say that the viewer could help; a person sees all that are blocked.
func (b *Bus) blocked(ctx context.Context, me address.Instance, _ time.Time) (all []Item, err error) {
	blocked, _, err := blocker.List(ctx, b.Store, blocker.Filter{Active: true})
	person := me.Canonical().Host() == human
	for _, o := range blocked {
		if (person || o.Names(me)) && o.Instance.Canonical() != me.Canonical() {
			at, _ := o.Since()
			all = append(all, Item{
				Kind: Blockage, ID: string(o.Instance), From: string(o.Instance), About: o.Reason, At: at,
				Command: "tutti send " + termsafe.Word(string(o.Instance)) + " TEXT",
				Actions: []Action{{ID: "send", Label: "Send a message", Input: "Your message", Args: []string{"send", "--", string(o.Instance)}}},
			})
		}
	}
	return all, err
}
