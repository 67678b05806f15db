package bus

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// A SessionFilter is the flags that select connections.
type SessionFilter struct{ Scope, Instance, Name string }

func (f *SessionFilter) takes(s *presence.Session) bool {
	return (f.Scope == "" || slices.Contains(s.Interests.Scopes, f.Scope)) &&
		(f.Instance == "" || string(s.Instance) == f.Instance) &&
		(f.Name == "" || strings.Contains(strings.ToLower(s.Name), strings.ToLower(f.Name)))
}

// Fresh returns the live connections that a filter selects; none without a bus.
func Fresh(ctx context.Context, f *SessionFilter, w *app.World) ([]*presence.Session, error) {
	if w == nil {
		return nil, nil
	}
	all, err := w.Presence.Fresh(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s *presence.Session) bool { return !f.takes(s) }), nil
}

// runSessions lists the live connections as they are stored.
func runSessions(ctx context.Context, c *kit.Call, opt *SessionFilter) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	found, err := Fresh(ctx, opt, w)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(storedSessions(found))
		return nil
	}
	if len(found) == 0 {
		c.Nothing("no live session")
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
			beat = fast.AgoShort(max(0, time.Since(at)))
		}
		rows = append(rows, []string{string(s.SessionID), string(s.Instance), s.State, beat, where})
	}
	c.Rows(rows)
	return nil
}

// SessionsJSON returns a list of connections as they are stored.
func SessionsJSON(all []*presence.Session) []byte { return render.JSON(storedSessions(all)) }

func storedSessions(all []*presence.Session) []json.RawMessage {
	return render.Each(all, func(s *presence.Session) json.RawMessage { return s.Raw })
}

type registerOptions struct{ JSON string }

// A registeredAgent names the agent that was registered.
type registeredAgent struct {
	OK   bool   `json:"ok"`
	ID   string `json:"id"`
	Root string `json:"root"` // the bus
}

// runRegister adds a registration that was written by hand.
func runRegister(ctx context.Context, c *kit.Call, opt *registerOptions) error {
	arg := c.Arg(0)
	if c.Under == kit.H2A {
		arg = opt.JSON
	}
	if arg == "" {
		if c.Under == kit.H2A {
			return c.Missing(&opt.JSON)
		}
		return kit.UsageHint("usage: "+c.Usage(), "register: missing registration")
	}
	raw, err := c.Body(arg)
	if err != nil {
		return err
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Registry.Register(ctx, raw); err != nil {
		return c.RegistryFault(err)
	}
	reg, err := registry.Parse(raw)
	if err != nil {
		return err
	}
	c.AcceptMade(w, reg)
	if c.JSON {
		c.Result(registeredAgent{true, reg.ID, w.Root.Path})
		return nil
	}
	c.Printf("registered: %s\n", kit.Clean(reg.ID))
	return nil
}
