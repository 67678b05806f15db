package agree

import (
	"cmp"
	"context"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/negotiation"
)

type openOptions struct {
	idOption
	JSON, Scope, Subject, Parties, Signers, Deadline, Instance string
	Quorum                                                     int
}

func runNegotiateOpen(ctx context.Context, c *kit.Call, opt *openOptions) error {
	itself := func(name string) (string, error) { return name, nil }
	raw, err := record(ctx, c, opt, itself) // report wrong arguments before the bus is opened
	if err != nil {
		return err
	}
	d, err := dealOf(c, app.Writing, "")
	if err != nil {
		return err
	}
	defer d.close()
	var a negotiation.Act
	if c.Under != kit.H2A {
		if who, err := c.Actor(ctx, d.w, opt.Instance); err == nil {
			a.By = who
			if a.Key, err = d.sealKey(ctx, who, false); err != nil {
				return err
			}
		} else if opt.Instance != "" || kit.NotOwn(err) {
			return err
		}
	}
	if c.Under != kit.H2A && c.Arg(0) == "" {
		if raw, err = record(ctx, c, opt, func(name string) (string, error) { return d.party(ctx, name) }); err != nil {
			return err
		}
	}
	r, err := d.bus.Open(ctx, raw, a, d.now)
	if err != nil {
		return dealFault(c, err)
	}
	d.id = r.ID
	d.warnRoles(ctx, r)
	if c.JSON {
		c.Emit(r.Raw)
		return nil
	}
	c.Line("opened " + kit.Clean(r.ID))
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err == nil {
		if s.Opening == nil && c.Under != kit.H2A {
			d.Remark("hint: its terms have no seal, so anyone who can write the bus can change them until the first offer; --instance says who opens it")
		}
		d.next(s.Next)
	}
	return nil
}

// warnRoles warns of signers whose role does not allow them to sign an artifact of this subject, while nothing is offered yet.
func (d *deal) warnRoles(ctx context.Context, r *negotiation.Record) {
	kind := strings.ToUpper(r.Subject)
	if declaration.Signers(kind) == nil {
		return
	}
	var unfit []string
	var hint string
	for _, i := range r.RequiredSigners {
		roles, err := d.bus.RolesOf(ctx, i)
		if err != nil || len(roles.Count)+len(roles.Claimed) == 0 || declaration.MaySign(kind, roles.Count...) {
			continue
		}
		why := kit.Name(i) + " is registered as " + kit.Clean(strings.Join(append(roles.Count, roles.Claimed...), ", "))
		if declaration.MaySign(kind, roles.Claimed...) {
			why += " without you having given it that role"
		}
		if unfit = append(unfit, why); hint == "" {
			hint = negotiation.RoleHint(i, kind, roles.Claimed)
		}
	}
	if hint == "" {
		return
	}
	d.Warn("%s; %s is signed by %s", strings.Join(unfit, "; "), kind, strings.Join(declaration.Signers(kind), ", "))
	d.Remark("hint: %s", kit.Clean(hint))
}

// party returns the id of a party: host:label stands for the one agent that is registered under it, because only a whole id can act
// later.
func (d *deal) party(ctx context.Context, name string) (string, error) {
	if strings.Count(name, ":") != 1 {
		return name, nil
	}
	all, err := d.w.Registry.Channel(ctx, name)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", kit.Refuse("tutti discover --all   # lists who is registered", "no agent is registered as %s; to name one that is not registered, give its whole id host:label:id", kit.Clean(name))
	case len(all) > 1:
		return "", kit.Refuse("name one of them: "+strings.Join(address.Texts(all), " "), "%d agents are registered as %s", len(all), kit.Clean(name))
	}
	return string(all[0]), nil
}

// record returns the record to open: the given one, or one made from flags. who resolves the names in the flags.
func record(ctx context.Context, c *kit.Call, opt *openOptions, who func(name string) (string, error)) ([]byte, error) {
	arg := c.Arg(0)
	if c.Under == kit.H2A {
		if arg = opt.JSON; arg == "" {
			return nil, c.Missing(&opt.JSON)
		}
	}
	var made []string
	for _, flag := range []any{&opt.ID, &opt.Scope, &opt.Subject, &opt.Parties, &opt.Signers, &opt.Quorum, &opt.Deadline} {
		if c.Under != kit.H2A && c.IsSet(flag) {
			made = append(made, "--"+c.FlagName(flag))
		}
	}
	switch {
	case arg != "" && len(made) > 0:
		return nil, kit.Usagef("%s: either a record, or flags that make one (%s)", c.Verb.Name, strings.Join(made, " "))
	case arg != "":
		return document(ctx, c, arg, "the record")
	}
	for _, flag := range []*string{&opt.ID, &opt.Subject, &opt.Parties} {
		if *flag == "" {
			return nil, c.Missing(flag)
		}
	}
	parties, err := mapped(kit.Split(opt.Parties), who)
	signers := parties
	if opt.Signers != "" && err == nil {
		signers, err = mapped(kit.Split(opt.Signers), who)
	}
	if err != nil {
		return nil, err
	}
	terms := negotiation.Terms{
		ID: opt.ID, Scope: cmp.Or(opt.Scope, identity.DefaultScope), Subject: opt.Subject, Status: negotiation.Draft,
		Parties: parties, RequiredSigners: signers, Deadline: opt.Deadline,
	}
	if c.IsSet(&opt.Quorum) {
		terms.Authority = negotiation.QuorumOf(opt.ID, signers, opt.Quorum)
	}
	return render.JSON(terms), nil
}

func mapped(names []string, to func(string) (string, error)) ([]string, error) {
	out := []string{}
	for _, name := range names {
		name, err := to(name)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}
