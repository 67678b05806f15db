package full

import (
	"context"
	"errors"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
)

// Parties are the agents that names mean, as they would be meant by a message.
func Parties(ctx context.Context, office *mail.Service, names []string, near string) (all []address.Instance, err error) {
	for _, name := range names {
		who, err := office.Meant(ctx, address.Instance(name), near)
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
