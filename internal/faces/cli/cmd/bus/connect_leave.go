package bus

import (
	"context"
	"errors"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

type disconnectOptions struct{ Instance, Session string }

// A disconnected is an agent whose connections were closed.
type disconnected struct {
	OK       bool     `json:"ok"`
	Instance string   `json:"instance"` // the agent
	Closed   []string `json:"closed"`   // ids of the closed sessions
}

// runDisconnect closes the connections of an agent. It does not end their processes.
func runDisconnect(ctx context.Context, c *kit.Call, opt *disconnectOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := leaving(ctx, c, opt, w)
	if err != nil {
		return err
	}
	now := time.Now()
	sessions, err := w.Presence.Of(ctx, who, now)
	if err != nil {
		return err
	}
	var closed []string
	for _, s := range sessions {
		if only := opt.Session; only != "" && only != string(s.SessionID) {
			continue
		}
		if s.MirroredAt != "" {
			c.Warn("session %s is on another machine; it has to be closed there", kit.Clean(string(s.SessionID)))
			continue
		}
		if err := end(ctx, c, w, s); err != nil {
			return err
		}
		closed = append(closed, string(s.SessionID))
	}
	if only := opt.Session; only != "" && len(closed) == 0 {
		return kit.BadState(`"tutti sessions" lists the live ones`, "%s has no live connection %s here", kit.Name(who), kit.Clean(only))
	}
	if c.JSON {
		c.Result(disconnected{true, string(who), render.List(closed)})
		return nil
	}
	if len(closed) == 0 {
		c.Printf("%s has no live connection; nothing to close\n", kit.Name(who))
		return nil
	}
	c.Printf("disconnected: %s (%s closed)\n", kit.Name(who), kit.Plural(len(closed), "session"))
	return nil
}

// end closes a connection. If its process runs, it only marks the record as closed: the process would write a removed record again,
// and removes a closed one itself.
func end(ctx context.Context, c *kit.Call, w *app.World, s *presence.Session) error {
	if !kept(s) {
		return w.Presence.Close(ctx, s)
	}
	_, err := w.Presence.Amend(ctx, s.SessionID, presence.Change{State: presence.Closed})
	if errors.Is(err, store.ErrNotFound) {
		return nil // it ended meanwhile
	}
	return err
}

// kept reports whether the process of a connection runs, and is not a later one with the same id.
func kept(s *presence.Session) bool {
	if s.PID <= 0 {
		return false
	}
	began, alive := proc.StartTime(s.PID)
	opened, ok := envelope.ParseTime(s.StartedAt)
	const slack = time.Minute // the clock may have been adjusted
	return alive && (!ok || began.Before(opened.Add(slack)))
}

// leaving returns the agent whose connections to close: the named one, or the one that speaks here.
func leaving(ctx context.Context, c *kit.Call, opt *disconnectOptions, w *app.World) (address.Instance, error) {
	if i := opt.Instance; i != "" {
		who, err := c.Meant(ctx, w, i)
		if err == nil {
			err = c.InName(ctx, w, who)
		}
		return who, err
	}
	s, err := c.Peek(ctx, w, "")
	if err != nil {
		return "", err
	}
	return s.Instance, nil
}
