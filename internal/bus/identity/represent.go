package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
)

// A NotOwnError refuses an agent that would speak for another agent.
type NotOwnError struct {
	Who  address.Instance   // for whom it would speak
	Own  []address.Instance // for whom it may speak, with their subagents; none when nothing ties the caller to an agent
	Host string             // of the agent CLI above the caller
	Sure bool               // a process or a conversation names Own; else they are only the likely ones
}

func (e *NotOwnError) Error() string {
	names := strings.Join(address.Texts(e.Own), " or ")
	switch {
	case names == "":
		return fmt.Sprintf("%s runs this, has no identity on this bus yet, and may not speak for %s", e.Host, e.Who)
	case !e.Sure:
		return fmt.Sprintf("%s runs this and may speak for %s and its subagents alone, not for %s", e.Host, names, e.Who)
	}
	return fmt.Sprintf("%s runs this and may speak for itself and its subagents alone, not for %s", names, e.Who)
}

// Hint says what to type.
func (e *NotOwnError) Hint() string {
	if len(e.Own) == 0 {
		return fmt.Sprintf(`"tutti connect --host %s" gives it an identity of its own`, e.Host)
	}
	return "do it as " + string(e.Own[0]) + ", or ask the other agent or your user"
}

// A NoKeyError refuses a caller that would speak for an agent whose private key is not here.
type NoKeyError struct{ Who address.Instance }

func (e *NoKeyError) Error() string {
	return fmt.Sprintf("the key of %s is not here: it is not yours to speak for", e.Who)
}

// Hint says what to type.
func (e *NoKeyError) Hint() string { return `"tutti keys list" shows the agents whose keys are here` }

// Represent tells whether the command may act in the name of an agent. A command below an agent CLI acts for that agent and its
// subagents alone, else the error is a *NotOwnError. Every other caller may: a person, a script of the user, cron. Where the key has to be
// here, see [Keeper.Holds]. Commands in the grammar of existing programs may name any agent.
func (k *Keeper) Represent(ctx context.Context, f *Facts, who address.Instance, now time.Time) error {
	if f.Reclaims {
		return nil
	}
	e := &NotOwnError{Who: who}
	if below, err := k.callers(ctx, f, e, now); !below || err != nil {
		return err
	}
	if slices.ContainsFunc(e.Own, func(i address.Instance) bool { return Covers(i, who) }) {
		return nil
	}
	return e
}

// ServeAs tells whether a server or a hook may be the agent that its command line names. The agent CLI that starts it may not have an identity
// yet; one that is known to be another agent is refused with a *NotOwnError.
func (k *Keeper) ServeAs(ctx context.Context, f *Facts, who address.Instance, now time.Time) error {
	p, ok := f.AgentProcess()
	if f.Reclaims || !ok {
		return nil
	}
	found, err := k.find(ctx, processKey(p.ID))
	if err != nil {
		return err
	}
	_, own := k.only(p, found)
	if len(own) == 0 {
		if _, own, err = k.inSession(ctx, []Process{p}, now); err != nil {
			return err
		}
	}
	if len(own) == 0 || slices.ContainsFunc(own, func(i address.Instance) bool { return Covers(i, who) }) {
		return nil
	}
	return &NotOwnError{Who: who, Own: own, Host: p.Agent(), Sure: true}
}

// Holds tells whether the key of an agent, or of the agent that a subagent works for, is here. The error is a *NoKeyError.
func (k *Keeper) Holds(who address.Instance) error {
	parent, _, _ := strings.Cut(string(who), "~")
	if k.Ring.Has(who) || k.Ring.Has(address.Instance(parent)) {
		return nil
	}
	return &NoKeyError{Who: who}
}

// callers finds out which agents the command can be. below is false when no agent CLI runs it. Processes come first: what the
// environment says counts only where no process above is bound to an agent.
func (k *Keeper) callers(ctx context.Context, f *Facts, e *NotOwnError, now time.Time) (below bool, err error) {
	var not *NotUserError
	if _, err := f.ForUser("speak for another agent"); !errors.As(err, &not) {
		return false, nil
	}
	e.Host, e.Sure = not.Host, true
	if _, e.Own, err = k.below(ctx, f, now); len(e.Own) > 0 || err != nil {
		return true, err
	}
	if q, _ := conversation(f, Ask{}); q.Session != "" {
		if i, err := k.Bound(ctx, q.Host, q.Session); i != "" || err != nil {
			e.Own = []address.Instance{i}
			return true, err
		}
	}
	if s, err := k.inThread(ctx, f, nil); s != nil || err != nil {
		if s != nil {
			e.Own = []address.Instance{s.Instance}
		}
		return true, err
	}
	e.Sure = false
	e.Own, err = k.likely(ctx, f, not.Host, now)
	return true, err
}

// outranked returns the agent that a process above is bound to, where the environment names a conversation that is not its own: a
// variable is inherited, and anyone can set it. nil where the environment may be believed.
func (k *Keeper) outranked(ctx context.Context, f *Facts, q Request, now time.Time) (*Speaker, error) {
	if f.Reclaims || q.Host == Remote {
		return nil, nil
	}
	s, who, err := k.below(ctx, f, now)
	if err != nil || len(who) == 0 {
		return nil, err
	}
	b, bound, err := k.bound(ctx, q.Host, q.Session)
	switch {
	case err != nil:
		return nil, err
	case bound && slices.Contains(who, b.Instance):
		return nil, nil
	case !bound && address.Canonical(who[0].Host()+":x") == address.Canonical(q.Host+":x"):
		return nil, nil // a new conversation of the same program
	case s == nil:
		return nil, &NoIdentityError{Host: who[0].Host(), Who: who}
	}
	return s, nil
}
