package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/conductor"
)

// where is the workspace that the call names, else the one of this server.
func (c *call) where() (conductor.Where, error) {
	given := c.text("workspaceId")
	if given != "" {
		if err := address.Check(given); err != nil || given[0] == '-' {
			return conductor.Where{}, c.refuse("give the workspaceId of a session as "+c.toolName("h2a_discover_sessions")+" shows it, or a folder as workspacePath", "%q is not a workspace id", termsafe.Cut(given, maxWord))
		}
		return conductor.Where{ID: given}, nil
	}
	if given = c.text("workspacePath"); given == "" {
		return full.Folder(c.facts.Place()), nil
	}
	w, err := full.Workspace(c.app, given)
	if errors.Is(err, full.ErrWorkspace) {
		err = c.refuse("workspacePath is a folder", "%s", err)
	}
	return w, err
}

// resolution answers with who conducts, and as many candidates as one answer takes.
func (c *call) resolution(r *conductor.Resolution) (any, error) {
	v := r.View()
	rows := make([]row[conductor.CandidateView], len(v.Candidates))
	for n, one := range v.Candidates {
		rows[n] = row[conductor.CandidateView]{key: rowKey(n), id: string(r.Candidates[n].SessionID), make: func() (conductor.CandidateView, error) { return one, nil }}
	}
	l := c.paged("its record is too long to be shown")
	l.more = "h2a_conductor"
	return fill(l, rows, func(p page[conductor.CandidateView]) any {
		a := conducts{v.Workspace, v.Conductor, v.ClaimedBy, v.Live, v.Since, v.Signed, nil, p.rows, p.omissions, p.Left, p.More}
		if p.pageNext.Next != "" {
			a.Next = p.pageNext.Next
		} else if len(v.Next) > 0 {
			a.Next = v.Next
		}
		return a
	})
}

// A conducts says who conducts a workspace.
type conducts struct {
	Workspace  string                    `json:"workspaceId"`
	Conductor  *address.Instance         `json:"conductor"` // null: no agent conducts
	ClaimedBy  *address.Instance         `json:"claimedBy"` // null where it conducts by its role, or no agent conducts
	Live       bool                      `json:"live"`      // there is a candidate
	Since      string                    `json:"since,omitempty"`
	Signed     *bool                     `json:"signed,omitempty"`
	Next       any                       `json:"next,omitempty"` // the agents that follow; where there are more candidates, the cursor of the next page
	Candidates []conductor.CandidateView `json:"candidates"`
	omissions
	Left int    `json:"left,omitempty"` // candidates that follow
	More string `json:"more,omitempty"` // what to call
}

func conductorNow(ctx context.Context, c *call) (any, error) {
	where, err := c.where()
	if err != nil {
		return nil, err
	}
	r, err := full.Conductor(c.World).Resolve(ctx, where, time.Now())
	if err != nil {
		return nil, err
	}
	return c.resolution(r)
}

func conductorClaim(ctx context.Context, c *call) (any, error) {
	return c.sit(ctx, (*conductor.Service).Claim)
}

func conductorRelease(ctx context.Context, c *call) (any, error) {
	return c.sit(ctx, (*conductor.Service).Release)
}

// sit takes or gives up the seat in the name of this connection.
func (c *call) sit(ctx context.Context, do func(*conductor.Service, context.Context, conductor.Request, time.Time) (*conductor.Resolution, error)) (any, error) {
	who, err := c.actor(ctx, c.bus, address.Instance(c.text("instance")))
	if err != nil {
		return nil, err
	}
	s := conductor.Request{Instance: who.Instance}
	if s.Where, err = c.where(); err != nil {
		return nil, err
	}
	if s.Key, err = c.Ring.Load(who.Instance); errors.Is(err, keyring.ErrNoKey) {
		s.Key, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, own := range c.attend.Sessions() {
		if own.Instance.Canonical() == who.Instance.Canonical() {
			s.Session = own.SessionID
		}
	}
	r, err := do(full.Conductor(c.World), ctx, s, time.Now())
	if none, ok := errors.AsType[*conductor.NotLiveError](err); ok {
		return nil, c.refuse(c.toolName("h2a_session_open")+" opens a session of yours here; only who is live in a workspace can conduct it", "%s", none)
	}
	if err != nil {
		return nil, err
	}
	return c.resolution(r)
}

// advice says whether to launch an agent that conducts.
func (c *call) advice(ctx context.Context) (*conductor.Check, error) {
	idle := float64(conductor.DefaultIdle)
	if c.raw("idleMs") != nil {
		if idle = c.number("idleMs", -1); !(idle > 0) || idle > 1e18 {
			return nil, c.refuse("86400000 is a day", "'idleMs' is not a number of milliseconds above 0")
		}
	}
	where, err := c.where()
	if err != nil {
		return nil, err
	}
	check, _, err := full.Advice(ctx, c.World, where, idle) // without a tracker the advice is given all the same
	return check, err
}

func conductorCheck(ctx context.Context, c *call) (any, error) {
	check, err := c.advice(ctx)
	if err != nil {
		return nil, err
	}
	return shorter(&check.Activity, func() any { return check.View() }), nil
}

// shorter makes an object with as many stalled items as one answer takes; what is left out is counted.
func shorter(a *conductor.Activity, view func() any) any {
	for {
		o := view()
		if len(a.Stalled) == 0 || fits(o) {
			return o
		}
		half := len(a.Stalled) / 2
		a.More += len(a.Stalled) - half
		a.Stalled = a.Stalled[:half]
	}
}

func conductorLaunch(ctx context.Context, c *call) (any, error) {
	check, err := c.advice(ctx)
	if err != nil {
		return nil, err
	}
	shorter(&check.Activity, func() any { return check.View() })
	l := conductor.Launch{Check: check, Remote: address.Instance(c.text("remote")), Leases: c.Store, Holder: "mcp-serve " + strconv.Itoa(c.pid)}
	l.Confirm, _ = canonjson.Bool(c.raw("confirm"))
	if l.Remote != "" {
		if err := address.Check(string(l.Remote)); err != nil {
			return nil, c.refuse("tutti_peers lists ids", "'remote': %s", err)
		}
	}
	if name := c.text("instance"); name != "" {
		who, err := c.actor(ctx, c.bus, address.Instance(name))
		if err != nil {
			return nil, err
		}
		l.From = who.Instance
	}
	l.Deliver = full.LaunchMail(c.office, &l)
	o, err := full.Conductor(c.World).Launch(ctx, l, time.Now())
	if errors.Is(err, conductor.ErrNoSender) {
		return nil, c.missing("instance")
	}
	if err != nil {
		return nil, err
	}
	return shorter(&check.Activity, func() any { return o.View() }), nil
}

// forsake releases what an agent claimed for a session that is gone.
func (v *server) forsake(ctx context.Context, b *bus, i address.Instance) error {
	key, err := b.Ring.Load(i)
	if err != nil && !errors.Is(err, keyring.ErrNoKey) {
		return err
	}
	return full.Conductor(b.World).Forsake(ctx, i, key, time.Now())
}
