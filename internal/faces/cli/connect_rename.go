package cli

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/core/canonjson"
)

// runRename writes a name into the live sessions of an agent, and remembers it for the next one.
func runRename(ctx context.Context, c *Call) error {
	name := c.arg(0)
	if c.under == H2A {
		name = c.value("name")
		if c.value("instance") == "" {
			return c.missing("instance")
		}
		if name == "" {
			return c.missing("name")
		}
	}
	if Clean(name) == "" {
		return usageHint("usage: "+c.usage(), "rename: the new name is missing")
	}
	if err := badName("rename", name); err != nil {
		return err
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := c.subject(ctx, w)
	if err != nil {
		return err
	}
	if err := c.knows(ctx, w, who); err != nil {
		return err
	}
	now := time.Now()
	sessions, err := w.Presence.Of(ctx, who, now)
	if err != nil {
		return err
	}
	if err := c.App.RememberName(who, name, now); err != nil {
		return failIO("", err, "")
	}
	changed := 0
	for _, s := range sessions {
		if _, err := w.Presence.Amend(ctx, s.SessionID, presence.Change{Name: &name}); err != nil {
			return err
		}
		changed++
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		o.Str("name", name)
		o.Int("sessions", int64(changed))
		c.emit(o.Bytes())
		return nil
	}
	if changed == 0 {
		c.printf("%s will be called %s from its next session on; it has no live one. Until then only you see the name\n", Clean(string(who)), name)
		return nil
	}
	c.printf("%s is now called %s (%s)\n", Clean(string(who)), name, plural(changed, "session"))
	return nil
}
