package status

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/snapshot"
	"tutti/internal/attention/haltreport"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/cmd/stop"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

type statusOptions struct {
	Scope, Instance, Name string
	Here, Long, Short     bool
}

// runStatus shows one screen of all agents of this machine; under h2a it is the inventory of live sessions.
func runStatus(ctx context.Context, c *kit.Call, opt *statusOptions) error {
	if c.Under == kit.H2A {
		c.Banner(halt.Read())
		return inventory(ctx, c, opt)
	}
	if opt.Short && !c.JSON {
		fast.SayShort(c)
		return nil
	}
	o := snapshotOptions(c)
	o.Here, o.Instance, o.Whole, o.Facts = opt.Here, opt.Instance, opt.Long || c.JSON, opt.Long || c.JSON
	if c.JSON {
		c.Banner(halt.Read())
	}
	if root, err := c.App.Root(); err == nil {
		c.SayRoot(root)
	}
	v, err := snapshot.Take(ctx, o)
	if v == nil {
		return err
	}
	for _, w := range v.Warnings {
		c.Warn("%s", kit.Clean(w))
	}
	if _, person := c.JobActor(); person && !opt.Here && opt.Instance == "" {
		if err := v.KeepGlance(); err != nil {
			c.Warn("keep the counts for --short: %s", kit.Clean(err.Error()))
		}
	}
	v.Hints = hints(c, v)
	if c.JSON {
		c.Result(v.Snapshot())
	} else {
		sayStatus(c, v, opt.Long)
	}
	if err != nil {
		err = kit.NoBus(err) // of the bus of this folder
	}
	return err
}

// hints are what the user may do next.
func hints(c *kit.Call, v *snapshot.View) (all []string) {
	if v.NoBus != nil {
		all = append(all, strings.Split(v.NoBus.Hint(), "\n")...)
	}
	if _, unknown := errors.AsType[*identity.UnknownError](v.WhoErr); v.WhoErr != nil && !unknown {
		all = append(all, kit.HintOf(v.WhoErr))
	}
	if v.Unread > 0 && c.JSON {
		all = append(all, `"tutti receive" shows the mail`)
	}
	all = letterHints(v.Letters, all)
	if v.Halted.Halted && c.UserReads() {
		all = append(all, kit.LiftHint(v.Halted))
	}
	return all
}

// snapshotOptions are those of a look for the caller.
func snapshotOptions(c *kit.Call) *snapshot.Options {
	o := &snapshot.Options{App: c.App, Actor: c.JobActor}
	o.Who = func(ctx context.Context, w *app.World) (*identity.Speaker, error) {
		if o.Instance == "" {
			return c.Peek(ctx, w, "")
		}
		if err := address.Check(o.Instance); err != nil {
			return nil, err
		}
		who, err := c.Meant(ctx, w, o.Instance)
		return &identity.Speaker{Instance: who, How: "--instance"}, err
	}
	o.Reached = func(ctx context.Context) *haltreport.Report { return stop.HaltKnown(ctx, c) }
	return o
}

// inventory lists the live sessions of this bus, and those mirrored from others.
func inventory(ctx context.Context, c *kit.Call, opt *statusOptions) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	found, err := bus.Fresh(ctx, &bus.SessionFilter{Scope: opt.Scope, Instance: opt.Instance, Name: opt.Name}, w)
	if err != nil {
		return err
	}
	var direct, indirect []*presence.Session
	for _, s := range found {
		if s.MirroredAt != "" {
			indirect = append(indirect, s)
		} else {
			direct = append(direct, s)
		}
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	d := directory{OK: true, Root: root.Path, Direct: bus.SessionsJSON(direct), Indirect: bus.SessionsJSON(indirect)}
	d.Counts.Direct, d.Counts.Indirect, d.Counts.Total = len(direct), len(indirect), len(found)
	c.Result(d)
	return nil
}
