package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
)

// A sessionFilter is what the flags of the inventories ask for.
type sessionFilter struct{ scope, instance, name string }

func (c *Call) sessionFilter() sessionFilter {
	return sessionFilter{c.value("scope"), c.value("instance"), strings.ToLower(c.value("name"))}
}

func (f sessionFilter) takes(s *presence.Session) bool {
	return (f.scope == "" || slices.Contains(s.Interests.Scopes, f.scope)) &&
		(f.instance == "" || string(s.Instance) == f.instance) &&
		(f.name == "" || strings.Contains(strings.ToLower(s.Name), f.name))
}

// fresh returns the live sessions that the flags ask for; none where there is no bus to read.
func (c *Call) fresh(ctx context.Context, w *app.World) ([]*presence.Session, error) {
	if w == nil {
		return nil, nil
	}
	all, err := w.Presence.Fresh(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	f := c.sessionFilter()
	return slices.DeleteFunc(all, func(s *presence.Session) bool { return !f.takes(s) }), nil
}

// runSessions lists the live sessions as they are recorded.
func runSessions(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	found, err := c.fresh(ctx, w)
	if err != nil {
		return err
	}
	if c.json {
		c.emit(sessionsJSON(found))
		return nil
	}
	if len(found) == 0 {
		c.nothing("no live session")
		return nil
	}
	var rows [][]string
	for _, s := range found {
		where := "here"
		if s.MirroredAt != "" {
			where = "another machine"
		}
		beat := s.HeartbeatAt
		if at, err := time.Parse(time.RFC3339Nano, beat); err == nil {
			beat = agoShort(max(0, time.Since(at)))
		}
		rows = append(rows, []string{string(s.SessionID), string(s.Instance), s.State, beat, where})
	}
	c.table(rows)
	return nil
}

func sessionsJSON(all []*presence.Session) []byte {
	var l list
	for _, s := range all {
		l.raw(canonjson.Compact(s.Raw))
	}
	return l.bytes()
}

// runRegister adds a registration that was written by hand.
func runRegister(ctx context.Context, c *Call) error {
	arg := c.arg(0)
	if c.under == H2A {
		arg = c.value("json")
	}
	if arg == "" {
		if c.under == H2A {
			return c.missing("json")
		}
		return usageHint("usage: "+c.usage(), "register: something is missing: the registration")
	}
	raw, err := c.body(arg)
	if err != nil {
		return err
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Registry.Register(ctx, raw); err != nil {
		return c.registryFault(err)
	}
	reg, err := registry.Parse(raw)
	if err != nil {
		return err
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("id", reg.ID)
		o.Str("root", w.Root.Path)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("registered: %s\n", Clean(reg.ID))
	return nil
}
