package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// jsonTime is how times stand in JSON: UTC with milliseconds.
const JSONTime = "2006-01-02T15:04:05.000Z"

// FactsOf collects what is known of the command that runs. Tests put what cuts the chain of processes at the test.
var FactsOf = (*app.App).Facts

// World opens the bus for a verb, with all that works on it. Only a verb that creates makes one.
func (c *Call) World(mode app.Mode) (*app.World, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	c.SayRoot(root)
	w, err := c.App.World(mode)
	if err != nil {
		return nil, NoBus(err)
	}
	w.Identity.Made = func(r *registry.Registration) { c.AcceptMade(w, r) }
	return w, nil
}

// AcceptMade remembers that the user made a registration: its roles and scopes count. One that is made below an agent CLI is the agent's
// own word, and the card of an agent on another machine is that machine's.
func (c *Call) AcceptMade(w *app.World, r *registry.Registration) {
	elsewhere := r.Mirrored() || slices.ContainsFunc(r.Endpoints, func(e registry.Endpoint) bool { return e.Kind == registry.Remote })
	if elsewhere || !trust.Claims(r) || c.BelowAgent() {
		return
	}
	if err := w.Pins.AcceptRegistration(r.Instance, r.Hash(), time.Now()); err != nil {
		c.Warn("its roles and scopes do not count for you yet: %s", Clean(err.Error()))
	}
}

// Reads opens the bus for a verb of the older program that only reads. Where there is none, that program makes one and
// finds nothing in it; ours makes none, says so, and finds nothing either: the world is nil then, and so is the error.
func (c *Call) Reads() (*app.World, error) {
	w, err := c.World(app.Reading)
	var none *app.NoBusError
	if c.Under == H2A && errors.As(err, &none) {
		c.Warn("%s", Clean(err.Error()))
		return nil, nil
	}
	return w, err
}

// WriteMode is how a verb that stores something opens the bus: under h2a it creates a missing one, as the older program does.
func (c *Call) WriteMode() app.Mode {
	if c.Under == H2A {
		return app.Creating
	}
	return app.Writing
}

// value returns the value of a flag, "" when none was given. Under h2a a flag without a value reads "true".
func (c *Call) value(name string) string {
	if v := c.Text(name); c.Under != H2A || v != "true" {
		return v
	}
	return ""
}

// As is the agent that the flag --as names, of a verb that has one; "" for none.
func (c *Call) As() string { return c.value("as") }

// Missing reports a flag that the verb cannot do without.
func (c *Call) Missing(flag any) error {
	name := c.FlagName(flag)
	if c.Under == H2A { // its lines begin with the verb already
		return UsageHint("usage: "+c.Usage(), "--%s is missing", name)
	}
	hint := "usage: " + c.Usage()
	if place := c.Verb.Flag(c.Under, name); place >= 0 {
		f := c.Verb.At(place)
		hint = "--" + name + " <" + f.Value + ">: " + f.Help
		if len(f.Choices) > 0 {
			hint += ": " + strings.Join(f.Choices, ", ")
		}
	}
	return UsageHint(hint, "%s: --%s is missing", c.Verb.Name, name)
}

// Requires refuses a call of the older program that lacks one of these flags, before any value of the others is looked at: its
// callers go by which flag is named. Under our own name most of them have a default or a place of their own.
func (c *Call) Requires(flags ...any) error {
	if c.Under != H2A {
		return nil
	}
	for _, flag := range flags {
		if field, ok := flag.(*string); ok && *field == "" || !ok && c.value(c.FlagName(flag)) == "" {
			return c.Missing(flag)
		}
	}
	return nil
}

// HintInstead gives a fault another line to type.
func HintInstead(err error, hint string) error {
	var f *Fault
	if errors.As(err, &f) {
		f.Next = hint
	}
	return err
}

// Peek tells who speaks, by --as if the verb has it, without making an identity. An *identity.UnknownError means that there is none here yet.
func (c *Call) Peek(ctx context.Context, w *app.World, as string) (*identity.Speaker, error) {
	s, err := w.Identity.Speak(ctx, FactsOf(c.App), identity.Ask{As: as, Peek: true}, time.Now())
	if err != nil && c.Verb.Flag(c.Under, "as") < 0 {
		err = WithFlag(err, "--instance")
	}
	return s, err
}

