package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// jsonTime is how times stand in JSON: UTC with milliseconds.
const jsonTime = "2006-01-02T15:04:05.000Z"

// factsOf collects what is known of the command that runs. Tests put what cuts the chain of processes at the test.
var factsOf = (*app.App).Facts

// world opens the bus for a verb, with all that works on it. Only a verb that creates makes one.
func (c *Call) world(mode app.Mode) (*app.World, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	c.sayRoot(root)
	w, err := c.App.World(mode)
	return w, noBus(err)
}

// reads opens the bus for a verb of the older program that only reads. Where there is none, that program makes one and
// finds nothing in it; ours makes none, says so, and finds nothing either: the world is nil then, and so is the error.
func (c *Call) reads() (*app.World, error) {
	w, err := c.world(app.Reading)
	var none *app.NoBusError
	if c.under == H2A && errors.As(err, &none) {
		c.warn("%s", Clean(err.Error()))
		return nil, nil
	}
	return w, err
}

// value returns the value of a flag, "" when none was given. Under h2a a flag without a value reads "true".
func (c *Call) value(name string) string {
	if v := c.text(name); c.under != H2A || v != "true" {
		return v
	}
	return ""
}

// missing reports a flag that the verb cannot do without.
func (c *Call) missing(name string) error {
	if c.under == H2A { // its lines begin with the verb already
		return usageHint("usage: "+c.usage(), "--%s is missing", name)
	}
	hint := "usage: " + c.usage()
	if place := c.Verb.flag(c.under, name); place >= 0 {
		f := c.Verb.at(place)
		hint = "--" + name + " <" + f.Value + ">: " + f.Help
		if len(f.Choices) > 0 {
			hint += ": " + strings.Join(f.Choices, ", ")
		}
	}
	return usageHint(hint, "%s: --%s is missing", c.Verb.Name, name)
}

// requires refuses a call of the older program that lacks one of these flags, before any value of the others is looked at: its
// callers go by which flag is named. Under our own name most of them have a default or a place of their own.
func (c *Call) requires(names ...string) error {
	if c.under != H2A {
		return nil
	}
	for _, name := range names {
		if c.value(name) == "" {
			return c.missing(name)
		}
	}
	return nil
}

// hintInstead gives a fault another line to type.
func hintInstead(err error, hint string) error {
	var f *fault
	if errors.As(err, &f) {
		f.hint = hint
	}
	return err
}

// whyNobody says why nobody speaks here, without what was being done when it turned out.
func whyNobody(err error) string {
	var unknown *identity.UnknownError
	var none *identity.NoIdentityError
	switch {
	case errors.As(err, &unknown):
		return unknown.Error()
	case errors.As(err, &none):
		return none.Error()
	}
	return err.Error()
}

// peek tells who speaks without making anybody. An *identity.UnknownError means that nobody has an identity here yet.
func (c *Call) peek(ctx context.Context, w *app.World) (*identity.Speaker, error) {
	s, err := w.Identity.Speak(ctx, factsOf(c.App), identity.Ask{As: c.value("as"), Peek: true}, time.Now())
	if err != nil && c.Verb.flag(c.under, "as") < 0 {
		err = withFlag(err, "--instance")
	}
	return s, err
}

// meant is whom --instance names: under tutti host:label stands for the one agent under it whose key is here. Under h2a, and
// for a key that is still to be made, the name stands for itself.
func (c *Call) meant(ctx context.Context, w *app.World, i string) (address.Instance, error) {
	if c.under == H2A || c.Verb.Name == "keys generate" {
		return address.Instance(i), nil
	}
	who, err := w.Identity.Meant(ctx, address.Instance(i))
	if err != nil {
		return "", fmt.Errorf("--instance: %w", err)
	}
	return who, nil
}

// subject is whom a verb is about: --instance, else who speaks here. Under h2a it has to be named.
func (c *Call) subject(ctx context.Context, w *app.World) (address.Instance, error) {
	if i := c.value("instance"); i != "" {
		if err := address.Check(i); err != nil {
			return "", usagef("--instance: %s", Clean(err.Error()))
		}
		return c.meant(ctx, w, i)
	}
	if c.under == H2A {
		return "", c.missing("instance")
	}
	s, err := c.peek(ctx, w)
	if err != nil {
		var unknown *identity.UnknownError
		if errors.As(err, &unknown) {
			return "", badState("--instance ID says whose; "+unknown.Hint(), "%s", err)
		}
		return "", err
	}
	return s.Instance, nil
}

// registryFault gives what the registry refuses its exit status and the line to type.
func (c *Call) registryFault(err error) error {
	f := &fault{code: exitUsage, err: err}
	switch {
	case errors.Is(err, registry.ErrNotRegistered):
		f.code, f.hint = exitState, `"tutti discover --all" lists who is registered`
	case errors.Is(err, registry.ErrRegistered):
		f.code, f.hint = exitState, "a registration is never changed: take another id, or go on with this one"
	case errors.Is(err, registry.ErrKeyActive):
		f.code, f.hint = exitState, "nothing has to be done"
	case errors.Is(err, registry.ErrKeyRevoked):
		f.code, f.hint = exitState, `"tutti keys generate" makes another one`
	case errors.Is(err, registry.ErrKeyNotActive):
		f.code, f.hint = exitState, `"tutti keys list --instance ID" lists the active ones`
	case errors.Is(err, registry.ErrGone):
		f.code, f.hint = exitState, hintOf(err)
	case errors.Is(err, registry.ErrBound):
		f.code, f.hint = exitState, "a subagent is never changed: take another name, or go on with this one"
	case errors.Is(err, registry.ErrNotBound):
		f.code, f.hint = exitState, `"tutti subagent list" lists those that there are`
	case errors.Is(err, registry.ErrProof), errors.Is(err, signature.ErrKey):
	case errors.Is(err, store.ErrConflict):
		f.code = exitState
	default:
		return err
	}
	if c.under == H2A {
		f.hint = "" // the verbs of the hints are not its own
	}
	return f
}

// failWith is an error that says more than the one it is.
func failWith(err error, what string) error { return fmt.Errorf("%w: %s", err, what) }
