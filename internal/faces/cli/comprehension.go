package cli

import (
	"context"
	"os"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

func runAttest(ctx context.Context, c *Call) error {
	id, to := c.value("negotiation"), c.value("to")
	switch {
	case id != "" && to != "":
		return usagef("%s: either --negotiation or --to, not both", c.Verb.Name)
	case c.value("dossier") == "" && (c.under == H2A || id == ""):
		return c.missing("dossier")
	}
	d, err := c.dealOf(app.Writing, id)
	if err != nil {
		return err
	}
	defer d.close()
	t, err := d.attest(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		return d.sendAttested(ctx, t, address.Instance(to))
	}
	e, err := t.Journal(ctx, id, d.now)
	if err != nil {
		return d.dealFault(err)
	}
	if d.json {
		d.emit(e.Raw)
		return nil
	}
	d.line("attested (entry " + itoa(e.Sequence) + " of " + Clean(id) + ")")
	d.line("next:  tutti confiance --negotiation " + Clean(app.QuoteArg(id)))
	return nil
}

// attest signs that --instance has understood the dossier.
func (d *deal) attest(ctx context.Context) (*agreement.Comprehension, error) {
	at, when, err := d.declaredAt()
	if err != nil {
		return nil, err
	}
	a, err := d.act(ctx, true)
	if err != nil {
		return nil, err
	}
	dossier, err := d.dossierHash(ctx)
	if err != nil {
		return nil, err
	}
	t, err := d.bus.Attest(ctx, a, agreement.Attesting{Dossier: dossier, At: at, Role: d.value("role"), Scope: d.value("scope"), Created: when})
	if err != nil {
		return nil, d.dealFault(err)
	}
	return t, nil
}

// dossierHash is that of what was understood: a hash, a file, or the present dossier of the negotiation.
func (d *deal) dossierHash(ctx context.Context) (string, error) {
	arg := d.value("dossier")
	switch {
	case declaration.IsHash(arg):
		return arg, nil
	case arg != "":
		f, err := os.Open(arg)
		if err != nil {
			return "", failIO("", err, "read the dossier")
		}
		defer f.Close()
		text, err := readAll(f, arg)
		if err != nil {
			return "", err
		}
		return declaration.HashOf(text)
	}
	v, err := d.bus.View(ctx, d.id)
	if err != nil {
		return "", d.dealFault(err)
	}
	return v.DossierHash, nil
}

// sendAttested prints the attestation as a message, and delivers it where that was asked for.
func (d *deal) sendAttested(ctx context.Context, t *agreement.Comprehension, to address.Instance) error {
	raw, err := t.Message(d.now)
	if err != nil {
		return err
	}
	d.emit(raw)
	if to == "" {
		return nil
	}
	office, err := d.w.MailService()
	if err != nil {
		return err
	}
	r, err := office.Send(ctx, mail.Draft{
		From: &identity.Speaker{Instance: t.Actor.Instance, Role: t.Actor.Role, Scope: t.Actor.Scope}, To: to, Raw: raw, Exact: true, Deposit: true, Unsigned: true,
	})
	if err != nil {
		return err
	}
	d.remark("%s: %s", Clean(string(to)), r.Outcome)
	return nil
}

func runComprehensionList(ctx context.Context, c *Call) error {
	d, v, err := c.decision(ctx, app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	if c.json {
		all := c.array()
		for _, e := range v.Attestations {
			if err := all.add(e.Raw); err != nil {
				return err
			}
		}
		all.end()
		return nil
	}
	if len(v.Attestations) == 0 {
		c.line("nobody has attested anything")
	}
	var rows [][]string
	for _, e := range v.Attestations {
		a, _ := declaration.ParseAttestation(e.Body)
		word := c.paint(green, "the present dossier")
		switch {
		case !v.Valid(e):
			word = c.paint(red, "not signed by an active key of its subject")
		case a.Dossier != v.DossierHash:
			word = c.paint(yellow, "another dossier, "+shortHash(a.Dossier))
		}
		rows = append(rows, []string{itoa(e.Sequence), Clean(a.Subject), word + d.since(e.CreatedAt)})
	}
	c.table(rows)
	return nil
}

// runComprehensionVerify looks at one attestation alone. It needs no bus.
func runComprehensionVerify(ctx context.Context, c *Call) error {
	arg := c.arg(0)
	if c.under == H2A {
		arg = c.value("json")
	}
	switch {
	case arg == "" && c.under == H2A:
		return c.missing("json")
	case arg == "":
		arg = "-"
	}
	if c.value("public-key") == "" {
		return c.missing("public-key")
	}
	raw, err := c.document(ctx, arg, "the attestation")
	if err != nil {
		return err
	}
	f, err := os.Open(c.value("public-key"))
	if err != nil {
		return failIO("", err, "read the public key")
	}
	defer f.Close()
	text, err := readAll(f, c.value("public-key"))
	if err != nil {
		return err
	}
	key, err := signature.ParsePublic(string(text))
	if err != nil {
		return failIO("", nil, "%s: %s", Clean(c.value("public-key")), Clean(err.Error()))
	}
	body, _ := canonjson.Get(raw, "body")
	a, ok := declaration.Attests(body, signaturesOf(raw), func(string) []signature.Public { return []signature.Public{key} })
	if c.json {
		var o canonjson.Object
		o.Bool("ok", ok)
		if ok {
			o.Str("kind", "comprehension-attestation")
			o.Str("subject", a.Subject)
			o.Str("dossierHash", a.Dossier)
		}
		c.emit(o.End())
	}
	switch {
	case !ok && c.json:
		return &fault{code: exitState} // it is said
	case !ok:
		return badState("", "it is no attestation that its subject has signed with that key")
	case !c.json:
		c.line("holds: " + Clean(a.Subject) + " has understood " + a.Dossier)
	}
	return nil
}

// signaturesOf are the signatures of an entry or message.
func signaturesOf(raw []byte) []signature.Object {
	v, _ := canonjson.Get(raw, "signatures")
	var all []signature.Object
	for s := range canonjson.Elements(v) {
		if o, ok := journal.ReadSignature(s); ok && len(all) < envelope.MaxSignatures {
			all = append(all, o)
		}
	}
	return all
}
