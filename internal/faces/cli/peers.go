package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// knows refuses an instance that neither registry nor presence has: a name for nobody is most likely a slip.
func (c *Call) knows(ctx context.Context, w *app.World, who address.Instance) error {
	_, err := w.Registry.ByInstance(ctx, who)
	if !errors.Is(err, registry.ErrNotRegistered) {
		return err
	}
	live, err := w.Presence.Of(ctx, who, time.Now())
	if err == nil && len(live) == 0 {
		err = badState(`"tutti discover --all" lists who is there`, "%s is neither registered nor live here", Clean(string(who)))
	}
	return err
}

// runDiscover lists live agents; under h2a the registrations.
func runDiscover(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil {
		return err
	}
	if w == nil {
		c.emit([]byte("[]"))
		return nil
	}
	defer w.Close()
	if c.under == H2A {
		return c.listRegistrations(ctx, w)
	}
	now := time.Now()
	rows, err := w.Book.Discover(ctx, members.Filter{Scope: c.value("scope"), Name: c.value("name"), Registered: c.on("all")}, now)
	if err != nil {
		return err
	}
	me := c.self(ctx, w)
	rows = slices.DeleteFunc(rows, func(r members.Row) bool { return me != "" && r.Instance.Canonical() == me })
	if role := c.value("role"); role != "" {
		if rows, err = withRole(ctx, w, rows, role); err != nil {
			return err
		}
	}
	denied := readDenial()
	if c.json {
		var l list
		for i := range rows {
			l.raw(peerJSON(&rows[i], denied.peer(&rows[i])))
		}
		c.emit(l.bytes())
		return nil
	}
	c.sayRows(rows, &denied)
	return nil
}

// self is who speaks here, "" when nobody can be told: then nobody is left out of a list.
func (c *Call) self(ctx context.Context, w *app.World) address.Instance {
	s, err := c.peek(ctx, w)
	if err != nil {
		return ""
	}
	return s.Instance.Canonical()
}

func withRole(ctx context.Context, w *app.World, rows []members.Row, role string) ([]members.Row, error) {
	var kept []members.Row
	for _, r := range rows {
		roles, _, err := w.Registry.Effective(ctx, r.Instance)
		if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
			return nil, err
		}
		if slices.Contains(roles, role) {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func peerJSON(r *members.Row, m mark) []byte {
	var o canonjson.Object
	o.Str("instance", string(r.Instance))
	o.Str("host", r.Host)
	o.Opt("name", r.Name)
	o.Strs("scopes", r.Scopes)
	o.Bool("live", r.Session != nil)
	m.json(&o)
	if r.Session != nil {
		o.Str("sessionId", string(r.SessionID))
		o.Str("heartbeatAt", r.Session.HeartbeatAt)
		o.Str("state", r.Session.State)
		o.Opt("workStatus", r.Session.WorkStatus)
		o.Opt("mirroredAt", r.Session.MirroredAt)
	}
	return o.Bytes()
}

// sayRows prints the lines of discover: instance, host, name, scopes, age of the heartbeat, session.
func (c *Call) sayRows(rows []members.Row, denied *denial) {
	if len(rows) == 0 {
		c.nothing("nobody else is live")
		c.prose("", 0, "An agent that is not live may still be at work. Is the one that you expect connected to the same bus?")
		if !c.on("all") {
			c.line("tutti discover --all lists the registered ones, too.")
		}
		return
	}
	var lines [][]string
	dormant := 0
	for i := range rows {
		lines = append(lines, peerLine(&rows[i], denied.peer(&rows[i])))
		if rows[i].Session == nil {
			dormant++
		}
	}
	c.table(lines)
	if dormant > 0 {
		c.prose("", 0, fmt.Sprintf("%d of them are not live: mail waits for them. They may still be at work.", dormant))
	}
	c.prose("", 0, `To message one of these: tutti send <instance> "<text>".`)
}

func peerLine(r *members.Row, m mark) []string {
	seen, session := "no live session", "-"
	if r.Session != nil {
		seen, session = agoShort(r.Age), string(r.SessionID)
		if r.Session.WorkStatus != "" {
			seen += ", " + r.Session.WorkStatus
		}
	}
	name := r.Name
	if name == "" {
		name = "-"
	}
	return []string{string(r.Instance), r.Host, name, strings.Join(r.Scopes, ","), seen + m.words(), session}
}

// agoShort is the age of a heartbeat in the form that lists of agents have: "12s ago".
func agoShort(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	}
	return ago(d)
}

// listRegistrations prints the registrations as they stand, filtered by what the agents have been registered with and
// granted.
func (c *Call) listRegistrations(ctx context.Context, w *app.World) error {
	role, scope := c.value("role"), c.value("scope")
	var l list
	gone, err := w.Registry.Tombstones(ctx)
	if err != nil {
		return err
	}
	for reg, err := range w.Registry.All(ctx) {
		var unfit *store.UnfitError
		if errors.As(err, &unfit) {
			c.warn("%s", Clean(err.Error()))
			continue
		}
		if err != nil {
			return err
		}
		if _, left := gone[reg.Instance.Canonical()]; left {
			continue
		}
		if role != "" || scope != "" {
			roles, scopes, err := w.Registry.Effective(ctx, reg.Instance)
			if err != nil {
				return err
			}
			if role != "" && !slices.Contains(roles, role) || scope != "" && !slices.Contains(scopes, scope) {
				continue
			}
		}
		l.raw(reg.Raw)
	}
	c.emit(l.bytes())
	return nil
}
