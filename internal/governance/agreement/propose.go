package agreement

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

// ProposalKind is the kind of the message that tells a party of a proposal.
const ProposalKind = "proposal"

// A Proposal is a text on which an agent wants to agree with others.
type Proposal struct {
	ID    string // of the negotiation; "": a new one
	Scope string
	Text  string
	With  []address.Instance // the others; every one of them has to accept
}

// A plainText is the artifact of a proposal.
type plainText struct {
	Text string `json:"text"`
}

// Propose opens a negotiation between an agent and others, offers the text and signs it for that agent. What was done before an error
// stays in the journal, and can be gone on with under the id that is returned.
func (b *Bus) Propose(ctx context.Context, a negotiation.Act, p Proposal, now time.Time) (id string, e *journal.Entry, err error) {
	if p.Text == "" || len(p.With) == 0 {
		return "", nil, &negotiation.RefusedError{Why: []string{"a proposal needs a text and at least one other agent"}}
	}
	for _, i := range p.With {
		if address.Same(string(i), string(a.By)) {
			return "", nil, &negotiation.RefusedError{Why: []string{"you cannot agree with yourself: name another agent"}}
		}
	}
	if p.ID == "" {
		p.ID = "nego:" + address.NewEvent("", now)[len("evt-"):]
	}
	parties := append([]string{string(a.By)}, address.Texts(p.With)...)
	terms := negotiation.Terms{ID: p.ID, Scope: p.Scope, Subject: "contract", Parties: parties, RequiredSigners: parties}
	if _, err := b.Open(ctx, render.JSON(terms), negotiation.Act{By: a.By, Key: a.Key}, now); err != nil {
		return "", nil, err
	}
	n, err := b.For(ctx, profile.Offer, a.By)
	if err != nil {
		return p.ID, nil, err
	}
	text := render.JSON(plainText{p.Text})
	// A plain text is not an artifact of a kind, and so signed by any agent: the entry says that it was offered all the same.
	if _, err = n.Offer(ctx, p.ID, a, negotiation.Offering{Artifact: text, Force: true}, now); err != nil {
		return p.ID, nil, err
	}
	if n, err = b.For(ctx, profile.Sign, a.By); err != nil {
		return p.ID, nil, err
	}
	e, err = n.Sign(ctx, p.ID, a, "", now)
	return p.ID, e, err
}

// Accept accepts the offer with this hash (the latest, where it is empty) and signs it. Where that completes the agreement it is stabilised, and the result is
// returned; nil: others have to sign yet.
func (b *Bus) Accept(ctx context.Context, id string, a negotiation.Act, hash string, now time.Time) (*journal.Entry, *negotiation.Result, error) {
	n, err := b.For(ctx, profile.Accept, a.By)
	if err != nil {
		return nil, nil, err
	}
	e, err := n.Accept(ctx, id, a, hash, now)
	if err != nil {
		return nil, nil, err
	}
	s, err := b.Negotiations().Status(ctx, id, now)
	if err != nil || s.State != negotiation.Accepted {
		return e, nil, err
	}
	if n, err = b.For(ctx, profile.Stabilise, a.By); err != nil {
		return e, nil, fmt.Errorf("it is signed by all, and cannot be stabilised by %s: %w", a.By, err)
	}
	r, err := n.Stabilize(ctx, id, negotiation.Act{By: a.By, Key: a.Key}, now)
	return e, r, err
}

// ProposalText is the text of the message that tells a party of a proposal.
func ProposalText(id, text string) string {
	return "A proposal, " + id + ":\n" + text + "\n\nIf you agree: tutti negotiate accept " + id + " (or the tool tutti_negotiate, act accept). If not: tutti negotiate reject " + id + "."
}

// OfferText is the text of the message that tells an agent of an offer that waits for its signature.
func OfferText(id, subject, hash string) string {
	return "An offer in " + id + " (" + subject + ") waits for your signature.\nLook at it: tutti negotiate show " + id +
		" (or the tool tutti_negotiation). If you agree: tutti negotiate accept " + id + " " + hash +
		" (or the tool tutti_negotiate, act accept). If not: tutti negotiate counter or reject."
}

// AnswerText is the text of the message that tells an agent what another party answered to its offer.
func AnswerText(id string, s *negotiation.Standing, e *journal.Entry) string {
	text := "Your offer in " + id + " was "
	switch {
	case e.Type == "reject":
		text += "rejected."
		if v, ok := canonjson.Get(e.Body, "reason"); ok {
			if why, ok := canonjson.String(v); ok && why != "" {
				text += " The reason: " + why
			}
		}
	case s.State == negotiation.Stabilized:
		return text + "accepted. All have signed: the agreement is valid and kept (tutti negotiate show " + id + ")."
	default:
		text += fmt.Sprintf("accepted. Signatures still missing: %d.", len(s.Must)+s.More)
	}
	return text + "\nThe negotiation is " + string(s.State) + " (tutti negotiate show " + id + ")."
}
