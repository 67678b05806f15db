package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// ErrGone reports an identity that was offboarded, or a subagent that was revoked. The error is a *GoneError.
var ErrGone = errors.New("was taken out of service, which is final")

// A GoneError says who was taken out of service. It may be another one than was asked for: a subagent goes with its parent.
type GoneError struct {
	Asked  address.Instance
	Who    address.Instance
	Sub    bool   // Who is a subagent that was revoked; else it is an agent that was offboarded
	At     string // as it is recorded
	Reason string // of the agent that did it; empty where none was given
}

func (e *GoneError) Error() string {
	word := "was offboarded"
	if e.Sub {
		word = "was revoked"
	}
	text := fmt.Sprintf("%s %s", e.Who, word)
	if e.Asked.Canonical() != e.Who.Canonical() {
		text = fmt.Sprintf("%s is gone: %s", e.Asked, text)
	}
	return text + ", which is final"
}

// Is lets errors.Is find ErrGone.
func (e *GoneError) Is(target error) bool { return target == ErrGone }

// Hint says what to type instead.
func (e *GoneError) Hint() string {
	if e.Sub {
		parent, _, _ := e.Who.Subagent()
		return fmt.Sprintf(`"tutti subagent list --parent %s" shows who is left`, parent)
	}
	return `"tutti connect" makes a new agent; "tutti discover --all" lists who is there`
}

// A Tombstone is the line that takes an instance out of service. That there is one is final: whatever is added for the
// instance later, a key, a registration in another spelling or a session, is not accepted.
type Tombstone struct {
	Instance address.Instance
	Reason   string
	Keys     int // that were revoked then
	// Subagents are the ids of those that were revoked then.
	Subagents []string
	At        string
	// The rest is known to our programs only.
	Claims   []string // workspaces whose conductor the instance claimed to be
	Sessions []string // that were closed
	Grants   []Grant  // that no longer count
	By       string   // who requested that; empty where no agent was named
}

func (t *Tombstone) line() []byte {
	var o canonjson.Object
	o.Str("instance", string(t.Instance))
	o.Opt("reason", t.Reason)
	o.Int("revokedKeys", int64(t.Keys))
	o.Strs("revokedSubagents", t.Subagents)
	o.Str("at", t.At)
	if len(t.Claims) > 0 {
		o.Strs("releasedClaims", t.Claims)
	}
	if len(t.Sessions) > 0 {
		o.Strs("closedSessions", t.Sessions)
	}
	if len(t.Grants) > 0 {
		canonjson.Objects(&o, "endedGrants", t.Grants, writeGrant)
	}
	o.Opt("by", t.By)
	return o.Bytes()
}

func writeGrant(o *canonjson.Object, g Grant) {
	o.Str("role", g.Role)
	o.Str("scope", g.Scope)
}

func parseTombstone(raw []byte) (Tombstone, error) {
	var v [5][]byte
	if !canonjson.Pick(raw, []string{"instance", "reason", "revokedKeys", "revokedSubagents", "at"}, v[:]) {
		return Tombstone{}, errors.New("is not a JSON object")
	}
	keys, _ := canonjson.Int(v[2])
	t := Tombstone{Instance: address.Instance(text(v[0])), Reason: text(v[1]), Keys: int(keys), Subagents: texts(v[3]), At: text(v[4])}
	if t.Instance == "" {
		return t, errors.New("lacks its instance")
	}
	return t, nil
}

var offboards = store.Key{Kind: store.Offboard}

// offboardRows makes the rows of the log of tombstones.
var offboardRows = &store.Projection{
	Name: "offboards", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		t, err := parseTombstone(line)
		if err != nil {
			return nil, 0, nil, err
		}
		return []string{byInstance + string(t.Instance.Canonical())}, 0, nil, nil
	},
}

// Offboard appends a tombstone. It may be repeated; the first one is when the instance went.
func (r *Registry) Offboard(ctx context.Context, t Tombstone) error {
	if _, err := r.log.Append(ctx, offboards, store.AnyEnd, t.line()); err != nil {
		return fmt.Errorf("offboard %q: %w", t.Instance, err)
	}
	return nil
}

// Tombstones returns the first tombstone of each instance that was offboarded, by its canonical form, nil for none.
func (r *Registry) Tombstones(ctx context.Context) (map[address.Instance]Tombstone, error) {
	var all map[address.Instance]Tombstone
	for line, err := range r.log.Read(ctx, offboards, "") {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read who was offboarded: %w", err)
		}
		t, err := parseTombstone(line.Data)
		if err != nil {
			continue
		}
		if all == nil {
			all = map[address.Instance]Tombstone{}
		}
		if who := t.Instance.Canonical(); all[who].Instance == "" {
			all[who] = t
		}
	}
	return all, nil
}

// tombstone returns the first one of an instance in any spelling, nil for none.
func (r *Registry) tombstone(ctx context.Context, i address.Instance) (*Tombstone, error) {
	for line, err := range store.FindIn(ctx, r.log, offboards, offboardRows, byInstance+string(i.Canonical())) {
		if err != nil {
			return nil, fmt.Errorf("look up whether %q was offboarded: %w", i, err)
		}
		if t, err := parseTombstone(line.Data); err == nil {
			return &t, nil
		}
	}
	return nil, nil
}

// Standing returns a *GoneError for an instance that was offboarded, for a subagent that was revoked, and for one with such an
// ancestor, no matter which agent registered or bound it; otherwise nil, also for an unknown agent. Every entry point asks it:
// before anything is sent to, taken for, signed by or opened for an instance.
func (r *Registry) Standing(ctx context.Context, i address.Instance) error {
	for who := range Ancestry(i) {
		if err := r.gone(ctx, i, who); err != nil {
			return err
		}
	}
	return nil
}

// generations is how many ancestors of an address count. No subagent is bound deeper; an address that comes from elsewhere may
// be a mebibyte of tildes.
const generations = 16

// Ancestry yields the agent that an address works for, then the subagents between, then itself: if one of them is gone, it is
// gone. Of a line that is longer than any that is bound the oldest ancestors are yielded, and itself.
func Ancestry(i address.Instance) iter.Seq[address.Instance] {
	return func(yield func(address.Instance) bool) {
		at := 0
		for range generations {
			next := strings.IndexByte(string(i[at:]), '~')
			if next < 0 {
				break
			}
			if !yield(i[:at+next]) {
				return
			}
			at += next + 1
		}
		yield(i)
	}
}

// gone is Standing for one of the line of ancestors.
func (r *Registry) gone(ctx context.Context, asked, who address.Instance) error {
	t, err := r.tombstone(ctx, who)
	switch {
	case err != nil:
		return err
	case t != nil:
		return &GoneError{Asked: asked, Who: who, At: t.At, Reason: t.Reason}
	}
	if _, _, sub := who.Subagent(); !sub {
		return nil
	}
	e, err := r.revocation(ctx, who)
	if err != nil || e == nil {
		return err
	}
	return &GoneError{Asked: asked, Who: who, Sub: true, At: e.At, Reason: e.Reason}
}
