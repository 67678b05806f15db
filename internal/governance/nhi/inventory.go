package nhi

import (
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// A Key is one active key in an inventory.
type Key struct {
	Fingerprint string
	AddedAt     time.Time // zero when nobody knows
	AgeDays     int
	LongLived   bool
	SharedWith  []string // the other instances that it is active for
}

// A Sub is one subagent in an inventory.
type Sub struct {
	ID, Status   string
	Capabilities []string
	Bounded      bool // it may do less than its parent, or its parent has nothing to pass on
}

// An Entry is one instance in an inventory.
type Entry struct {
	*Instance
	Keys      []Key
	Subagents []Sub
}

// An Inventory is all identities of a bus.
type Inventory struct {
	At      time.Time
	Entries []Entry
	Totals  Totals
}

// Totals count over an inventory. Instances are all, offboarded ones among them.
type Totals struct{ Instances, Offboarded, ActiveKeys, ReusedKeys, LongLivedKeys, Subagents, ActiveSubagents int }

// Inventory lists a snapshot.
func (s *Snapshot) Inventory(days int, now time.Time) *Inventory {
	inv := &Inventory{At: now}
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
		e := Entry{Instance: i}
		for _, pem := range i.Keys {
			k := Key{Fingerprint: fingerprint(pem), SharedWith: []string{}}
			var known bool
			if k.AgeDays, k.AddedAt, known = age(births, i.ID, pem, now); known {
				k.LongLived = now.Sub(k.AddedAt) > time.Duration(days)*day
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
			inv.Totals.Offboarded++
		}
		inv.Entries = append(inv.Entries, e)
	}
	return inv
}

func subOf(parent *Instance, sub *Subagent) Sub {
	out := Sub{ID: sub.ID, Status: "revoked", Capabilities: sub.Capabilities}
	out.Bounded = sub.Listed || parent.Capabilities != nil && len(parent.Capabilities) == 0
	if sub.Active {
		out.Status = "active"
	}
	return out
}

// JSON writes one entry.
func (e *Entry) JSON() []byte {
	var o canonjson.Object
	e.write(&o)
	return o.Bytes()
}

func (e *Entry) write(o *canonjson.Object) {
	o.Str("id", e.ID)
	o.Opt("role", e.Role)
	canonjson.Objects(o, "keys", e.Keys, writeKey)
	canonjson.Objects(o, "subagents", e.Subagents, writeSub)
	o.Bool("offboarded", e.Gone != nil)
	if e.Gone != nil {
		o.Opt("offboardedAt", e.Gone.At)
		o.Opt("offboardReason", e.Gone.Reason)
	}
}

func writeKey(o *canonjson.Object, k Key) {
	o.Str("fingerprint", k.Fingerprint)
	if !k.AddedAt.IsZero() {
		o.Str("addedAt", envelope.Stamp(k.AddedAt))
		o.Int("ageDays", int64(k.AgeDays))
	}
	o.Bool("longLived", k.LongLived)
	o.Strs("sharedWith", k.SharedWith)
}

func writeSub(o *canonjson.Object, s Sub) {
	o.Str("id", s.ID)
	o.Str("status", s.Status)
	o.Strs("capabilities", s.Capabilities)
	o.Bool("bounded", s.Bounded)
}

// JSON writes the inventory. At most most instances are listed, 0: all; the totals are those of all.
func (inv *Inventory) JSON(most int) []byte {
	var o canonjson.Object
	o.Str("generatedAt", envelope.Stamp(inv.At))
	shown := inv.Entries
	if most > 0 {
		shown = shown[:min(len(shown), most)]
	}
	canonjson.Objects(&o, "instances", shown, func(o *canonjson.Object, e Entry) { e.write(o) })
	if left := len(inv.Entries) - len(shown); left > 0 {
		o.Int("instancesLeft", int64(left))
	}
	o.Raw("totals", inv.Totals.JSON())
	return o.Bytes()
}

// JSON writes the totals.
func (t *Totals) JSON() []byte {
	var o canonjson.Object
	o.Int("instances", int64(t.Instances))
	o.Int("offboarded", int64(t.Offboarded))
	o.Int("activeKeys", int64(t.ActiveKeys))
	o.Int("reusedKeys", int64(t.ReusedKeys))
	o.Int("longLivedKeys", int64(t.LongLivedKeys))
	o.Int("subagents", int64(t.Subagents))
	o.Int("activeSubagents", int64(t.ActiveSubagents))
	return o.Bytes()
}
