package mirror

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// believe finds the key under which a push was signed, and the registration in it that is the signer's own. Those of others are
// passed over: no agent speaks for another.
func (r *Receiver) believe(ctx context.Context, p *push) (remote.Reason, error) {
	keys, reason, err := r.candidates(ctx, p.who)
	if err != nil || reason != "" {
		return reason, err
	}
	key, ok := remote.Signed(p.e, p.e.Own(), keys)
	if !ok {
		return remote.BadSignature, nil
	}
	p.key = key
	for raw := range canonjson.Elements(p.body.registrations) {
		reg, err := registry.Parse(raw)
		if err == nil && reg.Instance.Canonical() == p.who && address.Instance(reg.ID).Canonical() == p.who && carries(reg.PublicKeys, key) {
			p.reg = raw
			return r.unbound(ctx, p)
		}
	}
	return Mismatch, nil
}

// candidates are the keys that may speak for an agent: its active ones, and those that were enrolled for it. Keys that were
// enrolled for no particular agent may speak for one that is not registered here.
func (r *Receiver) candidates(ctx context.Context, who address.Instance) (all []signature.Public, _ remote.Reason, err error) {
	keys, err := r.Registry.MirrorKeys(ctx, who) // none of one who is not registered
	if err != nil {
		return nil, "", err
	}
	_, err = r.Registry.Registered(ctx, who)
	known := err == nil
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return nil, "", err
	}
	if err := r.Registry.Standing(ctx, who); err != nil {
		if errors.Is(err, registry.ErrGone) {
			return nil, NoAuthority, nil
		}
		return nil, "", err
	}
	if known {
		all = append(all, keys.Active...)
	}
	for _, e := range r.Enrolled {
		bound := e.Instance != "" && e.Instance.Canonical() == who
		if (bound || e.Instance == "" && !known && free(who)) && !(known && slices.Contains(keys.Revoked, e.Key)) {
			all = append(all, e.Key)
		}
	}
	if len(all) == 0 {
		return nil, NoAuthority, nil
	}
	return all, "", nil
}

// free reports whether the first agent that comes may take a name: the full id of an agent, or that of a conversation which a
// bridge shows, in the letters of addresses. A person, a subagent, a label under which several are reached, which other agents
// may have as an alias, and a name that would share the file of another name may not.
func free(who address.Instance) bool {
	letters := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:", c)
	}
	return (who.Perennial() || bridged(who)) && address.HostQualified(string(who)) && who.Host() != identity.Human &&
		strings.TrimFunc(string(who), letters) == "" && nameable(string(who))
}

// bridged tells whether a name is that of a conversation, remote:ID. It has the form of a label, so that more has to be checked
// before it is taken: see taken.
func bridged(who address.Instance) bool {
	return who.Host() == identity.Remote && who.Channel() == string(who) && strings.Count(string(who), ":") == 1
}

// unbound binds a key that was enrolled for no particular agent to the agent that it spoke for first, and to a name that no
// agent has here: by a mailbox that is the same file, or otherwise (see taken). It reads all registrations, and only for an
// agent that is pushed for the first time.
func (r *Receiver) unbound(ctx context.Context, p *push) (remote.Reason, error) {
	if slices.Contains(r.Enrolled, Enrolled{Key: p.key, Instance: p.who}) || !slices.Contains(r.Enrolled, Enrolled{Key: p.key}) {
		return "", nil
	}
	if _, err := r.Registry.Registered(ctx, p.who); !errors.Is(err, registry.ErrNotRegistered) {
		return "", err
	}
	for reg, err := range r.Registry.Ever(ctx) { // also the name that it had before the owner of that one came
		switch {
		case errors.As(err, new(*store.UnfitError)):
		case err != nil:
			return "", err
		case reg.Instance.Canonical() != p.who && (carries(reg.PublicKeys, p.key) || reg.Instance.Mailbox() == p.who.Mailbox()):
			return Mismatch, nil
		}
	}
	if taken, err := r.taken(ctx, p.who); err != nil || taken {
		return Mismatch, err
	}
	return "", nil
}

// taken reports whether an agent that is not registered under a name is reached by it here: by a session of this bus or, where
// it has the form of a label, as one of those under it, or by an alias.
func (r *Receiver) taken(ctx context.Context, who address.Instance) (bool, error) {
	own := func(s *presence.Session) bool { return s.MirroredAt == "" }
	if !bridged(who) {
		here, err := r.Presence.Of(ctx, who, r.Now())
		return slices.ContainsFunc(here, own), err
	}
	here, err := r.Presence.InChannel(ctx, string(who), r.Now())
	if err != nil || slices.ContainsFunc(here, own) {
		return true, err
	}
	there, err := r.Registry.Channel(ctx, string(who))
	if err != nil || len(there) > 0 {
		return true, err
	}
	return r.Mail.Claimed(ctx, who)
}

// carries tells whether a key is among texts.
func carries(pems []string, key signature.Public) bool {
	return slices.ContainsFunc(pems, func(pem string) bool {
		k, err := signature.ParsePublic(pem)
		return err == nil && k == key
	})
}
