package agree

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
)

type attestOptions struct {
	decisionOptions
	actorOptions
	Dossier, To, Role, Scope, At string
}

func runAttest(ctx context.Context, c *kit.Call, opt *attestOptions) error {
	id := opt.Negotiation
	switch {
	case id != "" && opt.To != "":
		return kit.Usagef("%s: either --negotiation or --to, not both", c.Verb.Name)
	case opt.Dossier == "" && (c.Under == kit.H2A || id == ""):
		return c.Missing(&opt.Dossier)
	}
	d, err := dealOf(c, app.Writing, id)
	if err != nil {
		return err
	}
	defer d.close()
	t, err := d.attest(ctx, opt)
	if err != nil {
		return err
	}
	if id == "" {
		return d.sendAttested(ctx, t, address.Instance(opt.To))
	}
	e, err := t.Journal(ctx, id, d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if d.JSON {
		d.EmitSigned(e.Raw)
		return nil
	}
	d.Line("attested (entry " + strconv.Itoa(e.Sequence) + " of " + kit.Clean(id) + ")")
	d.Line("next:  tutti confiance --negotiation " + kit.Clean(app.QuoteArg(id)))
	return nil
}

// attest signs that --instance has understood the dossier.
func (d *deal) attest(ctx context.Context, opt *attestOptions) (*agreement.Comprehension, error) {
	at, when, err := d.declaredAt(opt.At)
	if err != nil {
		return nil, err
	}
	a, err := d.act(ctx, &opt.actorOptions, true)
	if err != nil {
		return nil, err
	}
	dossier, err := d.dossierHash(ctx, opt.Dossier)
	if err != nil {
		return nil, err
	}
	t, err := d.bus.Attest(ctx, a, agreement.Attesting{Dossier: dossier, At: at, Role: opt.Role, Scope: opt.Scope, Created: when})
	if err != nil {
		return nil, dealFault(d.Call, err)
	}
	return t, nil
}

// dossierHash returns the hash of the dossier that was understood: arg is a hash, a file, or "" for the present one of the negotiation.
func (d *deal) dossierHash(ctx context.Context, arg string) (string, error) {
	switch {
	case declaration.IsHash(arg):
		return arg, nil
	case arg != "":
		f, err := kit.OpenNamed(arg)
		if err != nil {
			return "", kit.FailIO("", err, "read the dossier")
		}
		defer f.Close()
		text, err := kit.ReadAll(f, arg)
		if err != nil {
			return "", err
		}
		return declaration.HashOf(text)
	}
	v, err := d.bus.View(ctx, d.id)
	if err != nil {
		return "", dealFault(d.Call, err)
	}
	return v.DossierHash, nil
}

// sendAttested prints the attestation as a message, and delivers it to an agent if one is given.
func (d *deal) sendAttested(ctx context.Context, t *agreement.Comprehension, to address.Instance) error {
	raw, err := t.Message(d.now)
	if err != nil {
		return err
	}
	d.EmitSigned(raw)
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
	d.Remark("%s: %s", kit.Name(to), r.Outcome)
	return nil
}

func runComprehensionList(ctx context.Context, d *deal, v *agreement.View) error {
	if d.JSON {
		d.Result(render.Each(v.Attestations, func(e *journal.Entry) json.RawMessage { return e.Raw }))
		return nil
	}
	if len(v.Attestations) == 0 {
		d.Line("nothing has been attested yet")
	}
	var rows [][]string
	for _, e := range v.Attestations {
		a, _ := declaration.ParseAttestation(e.Body)
		word := d.Paint(kit.Green, "the present dossier")
		switch {
		case !v.Valid(e):
			word = d.Paint(kit.Red, "not signed by an active key of its subject")
		case a.Dossier != v.DossierHash:
			word = d.Paint(kit.Yellow, "another dossier, "+shortHash(a.Dossier))
		}
		rows = append(rows, []string{strconv.Itoa(e.Sequence), kit.Clean(a.Subject), word + d.since(e.CreatedAt)})
	}
	d.Rows(rows)
	return nil
}

type attestedOptions struct{ JSON, PublicKey string }

// runComprehensionVerify verifies one attestation. It needs no bus.
func runComprehensionVerify(ctx context.Context, c *kit.Call, opt *attestedOptions) error {
	arg := cmp.Or(c.Arg(0), "-")
	if c.Under == kit.H2A {
		if arg = opt.JSON; arg == "" {
			return c.Missing(&opt.JSON)
		}
	}
	if opt.PublicKey == "" {
		return c.Missing(&opt.PublicKey)
	}
	raw, err := document(ctx, c, arg, "the attestation")
	if err != nil {
		return err
	}
	key, err := kit.PublicKeyFile(opt.PublicKey)
	if err != nil {
		return kit.FailIO("", err, "read the public key")
	}
	body, _ := canonjson.Get(raw, "body")
	a, ok := declaration.Attests(body, signaturesOf(raw), func(string) []signature.Public { return []signature.Public{key} })
	if c.JSON {
		v := attested{OK: ok}
		if ok {
			v = attested{ok, "comprehension-attestation", a.Subject, a.Dossier}
		}
		c.Result(v)
	}
	switch {
	case !ok && c.JSON:
		return &kit.Fault{Code: kit.ExitState} // the result says so
	case !ok:
		return kit.BadState("", "the subject did not sign this attestation with that key")
	case !c.JSON:
		c.Line("holds: " + kit.Clean(a.Subject) + " has understood " + a.Dossier)
	}
	return nil
}

// An attested says whether an attestation is valid. The other members are absent if it is not.
type attested struct {
	OK      bool   `json:"ok"`
	Kind    string `json:"kind,omitempty"` // comprehension-attestation
	Subject string `json:"subject,omitempty"`
	Dossier string `json:"dossierHash,omitempty"`
}

// signaturesOf returns the signatures of an entry or message.
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
