package session

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
)

// Instances are agents by their canonical address.
type Instances map[address.Instance]bool

func (i Instances) Add(one string) {
	if one != "" {
		i[address.Instance(one).Canonical()] = true
	}
}

// headless are the agents that are live on a bus of this machine and in no session of a registry.
func (s *sessions) headless(ctx context.Context, taken Instances, machine string, now time.Time) (all []observe.Listed) {
	if s.at.Registry != "" {
		return nil
	}
	problems := s.c.App.Worlds(func(w *app.World) error {
		rows, err := w.Book.Discover(ctx, members.Filter{}, now)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if r.Session == nil || r.Session.MirroredAt != "" || r.Instance.Host() == identity.Human || taken[r.Instance.Canonical()] {
				continue
			}
			dir := overview.FolderOf(r)
			if s.alone() && !app.Below(dir, s.dir) {
				continue
			}
			taken[r.Instance.Canonical()] = true
			all = append(all, observe.Listed{
				Name: string(r.Instance), Status: "live", Found: observe.Alive.String(), Agent: r.Host, Cwd: dir, Instance: string(r.Instance),
				Machine: machine, Kind: observe.Headless, AsOf: now.UTC().Truncate(time.Millisecond), Bus: w.Root.Path, PID: r.Session.PID,
			})
		}
		return nil
	})
	for _, p := range problems {
		s.c.Warn("%s: %s", kit.Clean(s.c.App.Shown(p.Bus)), kit.Clean(p.Error))
	}
	return all
}
