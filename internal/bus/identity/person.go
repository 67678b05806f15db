package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// loginSession is the conversation under which a person is bound: the same login has the same id in one bus.
func loginSession(login string) string { return "login:" + login }

// person is the user's own speaker. Its id, key and registration are made on first use.
func (k *Keeper) person(ctx context.Context, f *Facts, peek bool, now time.Time) (*Speaker, error) {
	login := f.login()
	if login == "" {
		return nil, errors.New("the system does not tell the name of this user")
	}
	s := &Speaker{Scope: DefaultScope, How: "this user"}
	s.Role, s.Via = attendance(f, "")
	found, err := k.find(ctx, sessionKey(Human, loginSession(login)))
	if err != nil {
		return nil, err
	}
	if found, err = k.serving(ctx, found); err != nil {
		return nil, err
	}
	if b, ok := k.ours(found); ok {
		return s.as(b), nil
	}
	if peek {
		return nil, &UnknownError{Who: login, Person: true}
	}
	s.Instance, err = k.firstUse(ctx, login, now)
	return s, err
}

// serving leaves out the bindings of ids that were offboarded: a person whose id was gets a new one.
func (k *Keeper) serving(ctx context.Context, all []Binding) ([]Binding, error) {
	var there []Binding
	for _, b := range all {
		switch err := k.Registry.Standing(ctx, b.Instance); {
		case err == nil:
			there = append(there, b)
		case !errors.Is(err, registry.ErrGone):
			return nil, err
		}
	}
	return there, nil
}

// attendance tells as what a person's mailbox speaks: as the person only where one can be, at a terminal and not below an
// agent program.
func attendance(f *Facts, agent string) (role, via string) {
	if agent == "" && f.Terminal != nil && f.Terminal() {
		if f.Reclaims {
			return RolePerson, ""
		}
		return RolePerson, ViaTerminal
	}
	return RoleAgent, Unattended
}

// via tells how an agent was identified that was named outright.
func (f *Facts) via() string {
	if _, err := f.ForUser("speak for an agent"); err != nil {
		return ViaFlag
	}
	if f.Terminal != nil && f.Terminal() {
		return ViaTerminal
	}
	return Unattended
}

// tied is ViaHook, which messages in the grammar of existing programs do not say.
func (f *Facts) tied() string {
	if f.Reclaims {
		return ""
	}
	return ViaHook
}

// Attended tells whether a person can be there to decide: in an interactive shell at a terminal, and not below an agent CLI; see ForUser.
func (f *Facts) Attended() bool {
	c, err := f.ForUser("decide this")
	return err == nil && c.Terminal
}

// firstUse makes the identity of a person. Of several commands at once all come to the same one. Once it is bound it is also
// registered, whether the caller still waits or not: without a registration it could not get answers.
func (k *Keeper) firstUse(ctx context.Context, login string, now time.Time) (address.Instance, error) {
	uuid := address.NewUUID()
	mine := Binding{Host: Human, Session: loginSession(login), Instance: address.Perennial(Human, label(login), uuid), UUID: uuid, At: stamp(now)}
	b := mine
	keyed := false
	err := k.appendUnless(ctx, bindingsLog, mine.line(), func() (bool, error) {
		found, err := k.find(ctx, sessionKey(Human, mine.Session))
		if err == nil {
			found, err = k.serving(ctx, found)
		}
		if err != nil {
			return false, err
		}
		if earlier, ok := k.ours(found); ok {
			b = earlier
			return true, nil
		}
		if !keyed {
			_, err = k.Ring.Generate(mine.Instance, false)
			keyed = err == nil
		}
		return false, err
	})
	if err != nil {
		return "", fmt.Errorf("bind %s: %w", b.Instance, err)
	}
	ctx = context.WithoutCancel(ctx)
	// Agents write to human:LOGIN. A person has no session, so nothing but the alias makes that folder one of the mailbox.
	if err := k.recordAlias(ctx, b.Instance, address.Instance(b.Instance.Channel()), now); err != nil {
		return "", err
	}
	n := registry.Agent{Instance: b.Instance, Roles: []string{registry.Principal, registry.Agents}, AgentUUID: b.UUID, Name: login}
	return b.Instance, k.register(ctx, n, now)
}
