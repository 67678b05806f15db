package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/core/termsafe"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/blocker"
)

// runBlockageRaise says what an agent is blocked by.
func runBlockageRaise(ctx context.Context, c *Call) error {
	call := blocker.Call{Reason: c.value("reason"), Needs: c.value("needs"), Scope: c.value("scope")}
	if c.under == H2A && c.value("instance") == "" {
		return c.missing("instance")
	}
	if call.Reason = strings.TrimSpace(orElse(c.arg(0), call.Reason)); call.Reason == "" {
		return c.missing("reason")
	}
	mode := app.Writing
	if c.under == H2A { // that program makes a bus where there is none
		mode = app.Creating
	}
	w, err := c.world(mode)
	if err != nil {
		return err
	}
	defer w.Close()
	if call.Instance, err = c.subject(ctx, w); err != nil {
		return err
	}
	for _, name := range split(c.value("on")) {
		who, err := c.checked(ctx, w, name)
		if err != nil {
			return err
		}
		call.On = append(call.On, who)
	}
	if !c.isSet("scope") {
		if call.Scope, err = firstScope(ctx, w.Registry, call.Instance); err != nil {
			return err
		}
	}
	made, replaced, err := blocker.New(w.Store).Raise(ctx, call, time.Now())
	if err != nil {
		return refuse("", "%s", Clean(err.Error()))
	}
	if replaced != nil && replaced.Reason != made.Reason {
		c.warn("this takes the place of what blocked %s until now: %s", Clean(string(made.Instance)), Clean(termsafe.Cut(replaced.Reason, textShown)))
	}
	if c.json {
		c.emit(okWith(made.Raw))
		return nil
	}
	c.prose("blocked: ", len("blocked: "), Clean(string(made.Instance)+" ("+orElse(made.Scope, "in no scope")+"): "+made.Reason))
	c.line("next:  tutti blockage resolve" + c.instanceArg(made.Instance) + "   # when it goes on")
	return nil
}

// firstScope is in which scope an agent calls for help that names none: its own first one.
func firstScope(ctx context.Context, r *registry.Registry, i address.Instance) (string, error) {
	_, scopes, err := r.Effective(ctx, i)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return "", err
	}
	if len(scopes) > 0 {
		return scopes[0], nil
	}
	return identity.DefaultScope, nil
}

// instanceArg names an agent on a command line, nothing when it is who was named by nobody.
func (c *Call) instanceArg(i address.Instance) string {
	if c.value("instance") == "" {
		return ""
	}
	return " " + Clean(app.QuoteArg(string(i)))
}

// runBlockageList lists who is blocked.
func runBlockageList(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil || w == nil {
		return c.empty(err)
	}
	defer w.Close()
	f := blocker.Filter{Active: c.on("active"), Scope: c.value("scope")}
	if i := c.value("instance"); i != "" {
		who, err := c.checked(ctx, w, i)
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
		c.warn("left out: %s", Clean(p.Error()))
	}
	stale, err := staleAmong(ctx, w, all, now)
	if err != nil {
		return err
	}
	if c.json {
		out := c.array()
		for _, b := range all {
			raw := b.Raw
			if stale[b] {
				raw = canonjson.Set(raw, "stale", []byte("true"))
			}
			if err := out.add(raw); err != nil {
				return err
			}
		}
		out.end()
		return nil
	}
	if len(all) == 0 {
		c.nothing("nobody is blocked")
		return nil
	}
	c.sayBlockages(all, stale, now)
	return nil
}

// staleAmong are those whose agents have not been seen for a day. Who has been seen is only looked up where one is that old.
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

func (c *Call) sayBlockages(all []*blocker.Blockage, stale map[*blocker.Blockage]bool, now time.Time) {
	for _, b := range all {
		since := ""
		if at, ok := b.Since(); ok {
			since = ", " + ago(max(0, now.Sub(at)))
		}
		word := c.paint(red, "blocked")
		switch {
		case !b.Active():
			word = c.paint(green, "resolved")
			if b.ResolvedBy != "" {
				since += ", resolved by " + Clean(b.ResolvedBy)
			}
		case stale[b]:
			word = c.paint(yellow, "stale") + " (nobody has seen it for a day)"
		}
		c.line(Clean(string(b.Instance)) + "  " + word + "  " + Clean(orElse(b.Scope, "in no scope")) + since)
		c.prose("  ", 2, Clean(b.Reason))
		if b.Needs != "" {
			c.prose("  needs: ", len("  needs: "), Clean(b.Needs))
		}
		if len(b.On) > 0 {
			names := make([]string, len(b.On))
			for n, i := range b.On {
				names[n] = string(i)
			}
			c.prose("  could help: ", len("  could help: "), Clean(strings.Join(names, ", ")))
		}
	}
}

// runBlockageResolve says that an agent can go on.
func runBlockageResolve(ctx context.Context, c *Call) error {
	if c.under == H2A && c.value("instance") == "" {
		return c.missing("instance")
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var who address.Instance
	if c.under != H2A && c.arg(0) != "" {
		who, err = c.checked(ctx, w, c.arg(0))
	} else {
		who, err = c.subject(ctx, w)
	}
	if err != nil {
		return err
	}
	by := address.Instance(c.value("by"))
	if by != "" {
		by, err = c.checked(ctx, w, string(by))
	} else if c.under != H2A {
		if s, err := c.peek(ctx, w); err == nil { // else nobody is named
			by = s.Instance
		}
	}
	if err != nil {
		return err
	}
	now := time.Now()
	b, err := blocker.New(w.Store).Resolve(ctx, who, by, now)
	if errors.Is(err, blocker.ErrNone) {
		return badState("tutti blockage list   # who has", "%s", Clean(err.Error()))
	}
	if err != nil {
		return err
	}
	if c.json {
		c.emit(okWith(b.Raw))
		return nil
	}
	word, when := "resolved: ", ""
	if at, ok := envelope.ParseTime(b.ResolvedAt); ok && b.ResolvedAt != envelope.Stamp(now) {
		word, when = "resolved already: ", ", "+ago(max(0, now.Sub(at)))
	}
	c.line(word + Clean(string(b.Instance)) + " (by " + Clean(orElse(b.ResolvedBy, "nobody who was named")) + when + ")")
	return nil
}
