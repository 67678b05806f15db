package govern

import (
	"cmp"
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
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/org"
	"tutti/internal/halt"
)

type coachOptions struct {
	manifestOptions
	As, Role, Scope string
	Deliver         bool
}

type ratifyOptions struct {
	coachOptions
	PrivateKey string
}

// A coach is an agent that proposes or ratifies a manifest, with the manifest.
type coach struct {
	*kit.Call
	opt *coachOptions
	o   *org.Org
	d   *kit.Account // nil: there is no bus, and none is needed
	by  envelope.Actor
	now time.Time
}

// newCoach reads what proposing and ratifying have in common. The caller closes it.
func newCoach(ctx context.Context, c *kit.Call, opt *coachOptions, role string) (*coach, error) {
	if err := c.Requires(&opt.As); err != nil {
		return nil, err
	}
	if opt.Deliver {
		if err := halt.Check("deliver a manifest"); err != nil {
			return nil, err
		}
	}
	o, err := sound(c, &opt.manifestOptions)
	if err != nil {
		return nil, err
	}
	k := &coach{Call: c, opt: opt, o: o, now: time.Now()}
	k.by = envelope.Actor{Role: cmp.Or(opt.Role, role), Scope: cmp.Or(opt.Scope, o.Scope)}
	mode := app.Reading
	if opt.Deliver {
		mode = c.WriteMode()
	}
	if k.d, err = c.Counter(mode); err != nil {
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

// who finds out which agent acts.
func (k *coach) who(ctx context.Context) error {
	as := k.opt.As
	if k.Under == kit.H2A {
		k.by.Instance = address.Instance(as)
		if err := address.Check(as); err != nil {
			return kit.Usagef("--as: %s", kit.Clean(err.Error()))
		}
		return nil
	}
	if as != "" && k.has(address.Instance(as)) {
		k.by.Instance = address.Instance(as) // as the manifest spells it, even if it is not the address of an agent
		return k.InName(ctx, k.d.World, k.by.Instance)
	}
	s, err := k.d.Identity.Speak(ctx, kit.FactsOf(k.App), identity.Ask{As: as, Peek: true}, k.now)
	if err != nil {
		return kit.Whose(err)
	}
	k.by.Instance = s.Instance
	return nil
}

// has reports whether the manifest declares an agent.
func (k *coach) has(i address.Instance) bool {
	return slices.ContainsFunc(k.o.Members, func(m org.Member) bool { return m.Instance == i })
}

func runCoachPropose(ctx context.Context, c *kit.Call, opt *coachOptions) error {
	k, err := newCoach(ctx, c, opt, registry.Conductor)
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
	if c.Under != kit.H2A {
		if raw, err = k.signOwn(ctx, raw); err != nil {
			return err
		}
	}
	return k.hand(ctx, raw)
}

// signOwn signs with the key on this machine, if there is one that may sign now.
func (k *coach) signOwn(ctx context.Context, raw []byte) ([]byte, error) {
	key, err := k.d.Ring.Load(k.by.Instance)
	if errors.Is(err, keyring.ErrNoKey) {
		k.Remark("it is not signed: the key of %s is not here", kit.Name(k.by.Instance))
		return raw, nil
	}
	if err != nil {
		return nil, err
	}
	who := &identity.Speaker{Instance: k.by.Instance}
	if may, err := fast.Vouched(ctx, k.Call, k.d, raw, who); err != nil || !may {
		return raw, err
	}
	return envelope.Sign(raw, k.by.Instance, key)
}

func runCoachRatify(ctx context.Context, c *kit.Call, opt *ratifyOptions) error {
	if err := c.Requires(&opt.PrivateKey); err != nil {
		return err
	}
	k, err := newCoach(ctx, c, &opt.coachOptions, registry.Principal)
	if err != nil {
		return err
	}
	defer k.close()
	if err := org.MayRatify(k.o, k.by); err != nil {
		return kit.Refuse("--as names a PRINCIPAL of the manifest; tutti org show lists them", "not ratified: %s", kit.Clean(err.Error()))
	}
	key, err := k.key(ctx, opt.PrivateKey)
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

// key returns the key that ratifies: the one of the file, else the one on this machine. The key of a person signs only at a terminal.
func (k *coach) key(ctx context.Context, path string) (*signature.Private, error) {
	if path != "" {
		return k.KeyFile(path)
	}
	if k.by.Instance.Canonical().Host() == identity.Human {
		s, err := k.d.Identity.Speak(ctx, kit.FactsOf(k.App), identity.Ask{As: string(k.by.Instance), Peek: true}, k.now)
		if err != nil {
			return nil, err
		}
		if s.Via == identity.Unattended {
			return nil, kit.Refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"not ratified: a person's key signs only at a terminal, and this is not one")
		}
	}
	key, err := k.d.Ring.Load(k.by.Instance)
	if errors.Is(err, keyring.ErrNoKey) {
		return nil, kit.Refuse("--private-key FILE names it", "not ratified: %s", kit.Clean(err.Error()))
	}
	return key, err
}

// active checks that the key is active on the bus for the agent that ratifies.
func (k *coach) active(ctx context.Context, key signature.Public) error {
	unknown := func() error {
		k.Warn("%s is not registered here: readers cannot tell whose key it is", kit.Name(k.by.Instance))
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
		return kit.Refuse("tutti keys list --instance "+app.QuoteArg(string(k.by.Instance))+"   # lists those that are; tutti keys add adds one",
			"not ratified: the key is not active for %s", kit.Name(k.by.Instance))
	}
	return nil
}

// hand prints the envelope, and with --deliver also delivers it.
func (k *coach) hand(ctx context.Context, raw []byte) error {
	k.EmitSigned(raw)
	if !k.opt.Deliver {
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
		r, err := k.d.Office.Send(ctx, l)
		var halted *halt.Error
		if errors.As(err, &halted) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			// The next delivery reaches an agent that is not registered yet.
			if _, unregistered := errors.AsType[*mail.RefusedError](err); !unregistered {
				refused++
			}
			k.Warn("not delivered to %s: %s", kit.Name(to), kit.Clean(err.Error()))
			continue
		}
		k.Remark("%s: %s", kit.Name(to), r.Outcome)
	}
	if refused > 0 {
		return kit.Refuse("the same envelope can be put by hand: tutti inbox put --instance ID @FILE", "%s could not be reached", kit.Plural(refused, "member"))
	}
	return nil
}
