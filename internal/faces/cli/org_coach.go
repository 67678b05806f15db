package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/org"
	"tutti/internal/halt"
)

// A coach is who proposes or ratifies a manifest, and the manifest.
type coach struct {
	*Call
	o   *org.Org
	d   *desk // nil: no bus is needed, and none is there
	by  envelope.Actor
	now time.Time
}

// newCoach reads what proposing and ratifying have in common. The caller closes the desk, if there is one.
func (c *Call) newCoach(ctx context.Context, role string) (*coach, error) {
	if c.under == H2A && c.value("as") == "" {
		return nil, c.missing("as")
	}
	if c.on("deliver") {
		if err := halt.Check("deliver a manifest"); err != nil {
			return nil, err
		}
	}
	o, err := c.sound()
	if err != nil {
		return nil, err
	}
	k := &coach{Call: c, o: o, now: time.Now()}
	if r := c.value("role"); r != "" {
		role = r
	}
	k.by = envelope.Actor{Role: role, Scope: o.Scope}
	if s := c.value("scope"); s != "" {
		k.by.Scope = s
	}
	mode := app.Reading
	if c.on("deliver") {
		mode = app.Writing
		if c.under == H2A {
			mode = app.Creating
		}
	}
	if k.d, err = c.counter(mode); err != nil {
		return nil, err
	}
	if err := k.who(ctx); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *coach) close() {
	if k.d != nil {
		k.d.Close()
	}
}

// who finds out who it is from.
func (k *coach) who(ctx context.Context) error {
	as := k.value("as")
	if k.under == H2A {
		k.by.Instance = address.Instance(as)
		if err := address.Check(as); err != nil {
			return usagef("--as: %s", Clean(err.Error()))
		}
		return nil
	}
	if as != "" && k.has(address.Instance(as)) {
		k.by.Instance = address.Instance(as) // as the manifest spells it, also where it is no address of an agent
		return nil
	}
	s, err := k.d.Identity.Speak(ctx, factsOf(k.App), identity.Ask{As: as, Peek: true}, k.now)
	if err != nil {
		return whose(err)
	}
	k.by.Instance = s.Instance
	return nil
}

// has tells whether somebody is declared in the manifest.
func (k *coach) has(i address.Instance) bool {
	return slices.ContainsFunc(k.o.Members, func(m org.Member) bool { return m.Instance == i })
}

func runCoachPropose(ctx context.Context, c *Call) error {
	k, err := c.newCoach(ctx, registry.Conductor)
	if err != nil {
		return err
	}
	defer k.close()
	draft, err := org.Draft(k.o, org.KindProposal, k.by, k.now)
	if err != nil {
		return err
	}
	raw, err := draft.Bytes()
	if err != nil {
		return err
	}
	if c.under != H2A {
		if raw, err = k.signOwn(ctx, raw); err != nil {
			return err
		}
	}
	return k.hand(ctx, raw)
}

// signOwn signs with the key that lies here, if there is one that may sign now.
func (k *coach) signOwn(ctx context.Context, raw []byte) ([]byte, error) {
	key, err := k.d.Ring.Load(k.by.Instance)
	if errors.Is(err, keyring.ErrNoKey) {
		k.remark("it is not signed: the key of %s is not here", Clean(string(k.by.Instance)))
		return raw, nil
	}
	if err != nil {
		return nil, err
	}
	who := &identity.Speaker{Instance: k.by.Instance}
	if may, err := k.vouched(ctx, k.d, raw, who); err != nil || !may {
		return raw, err
	}
	return envelope.Sign(raw, k.by.Instance, key)
}

func runCoachRatify(ctx context.Context, c *Call) error {
	if c.under == H2A && c.value("private-key") == "" {
		return c.missing("private-key")
	}
	k, err := c.newCoach(ctx, registry.Principal)
	if err != nil {
		return err
	}
	defer k.close()
	if err := org.MayRatify(k.o, k.by); err != nil {
		return refuse("--as names a PRINCIPAL of the manifest; tutti org show lists them", "not ratified: %s", Clean(err.Error()))
	}
	key, err := k.key(ctx)
	if err != nil {
		return err
	}
	if err := k.active(ctx, key.Public()); err != nil {
		return err
	}
	draft, err := org.Draft(k.o, org.KindRatified, k.by, k.now)
	if err != nil {
		return err
	}
	raw, err := draft.Signed(k.by.Instance, key)
	if err != nil {
		return err
	}
	return k.hand(ctx, raw)
}

// key is the one that ratifies: of --private-key, else the one that lies here. That of a person signs only where the person is.
func (k *coach) key(ctx context.Context) (*signature.Private, error) {
	path := k.value("private-key")
	if path != "" {
		return k.keyFile(path)
	}
	if k.by.Instance.Canonical().Host() == identity.Human {
		s, err := k.d.Identity.Speak(ctx, factsOf(k.App), identity.Ask{As: string(k.by.Instance), Peek: true}, k.now)
		if err != nil {
			return nil, err
		}
		if s.Via != "" {
			return nil, refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"not ratified: the key of a person signs at a terminal, and nobody is at this one")
		}
	}
	key, err := k.d.Ring.Load(k.by.Instance)
	if errors.Is(err, keyring.ErrNoKey) {
		return nil, refuse("--private-key FILE names it", "not ratified: %s", Clean(err.Error()))
	}
	return key, err
}

// active holds the key against those that the bus has for who ratifies.
func (k *coach) active(ctx context.Context, key signature.Public) error {
	unknown := func() error {
		k.warn("%s is not registered here: readers cannot tell whose key it is", Clean(string(k.by.Instance)))
		return nil
	}
	if k.d == nil {
		return unknown()
	}
	keys, err := k.d.Registry.Keys(ctx, k.by.Instance)
	switch {
	case err != nil:
		return err
	case len(keys.PEM)+len(keys.Gone) == 0:
		return unknown()
	case !slices.Contains(keys.Active, key):
		return refuse("tutti keys list --instance "+app.QuoteArg(string(k.by.Instance))+"   # lists those that are; tutti keys add adds one",
			"not ratified: the key is not active for %s", Clean(string(k.by.Instance)))
	}
	return nil
}

// hand prints the envelope, and delivers it where that was asked for.
func (k *coach) hand(ctx context.Context, raw []byte) error {
	k.emit(raw)
	if !k.on("deliver") {
		return nil
	}
	refused := 0
	signed := false
	if list, ok := canonjson.Get(raw, "signatures"); ok {
		signed = canonjson.Kind(list) == canonjson.TypeArray
	}
	for i := range k.o.Members {
		to := k.o.Members[i].Instance
		l := mail.Draft{From: &identity.Speaker{}, To: to, Raw: raw, Exact: true, Deposit: true, Unsigned: true}
		if signed {
			l.From = &identity.Speaker{Instance: k.by.Instance, Role: k.by.Role, Scope: k.by.Scope}
		}
		r, err := k.d.office.Send(ctx, l)
		var halted *halt.Error
		if errors.As(err, &halted) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			var nobody *mail.RefusedError // who is not there yet is told by the next one that delivers
			if !errors.As(err, &nobody) {
				refused++
			}
			k.warn("not delivered to %s: %s", Clean(string(to)), Clean(err.Error()))
			continue
		}
		k.remark("%s: %s", Clean(string(to)), r.Outcome)
	}
	if refused > 0 {
		return refuse("the same envelope can be put by hand: tutti inbox put --instance ID @FILE", "%s could not be reached", plural(refused, "member"))
	}
	return nil
}
