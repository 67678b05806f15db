package agree

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/halt"
)

type interestOptions struct {
	decisionOptions
	Instance, Interets, Interests, Bindings, EventID, At string
	MasqueImpactCollectif                                bool
}

func runDeclareInterest(ctx context.Context, c *kit.Call, opt *interestOptions) error {
	words := cmp.Or(opt.Interets, opt.Interests)
	if words == "" && (c.Under == kit.H2A || !c.IsSet(&opt.Interets) && !c.IsSet(&opt.Interests)) {
		return c.Missing(&opt.Interets)
	}
	d, err := openDeal(c, app.Writing, &opt.Negotiation)
	if err != nil {
		return err
	}
	defer d.close()
	at, when, err := d.declaredAt(opt.At)
	if err != nil {
		return err
	}
	a, err := d.act(ctx, &actorOptions{Instance: opt.Instance, entryOptions: entryOptions{EventID: opt.EventID}}, false)
	if err != nil {
		return err
	}
	i, err := declaration.NewInterest(string(a.By), kit.Split(words), kit.Split(opt.Bindings), opt.MasqueImpactCollectif, at)
	if err != nil {
		return kit.Refuse("", "%s", kit.Clean(err.Error()))
	}
	e, err := d.bus.DeclareInterest(ctx, d.id, a, i, when)
	if err != nil {
		return dealFault(c, err)
	}
	if c.JSON {
		c.EmitSigned(e.Raw)
		return nil
	}
	c.Line("declared (entry " + strconv.Itoa(e.Sequence) + " of " + kit.Clean(d.id) + ")")
	c.Line("next:  tutti conflict-posture --negotiation " + kit.Clean(app.QuoteArg(d.id)))
	return nil
}

// A decisionOptions is the flag that names a negotiation for verbs without arguments.
type decisionOptions struct{ Negotiation string }

// decision opens the bus and reads a negotiation as a decision. The caller closes the deal.
func decision(ctx context.Context, c *kit.Call, mode app.Mode, opt *decisionOptions) (*deal, *agreement.View, error) {
	d, err := openDeal(c, mode, &opt.Negotiation)
	if err != nil {
		return nil, nil, err
	}
	v, err := d.bus.View(ctx, d.id)
	if err != nil {
		d.close()
		return nil, nil, dealFault(c, err)
	}
	return d, v, nil
}

// onDecision returns the options of a verb that shows a negotiation as a decision.
func onDecision(run func(context.Context, *deal, *agreement.View) error) *kit.Options {
	return kit.WithFlags(func(ctx context.Context, c *kit.Call, opt *decisionOptions) error {
		d, v, err := decision(ctx, c, app.Reading, opt)
		if err != nil {
			return err
		}
		defer d.close()
		return run(ctx, d, v)
	})
}

// A postures is the conflicts of interest in a negotiation.
type postures struct {
	ID       string                    `json:"negotiationId"`
	Postures []declaration.PostureView `json:"postures"`
}

// A confidence says how far the decision of a negotiation can be relied on.
type confidence struct {
	ID      string                     `json:"negotiationId"`
	Posture declaration.ConfidenceView `json:"posture"`
}

func runConflictPosture(ctx context.Context, d *deal, v *agreement.View) error {
	if d.JSON {
		d.Result(postures{d.id, render.Each(v.Postures, declaration.Posture.View)})
		return nil
	}
	for _, p := range v.Postures {
		d.Line(kit.Clean(p.Subject) + "  " + postureWord(d.Call, p))
		if p.Declaration != nil {
			d.Prose("  declared: ", len("  declared: "), kit.Clean(strings.Join(p.Declaration.Interests, ", ")))
		}
		if p.Conflict == declaration.Conflict && !v.Escalated(p.Subject) {
			d.Line("  next:  tutti escalate --negotiation " + kit.Clean(app.QuoteArg(d.id)) + " --instance " + kit.Clean(app.QuoteArg(p.Subject)) + " --channel decide")
		}
	}
	if len(v.Postures) == 0 {
		d.Line("this concerns no other agent")
	}
	return nil
}

// postureWord formats a posture for people: its name, and why.
func postureWord(c *kit.Call, p declaration.Posture) string {
	means, code := map[string]string{
		declaration.NoConflict: "no interest declared", declaration.Watched: "an interest, no conflict", declaration.Conflict: "a conflict of interest",
	}[p.Conflict], kit.Yellow
	if p.Conflict == declaration.NoConflict {
		return p.Conflict + " (" + means + ")"
	}
	if p.Conflict == declaration.Conflict {
		code = kit.Red
	}
	s := c.Paint(code, p.Conflict) + " (" + means
	if len(p.Criteria) > 0 {
		s += ": " + strings.Join(p.Criteria, ", ")
	}
	return s + "; is shown: " + p.Disclosure + ")"
}

