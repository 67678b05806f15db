package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/declaration"
	"tutti/internal/envelope"
	"tutti/internal/identity"
	"tutti/internal/journal"
	"tutti/internal/negotiation"
	"tutti/internal/post"
	"tutti/internal/registry"
	"tutti/internal/signature"
)

// An attester is who attests, and what.
type attester struct {
	*deal
	by          negotiation.Act
	reg         *registry.Registration
	role, scope string
	body        []byte
	sig         signature.Object // over the body
	at          string
	when        time.Time
}

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
	t := &attester{deal: d}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	if id != "" {
		return t.journal(ctx)
	}
	return t.message(ctx, address.Instance(to))
}

// prepare finds out who attests what, whether they may, and signs it.
func (t *attester) prepare(ctx context.Context) (err error) {
	if t.at, t.when, err = t.declaredAt(); err != nil {
		return err
	}
	if t.by, err = t.deal.act(ctx, true); err != nil {
		return err
	}
	if t.reg, err = t.w.Registry.Registered(ctx, t.by.By); err != nil {
		return t.registryFault(err)
	}
	keys, err := t.w.Registry.Keys(ctx, t.by.By)
	if err != nil {
		return err
	}
	if !slices.Contains(keys.Active, t.by.Key.Public()) {
		return badState("tutti keys list --instance "+app.QuoteArg(string(t.by.By)), "key not active for %s", Clean(string(t.by.By)))
	}
	roles := t.reg.Roles
	if t.role = t.value("role"); t.role != "" {
		if !slices.Contains(roles, t.role) {
			return refuse("", "%s is registered as %s, not as %s", Clean(string(t.by.By)), Clean(strings.Join(roles, ", ")), Clean(t.role))
		}
		roles = []string{t.role}
	} else if len(roles) > 0 {
		t.role = roles[0]
	}
	if !declaration.MayAttest(roles, t.reg.Capabilities) {
		return badState("", "%s lacks the right %s", Clean(string(t.by.By)), declaration.AttestRight)
	}
	dossier, err := t.dossierHash(ctx)
	if err != nil {
		return err
	}
	t.body, err = declaration.Attestation{Subject: string(t.by.By), Dossier: dossier, At: t.at}.Body()
	if err != nil {
		return refuse("", "%s", Clean(err.Error()))
	}
	t.sig, err = declaration.SignBody(t.body, t.by.Key)
	return err
}

// dossierHash is that of what was understood: a hash, a file, or the present dossier of the negotiation.
func (t *attester) dossierHash(ctx context.Context) (string, error) {
	arg := t.value("dossier")
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
	v, err := t.bus.View(ctx, t.id)
	if err != nil {
		return "", t.dealFault(err)
	}
	return v.DossierHash, nil
}

// journal adds the attestation to the journal of the negotiation.
func (t *attester) journal(ctx context.Context) error {
	n := t.bus.Negotiations()
	s, err := n.Status(ctx, t.id, t.now)
	if err != nil {
		return t.dealFault(err)
	}
	t.scope = t.value("scope")
	if t.scope == "" && s.Record != nil {
		t.scope = s.Record.Scope
	}
	tip, err := n.Journal().Catch(ctx, t.id, nil)
	if err != nil {
		return t.dealFault(err)
	}
	var o canonjson.Object
	o.Str("id", orElse(t.by.EventID, address.NewEvent("comprehension", t.now)))
	o.Str("type", "event")
	o.Raw("actor", t.actor())
	o.Raw("body", t.body)
	o.Str("createdAt", t.at)
	o.Str("negotiationId", t.id)
	o.Opt("causationId", orElse(t.by.CausationID, tip.ID))
	o.Opt("correlationId", orElse(t.by.CorrelationID, tip.CorrelationID))
	o.Raw("signatures", t.signatures())
	e, err := n.Event(ctx, t.id, t.by, o.End(), t.now)
	if err != nil {
		return t.dealFault(err)
	}
	if t.json {
		t.emit(e.Raw)
		return nil
	}
	t.line("attested (entry " + itoa(e.Sequence) + " of " + Clean(t.id) + ")")
	t.line("next:  tutti confiance --negotiation " + Clean(app.QuoteArg(t.id)))
	return nil
}

func (t *attester) actor() []byte {
	var o canonjson.Object
	o.Str("instance", string(t.by.By))
	o.Str("role", t.role)
	o.Str("scope", orElse(t.scope, t.firstScope()))
	return o.End()
}

func (t *attester) firstScope() string {
	if len(t.reg.Scopes) > 0 {
		return t.reg.Scopes[0]
	}
	return identity.DefaultScope
}

func (t *attester) signatures() []byte {
	var o canonjson.Object
	o.Str("by", t.sig.By)
	o.Str("alg", t.sig.Alg)
	o.Str("value", t.sig.Value)
	var l list
	l.obj(&o)
	return l.bytes()
}

// message prints the attestation as a message, and delivers it where that was asked for.
func (t *attester) message(ctx context.Context, to address.Instance) error {
	t.scope = t.value("scope")
	draft := envelope.Draft{
		ID: t.by.EventID, Actor: envelope.Actor{Instance: t.by.By, Role: t.role, Scope: orElse(t.scope, t.firstScope())}, Created: t.when, Body: t.body,
	}
	if draft.ID == "" {
		draft.ID = string(address.NewEnvelope(t.now))
	}
	raw, err := draft.Bytes()
	if err != nil {
		return err
	}
	for _, m := range [][2]string{{"causationId", t.by.CausationID}, {"correlationId", t.by.CorrelationID}} {
		if m[1] != "" {
			raw = canonjson.Set(raw, m[0], canonjson.AppendString(nil, m[1]))
		}
	}
	raw = canonjson.Set(raw, "signatures", t.signatures())
	t.emit(raw)
	if to == "" {
		return nil
	}
	office, err := t.w.Office()
	if err != nil {
		return err
	}
	r, err := office.Send(ctx, post.Letter{
		From: &identity.Speaker{Instance: t.by.By, Role: t.role, Scope: draft.Actor.Scope}, To: to, Raw: raw, Exact: true, Deposit: true, Unsigned: true,
	})
	if err != nil {
		return err
	}
	t.remark("%s: %s", Clean(string(to)), r.Outcome)
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
