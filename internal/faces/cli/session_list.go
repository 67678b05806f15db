package cli

import (
	"cmp"
	"context"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// sessionList lists the sessions of this machine and what tmux says of each, then the agents that were started by hand.
func sessionList(ctx context.Context, c *Call, s *sessions) error {
	parts, err := s.parts(ctx, c.on("all"))
	if err != nil {
		return err
	}
	view := glance(ctx, parts)
	now, machine := time.Now(), proc.Hostname()
	var all []lifecycle.Listed
	var found []string // what people read, beside each
	taken := instances{}
	for i := range parts {
		p := &parts[i]
		p.sayProblems(p.problems)
		for n := range p.rows {
			r := &p.rows[n]
			sight := view.Observe(r)
			taken.add(r.Instance)
			all, found = append(all, lifecycle.ListedRow(r, sight, p.path, machine, now)), append(found, foundWord(r, sight))
		}
	}
	for _, l := range s.headless(ctx, taken, machine, now) {
		all, found = append(all, l), append(found, "alive")
	}
	if c.json {
		rows := c.array()
		for i := range all {
			if err := rows.add(marshal(&all[i])); err != nil {
				return err
			}
		}
		rows.end()
		return nil
	}
	if len(all) == 0 {
		s.sayNoSessions(parts)
		return nil
	}
	g := gridFor(len(all)+1, 5)
	g.add("SESSION", "STATUS", "FOUND", "AGENT", "FOLDER")
	for i := range all {
		l := &all[i]
		g.add(Clean(l.Name), Clean(l.Status), found[i], Clean(cmp.Or(l.Agent, "-")), Clean(c.App.Shown(cmp.Or(l.Cwd, "-"))))
	}
	return c.long(g)
}

// sayNoSessions says that there is nothing to show. A registry whose rows cannot be used is named: its sessions may be alive.
func (s *sessions) sayNoSessions(parts []part) {
	for i := range parts {
		if len(parts[i].problems) > 0 {
			parts[i].sayNone(parts[i].problems)
			return
		}
	}
	s.c.line("no sessions")
	if above := s.above(); above != "" && s.missing() {
		s.c.remark("--registry %s is the nearest registry above", Clean(s.c.App.Shown(above)))
		return
	}
	s.c.remark(`"tutti session create --agent claude" starts one`)
}

// foundWord says what was found of a session. Where nothing is to be found, there is nothing to say.
func foundWord(r *registry.Row, s lifecycle.Observation) string {
	switch s.State {
	case lifecycle.Alive:
		return "alive"
	case lifecycle.Dead:
		return "ended"
	case lifecycle.Other:
		return "another"
	case lifecycle.Absent:
		if r != nil && r.Status == registry.Running {
			return "gone"
		}
		return "-"
	}
	return "?"
}
