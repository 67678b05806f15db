package cli

import (
	"cmp"
	"context"

	"tutti/internal/canonjson"
	"tutti/internal/roster"
	"tutti/internal/session"
)

func runSessionList(ctx context.Context, c *Call) error { return c.withSessions(ctx, nil, sessionList) }

// sessionList lists the sessions of the registry and what tmux says of each.
func sessionList(ctx context.Context, c *Call, s *sessions) error {
	rows, problems, err := s.rows(ctx)
	if err != nil {
		return err
	}
	view := session.Glance(ctx, rows)
	s.sayProblems(problems)
	if c.json {
		all := c.array()
		for i := range rows {
			if err := all.add(sessionRowJSON(&rows[i], view.Sight(&rows[i]))); err != nil {
				return err
			}
		}
		all.end()
		return nil
	}
	if len(rows) == 0 {
		s.sayNone(problems)
		return nil
	}
	g := gridFor(len(rows)+1, 5)
	g.add("SESSION", "STATUS", "FOUND", "AGENT", "FOLDER")
	for i := range rows {
		r := &rows[i]
		g.add(Clean(r.Name), Clean(string(r.Status)), foundWord(r, view.Sight(r)), Clean(cmp.Or(r.Kind(), "-")), Clean(c.App.Shown(r.Pane.Cwd)))
	}
	return c.long(g)
}

// foundWord says what was found of a session. Where nothing is to be found, there is nothing to say.
func foundWord(r *roster.Row, s session.Sight) string {
	switch s.State {
	case session.Alive:
		return "alive"
	case session.Dead:
		return "ended"
	case session.Other:
		return "another"
	case session.Absent:
		if r != nil && r.Status == roster.Running {
			return "gone"
		}
		return "-"
	}
	return "?"
}

func sessionRowJSON(r *roster.Row, s session.Sight) []byte {
	var o canonjson.Object
	o.Str("name", r.Name)
	o.Str("status", string(r.Status))
	o.Str("found", s.State.String())
	o.Opt("agent", r.Kind())
	o.Str("tmux_server", r.ServerName())
	o.Opt("cwd", r.Pane.Cwd)
	o.Opt("conversation", r.Conversation())
	o.Opt("instance", r.Instance)
	o.Opt("job", r.Job)
	if s.Err != nil {
		o.Str("error", s.Err.Error())
	}
	return o.Bytes()
}
