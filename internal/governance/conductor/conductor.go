// Package conductor says which agent conducts a workspace, and keeps the claims by which agents take that seat.
//
// Everything is worked out anew at each question from what is on the bus: the claims, and who is there. The first claim whose
// holder is live in the workspace conducts; without one, the live agent registered as CONDUCTOR that has been there for
// longest; without that, none, which is the ordinary state. So no agent has to notice that a conductor has died: the next one
// conducts as soon as its session counts no more, at once where its process can be seen to have ended, else when its heartbeat
// has expired.
//
// Beyond what existing programs do, in lines that they read as their own:
//
//   - A claim is tied to the session, or the agent program, for which it was made ([Service.Claim]). An agent that was stopped for a
//     while has its seat back when it goes on; one that was started anew claims anew, behind those who came in between. A claim of
//     existing programs is tied to nothing and counts whenever its instance is there.
//   - To claim again changes nothing. Existing programs move such a claim back; theirs keep their place here.
//   - All spellings of an instance are one claimant.
//   - A claim is written later than those that stand before it, whether the clock of the machine is late or theirs was early. A line
//     with an earlier time does not come before the claims of ours that are in the log before it.
//   - Lines are signed where the key is at hand. Lines whose signature does not hold count for nothing, and unsigned ones do not end
//     a signed claim, however many there are. What would count for nothing is not written.
//
// What conducting means is agreed among agents. Nothing is refused to others because of it, and it gives no right over them.
//
// The package starts nothing: it reads and writes the store, gets the time, and asks about processes through functions that it
// is given.
package conductor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Service answers for one bus. Its members are set once, before the first call.
type Service struct {
	Log      store.Log
	Presence *presence.Presence
	Registry *registry.Registry
	Machine  presence.Machine // where processes are asked about; the zero one knows of none
}

// A Where selects a workspace: by ID, or else by folder. For a folder every id counts that was used for it.
type Where struct {
	ID      string
	Path    string              // real path
	Derived address.WorkspaceID // the id of a folder that has not been named yet
	// Durable finds the id that later programs give a folder in a repository; nil: it is not asked. It is called only when an
	// agent is there under such an id.
	Durable func(ctx context.Context) string
}

// A Candidate is one live session in the workspace.
type Candidate struct {
	*presence.Session
	Roles []string // of its registration; none where there is no registration
}

// A Resolution says who conducts a workspace.
type Resolution struct {
	Workspace  string             // id, in canonical form
	Conductor  address.Instance   // "": none; as the claim spells it
	ClaimedBy  address.Instance   // "": by role, or none
	Candidates []Candidate        // in the order of their records
	Claim      *Claim             // that of the conductor, nil where it has none
	Next       []address.Instance // live claimants behind the conductor, in the order in which they follow
	Problem    error              // why the claims could not be read, nil when they could
	Wrote      bool               // a claim or a release was written before: it was not so already

	place presence.Workspaces
}

// Resolve says who conducts. An error is for a bus that cannot be read.
func (d *Service) Resolve(ctx context.Context, w Where, now time.Time) (*Resolution, error) {
	r, err := d.resolve(ctx, w, now)
	if err != nil {
		return nil, fmt.Errorf("who conducts: %w", err)
	}
	return r, nil
}

// resolve decides which agent conducts a workspace: the one with the oldest claim of those that are live there, also when an earlier
// conductor has died; without such a claim the one that byRole finds. Retired agents never conduct. Live is who sent a heartbeat within 90 s, so that a conductor that
// dies on another machine keeps the seat for so long.
func (d *Service) resolve(ctx context.Context, w Where, now time.Time) (*Resolution, error) {
	look, err := d.Presence.Look(ctx)
	if err != nil {
		return nil, err
	}
	r := &Resolution{}
	if r.Workspace, r.place, err = d.place(ctx, look, w, now); err != nil {
		return nil, err
	}
	there, err := look.In(ctx, r.place, now)
	if err != nil {
		return nil, err
	}
	there = slices.DeleteFunc(there, func(s *presence.Session) bool { return s.Ended(d.Machine) })
	if err := d.join(ctx, r, there); err != nil || len(there) == 0 {
		return r, err
	}
	all, err := d.claims(ctx, r)
	if err != nil {
		r.Problem = err
	}
	return r, d.seat(ctx, r, all)
}

