package server

import (
	"context"

	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// The rows of the tools that declare something in a negotiation.
var (
	attestTool = tool{
		name: "h2a_attest_comprehension", older: true, effect: acts, run: attest,
		result: render.OneOf{enteredAnswer{}, attestation{}},
		does: "Attest that you have understood what is decided: the dossier, given whole or by its hash (tutti_negotiation shows " +
			"it). It does not bind you to agree. Goes into the journal of the negotiation, or without one comes back as a signed " +
			"envelope. An empty privateKeyPem takes the key of the keyring.",
		props: []prop{
			{"negotiationId", aString, false},
			{"instance", aString, true},
			{"dossier", anything, false},
			{"dossierHash", aString, false},
			{"privateKeyPem", aString, true},
			{"role", aString, false},
			{"scope", aString, false},
			{"eventId", aString, false},
			{"at", aString, false},
			{"causationId", aString, false},
			{"correlationId", aString, false},
		},
	}
	declareTool = tool{
		name: "h2a_declare_conflit_interet", older: true, effect: acts, run: writes(declare),
		result: enteredAnswer{},
		does:   "Declare your own interests in what is negotiated (conflict of interest), so that others can judge; bindings are the scopes to which they bind you.",
		props: []prop{
			{"negotiationId", aString, true},
			{"instance", aString, true},
			{"interets", someStrings, true},
			{"bindings", someStrings, false},
			{"masqueImpactCollectif", `{"type":"boolean"}`, false},
			{"eventId", aString, false},
			{"at", aString, false},
		},
	}
	postureTool = tool{
		name: "h2a_conflict_posture", older: true, effect: reads, again: true, run: conflictPosture,
		result: postures{},
		does:   "Show how everybody concerned in a negotiation stands towards a conflict of interest (posture), and by which criteria.",
		props:  []prop{{"negotiationId", aString, true}},
	}
	escalateTool = tool{
		name: "h2a_escalate", older: true, effect: acts, run: escalate,
		result: enteredAnswer{},
		does:   "Escalate: put a matter of a negotiation before who stands above the parties. advise asks for advice, decide for a decision, alert only tells.",
		props: []prop{
			{"negotiationId", aString, true},
			{"instance", aString, true},
			{"channel", `{"type":"string","enum":["advise","decide","alert"]}`, true},
			{"payload", anything, false},
		},
	}
)

// attested is the hash of the dossier that a call names, or brings.
func (c *call) attested() (string, error) {
	if hash := c.text("dossierHash"); hash != "" {
		return hash, nil
	}
	dossier := c.raw("dossier")
	if dossier == nil {
		return "", c.missing("dossier")
	}
	if text, ok := canonjson.String(dossier); ok && declaration.IsHash(text) {
		return text, nil
	}
	hash, err := canonjson.Hash(dossier)
	if err != nil {
		return "", c.refuse("", "dossier: %s", err)
	}
	return hash, nil
}

// stamp is the time that a call names, else now.
func (c *call) stamp(name string) (string, error) {
	at := c.text(name)
	if at == "" {
		return envelope.Stamp(now()), nil
	}
	if _, ok := envelope.ParseTime(at); !ok {
		return "", c.refuse("leave it out for now", "%s is not a time like 2026-01-31T12:00:00.000Z", name)
	}
	return at, nil
}

// declare puts interests on record. Everybody declares their own.
func declare(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error) {
	interests, ok := canonjson.Strings(c.raw("interets"))
	if !ok || len(interests) == 0 {
		return nil, c.missing("interets")
	}
	bindings, ok := canonjson.Strings(c.raw("bindings"))
	if !ok && c.raw("bindings") != nil {
		return nil, c.refuse("", "bindings must be an array of texts")
	}
	at, err := c.stamp("at")
	if err != nil {
		return nil, err
	}
	hides, _ := canonjson.Bool(c.raw("masqueImpactCollectif"))
	i, err := declaration.NewInterest(string(a.By), interests, bindings, hides, at)
	if err != nil {
		return nil, c.refuse("", "%s", err)
	}
	if len(i.Interests) == 0 {
		return nil, c.refuse("say what you have at stake", "interets has nothing but white space")
	}
	return c.deals().DeclareInterest(ctx, id, a, i, now())
}

// tellMatter puts a matter before whom it is for, and returns who that is.
func (c *call) tellMatter(ctx context.Context, by address.Instance, negotiation, id string) ([]string, error) {
	from, err := c.actor(ctx, c.bus, by)
	if err != nil {
		return nil, err
	}
	who, err := full.TellMatter(ctx, c.deals(), c.office, from, negotiation, id)
	told := make([]string, len(who))
	for n, i := range who {
		told[n] = name(i)
	}
	return told, err
}

// conflictPosture lists how everybody stands.
func conflictPosture(ctx context.Context, c *call) (any, error) {
	id := c.text("negotiationId")
	v, err := c.deals().View(ctx, id)
	if err != nil {
		return nil, err
	}
	rows := numbered(v.Postures, func(p declaration.Posture) string { return p.Subject }, declaration.Posture.View)
	return answerPage(c, "its declaration is too long to be shown; tutti_negotiation with show journal names the entry", rows, func(p page[declaration.PostureView]) any {
		return postures{word(id), p.rows, p.pageTail}
	})
}

// postures are a page of postures.
type postures struct {
	ID       string                    `json:"negotiationId"`
	Postures []declaration.PostureView `json:"postures"`
	pageTail
}

// escalate adds an escalation to a journal.
func escalate(ctx context.Context, c *call) (any, error) {
	a, warning, err := c.act(ctx)
	if err != nil {
		return nil, err
	}
	channel, err := c.need("channel")
	if err != nil {
		return nil, err
	}
	id := c.text("negotiationId")
	e, err := c.deals().Escalate(ctx, id, a, channel, c.raw("payload"), now())
	if err != nil {
		return nil, err
	}
	o := entered(e, warning)
	told, err := c.tellMatter(ctx, a.By, id, e.ID)
	if err != nil {
		c.log("escalate: " + withHint(err)) // the journal has it
	}
	o.Told = told
	return o, nil
}
