package server

import (
	"context"
	"encoding/json"

	"tutti/internal/app/full"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store"
)

// The rows of the two tools about agreements that are ours: one looks, one answers an offer.
var (
	lookTool = tool{
		name: "tutti_negotiation", effect: reads, again: true, run: lookAt,
		result: render.OneOf{standing{}, shownArtifact{}, shownJournal{}, shownDossier{}, shownVerdict{}, briefs{}},
		does: "Look at a negotiation (agreement): its state, parties, the latest offer, who has signed, what is missing and what you can do next. " +
			"show: artifact is what was offered, journal every entry, dossier what has to be understood and the conflicts in it, verify checks every signature and hash. " +
			"Without negotiationId it lists the negotiations.",
		props: []prop{
			{"negotiationId", aString, false},
			{"show", `{"type":"string","enum":["status","artifact","journal","dossier","verify"]}`, false},
			{"artifactHash", described(aString, "which artifact; left out, the latest offer"), false},
			{"offset", described(aNumber, `"nextOffset" of the answer before`), false},
			limitProp, cursorProp,
		},
	}
	answerTool = tool{
		name: "tutti_negotiate", effect: acts, run: negotiate,
		result: dealt{},
		does: "Agree with other agents, signed: propose offers them a text, accept signs the latest offer (the last signature completes the agreement), " +
			"reject refuses it, withdraw takes your own back; expire and abandon end a negotiation that comes to nothing.",
		props: []prop{
			{"act", `{"type":"string","enum":["propose","accept","reject","withdraw","expire","abandon"]}`, true},
			{"negotiationId", described(aString, "which; for propose it is made"), false},
			{"with", described(someStrings, "for propose: the agents that are to accept"), false},
			{"text", described(aString, "for propose: on what"), false},
			{"artifactHash", described(aString, "for accept: the artifact that you have looked at, so that you do not sign a newer one; left out for a proposed text, the latest"), false},
			{"reason", described(aString, "for all others: why"), false},
		},
	}
)

// negotiate does what is done to an offer beside countering it, in the name of this connection.
func negotiate(ctx context.Context, c *call) (any, error) {
	act, err := c.need("act")
	if err != nil {
		return nil, err
	}
	if act == "propose" {
		return c.proposeText(ctx)
	}
	id, err := c.need("negotiationId")
	if err != nil {
		return nil, err
	}
	a, _, err := c.act(ctx)
	if err != nil {
		return nil, err
	}
	n, err := c.deals().For(ctx, profile.Accept, a.By)
	if err != nil {
		return nil, err
	}
	ends := map[string]negotiation.State{
		"reject": negotiation.Rejected, "withdraw": negotiation.Withdrawn, "expire": negotiation.Expired, "abandon": negotiation.Abandoned,
	}
	var e *journal.Entry
	var r *negotiation.Result
	if to, is := ends[act]; is {
		e, err = n.Move(ctx, id, a, to, termsafe.Cut(c.text("reason"), maxError), now())
	} else if act == "accept" {
		e, r, err = c.accept(ctx, id, a)
	} else {
		err = c.refuse("the acts are propose, accept, reject, withdraw, expire and abandon; "+c.toolName("h2a_counteroffer")+" counters", "unknown act %q", termsafe.Cut(act, maxWord))
	}
	if err != nil {
		return nil, err
	}
	o := dealt{Complete: r != nil}
	o.Entry = entry(e, func(raw json.RawMessage) any { return dealt{Entry: raw} })
	if act == "accept" || act == "reject" {
		from, err := c.actor(ctx, c.bus, a.By)
		if err == nil {
			err = full.TellOfferer(ctx, c.office, from, c.deals(), id, e, now())
		}
		if err != nil {
			o.Warning = "it is written, but who made the offer was not told by mail: " + word(err.Error())
		}
	}
	return o, nil
}

// A dealt is the answer of tutti_negotiate.
type dealt struct {
	Entry    json.RawMessage `json:"entry"`                   // as it is in the journal; one that is too long is named
	Complete bool            `json:"complete,omitempty"`      // this was the last signature: the agreement is complete
	ID       string          `json:"negotiationId,omitempty"` // of a proposal
	Warning  string          `json:"warning,omitempty"`
}

