package nhi

import (
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
)

// A Key is one active key in an inventory.
type Key struct {
	Fingerprint string   `json:"fingerprint"`
	AddedAt     string   `json:"addedAt,omitempty"` // absent where no event tells
	AgeDays     *int     `json:"ageDays,omitempty"` // absent where no event tells
	LongLived   bool     `json:"longLived"`         // older than the limit
	SharedWith  []string `json:"sharedWith"`        // the other instances that it is active for
}

// A Sub is one subagent in an inventory.
type Sub struct {
	ID           string   `json:"id"`
	Status       string   `json:"status"` // active or revoked
	Capabilities []string `json:"capabilities"`
	Bounded      bool     `json:"bounded"` // it may do less than its parent, or its parent has nothing to pass on
}

// An Entry is one instance in an inventory.
type Entry struct {
	ID             string `json:"id"`
	Role           string `json:"role,omitempty"`
	Keys           []Key  `json:"keys"`
	Subagents      []Sub  `json:"subagents"`
	Offboarded     bool   `json:"offboarded"`
	OffboardedAt   string `json:"offboardedAt,omitempty"`
	OffboardReason string `json:"offboardReason,omitempty"`
}

// An Inventory is all identities of a bus.
type Inventory struct {
	At     string  `json:"generatedAt"`
	Listed []Entry `json:"instances"`
	Left   int     `json:"instancesLeft,omitempty"` // instances that are not listed
	Totals Totals  `json:"totals"`                  // of all
}

// Totals count over an inventory. Instances are all, offboarded ones among them.
type Totals struct {
	Instances       int `json:"instances"`
	Offboarded      int `json:"offboarded"`
	ActiveKeys      int `json:"activeKeys"`
	ReusedKeys      int `json:"reusedKeys"`
	LongLivedKeys   int `json:"longLivedKeys"`
	Subagents       int `json:"subagents"`
	ActiveSubagents int `json:"activeSubagents"`
}

// Short returns the inventory with at most so many instances; 0: all. The totals stay.
func (inv *Inventory) Short(most int) Inventory {
	short := *inv
	if most > 0 && len(inv.Listed) > most {
		short.Listed, short.Left = inv.Listed[:most], len(inv.Listed)-most
	}
	return short
}

// Inventory lists a snapshot.
func (s *Snapshot) Inventory(days int, now time.Time) *Inventory {
	inv := &Inventory{At: envelope.Stamp(now), Listed: []Entry{}}
	births, owners := s.births(), s.owners()
	for _, list := range owners {
		if len(list) > 1 {
			inv.Totals.ReusedKeys++
		}
	}
	bySub := map[string][]Subagent{}
	for _, sub := range s.Subagents {
		parent := address.Canonical(sub.Parent)
		bySub[parent] = append(bySub[parent], sub)
		inv.Totals.Subagents++
		if sub.Active {
			inv.Totals.ActiveSubagents++
		}
	}
	for n := range s.Instances {
		i := &s.Instances[n]
		e := Entry{ID: i.ID, Role: i.Role, Keys: []Key{}, Subagents: []Sub{}, Offboarded: i.Gone != nil}
		for _, pem := range i.Keys {
			k := Key{Fingerprint: fingerprint(pem), SharedWith: []string{}}
			if n, added, known := age(births, i.ID, pem, now); known {
				k.AddedAt, k.AgeDays = envelope.Stamp(added), &n
				k.LongLived = now.Sub(added) > time.Duration(days)*day
			}
			for _, other := range owners[same(pem)] {
				if other != i.ID {
					k.SharedWith = append(k.SharedWith, other)
				}
			}
			if k.LongLived {
				inv.Totals.LongLivedKeys++
			}
			e.Keys = append(e.Keys, k)
		}
		for _, sub := range bySub[address.Canonical(i.ID)] {
			e.Subagents = append(e.Subagents, subOf(i, &sub))
		}
		inv.Totals.Instances++
		inv.Totals.ActiveKeys += len(i.Keys)
		if i.Gone != nil {
			e.OffboardedAt, e.OffboardReason = i.Gone.At, i.Gone.Reason
			inv.Totals.Offboarded++
		}
		inv.Listed = append(inv.Listed, e)
	}
	return inv
}

func subOf(parent *Instance, sub *Subagent) Sub {
	out := Sub{ID: sub.ID, Status: "revoked", Capabilities: render.List(sub.Capabilities)}
	out.Bounded = sub.Listed || parent.Capabilities != nil && len(parent.Capabilities) == 0
	if sub.Active {
		out.Status = "active"
	}
	return out
}