type escalateOptions struct {
	decisionOptions
	matterOptions
	entryOptions
	Instance, Channel, Question, Fallback, Trigger, Domain, Payload string
}

func runEscalate(ctx context.Context, c *kit.Call, opt *escalateOptions) error {
	if opt.Channel == "" {
		return c.Missing(&opt.Channel)
	}
	d, v, err := decision(ctx, c, app.Writing, &opt.decisionOptions)
	if err != nil {
		return err
	}
	defer d.close()
	a, err := d.act(ctx, &actorOptions{Instance: opt.Instance, entryOptions: opt.entryOptions}, false)
	if err != nil {
		return err
	}
	var payload []byte
	if opt.Payload != "" {
		if payload, err = document(ctx, c, opt.Payload, "the payload"); err != nil {
			return err
		}
	} else if p, ok := v.Posture(a.By); ok && p.Conflict == declaration.Conflict && opt.Question == "" {
		payload = p.Escalation()
	} else if opt.Question == "" {
		return kit.UsageHint("--question TEXT, or --payload JSON, says what it is about", "escalate: %s has not declared a conflict, so there is nothing to escalate", kit.Name(a.By))
	}
	payload, err = opt.terms(d, escalation.Terms{Question: opt.Question, Fallback: opt.Fallback, Trigger: opt.Trigger, Domain: opt.Domain}, payload)
	if err != nil {
		return err
	}
	e, err := d.bus.Escalate(ctx, d.id, a, opt.Channel, payload, d.now)
	if err != nil {
		return dealFault(c, err)
	}
	told := d.tellMatter(ctx, a.By, e.ID)
	return d.said(ctx, e, "escalated: "+e.ID+told)
}

// tellMatter sends mail about an escalation, and names the recipients. The escalation is in the journal already, so a failure is only a warning.
func (d *deal) tellMatter(ctx context.Context, by address.Instance, id string) string {
	from, err := d.w.Identity.Speak(ctx, kit.FactsOf(d.App), identity.Ask{As: string(by), Peek: true}, d.now)
	if err != nil {
		from = &identity.Speaker{Instance: by, Role: identity.RoleAgent, Scope: identity.DefaultScope}
	}
	office, err := d.w.MailService()
	var told []address.Instance
	if err == nil {
		told, err = full.TellMatter(ctx, d.bus, office, from, d.id, id)
	}
	if err != nil {
		d.Warn("the escalation is in the journal, but not everyone got mail about it: %s", kit.Clean(err.Error()))
	}
	if len(told) == 0 {
		return ", no mail: any person may answer it"
	}
	text := ", mail to "
	for n, who := range told {
		if n > 0 {
			text += ", "
		}
		text += kit.Name(who)
	}
	return text
}

type dossierOptions struct {
	decisionOptions
	Presenter, EventID string
	AdvisoryGate       bool
}

// runDossier compiles the dossier of a negotiation.
func runDossier(ctx context.Context, c *kit.Call, opt *dossierOptions) error {
	mode := app.Reading
	if opt.AdvisoryGate {
		if err := halt.Check("dossier --advisory-gate"); err != nil {
			return err
		}
		mode = app.Writing
	} else if c.Verb.Halt == kit.Asks {
		c.Banner(halt.Read())
	}
	d, v, err := decision(ctx, c, mode, &opt.decisionOptions)
	if err != nil {
		return err
	}
	defer d.close()
	out := dossier{ID: d.id, Dossier: v.Dossier.JSON(), Hash: v.DossierHash}
	biased := opt.Presenter != "" && declaration.Biased(opt.Presenter, v.Postures)
	if opt.Presenter != "" {
		bias := biasOf(opt.Presenter, v)
		out.Bias = &bias
		if opt.AdvisoryGate && biased {
			a := negotiation.Act{By: negotiation.Steward, EventID: opt.EventID}
			e, err := d.bus.Escalate(ctx, d.id, a, "alert", canonjson.Set(render.JSON(bias), "disposition", []byte(`"advisory-only"`)), d.now)
			if err != nil {
				return dealFault(c, err)
			}
			out.Advisory = &negotiation.EventRef{ID: e.ID, Sequence: e.Sequence}
		}
	}
	if c.JSON {
		c.Result(out)
		return nil
	}
	d.dossier(ctx, v)
	if biased {
		c.Warn("%s has a conflict of interest and should not present this", kit.Clean(opt.Presenter))
	}
	return nil
}

