package bus

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

type renameOptions struct{ Name, Instance string }

// A renamedAgent is an agent with its new display name.
type renamedAgent struct {
	OK       bool   `json:"ok"`
	Instance string `json:"instance"` // the agent
	Name     string `json:"name"`
	Sessions int    `json:"sessions"` // live sessions that were changed
}

// runRename writes a name into the live connections of an agent, and remembers it for the next one.
func runRename(ctx context.Context, c *kit.Call, opt *renameOptions) error {
	name := c.Arg(0)
	if c.Under == kit.H2A {
		name = opt.Name
		if opt.Instance == "" {
			return c.Missing(&opt.Instance)
		}
		if name == "" {
			return c.Missing(&opt.Name)
		}
	}
	if kit.Clean(name) == "" {
		return kit.UsageHint("usage: "+c.Usage(), "rename: the new name is missing")
	}
	if err := kit.BadName("rename", name); err != nil {
		return err
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := c.Actor(ctx, w, opt.Instance)
	if err != nil {
		return err
	}
	if err := fast.Knows(ctx, c, w, who); err != nil {
		return err
	}
	now := time.Now()
	sessions, err := w.Presence.Of(ctx, who, now)
	if err != nil {
		return err
	}
	if err := c.App.RememberName(who, name, now); err != nil {
		return kit.FailIO("", err, "")
	}
	changed := 0
	for _, s := range sessions {
		if _, err := w.Presence.Amend(ctx, s.SessionID, presence.Change{Name: &name}); err != nil {
			return err
		}
		changed++
	}
	if c.JSON {
		c.Result(renamedAgent{true, string(who), name, changed})
		return nil
	}
	if changed == 0 {
		c.Printf("%s will be called %s from its next session on; it has no live one. Until then only you see the name\n", kit.Name(who), name)
		return nil
	}
	c.Printf("%s is now called %s (%s)\n", kit.Name(who), name, kit.Plural(changed, "session"))
	return nil
}
