package full

import (
	"context"
	"errors"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// Parties are the agents that names mean, as they would be meant by a message. One on another machine is a *negotiation.RefusedError: it
// gets mail from here and sees no journal, so it could never accept.
func Parties(ctx context.Context, office *mail.Service, names []string, near string) (all []address.Instance, err error) {
	for _, name := range names {
		who, err := office.Meant(ctx, address.Instance(name), near)
		if _, away := errors.AsType[*mail.AwayError](err); away {
			return nil, &negotiation.RefusedError{
				Why:  []string{address.Shown(string(who)) + " is on another machine, and an agreement needs a bus that both use"},
				Hint: "send it as a message: tutti send " + termsafe.Word(string(who)) + " TEXT",
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, who)
	}
	return all, nil
}

// TellProposal tells the other parties of a proposal by mail, which wakes them.
func TellProposal(ctx context.Context, office *mail.Service, from *identity.Speaker, id string, p agreement.Proposal) error {
	var o canonjson.Object
	o.Str("negotiationId", id)
	var errs []error
	for _, who := range p.With {
		_, err := office.Send(ctx, mail.Draft{
			From: from, To: who, Kind: agreement.ProposalKind, Text: agreement.ProposalText(id, p.Text), Body: o.Bytes(), Deposit: true,
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TellOffer tells the agents whose signature the latest offer waits for by mail, which wakes them. A person has it in status, and tutti up
// tells of it.
func TellOffer(ctx context.Context, office *mail.Service, from *identity.Speaker, b *agreement.Bus, id string, now time.Time) error {
	s, err := b.Negotiations().Status(ctx, id, now)
	if err != nil || s.Latest() == nil {
		return err
	}
	var o canonjson.Object
	o.Str("negotiationId", id)
	o.Str("artifactHash", s.Latest().Hash)
	var errs []error
	for _, step := range s.Next { // of those who may not sign none is named
		who := address.Instance(step.Who)
		if who == "" || who.Canonical() == from.Instance.Canonical() || who.Canonical().Host() == identity.Human {
			continue
		}
		_, err := office.Send(ctx, mail.Draft{
			From: from, To: who, Kind: agreement.ProposalKind, Text: agreement.OfferText(id, s.Record.Subject, s.Latest().Hash), Body: o.End(),
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TellOfferer tells the agent that made the latest offer by mail what another party answered to it with an entry. A person finds it in status.
func TellOfferer(ctx context.Context, office *mail.Service, from *identity.Speaker, b *agreement.Bus, id string, e *journal.Entry, now time.Time) error {
	s, err := b.Negotiations().Status(ctx, id, now)
	if err != nil || s.Latest() == nil {
		return err
	}
	who := s.Latest().By
	if who.Canonical() == from.Instance.Canonical() || who.Canonical().Host() == identity.Human {
		return nil
	}
	var o canonjson.Object
	o.Str("negotiationId", id)
	o.Str("artifactHash", s.Latest().Hash)
	o.Str("state", string(s.State))
	_, err = office.Send(ctx, mail.Draft{
		From: from, To: who, Kind: agreement.ProposalKind, Text: agreement.AnswerText(id, s, e), Body: o.End(),
	})
	return err
}
