package cli

import (
	"context"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/negotiation"
	"tutti/internal/halt"
)

func runDeclareInterest(ctx context.Context, c *Call) error {
	said := c.isSet("interets") || c.isSet("interests")
	words := orElse(c.text("interets"), c.text("interests"))
	if c.under == H2A {
		said, words = c.value("interets") != "", c.value("interets")
	}
	if !said {
		return c.missing("interets")
	}
	d, err := c.deal(app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	at, when, err := d.declaredAt()
	if err != nil {
		return err
	}
	a, err := d.act(ctx, false)
	if err != nil {
		return err
	}
	i, err := declaration.NewInterest(string(a.By), commaList(words), commaList(c.value("bindings")), c.on("masque-impact-collectif"), at)
	if err != nil {
		return refuse("", "%s", Clean(err.Error()))
	}
	e, err := d.bus.DeclareInterest(ctx, d.id, a, i, when)
	if err != nil {
		return c.dealFault(err)
	}
	if c.json {
		c.emit(e.Raw)
		return nil
	}
	c.line("declared (entry " + itoa(e.Sequence) + " of " + Clean(d.id) + ")")
	c.line("next:  tutti conflict-posture --negotiation " + Clean(app.QuoteArg(d.id)))
	return nil
}

// decision opens the bus and reads a negotiation as a decision. The caller closes the deal.
func (c *Call) decision(ctx context.Context, mode app.Mode) (*deal, *agreement.View, error) {
	d, err := c.deal(mode)
	if err != nil {
		return nil, nil, err
	}
	v, err := d.bus.View(ctx, d.id)
	if err != nil {
		d.close()
		return nil, nil, c.dealFault(err)
	}
	return d, v, nil
}

func runConflictPosture(ctx context.Context, c *Call) error {
	d, v, err := c.decision(ctx, app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	if c.json {
		var l list
		for _, p := range v.Postures {
			l.raw(p.JSON())
		}
		var o canonjson.Object
		o.Str("negotiationId", d.id)
		o.Raw("postures", l.bytes())
		c.emit(o.End())
		return nil
	}
	for _, p := range v.Postures {
		c.line(Clean(p.Subject) + "  " + c.postureWord(p))
		if p.Declaration != nil {
			c.prose("  declared: ", len("  declared: "), Clean(strings.Join(p.Declaration.Interests, ", ")))
		}
		if p.Conflict == declaration.Conflict && !v.Escalated(p.Subject) {
			c.line("  next:  tutti escalate --negotiation " + Clean(app.QuoteArg(d.id)) + " --instance " + Clean(app.QuoteArg(p.Subject)) + " --channel decide")
		}
	}
	if len(v.Postures) == 0 {
		c.line("nobody is concerned")
	}
	return nil
}

// postureWord is a posture for people: what it is called, and why.
func (c *Call) postureWord(p declaration.Posture) string {
	means, code := map[string]string{
		declaration.NoConflict: "no interest declared", declaration.Watched: "an interest, no conflict", declaration.Conflict: "a conflict of interest",
	}[p.Conflict], yellow
	if p.Conflict == declaration.NoConflict {
		return p.Conflict + " (" + means + ")"
	}
	if p.Conflict == declaration.Conflict {
		code = red
	}
	s := c.paint(code, p.Conflict) + " (" + means
	if len(p.Criteria) > 0 {
		s += ": " + strings.Join(p.Criteria, ", ")
	}
	return s + "; is shown: " + p.Disclosure + ")"
}

func runEscalate(ctx context.Context, c *Call) error {
	if c.value("channel") == "" {
		return c.missing("channel")
	}
	d, v, err := c.decision(ctx, app.Writing)
	if err != nil {
		return err
	}
	defer d.close()
	a, err := d.act(ctx, false)
	if err != nil {
		return err
	}
	var payload []byte
	if arg := c.value("payload"); arg != "" {
		if payload, err = c.document(ctx, arg, "the payload"); err != nil {
			return err
		}
	} else if p, ok := v.Posture(a.By); ok && p.Conflict == declaration.Conflict && c.value("question") == "" {
		payload = p.Escalation()
	} else if c.value("question") == "" {
		return usageHint("--question TEXT, or --payload JSON, says what it is about", "escalate: %s has declared no conflict that could be put before anybody", Clean(string(a.By)))
	}
	if payload, err = c.matterTerms(payload, d.now); err != nil {
		return err
	}
	e, err := d.bus.Escalate(ctx, d.id, a, c.value("channel"), payload, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	told := d.tellMatter(ctx, a.By, e.ID)
	return d.said(ctx, e, "escalated: "+e.ID+told)
}

// tellMatter puts a matter before whom it is for, and says who that is. It stands in the journal already: what fails is only said.
func (d *deal) tellMatter(ctx context.Context, by address.Instance, id string) string {
	from, err := d.w.Identity.Speak(ctx, factsOf(d.App), identity.Ask{As: string(by), Peek: true}, d.now)
	if err != nil {
		from = &identity.Speaker{Instance: by, Role: identity.RoleAgent, Scope: identity.DefaultScope}
	}
	office, err := d.w.MailService()
	var told []address.Instance
	if err == nil {
		told, err = app.TellMatter(ctx, d.bus, office, from, d.id, id)
	}
	if err != nil {
		d.warn("not everybody was told by mail, the matter stands in the journal: %s", Clean(err.Error()))
	}
	if len(told) == 0 {
		return ", no mail: any person may answer it"
	}
	text := ", mail to "
	for n, who := range told {
		if n > 0 {
			text += ", "
		}
		text += Clean(string(who))
	}
	return text
}

// runDossier compiles the dossier of a negotiation.
func runDossier(ctx context.Context, c *Call) error {
	gate := c.on("advisory-gate")
	mode := app.Reading
	if gate {
		if err := halt.Check("dossier --advisory-gate"); err != nil {
			return err
		}
		mode = app.Writing
	} else if c.Verb.Halt == Asks {
		c.banner(halt.Read())
	}
	d, v, err := c.decision(ctx, mode)
	if err != nil {
		return err
	}
	defer d.close()
	var o canonjson.Object
	o.Str("negotiationId", d.id)
	o.Raw("dossier", v.Dossier.JSON())
	o.Str("dossierHash", v.DossierHash)
	presenter := c.value("presenter")
	biased := presenter != "" && declaration.Biased(presenter, v.Postures)
	if presenter != "" {
		bias := biasJSON(presenter, v)
		o.Raw("presenterBias", bias)
		if gate && biased {
			a := negotiation.Act{By: negotiation.Steward, EventID: c.value("event-id")}
			e, err := d.bus.Escalate(ctx, d.id, a, "alert", canonjson.Set(bias, "disposition", []byte(`"advisory-only"`)), d.now)
			if err != nil {
				return c.dealFault(err)
			}
			o.Within("advisoryEvent", func(o *canonjson.Object) {
				o.Str("id", e.ID)
				o.Int("sequence", int64(e.Sequence))
			})
		}
	}
	if c.json {
		c.emit(o.End())
		return nil
	}
	d.dossier(ctx, v)
	if biased {
		c.warn("%s has a conflict of interest and should not present this", Clean(presenter))
	}
	return nil
}

func biasJSON(presenter string, v *agreement.View) []byte {
	var o canonjson.Object
	o.Str("kind", "presenterBias")
	o.Str("presenter", presenter)
	o.Bool("biased", declaration.Biased(presenter, v.Postures))
	if p, ok := v.Posture(address.Instance(presenter)); ok {
		o.Str("postureConflit", p.Conflict)
		o.Strs("criteres", p.Criteria)
	}
	return o.End()
}

// reasonWords says what a reason means by which somebody stands high in a dossier.
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
	d.facts([][]string{{"dossier", v.DossierHash}, {"about", Clean(v.Dossier.Scope)}, {"artifact", orElse(v.Dossier.Artifact, "none was offered yet")}})
	for _, i := range v.Dossier.Items {
		var why []string
		for _, r := range i.Reasons {
			why = append(why, reasonWords(r))
		}
		head := itoa(i.Rank) + ". " + Clean(i.Subject) + ": "
		d.prose(head, Width(head), orElse(strings.Join(why, "; "), "nothing beyond the matter itself"))
	}
	d.nextAttest(ctx, v)
}

// nextAttest names who has not attested the present dossier and may.
func (d *deal) nextAttest(ctx context.Context, v *agreement.View) {
	for _, s := range v.Confidence.Missing {
		r, err := d.w.Registry.Registered(ctx, address.Instance(s))
		if err == nil && declaration.MayAttest(r.Roles, r.Capabilities) {
			d.line("next:  tutti attest-comprehension --negotiation " + Clean(app.QuoteArg(d.id)) + " --instance " + Clean(app.QuoteArg(s)))
			return
		}
	}
	if len(v.Confidence.Missing) > 0 {
		d.remark("none of those who have not attested may: it takes the role PRINCIPAL, EXECUTIF or MANDATAIRE, or AGENTS with the capability %s", declaration.AttestRight)
	}
}

func runConfiance(ctx context.Context, c *Call) error {
	d, v, err := c.decision(ctx, app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	if c.json {
		var o canonjson.Object
		o.Str("negotiationId", d.id)
		o.Raw("posture", v.Confidence.JSON())
		c.emit(o.End())
		return nil
	}
	k := v.Confidence
	word, code := "can be relied on", green
	switch k.Level {
	case declaration.Reserved:
		word, code = "can be relied on, with conflicts that lie open", yellow
	case declaration.NotEstablished:
		word, code = "cannot be relied on yet", red
	}
	c.line(Clean(d.id) + "  " + c.paint(code, k.Level) + ": the decision " + word)
	c.facts([][]string{{"  dossier", k.Dossier}})
	for _, row := range []struct {
		head string
		all  []string
	}{{"not attested", k.Missing}, {"attested an older dossier", k.Stale}, {"declared conflict", k.Disclosed}, {"undeclared conflict", k.Undisclosed}} {
		if len(row.all) > 0 {
			head := "  " + row.head + ": "
			c.prose(head, len(head), Clean(strings.Join(row.all, " ")))
		}
	}
	d.nextAttest(ctx, v)
	return nil
}
