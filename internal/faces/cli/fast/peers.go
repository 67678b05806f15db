package fast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// Knows refuses an instance that neither registry nor presence has: an unknown name is most likely a slip.
func Knows(ctx context.Context, c *kit.Call, w *app.World, who address.Instance) error {
	_, err := w.Registry.ByInstance(ctx, who)
	if !errors.Is(err, registry.ErrNotRegistered) {
		return err
	}
	live, err := w.Presence.Of(ctx, who, time.Now())
	if err == nil && len(live) == 0 {
		err = kit.BadState(`"tutti discover --all" lists who is there`, "%s is neither registered nor live here", kit.Name(who))
	}
	return err
}

type discoverOptions struct {
	All               bool
	Scope, Name, Role string
}

// runDiscover lists live agents; under h2a the registrations.
func runDiscover(ctx context.Context, c *kit.Call, opt *discoverOptions) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w == nil {
		c.Emit([]byte("[]"))
		return nil
	}
	defer w.Close()
	if c.Under == kit.H2A {
		return listRegistrations(ctx, c, opt, w)
	}
	now := time.Now()
	rows, err := w.Book.Discover(ctx, members.Filter{Scope: opt.Scope, Name: opt.Name, Registered: opt.All}, now)
	if err != nil {
		return err
	}
	me := self(ctx, c, w)
	rows = slices.DeleteFunc(rows, func(r members.Row) bool { return me != "" && r.Instance.Canonical() == me })
	if opt.Role != "" {
		if rows, err = withRole(ctx, w, rows, opt.Role); err != nil {
			return err
		}
	}
	denied := overview.ReadDenial()
	if c.JSON {
		c.Result(render.Each(rows, func(r members.Row) overview.PeerView { return overview.ViewPeer(&r, denied.Peer(&r)) }))
		return nil
	}
	sayRows(c, opt, rows, &denied)
	return nil
}

// self is the agent that speaks here, "" if unknown: then a list leaves out no agent.
func self(ctx context.Context, c *kit.Call, w *app.World) address.Instance {
	s, err := c.Peek(ctx, w, "")
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

// sayRows prints the lines of discover: instance, host, name, scopes, age of the heartbeat, session.
func sayRows(c *kit.Call, opt *discoverOptions, rows []members.Row, denied *overview.Denial) {
	if len(rows) == 0 {
		c.Nothing("no other agent is live")
		c.Prose("", 0, "An agent that is not live may still be at work. Is the one that you expect connected to the same bus?")
		if !opt.All {
			c.Line("tutti discover --all lists the registered ones, too.")
		}
		return
	}
	var lines [][]string
	dormant := 0
	for i := range rows {
		lines = append(lines, peerLine(&rows[i], denied.Peer(&rows[i])))
		if rows[i].Session == nil {
			dormant++
		}
	}
	c.Rows(lines)
	if dormant > 0 {
		c.Prose("", 0, fmt.Sprintf("%d not live; mail is kept until they look. They may still be at work.", dormant))
	}
	c.Prose("", 0, `To message one of these: tutti send <instance> "<text>".`)
}

func peerLine(r *members.Row, m overview.Mark) []string {
	seen, session := "not live", "-"
	if r.Session != nil {
		seen, session = AgoShort(r.Age), string(r.SessionID)
		if r.Session.WorkStatus != "" {
			seen += ", " + r.Session.WorkStatus
		}
	}
	name := r.Name
	if name == "" {
		name = "-"
	}
	return []string{kit.Name(r.Instance), r.Host, name, strings.Join(r.Scopes, ","), seen + m.Words(), session}
}

// AgoShort is the age of a heartbeat in the form that lists of agents have: "12s ago".
func AgoShort(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	}
	return kit.Ago(d)
}

// listRegistrations prints the registrations as they stand, filtered by what the agents have been registered with and
// granted.
func listRegistrations(ctx context.Context, c *kit.Call, opt *discoverOptions, w *app.World) error {
	role, scope := opt.Role, opt.Scope
	all := []json.RawMessage{}
	gone, err := w.Registry.Tombstones(ctx)
	if err != nil {
		return err
	}
	for reg, err := range w.Registry.All(ctx) {
		var unfit *store.UnfitError
		if errors.As(err, &unfit) {
			c.Warn("%s", kit.Clean(err.Error()))
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
		all = append(all, reg.Raw)
	}
	c.Result(all)
	return nil
}
