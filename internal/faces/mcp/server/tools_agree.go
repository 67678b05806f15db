package server

import (
	"context"
	"errors"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store"
)

// The rows of the two tools about agreements that are ours: one looks, one answers an offer.
var (
	lookTool = tool{
		name: "tutti_negotiation", effect: reads, again: true, run: lookAt,
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
		does: "Answer the latest offer of a negotiation: accept signs it, reject refuses it, withdraw takes your own back; expire and abandon end a negotiation that comes to nothing.",
		props: []prop{
			{"negotiationId", aString, true},
			{"act", `{"type":"string","enum":["accept","reject","withdraw","expire","abandon"]}`, true},
			{"artifactHash", described(aString, "for accept: the artifact that you have looked at, so that you do not sign a newer one"), false},
			{"reason", described(aString, "for all others: why"), false},
		},
	}
)

// negotiate does what is done to an offer beside countering it, in the name of this connection.
func negotiate(ctx context.Context, c *call) (*canonjson.Object, error) {
	act, err := c.need("act")
	if err != nil {
		return nil, err
	}
	a, _, err := c.act(ctx)
	if err != nil {
		return nil, err
	}
	n, err := c.agree.For(ctx, profile.Accept, a.By)
	if err != nil {
		return nil, err
	}
	ends := map[string]negotiation.State{
		"reject": negotiation.Rejected, "withdraw": negotiation.Withdrawn, "expire": negotiation.Expired, "abandon": negotiation.Abandoned,
	}
	id := c.text("negotiationId")
	var e *journal.Entry
	if to, is := ends[act]; is {
		e, err = n.Move(ctx, id, a, to, termsafe.Cut(c.text("reason"), maxError), now())
	} else if act == "accept" {
		var hash string
		if hash, err = c.need("artifactHash"); err == nil {
			e, err = n.Accept(ctx, id, a, hash, now())
		}
	} else {
		err = c.refuse("the acts are accept, reject, withdraw, expire and abandon; "+c.toolName("h2a_counteroffer")+" counters", "unknown act %q", termsafe.Cut(act, maxWord))
	}
	if err != nil {
		return nil, err
	}
	return entry(e, ""), nil
}

// lookAt shows one negotiation, or lists them.
func lookAt(ctx context.Context, c *call) (*canonjson.Object, error) {
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

// listed are the negotiations of the bus, by their records.
func (c *call) listed(ctx context.Context) (*canonjson.Object, error) {
	var rows []row
	for id, err := range c.agree.Negotiations().All(ctx) {
		if err != nil {
			if store.IsUnfit(err) {
				continue // the doctor's to tell
			}
			return nil, err
		}
		rows = append(rows, row{key: termsafe.Cut(address.Segment(id), maxWord), id: id, make: func() ([]byte, error) { return c.brief(ctx, id) }})
	}
	return c.page(new(canonjson.Object), "negotiations", "its record is too long to be shown", rows)
}

func (c *call) brief(ctx context.Context, id string) ([]byte, error) {
	var r *negotiation.Record
	status := "" // as the record says: show status asks the journal
	if doc, err := c.Store.Get(ctx, store.Key{Kind: store.Negotiation, Name: address.Segment(id)}); err == nil {
		if r, err = negotiation.ParseRecord(doc.Data); err == nil {
			status = string(r.Status)
		}
	} else if !errors.Is(err, store.ErrNotFound) && !store.IsUnfit(err) {
		return nil, err
	}
	if status == "" {
		s, err := c.agree.Negotiations().Status(ctx, id, now())
		if err != nil {
			return nil, nil // show verify says what is wrong with it
		}
		r, status = s.Record, string(s.State)
	}
	var o canonjson.Object
	o.Str("negotiationId", word(id))
	if r == nil {
		o.Str("status", word(status))
		return o.Bytes(), nil
	}
	o.Str("subject", word(r.Subject))
	o.Str("scope", word(r.Scope))
	o.Str("status", word(status))
	if own, err := c.speaker(ctx, c.bus, true); err == nil && r.Involved(own.Instance) {
		o.Bool("yours", true)
	}
	return o.Bytes(), nil
}
