// Package registry knows which agents are registered on a bus, which public keys they have, and which roles and scopes were
// granted.
//
// Everything is read from append-only logs that other programs write too, without a check of any kind. So what is read here
// is tolerant (a missing list is an empty one, a bad line is skipped and told by [Registry.All] and [Registry.Problems]),
// and what is written is strict. The first line with an id is the registration of that id, for good; [Registry.Register]
// adds one only if the log has none, also when other programs of ours try at the same time.
//
// A lookup asks the store's index for the few lines that matter and is as fast at 100,000 registrations as at ten, where the
// store has an index. Instances are compared in their canonical form, ids exactly.
//
// It also records which agents were offboarded, and which subagents were revoked, and [Registry.Standing] answers for both.
// Packages nhi and subagent decide what to do when an agent is retired, and which subagents may be bound.
//
// Nothing here is authenticated: who can write the logs can register any id with any role and add keys to it. Which key a
// reader trusts is decided elsewhere, by pins that lie outside of the bus. Private keys are not known here either.
//
// A Registry is safe for concurrent use.
package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

var (
	// ErrNotRegistered reports an id or instance of which there is no registration.
	ErrNotRegistered = errors.New("not registered")
	// ErrRegistered reports an id that is taken.
	ErrRegistered = errors.New("already registered")
	// ErrKeyActive reports a key that the instance has already.
	ErrKeyActive = errors.New("the key is active already")
	// ErrKeyRevoked reports a key that was revoked: it never becomes active again.
	ErrKeyRevoked = errors.New("the key was revoked, which is final")
	// ErrKeyNotActive reports a key that the instance does not have, or no longer.
	ErrKeyNotActive = errors.New("the key is not active")
	// ErrProof reports a proof of possession that no active key of the instance made.
	ErrProof = errors.New("the proof is by no active key")
)

// A Registry reads and writes the logs of one bus.
type Registry struct{ log store.Log }

// New returns the registry of a bus. A log that is also a store.Viewer and a store.Ender is asked as these.
func New(log store.Log) *Registry { return &Registry{log: log} }

var (
	instances = store.Key{Kind: store.Instances}
	keyEvents = store.Key{Kind: store.Keys}
	grants    = store.Key{Kind: store.OrgMembership}
)

// What the index keys of a registration begin with.
const (
	byID        = "id:"
	byInstance  = "in:"
	byChannel   = "ch:"
	byWorkspace = "ws:"
)

// registrations makes the rows of the instance log.
var registrations = &store.Projection{
	Name: "registrations", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		var v [3][]byte // a new index reads 100,000 of these: no more than is needed
		canonjson.Pick(line, []string{"id", "instance", "workspace"}, v[:])
		id, instance := text(v[0]), address.Instance(text(v[1]))
		if id == "" {
			return nil, 0, nil, errNoID
		}
		if instance == "" {
			instance = address.Instance(id)
		}
		keys := []string{byID + id, byInstance + string(instance.Canonical()), byChannel + instance.Channel()}
		if path, ok := canonjson.Get(v[2], "path"); ok && text(path) != "" {
			keys = append(keys, byWorkspace+text(path))
		}
		return keys, 0, nil, nil
	},
}

// Get returns the registration of an id, compared exactly: the first line that has it, and one that was mirrored only where there is
// no other. ErrNotRegistered: there is none.
func (r *Registry) Get(ctx context.Context, id string) (*Registration, error) {
	return r.first(ctx, byID+id, id)
}

// ByInstance returns the first registration of an instance in any spelling. Later ones, which anybody could have added, do
// not count, except that one which was mirrored counts only where there is no other. ErrNotRegistered: there is none.
func (r *Registry) ByInstance(ctx context.Context, i address.Instance) (*Registration, error) {
	return r.first(ctx, byInstance+string(i.Canonical()), string(i))
}

