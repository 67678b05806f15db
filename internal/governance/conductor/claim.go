package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// A Request is what an agent wants to take, or give up.
type Request struct {
	Where    Where
	Instance address.Instance
	Key      *signature.Private // signs; nil: nothing is signed
	Session  address.SessionID  // that the claim is tied to; "": the one that is best
	Early    bool               // without a session the claim is tied to none, as those of existing programs
}

// A NotLiveError reports an agent that claims a workspace in which it has no live session.
type NotLiveError struct {
	Instance  address.Instance
	Workspace string
	Ended     bool // a session is there, of a process that has ended
}

func (e *NotLiveError) Error() string {
	if e.Ended {
		return fmt.Sprintf("%s has no session in %s but one whose process has ended", e.Instance, e.Workspace)
	}
	return fmt.Sprintf("%s has no live session in %s: a claim is tied to one", e.Instance, e.Workspace)
}

// Hint says what to type.
func (e *NotLiveError) Hint() string {
	return "start the agent there with its MCP server (tutti host setup), then claim again; \"tutti discover\" lists who is live, \"tutti sessions\" where"
}

// maxTries ends a loop in which each round fails only because another process has added a line.
const maxTries = 100

// Claim takes the seat, or a place in the queue for it, for an agent that is live in the workspace, and says who conducts then. Whose
// claim stands has nothing to do. *NotLiveError: it has no session there. registry.ErrGone: it was taken out of service.
func (d *Service) Claim(ctx context.Context, s Request, now time.Time) (*Resolution, error) {
	r, err := d.claim(ctx, s, now)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return r, nil
}

func (d *Service) claim(ctx context.Context, s Request, now time.Time) (*Resolution, error) {
	if err := d.Registry.Standing(ctx, s.Instance); err != nil {
		return nil, err
	}
	for range maxTries {
		end, err := store.EndOf(ctx, d.Log, claims)
		if err != nil {
			return nil, err
		}
		r, err := d.resolve(ctx, s.Where, now)
		if err != nil {
			return nil, err
		}
		if r.Problem != nil {
			return nil, r.Problem
		}
		if stands, err := d.stands(ctx, r, s.Instance); stands || err != nil {
			return r, err
		}
		to := r.best(s)
		if to == nil && !s.Early {
			return nil, d.absent(ctx, r, s, now)
		}
		if err := d.signs(ctx, s); err != nil {
			return nil, err
		}
		line, err := d.line(ctx, r, s, to, now)
		if err != nil {
			return nil, err
		}
		switch _, err := d.Log.Append(ctx, claims, end, line); {
		case err == nil:
			return d.wrote(ctx, s.Where, now)
		case !errors.Is(err, store.ErrConflict):
			return nil, err
		}
	}
	return nil, store.ErrConflict
}

// stands tells whether a claim of an instance stands and holds, with its signature verified.
func (d *Service) stands(ctx context.Context, r *Resolution, i address.Instance) (bool, error) {
	of, _, err := d.events(ctx, r.place.IDs)
	if err != nil {
		return false, err
	}
	v := &verifier{d: d, ctx: ctx}
	c, stands := fold(of[i.Canonical()], v.all)
	return stands && r.holds(&c), v.err
}

// wrote says who conducts when something was written.
func (d *Service) wrote(ctx context.Context, w Where, now time.Time) (*Resolution, error) {
	r, err := d.resolve(ctx, w, now)
	if err != nil {
		return nil, err
	}
	r.Wrote = true
	return r, nil
}

func (s *Request) is(i address.Instance) bool { return i.Canonical() == s.Instance.Canonical() }

// best is the session of an agent that a claim is tied to: the requested one, else one with a server, the latest first.
func (r *Resolution) best(s Request) *presence.Session {
	var best *presence.Session
	for _, c := range r.Candidates {
		switch {
		case !s.is(c.Instance):
		case c.SessionID == s.Session:
			return c.Session
		case best == nil, best.StandsIn() && !c.StandsIn(), best.StandsIn() == c.StandsIn() && c.HeartbeatAt > best.HeartbeatAt:
			best = c.Session
		}
	}
	return best
}

// absent returns why an agent is not a candidate.
func (d *Service) absent(ctx context.Context, r *Resolution, s Request, now time.Time) error {
	e := &NotLiveError{Instance: s.Instance, Workspace: r.Workspace}
	look, err := d.Presence.Look(ctx)
	if err != nil {
		return err
	}
	there, err := look.In(ctx, r.place, now)
	if err != nil {
		return err
	}
	e.Ended = slices.ContainsFunc(there, func(p *presence.Session) bool { return s.is(p.Instance) && p.Ended(d.Machine) })
	return e
}

// maxAhead is how far clocks are taken to differ: an hour or a time zone, and not an invented time.
const maxAhead = 24 * time.Hour

// after is a time that comes behind another one, and is at in case that does already.
func after(at, other string) string {
	t, ok := envelope.ParseTime(other)
	if !ok || at > other {
		return at
	}
	return max(at, envelope.Stamp(t), envelope.Stamp(t.Add(time.Millisecond)))
}