// accept signs the latest offer. For an artifact with a kind the caller must give the hash, so that it signs only what it has read; a proposed
// text was in the mail.
func (c *call) accept(ctx context.Context, id string, a negotiation.Act) (*journal.Entry, *negotiation.Result, error) {
	hash := c.text("artifactHash")
	if hash == "" {
		s, err := c.deals().Negotiations().Status(ctx, id, now())
		if err != nil {
			return nil, nil, err
		}
		if f := s.Latest(); f == nil || f.Kind != "" {
			return nil, nil, c.missing("artifactHash")
		}
	}
	return c.deals().Accept(ctx, id, a, hash, now())
}

// proposeText proposes a text to other agents.
func (c *call) proposeText(ctx context.Context) (any, error) {
	from, err := c.actor(ctx, c.bus, "")
	if err != nil {
		return nil, err
	}
	names, _ := canonjson.Strings(c.raw("with"))
	p := agreement.Proposal{Scope: from.Scope}
	if p.Text, err = c.need("text"); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, c.missing("with")
	}
	if p.With, err = full.Parties(ctx, c.office, names, c.app.Workplace().Path); err != nil {
		return nil, err
	}
	a, _, err := c.actAs(ctx, from.Instance)
	if err != nil {
		return nil, err
	}
	id, e, err := c.deals().Propose(ctx, a, p, now())
	if err != nil {
		return nil, err
	}
	o := dealt{ID: id}
	o.Entry = entry(e, func(raw json.RawMessage) any { return dealt{Entry: raw} })
	if err := full.TellProposal(ctx, c.office, from, id, p); err != nil {
		o.Warning = "the proposal is recorded, but not everyone got mail about it: " + word(err.Error())
	}
	return o, nil
}

// lookAt shows one negotiation, or lists them.
func lookAt(ctx context.Context, c *call) (any, error) {
	id := c.text("negotiationId")
	if id == "" {
		return c.listed(ctx)
	}
	switch show := c.text("show"); show {
	case "", "status":
		return c.standingOf(ctx, id)
	case "artifact":
		return c.artifact(ctx, id)
	case "journal":
		return c.journal(ctx, id)
	case "dossier":
		return c.dossier(ctx, id)
	case "verify":
		return c.verified(ctx, id)
	default:
		return nil, c.refuse("status, artifact, journal, dossier or verify", "it is not known how to show %q", termsafe.Cut(show, maxWord))
	}
}

// listed are the negotiations of the bus.
func (c *call) listed(ctx context.Context) (any, error) {
	var rows []row[brief]
	for id, err := range c.deals().Negotiations().All(ctx) {
		if err != nil {
			if store.IsUnfit(err) {
				continue // the doctor's to tell
			}
			return nil, err
		}
		rows = append(rows, row[brief]{key: termsafe.Cut(address.Segment(id), maxWord), id: id, make: func() (brief, error) { return c.brief(ctx, id) }})
	}
	return answerPage(c, "its record is too long to be shown", rows, func(p page[brief]) any { return briefs{p.rows, p.pageTail} })
}

// briefs are a page of negotiations.
type briefs struct {
	Negotiations []brief `json:"negotiations"`
	pageTail
}

// A brief is one negotiation in a list.
type brief struct {
	ID      string  `json:"negotiationId"`
	Subject *string `json:"subject,omitempty"` // absent where the terms are not known
	Scope   *string `json:"scope,omitempty"`
	Status  string  `json:"status"`
	Yours   bool    `json:"yours,omitempty"` // you are a party to it
}

func (c *call) brief(ctx context.Context, id string) (brief, error) {
	s, err := c.deals().Negotiations().Status(ctx, id, now())
	if err != nil {
		return brief{}, errLeftOut // show verify says what is wrong with it
	}
	b := brief{ID: word(id), Status: word(string(s.State))}
	if r := s.Record; r != nil {
		subject, scope := word(r.Subject), word(r.Scope)
		b.Subject, b.Scope = &subject, &scope
		own, err := c.speaker(ctx, c.bus, true)
		b.Yours = err == nil && r.Involved(own.Instance)
	}
	return b, nil
}
