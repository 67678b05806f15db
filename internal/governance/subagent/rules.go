// Package subagent knows the helpers of an agent: who may be bound to which parent, what they may do, and who is still there.
//
// A subagent is an address below that of its parent, claude:api:3f2a9c01b7de~scout, with a mailbox of its own. It acts in the role
// AGENTS for its parent and with no more than its parent's capabilities; it has no key, so that it never signs. Its parent may
// be a subagent itself. One that was revoked is gone for good, and with it all below it; its name is not given out again.
//
// What is bound and what became of it is kept in the logs of package registry, which also reports, at every entry point,
// whether an agent is gone. Mail is put by package mail; here is only the record of it.
package subagent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// What can be wrong with a binding, in the words of existing programs.
const (
	ParentNotAgents = "parent-not-agents"       // the parent lacks the role AGENTS
	EmptyName       = "empty-name"              //
	NameSeparator   = "name-contains-separator" // the name has a ~
	AddressMismatch = "id-address-mismatch"     // the id is not parent~name
	ParentMismatch  = "parent-instance-mismatch"
	ExceedsParent   = "capabilities-exceed-parent"
)

// ErrRule reports a binding that is not allowed. The error is a *RuleError.
var ErrRule = errors.New("the subagent is not allowed")

// A RuleError holds everything that is wrong with a binding.
type RuleError struct {
	ID    string
	Codes []string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("subagent %q: %s", e.ID, strings.Join(e.Codes, ", "))
}

// Is lets errors.Is find ErrRule.
func (e *RuleError) Is(target error) bool { return target == ErrRule }

// State reports whether the fault is in what is registered, rather than in the request.
func (e *RuleError) State() bool {
	return slices.ContainsFunc(e.Codes, func(c string) bool {
		return c == ParentNotAgents || c == ParentMismatch || c == ExceedsParent
	})
}

// Hint says what to do about the first fault.
func (e *RuleError) Hint() string {
	switch e.Codes[0] {
	case ParentNotAgents:
		return "only an agent that is registered with the role AGENTS has subagents"
	case EmptyName, NameSeparator:
		return "a name has at least one character and no ~"
	case ExceedsParent:
		return "give it no more than its parent has; without --capabilities it has what the parent has"
	}
	return "the id is PARENT~NAME"
}

// Validate returns everything that is wrong with a binding to a parent, nil when nothing is. Of the parent its instance,
// its roles and its capabilities count.
func Validate(b *registry.Binding, parent *registry.Registration) []string {
	var codes []string
	if !slices.Contains(parent.Roles, registry.Agents) {
		codes = append(codes, ParentNotAgents)
	}
	switch {
	case b.Name == "":
		codes = append(codes, EmptyName)
	case strings.Contains(b.Name, "~"):
		codes = append(codes, NameSeparator)
	}
	if b.ID != b.Parent+"~"+b.Name {
		codes = append(codes, AddressMismatch)
	}
	if address.Canonical(b.Parent) != string(parent.Instance.Canonical()) {
		codes = append(codes, ParentMismatch)
	}
	if b.Bounded && !within(b.Capabilities, parent.Capabilities) {
		codes = append(codes, ExceedsParent)
	}
	return codes
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(c string) bool { return !slices.Contains(all, c) })
}