// Registered returns the registration whose keys are those of Keys: that of an instance in any spelling, or of an id.
// ErrNotRegistered: there is none.
func (r *Registry) Registered(ctx context.Context, i address.Instance) (*Registration, error) {
	reg, err := r.lookup(ctx, i)
	if err != nil {
		return nil, fmt.Errorf("look up the registration of %q: %w", i, err)
	}
	return reg, nil
}

// lookup finds an instance, or else an id that is spelled in another way than its instance.
func (r *Registry) lookup(ctx context.Context, i address.Instance) (*Registration, error) {
	reg, err := r.ByInstance(ctx, i)
	if errors.Is(err, ErrNotRegistered) {
		return r.Get(ctx, string(i))
	}
	return reg, err
}

// first returns the oldest registration that has an index key. An agent that another bus has shown gives way to one registered
// here, also later: otherwise a mirrored agent could take a name before its owner comes.
func (r *Registry) first(ctx context.Context, key, name string) (*Registration, error) {
	var mirrored *Registration
	for reg, err := range r.find(ctx, key) {
		if err != nil {
			return nil, fmt.Errorf("look up %q: %w", name, err)
		}
		if !reg.Mirrored() {
			return reg, nil
		}
		if mirrored == nil {
			mirrored = reg
		}
	}
	if mirrored != nil {
		return mirrored, nil
	}
	return nil, fmt.Errorf("%q: %w", name, ErrNotRegistered)
}

// find yields the registrations that have an index key, oldest first. The first error ends it.
func (r *Registry) find(ctx context.Context, key string) iter.Seq2[*Registration, error] {
	return func(yield func(*Registration, error) bool) {
		for line, err := range store.FindIn(ctx, r.log, instances, registrations, key) {
			var reg *Registration
			if err == nil {
				reg, err = Parse(line.Data)
			}
			if !yield(reg, err) || err != nil {
				return
			}
		}
	}
}

// Channel returns the instances that are registered under "host:label" in any spelling, in the order in which they came, each
// once. Only the first two parts of channel count. Those that were mirrored count only where there is no other: what another bus shows
// takes no label from whom it belongs to here.
func (r *Registry) Channel(ctx context.Context, channel string) ([]address.Instance, error) {
	own, shown, err := r.Under(ctx, channel)
	if len(own) == 0 {
		return shown, err
	}
	return own, err
}

// Under is Channel, but separates the agents that are registered here from those that are only mirrored, whether live or not.
func (r *Registry) Under(ctx context.Context, channel string) (own, shown []address.Instance, err error) {
	const here, elsewhere = 1, 2
	seen := map[address.Instance]int{}
	var mirrored []address.Instance
	for reg, err := range r.find(ctx, byChannel+address.Instance(channel).Channel()) {
		if err != nil {
			return nil, nil, fmt.Errorf("look up channel %q: %w", channel, err)
		}
		c := reg.Instance.Canonical()
		switch was := seen[c]; {
		case was == here:
		case !reg.Mirrored():
			seen[c] = here
			own = append(own, reg.Instance)
		case was == 0:
			seen[c] = elsewhere
			mirrored = append(mirrored, reg.Instance)
		}
	}
	return own, slices.DeleteFunc(mirrored, func(i address.Instance) bool { return seen[i.Canonical()] == here }), nil
}

// ByWorkspacePath returns the registrations whose workspace has exactly this path, oldest first. What was mirrored is left out: its path
// is one of another machine.
func (r *Registry) ByWorkspacePath(ctx context.Context, path string) ([]*Registration, error) {
	var all []*Registration
	for reg, err := range r.find(ctx, byWorkspace+path) {
		if err != nil {
			return nil, fmt.Errorf("look up workspace %q: %w", path, err)
		}
		if !reg.Mirrored() {
			all = append(all, reg)
		}
	}
	return all, nil
}

