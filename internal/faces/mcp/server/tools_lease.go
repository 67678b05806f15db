package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/reservation"
	"tutti/internal/halt"
)

// The rows of the tools about who works on which file.
var (
	pathsProp = prop{"paths", described(someStrings, "files, or folders with everything below them; relative ones to the folder of this server"), false}

	takeTool = tool{
		name: "tutti_lease_take", effect: acts, again: true, run: leaseTake,
		result: reserved{},
		does: "Lease (reserve) files or folders before you edit them, so that other agents are warned; nothing is locked. All " +
			"paths or none. Refused with the holder and the end if another agent has one; you get mail when it ends. To take " +
			"again prolongs.",
		props: []prop{
			{"paths", pathsProp.schema, true},
			{"for", described(aString, "how long: 30m (usual), 2h; at most 24h"), false},
			{"note", described(aString, "what you do there, in one line"), false},
		},
	}
	listTool = tool{
		name: "tutti_lease_list", effect: reads, again: true, run: leaseList,
		result: reserved{},
		does:   "List who works on which files (leases, reservations): holder, path, until; with paths only what concerns these.",
		props:  []prop{pathsProp, limitProp, cursorProp},
	}
	releaseTool = tool{
		name: "tutti_lease_release", effect: ends, again: true, run: leaseRelease,
		result: released{},
		does:   "Release your leases on files when you are done: those on the paths, or with all every one of yours. Agents that wait for them get mail.",
		props:  []prop{pathsProp, {"all", `{"type":"boolean"}`, false}},
	}
)

// paths are the files that a call names, each as the one path that it has.
func (c *call) paths() ([]string, error) {
	raw := c.raw("paths")
	given, ok := canonjson.Strings(raw)
	if one, is := canonjson.String(raw); is {
		given, ok = []string{one}, true
	}
	const most = 100
	if raw != nil && !ok || len(given) > most || slices.Contains(given, "") {
		return nil, c.refuse(`"paths":["src/a.go"]`, "'paths' is not a list of at most %d paths", most)
	}
	return full.LeasePaths(c.facts.Place().Path, given), nil
}

func leaseTake(ctx context.Context, c *call) (any, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, c.missing("paths")
	}
	w := reservation.Want{For: reservation.Usual, Note: c.text("note")}
	if text := c.text("for"); text != "" {
		if w.For, err = time.ParseDuration(text); err != nil {
			return nil, c.refuse(`"for":"30m"`, "'for': %q is not a time", termsafe.Cut(text, maxWord))
		}
	}
	own, err := c.speaker(ctx, c.bus, false)
	if err != nil {
		return nil, err
	}
	w.Holder = own.Instance
	for _, s := range c.attend.Sessions() {
		if s.Instance.Canonical() == own.Instance.Canonical() {
			w.Tie = s
		}
	}
	if w.Tie == nil {
		if w.Tie, err = full.LeaseTie(ctx, c.World, own.Instance, ""); err != nil {
			return nil, err
		}
	}
	c.sweepLeases(ctx, c.bus)
	w.Spots = full.LeaseSpots(paths)
	desk := full.Leases(c.World, c.office, own, c.log)
	all, err := desk.Take(ctx, w, time.Now())
	if held, ok := errors.AsType[*reservation.HeldError](err); ok {
		return nil, c.refuse("ask its holder with tutti_send, or work on something else: you get mail when it has ended", "%s", held)
	}
	if err != nil {
		return nil, err
	}
	elsewhere, err := full.LeasedElsewhere(ctx, c.office, desk, own, all, c.log)
	if err != nil {
		return nil, err
	}
	warning := ""
	if len(elsewhere) > 0 {
		l := elsewhere[0]
		warning = name(l.Holder) + " has reserved the same in another worktree: " + word(l.Path) + "; agree on who changes it"
	}
	return c.leases(all, warning)
}

// leases answers with leases, as many as one answer takes.
func (c *call) leases(all []*reservation.Lease, warning string) (any, error) {
	rows := numbered(all, func(l *reservation.Lease) string { return termsafe.Cut(l.Path, maxWord) }, (*reservation.Lease).View)
	return answerPage(c, "its path is too long to be shown", rows, func(p page[reservation.View]) any { return reserved{p.rows, p.pageTail, warning} })
}

// A reserved is a page of reservations.
type reserved struct {
	Leases []reservation.View `json:"leases"`
	pageTail
	Warning string `json:"warning,omitempty"` // about the same file in another worktree
}

// A released says which reservations were released.
type released struct {
	OK       bool     `json:"ok"`
	Released []string `json:"released"` // the first paths
	Count    int      `json:"count"`    // of all
}

func leaseList(ctx context.Context, c *call) (any, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	all, err := c.Leases().Standing(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	return c.leases(slices.DeleteFunc(all, func(l *reservation.Lease) bool { return len(paths) > 0 && !slices.ContainsFunc(paths, l.Touches) }), "")
}

func leaseRelease(ctx context.Context, c *call) (any, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	own, err := c.speaker(ctx, c.bus, true)
	if err != nil {
		return nil, err
	}
	d := full.Leases(c.World, c.office, own, c.log)
	if all, _ := canonjson.Bool(c.raw("all")); all {
		if paths, err = full.HeldPaths(ctx, d, own.Instance, paths); err != nil {
			return nil, err
		}
	} else if len(paths) == 0 {
		return nil, c.missing("paths")
	}
	var gone []string
	for _, path := range paths {
		err := d.Release(ctx, path, own.Instance, time.Now())
		if errors.Is(err, reservation.ErrNone) {
			continue // already done
		}
		if untold, ok := errors.AsType[*reservation.UntoldError](err); ok {
			c.log(untold.Error())
			err = nil
		}
		if held, ok := errors.AsType[*reservation.HeldError](err); ok {
			return nil, c.refuse("only its holder releases it", "%s", held)
		}
		if err != nil {
			return nil, err
		}
		gone = append(gone, termsafe.Cut(path, maxWord))
	}
	return released{true, render.List(gone[:min(len(gone), 30)]), len(gone)}, nil
}

// watchLeases looks from time to time for leases that have ended, and tells.
func (v *server) watchLeases(ctx context.Context, b *bus) {
	const beats = 3 // a minute, where heartbeats are as usual
	tick := time.NewTicker(beats * v.o.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			v.sweepLeases(ctx, b)
		}
	}
}

// sweepLeases removes ended reservations, and mails the agents concerned in the name of this connection. A halted or paused agent sends
// nothing: an ended reservation stays until another agent may report it, and blocks nothing.
func (v *server) sweepLeases(ctx context.Context, b *bus) {
	if halt.Read().Halted || b.astray() != nil {
		return
	}
	d := b.Leases()
	if all, err := d.All(ctx); err != nil || len(all) == 0 {
		return
	}
	own, err := v.speaker(ctx, b, true)
	if err != nil {
		return // another process will
	}
	if err := full.SweepLeases(ctx, b.office, full.Leases(b.World, b.office, own, v.log), own.Instance); err != nil && ctx.Err() == nil {
		v.log("leases that have ended: " + err.Error())
	}
}
