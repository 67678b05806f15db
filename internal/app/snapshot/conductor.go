package snapshot

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
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
)

// A Conductor is the conductor of this folder, shown if there is one, or if several agents work here without one.
type Conductor struct {
	Instance address.Instance // "": none
	Found    *conductor.Resolution
	Own      bool // who looks conducts
	Agents   int  // that are live here
	Next     int  // that have claimed the role behind the conductor
}

// findConductor finds the conductor here. Usually there is none to show: no agent has claimed the role, and one agent works here.
func (v *View) findConductor(ctx context.Context, w *app.World) error {
	here := 0
	path := v.App.WorkDir()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	at := slices.DeleteFunc(slices.Clone(v.Agents), func(r members.Row) bool {
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
	v.Conductor, err = conductorHere(ctx, w)
	return err
}

// claimsIn tells whether anybody has ever claimed a seat on a bus.
func claimsIn(root string) bool {
	i, err := os.Lstat(filepath.Join(root, store.ConductorClaims.Spec().Path))
	return err == nil && i.Size() > 0
}

// conductorHere returns the conductor of this folder, nil if there is nothing to show.
func conductorHere(ctx context.Context, w *app.World) (*Conductor, error) {
	where, err := full.Workspace(w.App, "")
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
	v := &Conductor{Instance: r.Conductor, Found: r, Agents: len(live), Next: len(r.Next)}
	if v.Instance == "" && v.Agents < 2 {
		return nil, nil
	}
	return v, nil
}
