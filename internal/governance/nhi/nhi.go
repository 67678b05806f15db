// Package nhi looks after the identities of agents and other non-persons: their faults, their inventory, and how one of them is
// retired so that nothing of it is accepted any more.
//
// The report goes by the OWASP list of the ten top risks of non-human identities. Five of them can be read off a bus: those
// who were left behind (1), authentication without keys (4), more rights than needed (5), keys that are too old (7) and keys
// with several owners (9). The other five, secrets that leaked, third parties, cloud configurations, environments that are not
// apart, and people who work as an agent, leave no trace there, and the report names them as not evaluated.
//
// [Take] reads all that counts, once. [Report], [Inventory] and the bundle are pure functions of it.
package nhi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/subagent"
	"tutti/internal/store"
)

// DefaultDays is the age in days from which on a key is called long-lived.
const DefaultDays = 90

// An Instance is one registered agent.
type Instance struct {
	ID   string
	Role string   // all of its roles, joined by commas
	Keys []string // PEM of those that are active
	// Since is when it was registered: how old a key is of which no event tells. Zero when it is not known.
	Since time.Time
	// Capabilities are the bounds of its subagents; nil when unknown.
	Capabilities []string
	Gone         *registry.Tombstone // nil: it is in service
}

// A Subagent is one that was bound.
type Subagent struct {
	ID           string
	Parent       string
	Active       bool
	Capabilities []string
	Listed       bool // the binding has a list, which may be empty
}

// A Snapshot is all that a report goes by.
type Snapshot struct {
	Instances []Instance
	Subagents []Subagent
	Events    []registry.Event
	// Specified leaves the age of keys open that came with a registration, as h2a does.
	Specified bool
}

// Take reads a snapshot.
func Take(ctx context.Context, r *registry.Registry) (*Snapshot, error) {
	s := &Snapshot{}
	byOwner := map[string][]registry.Event{}
	for e, err := range r.KeyEvents(ctx) {
		if err != nil {
			return nil, err
		}
		s.Events = append(s.Events, e)
		owner := address.Canonical(e.Instance)
		byOwner[owner] = append(byOwner[owner], e)
	}
	stones, err := r.Tombstones(ctx)
	if err != nil {
		return nil, err
	}
	for reg, err := range r.All(ctx) {
		if store.IsUnfit(err) {
			continue // a bad line is the doctor's to tell
		}
		if err != nil {
			return nil, err
		}
		i := Instance{ID: reg.ID, Role: strings.Join(reg.Roles, ","), Capabilities: reg.Capabilities}
		i.Since, _ = parseTime(reg.CreatedAt)
		for _, name := range []address.Instance{reg.Instance, address.Instance(reg.ID)} {
			if t, ok := stones[name.Canonical()]; ok {
				i.Gone = &t
			}
		}
		if i.Gone == nil {
			i.Keys = registry.Fold(reg.ID, reg.PublicKeys, byOwner[address.Canonical(reg.ID)]).PEM
		}
		s.Instances = append(s.Instances, i)
	}
	return s, s.takeSubagents(ctx, r)
}

func (s *Snapshot) takeSubagents(ctx context.Context, r *registry.Registry) error {
	all, err := (&subagent.Agents{Registry: r}).List(ctx, "")
	for _, b := range all {
		s.Subagents = append(s.Subagents, Subagent{
			ID: b.ID, Parent: b.Parent, Active: b.Status == subagent.Active, Capabilities: b.Capabilities, Listed: b.Bounded,
		})
	}
	return err
}

// fingerprint names a key: 12 hexadecimal digits of the SHA-256 of its PEM text; for a text that is not a key, of the text
// itself.
func fingerprint(pem string) string {
	if public, err := signature.ParsePublic(pem); err == nil {
		return public.Short()
	}
	sum := sha256.Sum256([]byte(pem))
	return hex.EncodeToString(sum[:6])
}

// same is a text that is equal for two spellings of one key.
func same(pem string) string {
	if public, err := signature.ParsePublic(pem); err == nil {
		return string(public[:])
	}
	return pem
}

// instance is one of the snapshot by its address in any spelling, nil for none.
func (s *Snapshot) instance() func(id string) *Instance {
	all := make(map[string]*Instance, len(s.Instances))
	for n := range s.Instances {
		if c := address.Canonical(s.Instances[n].ID); all[c] == nil {
			all[c] = &s.Instances[n]
		}
	}
	return func(id string) *Instance { return all[address.Canonical(id)] }
}

// owners are the instances of each active key, sorted, each once.
func (s *Snapshot) owners() map[string][]string {
	all := map[string][]string{}
	for _, i := range s.Instances {
		for _, pem := range i.Keys {
			if k := same(pem); !slices.Contains(all[k], i.ID) {
				all[k] = append(all[k], i.ID)
			}
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// A birth is when a key of an instance was added first.
type birth struct{ instance, key string }

// births are the times of those that an event tells of, and of those that came with a registration.
func (s *Snapshot) births() map[birth]time.Time {
	all := map[birth]time.Time{}
	for _, e := range s.Events {
		if e.Type != registry.Added {
			continue
		}
		at, ok := parseTime(e.At)
		b := birth{address.Canonical(e.Instance), same(e.Key)}
		if was, known := all[b]; ok && (!known || at.Before(was)) {
			all[b] = at
		}
	}
	for _, i := range s.Instances {
		for _, key := range i.Keys {
			b := birth{address.Canonical(i.ID), same(key)}
			if _, known := all[b]; !known && !i.Since.IsZero() && !s.Specified {
				all[b] = i.Since
			}
		}
	}
	return all
}

// age is how old a key is in whole days; false when unknown.
func age(births map[birth]time.Time, id, pem string, now time.Time) (days int, added time.Time, known bool) {
	added, known = births[birth{address.Canonical(id), same(pem)}]
	return int(max(0, now.Sub(added)) / day), added, known
}

const day = 24 * time.Hour