// place finds the ids of a workspace, and the one to show.
func (d *Service) place(ctx context.Context, look *presence.Look, w Where, now time.Time) (string, presence.Workspaces, error) {
	if w.ID != "" {
		id := address.Canonical(w.ID)
		return id, presence.Workspaces{IDs: []string{id}}, nil
	}
	p := presence.Workspaces{Path: w.Path}
	shown := address.Canonical(string(w.Derived))
	var newest time.Time
	add := func(id, at string) {
		if address.Check(id) != nil || id[0] == '-' { // it goes to another program, and before people
			return
		}
		id = address.Canonical(id)
		if !slices.Contains(p.IDs, id) {
			p.IDs = append(p.IDs, id)
		}
		if t, _ := envelope.ParseTime(at); t.After(newest) {
			shown, newest = id, t
		}
	}
	there, err := look.In(ctx, p, now)
	if err != nil {
		return "", p, err
	}
	for _, s := range there {
		if s.MirroredAt != "" {
			continue // its path is one of another machine, where the folder has an id of its own
		}
		add(s.Workspace.ID, s.StartedAt)
	}
	registered, err := d.Registry.ByWorkspacePath(ctx, w.Path)
	if err != nil {
		return "", p, err
	}
	for _, reg := range registered {
		add(reg.Workspace.ID, reg.CreatedAt)
	}
	add(string(w.Derived), "")
	if w.Durable != nil && look.Workspace(func(id string) bool { return durable(id) && !slices.Contains(p.IDs, id) }) {
		add(w.Durable(ctx), "")
	}
	return shown, p, nil
}

// durable tells the ids that later programs make of a repository: ws: and a SHA-256.
func durable(id string) bool {
	hex, ok := strings.CutPrefix(id, "ws:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// join adds the roles of those who are there. A registry that cannot be read leaves them without.
func (d *Service) join(ctx context.Context, r *Resolution, there []*presence.Session) error {
	all := make([]address.Instance, len(there))
	for n, s := range there {
		all[n] = s.Instance
	}
	roles, err := d.Registry.Roles(ctx, all)
	if err != nil && ctx.Err() != nil {
		return err
	}
	for _, s := range there {
		r.Candidates = append(r.Candidates, Candidate{Session: s, Roles: roles[s.Instance.Canonical()]})
	}
	return nil
}

// seat finds who sits, of those who claim and are there, and who follows, or else by role.
func (d *Service) seat(ctx context.Context, r *Resolution, all []Claim) error {
	for n := range all {
		c := &all[n]
		gone, err := d.retired(ctx, c.Instance)
		switch {
		case err != nil:
			return err
		case gone:
		case r.Conductor == "":
			r.Conductor, r.ClaimedBy, r.Claim = c.Instance, c.Instance, c
		default:
			r.Next = append(r.Next, c.Instance)
		}
	}
	if r.Conductor == "" {
		return d.byRole(ctx, r)
	}
	return nil
}

// holds tells whether what a claim is tied to is there.
func (r *Resolution) holds(c *Claim) bool {
	return slices.ContainsFunc(r.Candidates, func(s Candidate) bool { return c.tiedTo(s.Session) })
}

// byRole finds the agent that is registered as conductor, is live and is not retired. Of several it is the one whose session began first.
func (d *Service) byRole(ctx context.Context, r *Resolution) error {
	first := slices.Clone(r.Candidates)
	slices.SortStableFunc(first, func(a, b Candidate) int { return strings.Compare(a.StartedAt, b.StartedAt) })
	for n := range first {
		c := &first[n]
		if !slices.Contains(c.Roles, registry.Conductor) {
			continue
		}
		if gone, err := d.retired(ctx, c.Instance); gone || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		r.Conductor = c.Instance
		break
	}
	return nil
}

// Is tells whether an instance, in any spelling, conducts.
func (r *Resolution) Is(i address.Instance) bool {
	return r.Conductor != "" && r.Conductor.Canonical() == i.Canonical()
}
