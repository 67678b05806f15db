package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/blocker"
)

type blockageRaiseOptions struct{ Instance, Reason, Scope, Needs, On string }

// RunBlockageRaise records what blocks an agent.
func RunBlockageRaise(ctx context.Context, c *kit.Call, opt *blockageRaiseOptions) error {
	call := blocker.Call{Reason: opt.Reason, Needs: opt.Needs, Scope: opt.Scope}
	if c.Under == kit.H2A && opt.Instance == "" {
		return c.Missing(&opt.Instance)
	}
	if call.Reason = strings.TrimSpace(cmp.Or(c.Arg(0), call.Reason)); call.Reason == "" {
		return c.Missing(&opt.Reason)
	}
	w, err := c.World(c.WriteMode())
	if err != nil {
		return err
	}
	defer w.Close()
	if call.Instance, err = c.Actor(ctx, w, opt.Instance); err != nil {
		return err
	}
	for _, name := range kit.Split(opt.On) {
		who, err := c.Checked(ctx, w, name)
		if err != nil {
			return err
		}
		call.On = append(call.On, who)
	}
	made, replaced, err := full.RaiseBlocker(ctx, w, call, c.IsSet(&opt.Scope))
	switch {
	case err != nil && c.Under == kit.H2A: // that program knows no other status
		return kit.Refuse(kit.HintOf(err), "%s", kit.Clean(err.Error()))
	case err != nil:
		return err
	}
	if replaced != nil && replaced.Reason != made.Reason {
		c.Warn("this takes the place of what blocked %s until now: %s", kit.Name(made.Instance), kit.Clean(termsafe.Cut(replaced.Reason, kit.TextShown)))
	}
	if err := tellBlocker(ctx, w, made); err != nil {
		c.Warn("the blocker is recorded, but mail to some of the agents that could help failed: %s", kit.Clean(err.Error()))
	}
	if c.JSON {
		c.Result(json.RawMessage(kit.OkWith(made.Raw)))
		return nil
	}
	c.Prose("blocked: ", len("blocked: "), kit.Name(made.Instance)+kit.Clean(" ("+cmp.Or(made.Scope, "in no scope")+"): "+made.Reason))
	c.Line("next:  tutti blocker resolve" + instanceArg(c, opt, made.Instance) + "   # once it can go on")
	return nil
}

// tellBlocker sends mail to the agents that could help.
func tellBlocker(ctx context.Context, w *app.World, b *blocker.Blockage) error {
	if len(b.On) == 0 {
		return nil
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	from, err := full.SpeakerOf(ctx, w, b.Instance)
	if err != nil {
		return err
	}
	return full.TellBlocker(ctx, office, from, b)
}

// instanceArg returns the argument that names an agent, "" if the caller did not need to name one.
func instanceArg(c *kit.Call, opt *blockageRaiseOptions, i address.Instance) string {
	if opt.Instance == "" {
		return ""
	}
	return " " + kit.Clean(app.QuoteArg(string(i)))
}

type blockageListOptions struct {
	Scope, Instance string
	Active          bool
}

func RunBlockageList(ctx context.Context, c *kit.Call, opt *blockageListOptions) error {
	w, err := c.Reads()
	if err != nil || w == nil {
		return c.Empty(err)
	}
	defer w.Close()
	f := blocker.Filter{Active: opt.Active, Scope: opt.Scope}
	if i := opt.Instance; i != "" {
		who, err := c.Checked(ctx, w, i)
		if err != nil {
			return err
		}
		_, scopes, err := w.Registry.Effective(ctx, who)
		if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
			return err
		}
		f.Scopes = append([]string{}, scopes...)
	}
	now := time.Now()
	all, problems, err := blocker.New(w.Store).List(ctx, f)
	if err != nil {
		return err
	}
	for _, p := range problems {
		c.Warn("left out: %s", kit.Clean(p.Error()))
	}
	stale, err := staleAmong(ctx, w, all, now)
	if err != nil {
		return err
	}
	if c.JSON {
		out := c.Array()
		for _, b := range all {
			raw := b.Raw
			if stale[b] {
				raw = canonjson.Set(raw, "stale", []byte("true"))
			}
			if err := out.Add(raw); err != nil {
				return err
			}
		}
		out.End()
		return nil
	}
	if len(all) == 0 {
		c.Nothing("no agent is blocked")
		return nil
	}
	sayBlockages(c, all, stale, now)
	return nil
}

