package govern

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/nhi"
)

type longLivedOptions struct{ LongLivedDays string }

// longLived returns the age in days from which a key counts as long-lived.
func longLived(c *kit.Call, opt *longLivedOptions) (int, error) {
	text := opt.LongLivedDays
	if text == "" && !c.IsSet(&opt.LongLivedDays) {
		return nhi.DefaultDays, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n > 0 {
		n, err = nhi.Days(float64(n))
	}
	if err != nil || n <= 0 {
		return 0, kit.UsageHint("--long-lived-days 90", "--long-lived-days: a whole number of days, from 1 on, not %s", kit.Clean(text))
	}
	return n, nil
}

// posture reads all identities. Without a bus there are none.
func posture(ctx context.Context, c *kit.Call, opt *longLivedOptions) (*nhi.Snapshot, int, error) {
	days, err := longLived(c, opt)
	if err != nil {
		return nil, 0, err
	}
	w, err := c.Reads()
	if err != nil {
		return nil, 0, err
	}
	if w == nil {
		return &nhi.Snapshot{}, days, nil
	}
	defer w.Close()
	s, err := snapshot(ctx, c, w)
	return s, days, err
}

func snapshot(ctx context.Context, c *kit.Call, w *app.World) (*nhi.Snapshot, error) {
	s, err := nhi.Take(ctx, w.Registry)
	if err != nil {
		return nil, err
	}
	s.Specified = c.Under == kit.H2A
	return s, nil
}

// runNHIReport reports problems with the identities of the bus.
func runNHIReport(ctx context.Context, c *kit.Call, opt *longLivedOptions) error {
	s, days, err := posture(ctx, c, opt)
	if err != nil {
		return err
	}
	r := s.Report(days, time.Now())
	if c.JSON {
		c.Result(r)
		return nil
	}
	const most = 10
	for _, f := range r.Findings {
		colour := kit.Green
		switch f.Severity {
		case nhi.Medium:
			colour = kit.Yellow
		case nhi.High:
			colour = kit.Red
		}
		c.Line(fmt.Sprintf("%s %s: %s", f.Risk, c.Paint(colour, f.Severity), f.Detail))
		for n, subject := range f.Subjects {
			if n == most {
				c.Line(fmt.Sprintf("  and %d more; --json names all", len(f.Subjects)-most))
				break
			}
			c.Line("  " + kit.Clean(subject))
		}
	}
	sum := r.Summary
	c.Line(fmt.Sprintf("%s, %s, %d without; %s, %d revoked", kit.Plural(sum.Instances, "agent"), kit.Plural(sum.ActiveKeys, "active key"),
		sum.WithoutKey, kit.Plural(sum.ActiveSubagents, "active subagent"), sum.RevokedSubagents))
	return nil
}

// runNHIInventory lists identities with their keys and subagents.
func runNHIInventory(ctx context.Context, c *kit.Call, opt *longLivedOptions) error {
	s, days, err := posture(ctx, c, opt)
	if err != nil {
		return err
	}
	inv := s.Inventory(days, time.Now())
	if c.JSON {
		c.Result(inv)
		return nil
	}
	if len(inv.Listed) == 0 {
		c.Nothing("no agent is registered")
		return nil
	}
	var rows [][]string
	for _, e := range inv.Listed {
		var keys []string
		for _, k := range e.Keys {
			word := k.Fingerprint
			if k.LongLived {
				word += fmt.Sprintf(" (%d days old)", *k.AgeDays)
			}
			if len(k.SharedWith) > 0 {
				word += fmt.Sprintf(" (shared with %s)", kit.Plural(len(k.SharedWith), "other"))
			}
			keys = append(keys, word)
		}
		state := "in service"
		if e.Offboarded {
			state = "offboarded"
		}
		if len(keys) == 0 {
			keys = []string{"no key"}
		}
		rows = append(rows, []string{e.ID, state, strings.Join(keys, ", "), kit.Plural(len(e.Subagents), "subagent")})
	}
	c.Rows(rows)
	return nil
}

type attestOptions struct {
	longLivedOptions
	Instance, PrivateKey, Role, Scope string
}

// runNHIAttest signs the report.
func runNHIAttest(ctx context.Context, c *kit.Call, opt *attestOptions) error {
	days, err := longLived(c, &opt.longLivedOptions)
	if err != nil {
		return err
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	s := nhi.Statement{Role: opt.Role, Scope: opt.Scope}
	if s.Instance, err = c.Actor(ctx, w, opt.Instance); err != nil {
		return err
	}
	switch {
	case opt.PrivateKey != "":
		s.Key, err = c.KeyFile(opt.PrivateKey)
	case c.Under == kit.H2A:
		return c.Missing(&opt.PrivateKey)
	default:
		s.Key, err = w.Ring.Load(s.Instance)
	}
	if err != nil {
		return err
	}
	all, err := snapshot(ctx, c, w)
	if err != nil {
		return err
	}
	raw, foreign, err := nhi.Attest(ctx, w.Registry, s, all.Report(days, time.Now()))
	switch {
	case errors.Is(err, nhi.ErrNoActor):
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: "--role and --scope say as what; a registration would as well"}
	case errors.Is(err, nhi.ErrRole):
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: "the roles are " + strings.Join(nhi.Roles(), ", ")}
	case err != nil:
		return c.RegistryFault(err)
	}
	if foreign {
		c.Warn("the key does not belong to %s, so no one will accept this signature", kit.Name(s.Instance))
	}
	c.EmitSigned(raw)
	return nil
}

