package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

type sessionListOptions struct {
	inFolder
	All bool
}

// sessionList lists the sessions of this machine and what tmux says of each, then the agents that were started by hand.
func sessionList(ctx context.Context, c *kit.Call, s *sessions, opt *sessionListOptions) error {
	parts, err := s.Parts(ctx, opt.All)
	if err != nil {
		return err
	}
	view := glance(ctx, parts)
	now, machine := time.Now(), proc.Hostname()
	var all []observe.Listed
	var found []string // what people read, beside each
	taken := Instances{}
	for i := range parts {
		p := &parts[i]
		p.SayProblems(p.Problems)
		for n := range p.Rows {
			r := &p.Rows[n]
			sight := view.Observe(r)
			taken.Add(r.Instance)
			all, found = append(all, observe.ListedRow(r, sight, p.Path, machine, now)), append(found, observe.FoundWord(r, sight))
		}
	}
	for _, l := range s.headless(ctx, taken, machine, now) {
		all, found = append(all, l), append(found, "alive")
	}
	if c.JSON {
		rows := c.Array()
		for i := range all {
			if err := rows.Add(render.JSON(&all[i])); err != nil {
				return err
			}
		}
		rows.End()
		return nil
	}
	if len(all) == 0 {
		s.sayNoSessions(parts)
		return nil
	}
	var g kit.Grid
	g.Add("SESSION", "STATUS", "FOUND", "AGENT", "FOLDER")
	for i := range all {
		l := &all[i]
		g.Add(kit.Clean(l.Name), kit.Clean(l.Status), found[i], kit.Clean(cmp.Or(l.Agent, "-")), kit.Clean(c.App.Shown(cmp.Or(l.Cwd, "-"))))
	}
	return c.Long(&g)
}

// sayNoSessions says that there is nothing to show. A registry whose rows cannot be used is named: its sessions may be alive.
func (s *sessions) sayNoSessions(parts []Part) {
	for i := range parts {
		if len(parts[i].Problems) > 0 {
			parts[i].sayNone(parts[i].Problems)
			return
		}
	}
	s.c.Line("no sessions")
	if above := s.above(); above != "" && s.missing() {
		s.c.Remark("--registry %s is the nearest registry above", kit.Clean(s.c.App.Shown(above)))
		return
	}
	s.c.Remark("%s", StartHint())
}

// StartHint says how an agent is started: the first agent CLI that this machine has.
func StartHint() string {
	d := setup.Installed()
	if d == nil {
		return `No agent CLI is on the PATH. Install one, such as Claude Code or Codex; then "tutti setup" connects it.`
	}
	after := ` after "tutti setup"`
	if home, err := os.UserHomeDir(); err == nil {
		if q := (&setup.Request{Place: driver.Site{Home: home, Env: os.Getenv}}); q.Serves(d) {
			after = ""
		}
	}
	return fmt.Sprintf(`Start one with "tutti session create --agent %s", or run %s in any folder%s.`, d.Name, d.Program, after)
}