// runNegotiateDossier is runDossier for the negotiation that the argument names.
func runNegotiateDossier(ctx context.Context, c *kit.Call) error {
	return runDossier(ctx, c, new(dossierOptions))
}

// A dossier is what --json says of the dossier of a negotiation.
type dossier struct {
	ID       string                `json:"negotiationId"`
	Dossier  json.RawMessage       `json:"dossier"` // as it is hashed
	Hash     string                `json:"dossierHash"`
	Bias     *presenterBias        `json:"presenterBias,omitempty"` // only with --presenter
	Advisory *negotiation.EventRef `json:"advisoryEvent,omitempty"` // the entry that advises against the presenter
}

// A presenterBias says whether an agent should present a decision.
type presenterBias struct {
	Kind      string   `json:"kind"` // presenterBias
	Presenter string   `json:"presenter"`
	Biased    bool     `json:"biased"`                   // it has a conflict of interest
	Conflict  *string  `json:"postureConflit,omitempty"` // absent: it is not concerned
	Criteria  []string `json:"criteres,omitzero"`
}

func biasOf(presenter string, v *agreement.View) presenterBias {
	b := presenterBias{Kind: "presenterBias", Presenter: presenter, Biased: declaration.Biased(presenter, v.Postures)}
	if p, ok := v.Posture(address.Instance(presenter)); ok {
		b.Conflict, b.Criteria = &p.Conflict, render.List(p.Criteria)
	}
	return b
}

// reasonWords explains a reason for which an agent ranks high in a dossier.
func reasonWords(reason string) string {
	switch reason {
	case "conflit-declarable":
		return "has a conflict of interest"
	case "masque-impact-collectif":
		return "its interest can hide what this means for all"
	case "amends-signed-artifact":
		return "it amends what was signed"
	case "cross-scope-aval":
		return "it leads into another scope"
	case "missing-success-criteria":
		return "nothing says when it has succeeded"
	}
	return reason
}

func (d *deal) dossier(ctx context.Context, v *agreement.View) {
	d.Facts([][]string{{"dossier", v.DossierHash}, {"about", kit.Clean(v.Dossier.Scope)}, {"artifact", cmp.Or(v.Dossier.Artifact, "none was offered yet")}})
	for _, i := range v.Dossier.Items {
		var why []string
		for _, r := range i.Reasons {
			why = append(why, reasonWords(r))
		}
		head := strconv.Itoa(i.Rank) + ". " + kit.Clean(i.Subject) + ": "
		d.Prose(head, kit.Width(head), cmp.Or(strings.Join(why, "; "), "nothing beyond the matter itself"))
	}
	d.nextAttest(ctx, v)
}

// nextAttest names an agent that has not attested the present dossier and may do so.
func (d *deal) nextAttest(ctx context.Context, v *agreement.View) {
	for _, s := range v.Confidence.Missing {
		r, err := d.w.Registry.Registered(ctx, address.Instance(s))
		if err == nil && d.bus.MayAttest(address.Instance(s), r) {
			d.Line("next:  tutti attest-comprehension --negotiation " + kit.Clean(app.QuoteArg(d.id)) + " --instance " + kit.Clean(app.QuoteArg(s)))
			return
		}
	}
	if len(v.Confidence.Missing) > 0 {
		d.Remark("none of those who have not attested may: it takes the role PRINCIPAL, EXECUTIF or MANDATAIRE, or AGENTS with the capability %s", declaration.AttestRight)
	}
}

func runConfiance(ctx context.Context, d *deal, v *agreement.View) error {
	if d.JSON {
		d.Result(confidence{d.id, v.Confidence.View()})
		return nil
	}
	k := v.Confidence
	word, code := "can be relied on", kit.Green
	switch k.Level {
	case declaration.Reserved:
		word, code = "can be relied on, with conflicts that lie open", kit.Yellow
	case declaration.NotEstablished:
		word, code = "cannot be relied on yet", kit.Red
	}
	d.Line(kit.Clean(d.id) + "  " + d.Paint(code, k.Level) + ": the decision " + word)
	d.Facts([][]string{{"  dossier", k.Dossier}})
	for _, row := range []struct {
		head string
		all  []string
	}{{"not attested", k.Missing}, {"attested an older dossier", k.Stale}, {"declared conflict", k.Disclosed}, {"undeclared conflict", k.Undisclosed}} {
		if len(row.all) > 0 {
			head := "  " + row.head + ": "
			d.Prose(head, len(head), kit.Clean(strings.Join(row.all, " ")))
		}
	}
	d.nextAttest(ctx, v)
	return nil
}
