package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A ManyError reports a name that several agents answer to whose keys are here.
type ManyError struct {
	Name string
	Who  []address.Instance // in the order in which they were registered
}

func (e *ManyError) Error() string {
	return fmt.Sprintf("%s may be any of %d agents whose keys are here", e.Name, len(e.Who))
}

// Hint lists them.
func (e *ManyError) Hint() string {
	all := make([]string, len(e.Who))
	for n, i := range e.Who {
		all[n] = string(i)
	}
	return "write the full id: " + strings.Join(all, ", ")
}

// Meant resolves the host and label of one of a person's own agents: it returns the one agent registered under them whose key
// is in the keyring.
func (k *Keeper) Meant(ctx context.Context, i address.Instance) (address.Instance, error) {
	if !address.HostQualified(string(i)) || string(i.Canonical()) != i.Channel() || k.Ring.Has(i) {
		return i, nil
	}
	all, err := k.Registry.Channel(ctx, i.Channel())
	if err != nil {
		return "", err
	}
	var own []address.Instance
	for _, one := range all {
		if k.Ring.Has(one) {
			own = append(own, one)
		}
	}
	switch len(own) {
	case 0:
		return i, nil
	case 1:
		return own[0], nil
	}
	return "", &ManyError{Name: string(i), Who: own}
}

// Named returns the agent that the user means by a name: host and label, or a full id, as [Keeper.Meant] reads them, else the one
// agent with a key here that has the word as its name or label. Several are a *ManyError, none is a *NameError.
func (k *Keeper) Named(ctx context.Context, name string) (address.Instance, error) {
	if address.HostQualified(name) {
		return k.Meant(ctx, address.Instance(name))
	}
	if err := address.Check(name); err != nil {
		return "", err
	}
	renamed := map[address.Instance]string{}
	if k.Names != nil {
		renamed = k.Names()
	}
	var own []address.Instance
	for reg, err := range k.Registry.All(ctx) {
		if _, unfit := errors.AsType[*store.UnfitError](err); unfit {
			continue
		}
		if err != nil {
			return "", err
		}
		i := reg.Instance
		called := strings.EqualFold(cmp.Or(renamed[i.Canonical()], reg.Name), name) || i.Perennial() && i.Label() == address.Slug(name)
		if called && i.Canonical().Host() != Human && k.Ring.Has(i) {
			own = append(own, i)
		}
	}
	switch len(own) {
	case 0:
		return "", &NameError{Name: name, Own: true}
	case 1:
		return own[0], nil
	}
	return "", &ManyError{Name: name, Who: own}
}

// A NameError reports a name without a host.
type NameError struct {
	Name string
	Own  bool // it was looked for among the agents with a key here
}

func (e *NameError) Error() string {
	if e.Own {
		return fmt.Sprintf("no agent of yours is called %q", e.Name)
	}
	return fmt.Sprintf("%q is not host-qualified", e.Name)
}

// Hint says what to type.
func (e *NameError) Hint() string {
	return `write HOST:LABEL or the full id; "tutti keys list" shows the agents whose keys are here`
}