// line makes a claim. It is placed behind all that are valid, unless their times are in the far future, and behind what was
// written in its own name: neither a clock that is late nor one that is early takes the seat away, and existing programs go by
// the greatest time of an instance. No two times are equal: of equal ones existing programs take the instance that came first
// to the log, whenever that was.
func (d *Service) line(ctx context.Context, r *Resolution, s Request, to *presence.Session, now time.Time) ([]byte, error) {
	of, _, err := d.events(ctx, r.place.IDs)
	if err != nil {
		return nil, err
	}
	v := &verifier{d: d, ctx: ctx}
	at, latest := envelope.Stamp(now), envelope.Stamp(now.Add(maxAhead))
	for who, all := range of {
		if c, stands := fold(all, v.all); stands && c.Since <= latest {
			at = after(at, c.Since)
		}
		if s.is(who) {
			at = after(at, all[len(all)-1].at)
		}
	}
	if v.err != nil {
		return nil, v.err
	}
	var o canonjson.Object
	o.Str("type", claimed)
	if to == nil {
		o.Str("workspaceId", r.Workspace)
		o.Str("instance", string(s.Instance.Canonical()))
		o.Str("at", at)
		return sign(o.End(), s.Instance, s.Key)
	}
	o.Str("workspaceId", to.Workspace.ID)
	o.Str("instance", string(s.Instance.Canonical()))
	o.Str("at", at)
	o.Str("sessionId", string(to.SessionID))
	if id, ok := to.Agent(); ok && id.Boot != "" {
		var a canonjson.Object
		a.Int("pid", int64(id.PID))
		a.Raw("start", strconv.AppendUint(nil, id.Start, 10))
		a.Str("boot", id.Boot)
		o.Raw("agent", a.End())
	}
	return sign(o.End(), s.Instance, s.Key)
}

// sign adds a signature to a line, over its canonical form without one.
func sign(line []byte, by address.Instance, key *signature.Private) ([]byte, error) {
	if key == nil {
		return line, nil
	}
	message, err := canonjson.Canonical(line)
	if err != nil {
		return nil, err
	}
	return canonjson.Set(line, "signature", envelope.SignatureJSON(key.Object(string(by.Canonical()), message))), nil
}

// Release gives up what an agent claims, in every spelling of its name, whether it is live or not, and says who conducts then. Who
// claims nothing gives up nothing. *KeyError: its claim is signed, and what is written here would not be, so that it would stay.
func (d *Service) Release(ctx context.Context, s Request, now time.Time) (*Resolution, error) {
	r, err := d.resolve(ctx, s.Where, now)
	wrote := false
	if err == nil {
		wrote, err = d.release(ctx, r.place.IDs, s, now, true)
	}
	if err == nil && wrote {
		r, err = d.wrote(ctx, s.Where, now)
	}
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return r, nil
}

// A spelling is an instance and a workspace as lines of the log spell them: existing programs keep each one apart.
type spelling struct {
	workspace string // in canonical form
	instance  address.Instance
}

// release writes what ends the claims of an agent, and tells whether there was anything to write: for each spelling whose last line is a claim, as existing programs have it, and for the
// claim that stands here. Where it must end, it is not written without the key for it.
func (d *Service) release(ctx context.Context, ids []string, s Request, now time.Time, must bool) (wrote bool, err error) {
	of, _, err := d.events(ctx, ids)
	if err != nil {
		return false, err
	}
	own := of[s.Instance.Canonical()]
	last := map[spelling]event{}
	var order []spelling
	for _, e := range own {
		k := spelling{address.Canonical(e.workspace), e.instance}
		if _, known := last[k]; !known {
			order = append(order, k)
		}
		last[k] = e
	}
	v := &verifier{d: d, ctx: ctx}
	c, stands := fold(own, v.all)
	if v.err != nil {
		return false, v.err
	}
	if must && stands && c.Signed {
		if err := d.signs(ctx, s); err != nil || s.Key == nil {
			return false, cmp.Or[error](err, &KeyError{Instance: s.Instance, Missing: true})
		}
	}
	for _, k := range order {
		e := last[k]
		if e.what != claimed && !(stands && k == spelling{address.Canonical(c.workspace), c.Instance}) {
			continue
		}
		var o canonjson.Object
		o.Str("type", released)
		o.Str("workspaceId", e.workspace)
		o.Str("instance", string(e.instance))
		o.Str("at", after(envelope.Stamp(now), own[len(own)-1].at))
		line, err := sign(o.End(), s.Instance, s.Key)
		if err != nil {
			return wrote, err
		}
		if _, err := d.Log.Append(ctx, claims, store.AnyEnd, line); err != nil {
			return wrote, err
		}
		wrote = true
	}
	return wrote, nil
}

// Forsake releases the claims of an agent that are tied to sessions which are gone: when a new one of its sessions begins, so that
// existing programs, which know of no ties, do not have it conduct again. It writes nothing where there is nothing to release.
func (d *Service) Forsake(ctx context.Context, i address.Instance, key *signature.Private, now time.Time) error {
	ids, err := d.workspacesOf(ctx, i)
	if err != nil || len(ids) == 0 {
		return err
	}
	there, err := d.Presence.Of(ctx, i, now)
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(s *presence.Session) bool { return s.Ended(d.Machine) })
	for _, id := range ids {
		of, _, err := d.events(ctx, []string{id})
		if err != nil {
			return err
		}
		c, stands := fold(of[i.Canonical()], taken)
		if !stands || c.Session == "" || slices.ContainsFunc(there, c.tiedTo) {
			continue
		}
		if _, err := d.release(ctx, []string{id}, Request{Instance: i, Key: key}, now, false); err != nil {
			return fmt.Errorf("release the claim of a session that is gone: %w", err)
		}
	}
	return nil
}

// workspacesOf are the ids of the workspaces about which something was written in the name of an instance.
func (d *Service) workspacesOf(ctx context.Context, i address.Instance) ([]string, error) {
	var ids []string
	for line, err := range store.FindIn(ctx, d.Log, claims, rows, byInstance+string(i.Canonical())) {
		if err != nil {
			return nil, fmt.Errorf("read the claims: %w", err)
		}
		if e, err := parse(line.Data); err == nil && e.instance.Canonical() == i.Canonical() {
			if id := address.Canonical(e.workspace); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