// Meant is whom --instance names: under tutti a name, or host:label, means the one agent with it whose key is here. Under h2a,
// and for a key that is still to be made, the name means itself, as does one that no agent has.
func (c *Call) Meant(ctx context.Context, w *app.World, i string) (address.Instance, error) {
	if c.Under == H2A || c.Verb.Name == "keys generate" {
		return address.Instance(i), nil
	}
	who, err := w.Identity.Named(ctx, i)
	if _, none := errors.AsType[*identity.NameError](err); none {
		return address.Instance(i), nil
	}
	if err != nil {
		return "", fmt.Errorf("--instance: %w", err)
	}
	return who, nil
}

// InName refuses a command below an agent CLI that would sign, send, retire or revoke in the name of another agent. Each verb that does
// such a thing for a name that it was given asks here; one whose speaker comes from [identity.Keeper.Speak] has been asked already.
func (c *Call) InName(ctx context.Context, w *app.World, who address.Instance) error {
	return w.Identity.Represent(ctx, FactsOf(c.App), who, time.Now())
}

// Actor returns the agent that a verb acts for: its Subject, if the caller may speak for it.
func (c *Call) Actor(ctx context.Context, w *app.World, instance string) (address.Instance, error) {
	who, err := c.Subject(ctx, w, instance)
	if err == nil {
		err = c.InName(ctx, w, who)
	}
	return who, err
}

// NotOwn tells whether an error refuses an agent that would speak for another one.
func NotOwn(err error) bool {
	_, is := errors.AsType[*identity.NotOwnError](err)
	return is
}

// Subject is whom a verb is about: --instance, else who speaks here. Under h2a it has to be named.
func (c *Call) Subject(ctx context.Context, w *app.World, instance string) (address.Instance, error) {
	if instance != "" {
		if err := address.Check(instance); err != nil {
			return "", Usagef("--instance: %s", Clean(err.Error()))
		}
		return c.Meant(ctx, w, instance)
	}
	if c.Under == H2A {
		return "", c.Missing("instance")
	}
	s, err := c.Peek(ctx, w, "")
	if err != nil {
		var unknown *identity.UnknownError
		if errors.As(err, &unknown) {
			return "", BadState("--instance ID says whose; "+unknown.Hint(), "%s", err)
		}
		return "", err
	}
	return s.Instance, nil
}

// RegistryFault gives what the registry refuses its exit status and the line to type.
func (c *Call) RegistryFault(err error) error {
	f := &Fault{Code: ExitUsage, Err: err}
	switch {
	case errors.Is(err, registry.ErrNotRegistered):
		f.Code, f.Next = ExitState, `"tutti discover --all" lists who is registered`
	case errors.Is(err, registry.ErrRegistered):
		f.Code, f.Next = ExitState, "a registration is never changed: take another id, or go on with this one"
	case errors.Is(err, registry.ErrKeyActive):
		f.Code, f.Next = ExitState, "nothing has to be done"
	case errors.Is(err, registry.ErrKeyRevoked):
		f.Code, f.Next = ExitState, `"tutti keys generate" makes another one`
	case errors.Is(err, registry.ErrKeyNotActive):
		f.Code, f.Next = ExitState, `"tutti keys list --instance ID" lists the active ones`
	case errors.Is(err, registry.ErrGone):
		f.Code, f.Next = ExitState, HintOf(err)
	case errors.Is(err, registry.ErrBound):
		f.Code, f.Next = ExitState, "a subagent is never changed: take another name, or go on with this one"
	case errors.Is(err, registry.ErrNotBound):
		f.Code, f.Next = ExitState, `"tutti subagent list" lists those that there are`
	case errors.Is(err, registry.ErrProof), errors.Is(err, signature.ErrKey):
	case errors.Is(err, store.ErrConflict):
		f.Code = ExitState
	default:
		return err
	}
	if c.Under == H2A {
		f.Next = "" // the verbs of the hints are not its own
	}
	return f
}

// FailWith is an error that says more than the one it is.
func FailWith(err error, what string) error { return fmt.Errorf("%w: %s", err, what) }
