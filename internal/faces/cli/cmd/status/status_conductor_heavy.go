package status

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/agree"
	"tutti/internal/faces/cli/kit"
)

// seatHere is who conducts the folder here, nil where that is no question.
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
