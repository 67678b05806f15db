// Package blocker keeps what agents say that they are blocked by: a call for help to their peers.
//
// Each agent has one record, which a new call replaces and which stays when it was resolved, with the first who resolved it. A
// call is for those who follow its scope; it may also name agents that could help. It never expires: one whose agent was not
// seen for a day is called stale, and is still there. A call is neither a stall, which an agent does not report, nor an
// escalation, which goes to a person or superior.
//
// Records are written by any program that may write on the bus, also by programs that keep fewer rules. What cannot be read as
// a record is named and skipped; members that are not known here are kept. Callers sanitise a text before they show it.
package blocker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// ErrNone reports an agent that has never said that it is blocked. Existing programs word it so.
var ErrNone = errors.New("not found: it has raised no blockage")

// Limits of what is written here, in bytes: a reason is what a peer reads before it goes on with its own work. A record may have
// 64 KiB, which is left to members that others add.
const (
	MaxReason = 4 << 10
	MaxNeeds  = 4 << 10
	MaxOn     = 16 // agents that are named
)

// StaleAfter is how long an agent may not have been seen until its blockage is called stale.
const StaleAfter = 24 * time.Hour

// A Blockage is what one agent has said. Times are as they are written.
type Blockage struct {
	Instance   address.Instance
	Scope      string // "": for no particular agent
	Reason     string
	Needs      string             // what would help; may be empty
	On         []address.Instance // who could help; may be empty. Existing programs do not know it
	RaisedAt   string
	ResolvedAt string // "": it is active
	ResolvedBy string
	Raw        []byte // the record
}

// NoticeKind is the kind of the message for agents that could help.
const NoticeKind = "blocker"

// Active reports whether it is unresolved.
func (b *Blockage) Active() bool { return b.ResolvedAt == "" }

// Names tells whether it says of an agent that it could help: by its whole name, or by host and label.
func (b *Blockage) Names(i address.Instance) bool {
	return slices.ContainsFunc(b.On, func(o address.Instance) bool {
		return o.Canonical() == i.Canonical() || string(o.Canonical()) == i.Channel()
	})
}

// Since is when it was raised; false: it says no time.
func (b *Blockage) Since() (time.Time, bool) { return envelope.ParseTime(b.RaisedAt) }

// Stale tells whether an active blockage is one of an agent that has not been seen for a day. seen is when it was last seen, as far
// as that is known; the zero time: it is not. To raise it was a sign of life, too.
func (b *Blockage) Stale(seen, now time.Time) bool {
	raised, ok := b.Since()
	if !ok || !b.Active() {
		return false
	}
	if seen.After(raised) {
		raised = seen
	}
	return now.Sub(raised) > StaleAfter
}

var members = []string{"instance", "scope", "reason", "needs", "on", "raisedAt", "resolvedAt", "resolvedBy"}

// Parse reads a record.
func Parse(raw []byte) (*Blockage, error) {
	var v [8][]byte
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, members, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	b := &Blockage{Raw: raw}
	name, ok := canonjson.String(v[0])
	if err := address.Check(name); !ok || err != nil {
		return nil, errors.New("names no instance")
	}
	b.Instance = address.Instance(name)
	if b.Reason, ok = canonjson.String(v[2]); !ok {
		return nil, errors.New("gives no reason")
	}
	b.Scope, _ = canonjson.String(v[1])
	b.Needs, _ = canonjson.String(v[3])
	on, _ := canonjson.Strings(v[4])
	for _, o := range on[:min(len(on), MaxOn)] {
		if address.Check(o) == nil {
			b.On = append(b.On, address.Instance(o))
		}
	}
	b.RaisedAt, _ = canonjson.String(v[5])
	b.ResolvedAt, _ = canonjson.String(v[6])
	b.ResolvedBy, _ = canonjson.String(v[7])
	return b, nil
}

// A Call is what an agent says. Instance and Reason are needed.
type Call struct {
	Instance      address.Instance
	Scope         string
	Reason, Needs string
	On            []address.Instance
}

func (c *Call) check() error {
	if err := address.Check(string(c.Instance)); err != nil {
		return err
	}
	if c.Scope != "" {
		if err := address.Check(c.Scope); err != nil {
			return fmt.Errorf("the scope: %w", err)
		}
	}
	switch {
	case c.Reason == "":
		return errors.New("no reason is given")
	case len(c.Reason) > MaxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d are allowed: write the rest to a file and name it", len(c.Reason), MaxReason)
	case len(c.Needs) > MaxNeeds:
		return fmt.Errorf("what is needed has %d bytes, at most %d are allowed: write the rest to a file and name it", len(c.Needs), MaxNeeds)
	case len(c.On) > MaxOn:
		return fmt.Errorf("%d agents are named, at most %d are allowed", len(c.On), MaxOn)
	}
	for _, o := range c.On {
		if err := address.Check(string(o)); err != nil {
			return fmt.Errorf("who could help: %w", err)
		}
	}
	return nil
}

// over writes the call over a record, of which only what is not known here stays. old may be nil.
func (c *Call) over(old []byte, now time.Time) []byte {
	var o canonjson.Object
	o.Str("instance", string(c.Instance))
	o.Str("scope", c.Scope)
	o.Str("reason", c.Reason)
	o.Opt("needs", c.Needs)
	if len(c.On) > 0 {
		o.Strs("on", address.Texts(c.On))
	}
	o.Str("raisedAt", envelope.Stamp(now))
	if canonjson.Valid(old) && canonjson.IsObject(old) {
		for name, value := range canonjson.Members(old) {
			if !slices.Contains(members, name) {
				o.Raw(name, value)
			}
		}
	}
	return o.End()
}
