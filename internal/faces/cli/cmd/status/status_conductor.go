package status

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/agree"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// A seatView is the conductor of this folder, shown if there is one, or if several agents work here without one.
type seatView struct {
	conductor address.Instance // "": none
	own       bool             // who looks conducts
	how       string           // by what, and since when
	agents    int              // that are live here
	next      int              // that have claimed the seat behind the conductor
}

// findSeat finds the conductor here. Usually there is none to show: no agent has claimed the role, and one agent works here.
func (v *statusView) findSeat(ctx context.Context, c *kit.Call, w *app.World) error {
	here := 0
	path := c.App.WorkDir()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	at := slices.DeleteFunc(slices.Clone(v.agents), func(r members.Row) bool {
		return r.Session == nil || r.Session.Workspace == nil || r.Session.Workspace.Path != "" && r.Session.Workspace.Path != path
	})
	if here = len(at); here == 0 {
		return nil
	}
	if here == 1 && !claimsIn(w.Root.Path) {
		r, err := w.Registry.Registered(ctx, at[0].Instance)
		if err != nil || !slices.Contains(r.Roles, registry.Conductor) {
			return nil // who is not registered conducts by no role
		}
	}
	var err error
	v.seat, err = seatHere(ctx, c, w)
	return err
}

// claimsIn tells whether anybody has ever claimed a seat on a bus.
func claimsIn(root string) bool {
	i, err := os.Lstat(filepath.Join(root, store.ConductorClaims.Spec().Path))
	return err == nil && i.Size() > 0
}

func saySeat(c *kit.Call, s *seatView) {
	if s == nil {
		return
	}
	text := "no agent conducts the " + kit.Plural(s.agents, "agent") + ` here: "tutti conductor" says who could`
	if s.conductor != "" {
		text = kit.Name(s.conductor) + " conducts here" + s.how
		if s.own {
			text = "you conduct here" + s.how
		}
		if s.next > 0 {
			text += ", then " + kit.Plural(s.next, "other")
		}
	}
	c.Prose(c.Paint(kit.Bold, "lead ")+" ", 6, text)
}

// seatHere returns the conductor of this folder, nil if there is nothing to show.
func seatHere(ctx context.Context, c *kit.Call, w *app.World) (*seatView, error) {
	where, err := full.Workspace(c.App, "")
	if err != nil {
		return nil, err
	}
	r, err := full.Conductor(w).Resolve(ctx, where, time.Now())
	if err != nil {
		return nil, err
	}
	live := map[address.Instance]bool{}
	for _, s := range r.Candidates {
		live[s.Instance.Canonical()] = true
	}
	v := &seatView{conductor: r.Conductor, agents: len(live), next: len(r.Next)}
	if v.conductor == "" && v.agents < 2 {
		return nil, nil
	}
	if v.conductor != "" {
		v.how = agree.HowConducts(r)
	}
	return v, nil
}