// All yields every registration, oldest first: of the lines that have one id the first, and mirrored ones only where no agent
// is registered here under the name. A bad line is yielded as a *store.UnfitError, and the rest goes on; any other error ends
// it.
func (r *Registry) All(ctx context.Context) iter.Seq2[*Registration, error] {
	return func(yield func(*Registration, error) bool) {
		seen := map[string]bool{}
		r.lines(ctx, func(line store.Line, reg *Registration, err error) bool {
			if err == nil && reg.Mirrored() {
				if by, e := r.lookup(ctx, reg.Instance); e == nil && !by.Mirrored() {
					return true
				}
			}
			if err == nil && seen[reg.ID] {
				reg, err = nil, unfit(instances, line, fmt.Errorf("%q: %w", reg.ID, ErrRegistered))
			}
			if err == nil {
				seen[reg.ID] = true
			}
			return yield(reg, err)
		})
	}
}

// Ever is All, but also yields the registrations that count for nothing: later ones, and mirrored ones of agents that are
// registered here by now.
func (r *Registry) Ever(ctx context.Context) iter.Seq2[*Registration, error] {
	return func(yield func(*Registration, error) bool) {
		r.lines(ctx, func(_ store.Line, reg *Registration, err error) bool { return yield(reg, err) })
	}
}

// lines shows every line of the log. It ends with an error that is not that of one line, or when see returns false.
func (r *Registry) lines(ctx context.Context, see func(line store.Line, reg *Registration, err error) bool) {
	for line, err := range r.log.Read(ctx, instances, "") {
		var reg *Registration
		if err == nil {
			if reg, err = Parse(line.Data); err != nil {
				err = unfit(instances, line, err)
			}
		}
		if !see(line, reg, err) || err != nil && !store.IsUnfit(err) {
			return
		}
	}
}

// Problems reads all logs of the registry and says what is wrong with their lines. The error is for logs that cannot be read.
func (r *Registry) Problems(ctx context.Context) (problems []error, err error) {
	for _, err := range r.All(ctx) {
		switch {
		case err == nil:
		case store.IsUnfit(err):
			problems = append(problems, err)
		default:
			return problems, err
		}
	}
	for _, log := range []struct {
		key   store.Key
		check func([]byte) error
	}{
		{keyEvents, func(b []byte) error { _, err := parseEvent(b); return err }},
		{grants, func(b []byte) error { _, err := parseGrant(b); return err }},
		{subagents, func(b []byte) error { _, err := ParseBinding(b); return err }},
		{audits, func(b []byte) error { _, err := parseAudit(b); return err }},
		{offboards, func(b []byte) error { _, err := parseTombstone(b); return err }},
	} {
		for line, err := range r.log.Read(ctx, log.key, "") {
			if err == nil {
				if why := log.check(line.Data); why != nil {
					err = unfit(log.key, line, why)
				}
			}
			switch {
			case err == nil:
			case store.IsUnfit(err):
				problems = append(problems, err)
			default:
				return problems, err
			}
		}
	}
	return problems, nil
}

// unfit names a line by its position.
func unfit(log store.Key, line store.Line, why error) error {
	at := string(line.At)
	if at == "" {
		at = "the start"
	}
	return &store.UnfitError{Key: log, Where: fmt.Sprintf("%s at %s", log, at), Why: why.Error()}
}

// add appends a line to a log if judge, who is called with the end of the log taken before, finds nothing against it. When
// the log has grown meanwhile it is judged again: of all who want one thing, one gets it.
func (r *Registry) add(ctx context.Context, log store.Key, judge func() (line []byte, err error)) error {
	var err error
	for range maxTries {
		end, endErr := store.EndOf(ctx, r.log, log)
		if endErr != nil {
			return endErr
		}
		line, judged := judge()
		if judged != nil {
			return judged
		}
		if _, err = r.log.Append(ctx, log, end, line); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// maxTries ends a loop in which each round fails only because another process succeeded.
const maxTries = 1000
