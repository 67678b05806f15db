package cli

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
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/nhi"
)

// longLived is the age in days from which on a key is called long-lived.
func (c *Call) longLived() (int, error) {
	text := c.value("long-lived-days")
	if text == "" && !c.isSet("long-lived-days") {
		return nhi.DefaultDays, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n > 0 {
		n, err = nhi.Days(float64(n))
	}
	if err != nil || n <= 0 {
		return 0, usageHint("--long-lived-days 90", "--long-lived-days: a whole number of days, from 1 on, not %s", Clean(text))
	}
	return n, nil
}

// posture reads all identities. Where there is no bus there are none.
func (c *Call) posture(ctx context.Context) (*nhi.Snapshot, int, error) {
	days, err := c.longLived()
	if err != nil {
		return nil, 0, err
	}
	w, err := c.reads()
	if err != nil {
		return nil, 0, err
	}
	if w == nil {
		return &nhi.Snapshot{}, days, nil
	}
	defer w.Close()
	s, err := nhi.Take(ctx, w.Registry)
	return s, days, err
}

// runNHIReport says what is wrong with the identities of the bus.
func runNHIReport(ctx context.Context, c *Call) error {
	s, days, err := c.posture(ctx)
	if err != nil {
		return err
	}
	r := s.Report(days, time.Now())
	if c.json {
		c.emit(r.JSON(0))
		return nil
	}
	const most = 10
	for _, f := range r.Findings {
		colour := green
		switch f.Severity {
		case nhi.Medium:
			colour = yellow
		case nhi.High:
			colour = red
		}
		c.line(fmt.Sprintf("%s %s: %s", f.Risk, c.paint(colour, f.Severity), f.Detail))
		for n, subject := range f.Subjects {
			if n == most {
				c.line(fmt.Sprintf("  and %d more; --json names all", len(f.Subjects)-most))
				break
			}
			c.line("  " + Clean(subject))
		}
	}
	sum := r.Summary
	c.line(fmt.Sprintf("%s, %s, %d without; %s, %d revoked", plural(sum.Instances, "agent"), plural(sum.ActiveKeys, "active key"),
		sum.WithoutKey, plural(sum.ActiveSubagents, "active subagent"), sum.RevokedSubagents))
	return nil
}

// runNHIInventory lists identities with their keys and subagents.
func runNHIInventory(ctx context.Context, c *Call) error {
	s, days, err := c.posture(ctx)
	if err != nil {
		return err
	}
	inv := s.Inventory(days, time.Now())
	if c.json {
		c.emit(inv.JSON(0))
		return nil
	}
	if len(inv.Entries) == 0 {
		c.nothing("nobody is registered")
		return nil
	}
	var rows [][]string
	for _, e := range inv.Entries {
		var keys []string
		for _, k := range e.Keys {
			word := k.Fingerprint
			if k.LongLived {
				word += fmt.Sprintf(" (%d days old)", k.AgeDays)
			}
			if len(k.SharedWith) > 0 {
				word += fmt.Sprintf(" (shared with %s)", plural(len(k.SharedWith), "other"))
			}
			keys = append(keys, word)
		}
		state := "in service"
		if e.Gone != nil {
			state = "offboarded"
		}
		if len(keys) == 0 {
			keys = []string{"no key"}
		}
		rows = append(rows, []string{e.ID, state, strings.Join(keys, ", "), plural(len(e.Subagents), "subagent")})
	}
	c.table(rows)
	return nil
}

// runNHIAttest signs the report.
func runNHIAttest(ctx context.Context, c *Call) error {
	days, err := c.longLived()
	if err != nil {
		return err
	}
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	s := nhi.Statement{Role: c.value("role"), Scope: c.value("scope")}
	if s.Instance, err = c.subject(ctx, w); err != nil {
		return err
	}
	switch path := c.value("private-key"); {
	case path != "":
		s.Key, err = c.keyFile(path)
	case c.under == H2A:
		return c.missing("private-key")
	default:
		s.Key, err = w.Ring.Load(s.Instance)
	}
	if err != nil {
		return err
	}
	all, err := nhi.Take(ctx, w.Registry)
	if err != nil {
		return err
	}
	raw, foreign, err := nhi.Attest(ctx, w.Registry, s, all.Report(days, time.Now()))
	switch {
	case errors.Is(err, nhi.ErrNoActor):
		return &fault{code: exitState, err: err, hint: "--role and --scope say as what; a registration would as well"}
	case errors.Is(err, nhi.ErrRole):
		return &fault{code: exitUsage, err: err, hint: "the roles are " + strings.Join(nhi.Roles(), ", ")}
	case err != nil:
		return c.registryFault(err)
	}
	if foreign {
		c.warn("the key is not one of %s: nobody will believe this", Clean(string(s.Instance)))
	}
	c.emit(raw)
	return nil
}

// runNHIOffboard takes an agent out of service.
func runNHIOffboard(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	l := nhi.Leave{Reason: c.value("reason")}
	if l.Instance, err = c.about(ctx, w, "instance"); err == nil {
		err = c.personOnly(l.Instance, "nhi offboard")
	}
	if err == nil && c.under == Tutti {
		err = c.confirm("Retire "+Clean(string(l.Instance))+" for good? Its keys are revoked, and it is never accepted again.", "nothing was changed: nhi offboard cannot be undone",
			"tutti nhi offboard "+app.QuoteArg(string(l.Instance))+" --yes")
	}
	if err != nil {
		return err
	}
	if by, err := c.peek(ctx, w); err == nil { // who cannot be told is not on record
		l.By = by.Instance
	}
	if isPerson(l.Instance) {
		l.Key = c.prover(ctx, w, l.Instance)
	}
	sealed := func(ctx context.Context, who address.Instance, key signature.Public) []string {
		if !isPerson(who) {
			return nil
		}
		hashes, problems := sealedBy(ctx, w, who, key)
		return c.sealedBefore(hashes, problems)
	}
	t, err := (&nhi.Service{Registry: w.Registry, Presence: w.Presence, Log: w.Store, Sealed: sealed}).Offboard(ctx, l, time.Now())
	if err != nil {
		return c.registryFault(err)
	}
	c.stillHeld(ctx, w, l.Instance)
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		nhi.JSON(t, &o)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("offboarded: %s\n", Clean(string(t.Instance)))
	c.line(fmt.Sprintf("  %s and %s revoked, %s released, %s closed, %s ended", plural(t.Keys, "key"), plural(len(t.Subagents), "subagent"),
		plural(len(t.Claims), "claim"), plural(len(t.Sessions), "session"), plural(len(t.Grants), "grant")))
	return nil
}

// runNHIExport prints the keys of an agent as a bundle of a trust domain.
func runNHIExport(ctx context.Context, c *Call) error {
	if c.value("trust-domain") == "" {
		return c.missing("trust-domain")
	}
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := c.about(ctx, w, "instance")
	if err != nil {
		return err
	}
	if _, err := w.Registry.Registered(ctx, who); errors.Is(err, registry.ErrNotRegistered) && c.under != H2A {
		c.warn("%s is not registered here: its bundle is empty", Clean(string(who)))
	}
	raw, err := nhi.Bundle(ctx, w.Registry, who, c.value("trust-domain"))
	if name, ok := errors.AsType[*nhi.NameError](err); ok {
		return &fault{code: exitUsage, err: err, hint: name.Hint()}
	}
	if err != nil {
		return err
	}
	c.emit(raw)
	return nil
}
