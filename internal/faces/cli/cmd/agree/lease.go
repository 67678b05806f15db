package agree

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/reservation"
)

// A leaseWork is what verbs need that change file reservations.
type leaseWork struct {
	*app.World
	*reservation.Reservations
	office *mail.Service
	who    *identity.Speaker
}

func leases(ctx context.Context, c *kit.Call, instance string) (*leaseWork, error) {
	w, err := c.World(app.Writing)
	if err != nil {
		return nil, err
	}
	d := &leaseWork{World: w}
	if d.office, err = w.MailService(); err == nil {
		d.who, err = holder(ctx, c, w, instance)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	d.Reservations = full.Leases(w, d.office, d.who, func(line string) { c.Warn("%s", kit.Clean(line)) })
	return d, nil
}

// holder returns the agent that takes and releases reservations.
func holder(ctx context.Context, c *kit.Call, w *app.World, instance string) (*identity.Speaker, error) {
	i, err := inOwnName(ctx, c, w, instance)
	if err != nil {
		return nil, err
	}
	own, unknown := c.Peek(ctx, w, "")
	if unknown == nil && own.Instance.Canonical() == i.Canonical() {
		return own, nil
	}
	return &identity.Speaker{Instance: i, Role: identity.RoleAgent, Scope: identity.DefaultScope}, nil
}

// files returns the paths of the arguments, each with its links resolved.
func files(c *kit.Call) []string { return full.LeasePaths(c.App.Workplace().Path, c.Args) }

type leaseTakeOptions struct {
	For            time.Duration
	Note, Instance string
}

func runLeaseTake(ctx context.Context, c *kit.Call, opt *leaseTakeOptions) error {
	d, err := leases(ctx, c, opt.Instance)
	if err != nil {
		return err
	}
	defer d.World.Close()
	if err := full.SweepLeases(ctx, d.office, d.Reservations, d.who.Instance); err != nil {
		c.Warn("reservations that have ended stay: %s", kit.Clean(err.Error()))
	}
	tie, err := full.LeaseTie(ctx, d.World, d.who.Instance, "")
	if err != nil {
		return err
	}
	now := time.Now()
	taken, err := d.Take(ctx, reservation.Want{
		Spots: full.LeaseSpots(files(c)), Holder: d.who.Instance, Tie: tie, For: kit.Or(c, &opt.For, reservation.Usual), Note: opt.Note,
	}, now)
	if err != nil {
		return leaseFault(err)
	}
	elsewhere, err := full.LeasedElsewhere(ctx, d.office, d.Reservations, d.who, taken, func(line string) { c.Warn("%s", kit.Clean(line)) })
	if err != nil {
		return err
	}
	for _, l := range elsewhere {
		c.Warn("%s has reserved the same in another worktree: %s, until %s", kit.Name(l.Holder), kit.Clean(l.Path), l.Until.Local().Format("15:04:05"))
	}
	if c.JSON {
		return listLeases(ctx, c, d.Reservations, files(c), now)
	}
	for _, l := range taken {
		c.Line("reserved until " + l.Until.Local().Format("15:04:05") + ": " + kit.Clean(l.Path) + suffix(l))
	}
	if tie == nil {
		c.Remark("%s has no live connection, so the reservation ends only when its time is up", kit.Name(d.who.Instance))
	}
	return nil
}

func suffix(l *reservation.Lease) string {
	if l.Folder {
		return "/ and all below"
	}
	return ""
}

// leaseFault gives a refusal its exit status.
func leaseFault(err error) error {
	if held, ok := errors.AsType[*reservation.HeldError](err); ok {
		return &kit.Fault{Code: kit.ExitState, Err: held, Next: held.Hint()}
	}
	switch {
	case errors.Is(err, reservation.ErrLong):
		return kit.UsageHint("--for 30m", "--for: %s", err)
	case errors.Is(err, reservation.ErrMany):
		return kit.BadState("reserve the folder that they are in", "%s", err)
	case errors.Is(err, reservation.ErrWide):
		return kit.BadState("reserve a folder in it", "%s", err)
	case errors.Is(err, reservation.ErrNone):
		return kit.BadState(`"tutti reserve list" shows what is reserved`, "%s", err)
	case errors.Is(err, registry.ErrGone):
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: kit.HintOf(err)}
	}
	return err
}

// listLeases shows the reservations in force that concern the paths, or all if there are no paths.
func listLeases(ctx context.Context, c *kit.Call, d *reservation.Reservations, paths []string, now time.Time) error {
	all, err := d.Standing(ctx, now)
	if err != nil {
		return err
	}
	out := []reservation.View{}
	var rows [][]string
	for _, l := range all {
		if len(paths) > 0 && !slices.ContainsFunc(paths, l.Touches) {
			continue
		}
		out = append(out, l.View())
		rows = append(rows, []string{string(l.Holder), l.Path + suffix(l), "until " + l.Until.Local().Format("15:04:05"), l.Note})
	}
	switch {
	case c.JSON:
		c.Result(out)
	case len(rows) == 0:
		c.Nothing("no reservations")
	default:
		c.Rows(rows)
	}
	return nil
}

func runLeaseList(ctx context.Context, c *kit.Call) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	defer w.Close()
	return listLeases(ctx, c, w.Leases(), files(c), time.Now())
}

type leaseReleaseOptions struct {
	All      bool
	Instance string
}

func runLeaseRelease(ctx context.Context, c *kit.Call, opt *leaseReleaseOptions) error {
	if len(c.Args) == 0 && !opt.All {
		return kit.UsageHint("--all releases all of yours", "reserve release: missing path")
	}
	d, err := leases(ctx, c, opt.Instance)
	if err != nil {
		return err
	}
	defer d.World.Close()
	paths := files(c)
	if opt.All {
		if paths, err = full.HeldPaths(ctx, d.Reservations, d.who.Instance, paths); err != nil {
			return err
		}
	}
	var gone []string
	var refused error
	for _, path := range paths {
		err := d.Release(ctx, path, d.who.Instance, time.Now())
		if untold, ok := errors.AsType[*reservation.UntoldError](err); ok {
			c.Remark("%s is released; %s", kit.Clean(path), kit.Clean(untold.Error()))
		} else if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		gone = append(gone, path)
		if !c.JSON {
			c.Line("released: " + kit.Clean(path))
		}
	}
	switch {
	case refused != nil:
		return leaseFault(refused)
	case c.JSON:
		c.Result(render.List(gone))
	case len(gone) == 0:
		c.Nothing("no reservations of " + strings.TrimSpace(kit.Name(d.who.Instance)))
	}
	return nil
}