// An offboarded is what --json says of an identity that was taken out of service.
type offboarded struct {
	OK bool `json:"ok"`
	nhi.Gone
}

type offboardOptions struct {
	Instance, Reason string
	Yes              bool
}

// runNHIOffboard takes an agent out of service.
func runNHIOffboard(ctx context.Context, c *kit.Call, opt *offboardOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	l := nhi.Leave{Reason: opt.Reason}
	if l.Instance, err = about(ctx, c, w, &opt.Instance); err == nil {
		err = bus.PersonOnly(c, l.Instance, "nhi offboard")
	}
	if err == nil {
		err = c.InName(ctx, w, l.Instance)
	}
	if err == nil && c.Under == kit.Tutti {
		again := "tutti retire " + app.QuoteArg(string(l.Instance)) + " --yes"
		if opt.Reason != "" {
			again += " --reason " + app.QuoteArg(kit.Clean(opt.Reason))
		}
		err = c.Confirm(opt.Yes, "Retire "+kit.Name(l.Instance)+" for good? Its keys are revoked, and it is never accepted again.", "nothing was changed: an agent is retired for good",
			again)
	}
	if err != nil {
		return err
	}
	switch by, err := c.Peek(ctx, w, ""); {
	case err == nil:
		l.By = by.Instance
	case kit.NotOwn(err): // an unknown caller is not recorded
		return err
	}
	if bus.IsPerson(l.Instance) {
		l.Key = bus.Prover(ctx, c, w, l.Instance)
	}
	sealed := func(ctx context.Context, who address.Instance, key signature.Public) []string {
		if !bus.IsPerson(who) {
			return nil
		}
		hashes, problems := bus.SealedBy(ctx, w, who, key)
		return bus.SealedBefore(c, hashes, problems)
	}
	t, err := (&nhi.Service{Registry: w.Registry, Presence: w.Presence, Log: w.Store, Sealed: sealed}).Offboard(ctx, l, time.Now())
	if err != nil {
		return c.RegistryFault(err)
	}
	bus.StillHeld(ctx, c, w, l.Instance)
	if c.JSON {
		c.Result(offboarded{true, nhi.GoneOf(t)})
		return nil
	}
	c.Printf("offboarded: %s\n", kit.Name(t.Instance))
	c.Line(fmt.Sprintf("  %s and %s revoked, %s released, %s closed, %s ended", kit.Plural(t.Keys, "key"), kit.Plural(len(t.Subagents), "subagent"),
		kit.Plural(len(t.Claims), "claim"), kit.Plural(len(t.Sessions), "session"), kit.Plural(len(t.Grants), "grant")))
	return nil
}

type exportOptions struct{ Instance, TrustDomain string }

// runNHIExport prints the keys of an agent as a bundle of a trust domain.
func runNHIExport(ctx context.Context, c *kit.Call, opt *exportOptions) error {
	if opt.TrustDomain == "" {
		return c.Missing(&opt.TrustDomain)
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := about(ctx, c, w, &opt.Instance)
	if err != nil {
		return err
	}
	if _, err := w.Registry.Registered(ctx, who); errors.Is(err, registry.ErrNotRegistered) && c.Under != kit.H2A {
		c.Warn("%s is not registered here: its bundle is empty", kit.Name(who))
	}
	bundle, err := nhi.Bundle(ctx, w.Registry, who, opt.TrustDomain)
	if name, ok := errors.AsType[*nhi.NameError](err); ok {
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: name.Hint()}
	}
	if err != nil {
		return err
	}
	c.EmitSigned(render.JSON(bundle))
	return nil
}
