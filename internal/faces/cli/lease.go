package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/governance/reservation"
	"tutti/internal/platform/truepath"
)

// A leaseDesk is what the verbs that change leases work at.
type leaseDesk struct {
	*app.World
	*reservation.Reservations
	office *mail.Service
	who    *identity.Speaker
}

func (c *Call) leases(ctx context.Context) (*leaseDesk, error) {
	w, err := c.world(app.Writing)
	if err != nil {
		return nil, err
	}
	d := &leaseDesk{World: w, Reservations: w.Leases()}
	if d.office, err = w.MailService(); err == nil {
		d.who, err = c.holder(ctx, w)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	d.Tell = func(ctx context.Context, e reservation.Ending) error {
		return app.TellEnded(ctx, d.office, d.who, e, func(line string) { c.warn("%s", Clean(line)) })
	}
	return d, nil
}

// holder is in whose name leases are taken and released.
func (c *Call) holder(ctx context.Context, w *app.World) (*identity.Speaker, error) {
	i, err := c.inOwnName(ctx, w)
	if err != nil {
		return nil, err
	}
	own, nobody := c.peek(ctx, w)
	if nobody == nil && own.Instance.Canonical() == i.Canonical() {
		return own, nil
	}
	return &identity.Speaker{Instance: i, Role: identity.RoleAgent, Scope: identity.DefaultScope}, nil
}

// sweep takes away what has ended, and tells. That is in the name of an agent, so not as long as it waits for its user after a halt.
func (d *leaseDesk) sweep(ctx context.Context, c *Call) {
	on, err := d.office.Engaged(ctx, d.who.Instance)
	if err == nil && on {
		_, err = d.Sweep(ctx, time.Now())
	}
	if err != nil {
		c.warn("leases that have ended stay: %s", Clean(err.Error()))
	}
}

// files are the paths that were given, each as the one that its file has.
func (c *Call) files() []string {
	here := c.App.Workplace().Path
	var all []string
	for _, a := range c.Args {
		if p := truepath.Below(here, a); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func runLeaseTake(ctx context.Context, c *Call) error {
	d, err := c.leases(ctx)
	if err != nil {
		return err
	}
	defer d.World.Close()
	d.sweep(ctx, c)
	tie, err := d.LeaseTie(ctx, d.who.Instance, "")
	if err != nil {
		return err
	}
	now := time.Now()
	taken, err := d.Take(ctx, reservation.Want{
		Spots: app.LeaseSpots(c.files()), Holder: d.who.Instance, Tie: tie, For: c.duration("for", reservation.Usual), Note: c.text("note"),
	}, now)
	if err != nil {
		return leaseFault(err)
	}
	if c.json {
		return c.listLeases(ctx, d.Reservations, c.files(), now)
	}
	for _, l := range taken {
		c.line("leased until " + l.Until.Local().Format("15:04:05") + ": " + Clean(l.Path) + suffix(l))
	}
	if tie == nil {
		c.remark("%s has no live session: the lease ends at its time alone", Clean(string(d.who.Instance)))
	}
	return nil
}

func suffix(l *reservation.Lease) string {
	if l.Folder {
		return "/ and all below"
	}
	return ""
}

// leaseFault gives what is refused its exit status.
func leaseFault(err error) error {
	if held, ok := errors.AsType[*reservation.HeldError](err); ok {
		return &fault{code: exitState, err: held, hint: held.Hint()}
	}
	switch {
	case errors.Is(err, reservation.ErrLong):
		return usageHint("--for 30m", "--for: %s", err)
	case errors.Is(err, reservation.ErrMany):
		return badState("lease the folder in which they lie", "%s", err)
	case errors.Is(err, reservation.ErrWide):
		return badState("lease a folder in it", "%s", err)
	case errors.Is(err, reservation.ErrNone):
		return badState(`"tutti lease list" shows those that there are`, "%s", err)
	case errors.Is(err, registry.ErrGone):
		return &fault{code: exitState, err: err, hint: hintOf(err)}
	}
	return err
}

// listLeases shows the leases that stand: those on the paths, all without any.
func (c *Call) listLeases(ctx context.Context, d *reservation.Reservations, paths []string, now time.Time) error {
	all, err := d.Standing(ctx, now)
	if err != nil {
		return err
	}
	var out list
	var rows [][]string
	for _, l := range all {
		if len(paths) > 0 && !slices.ContainsFunc(paths, l.Touches) {
			continue
		}
		out.raw(l.JSON())
		rows = append(rows, []string{string(l.Holder), l.Path + suffix(l), "until " + l.Until.Local().Format("15:04:05"), l.Note})
	}
	switch {
	case c.json:
		c.emit(out.bytes())
	case len(rows) == 0:
		c.nothing("no lease")
	default:
		c.table(rows)
	}
	return nil
}

func runLeaseList(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil {
		return err
	}
	defer w.Close()
	return c.listLeases(ctx, w.Leases(), c.files(), time.Now())
}

func runLeaseRelease(ctx context.Context, c *Call) error {
	if len(c.Args) == 0 && !c.on("all") {
		return usageHint("--all releases all of yours", "lease release: which path?")
	}
	d, err := c.leases(ctx)
	if err != nil {
		return err
	}
	defer d.World.Close()
	paths := c.files()
	if c.on("all") {
		all, err := d.Standing(ctx, time.Now())
		if err != nil {
			return err
		}
		for _, l := range all {
			if l.Is(d.who.Instance) && !slices.Contains(paths, l.Path) {
				paths = append(paths, l.Path)
			}
		}
	}
	var gone []string
	var refused error
	for _, path := range paths {
		err := d.Release(ctx, path, d.who.Instance, time.Now())
		if untold, ok := errors.AsType[*reservation.UntoldError](err); ok {
			c.remark("%s is released; %s", Clean(path), Clean(untold.Error()))
		} else if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		gone = append(gone, path)
		if !c.json {
			c.line("released: " + Clean(path))
		}
	}
	switch {
	case refused != nil:
		return leaseFault(refused)
	case c.json:
		var out list
		for _, p := range gone {
			out.str(p)
		}
		c.emit(out.bytes())
	case len(gone) == 0:
		c.nothing("no lease of " + strings.TrimSpace(Clean(string(d.who.Instance))))
	}
	return nil
}