// staleAmong returns the blockers of agents that were not seen for a day. It looks agents up only if a blocker is that old.
func staleAmong(ctx context.Context, w *app.World, all []*blocker.Blockage, now time.Time) (map[*blocker.Blockage]bool, error) {
	stale := map[*blocker.Blockage]bool{}
	for _, b := range all {
		if b.Stale(time.Time{}, now) {
			stale[b] = true
		}
	}
	if len(stale) == 0 {
		return stale, nil
	}
	sessions, _, err := w.Presence.All(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[address.Instance]time.Time{}
	for _, s := range sessions {
		if at, ok := envelope.ParseTime(s.HeartbeatAt); ok && at.After(seen[s.Instance.Canonical()]) {
			seen[s.Instance.Canonical()] = at
		}
	}
	for b := range stale {
		if !b.Stale(seen[b.Instance.Canonical()], now) {
			delete(stale, b)
		}
	}
	return stale, nil
}

func sayBlockages(c *kit.Call, all []*blocker.Blockage, stale map[*blocker.Blockage]bool, now time.Time) {
	for _, b := range all {
		since := ""
		if at, ok := b.Since(); ok {
			since = ", " + kit.Ago(max(0, now.Sub(at)))
		}
		word := c.Paint(kit.Red, "blocked")
		switch {
		case !b.Active():
			word = c.Paint(kit.Green, "resolved")
			if b.ResolvedBy != "" {
				since += ", resolved by " + kit.Clean(b.ResolvedBy)
			}
		case stale[b]:
			word = c.Paint(kit.Yellow, "stale") + " (no agent has looked at it for a day)"
		}
		c.Line(kit.Name(b.Instance) + "  " + word + "  " + kit.Clean(cmp.Or(b.Scope, "in no scope")) + since)
		c.Prose("  ", 2, kit.Clean(b.Reason))
		if b.Needs != "" {
			c.Prose("  needs: ", len("  needs: "), kit.Clean(b.Needs))
		}
		if len(b.On) > 0 {
			names := make([]string, len(b.On))
			for n, i := range b.On {
				names[n] = string(i)
			}
			c.Prose("  could help: ", len("  could help: "), kit.Clean(strings.Join(names, ", ")))
		}
	}
}

type blockageResolveOptions struct{ Instance, By string }

// RunBlockageResolve records that an agent can continue.
func RunBlockageResolve(ctx context.Context, c *kit.Call, opt *blockageResolveOptions) error {
	if c.Under == kit.H2A && opt.Instance == "" {
		return c.Missing(&opt.Instance)
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var who address.Instance
	if c.Under != kit.H2A && c.Arg(0) != "" {
		who, err = c.Checked(ctx, w, c.Arg(0))
	} else {
		who, err = c.Subject(ctx, w, opt.Instance)
	}
	if err != nil {
		return err
	}
	by := address.Instance(opt.By)
	if by != "" {
		if by, err = c.Checked(ctx, w, string(by)); err == nil {
			err = c.InName(ctx, w, by)
		}
	} else if c.Under != kit.H2A {
		s, unknown := c.Peek(ctx, w, "")
		if unknown == nil {
			by = s.Instance
		} else if kit.NotOwn(unknown) { // otherwise the record names no helper
			err = unknown
		}
	}
	if err != nil {
		return err
	}
	now := time.Now()
	b, err := blocker.New(w.Store).Resolve(ctx, who, by, now)
	if errors.Is(err, blocker.ErrNone) {
		return kit.BadState("tutti blocker list   # who has", "%s", kit.Clean(err.Error()))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(json.RawMessage(kit.OkWith(b.Raw)))
		return nil
	}
	word, when := "resolved: ", ""
	if at, ok := envelope.ParseTime(b.ResolvedAt); ok && b.ResolvedAt != envelope.Stamp(now) {
		word, when = "resolved already: ", ", "+kit.Ago(max(0, now.Sub(at)))
	}
	c.Line(word + kit.Name(b.Instance) + " (by " + kit.Clean(cmp.Or(b.ResolvedBy, "an unnamed agent")) + when + ")")
	return nil
}
