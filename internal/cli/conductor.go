package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/conductor"
	"tutti/internal/envelope"
)

// workspace is the one that --workspace names, else the one here.
func (c *Call) workspace() (conductor.Where, error) {
	given := c.value("workspace")
	if given == "" && c.under == Tutti && c.Verb.MaxArgs > 0 {
		given = c.arg(0)
	}
	w, err := c.App.Workspace(given)
	if errors.Is(err, app.ErrWorkspace) {
		return w, usageHint("a workspace is a folder, or an id that begins with ws:", "--workspace: %s", Clean(err.Error()))
	}
	return w, err
}

// runConductor says who conducts a workspace.
func runConductor(ctx context.Context, c *Call) error {
	where, err := c.workspace()
	if err != nil {
		return err
	}
	w, err := c.reads()
	if err != nil {
		return err
	}
	if w == nil {
		id := where.ID
		if id == "" {
			id = string(where.Derived)
		}
		c.showConductor(&conductor.Resolution{Workspace: id}, where)
		return nil
	}
	defer w.Close()
	r, err := w.Conductor().Resolve(ctx, where, time.Now())
	if err != nil {
		return err
	}
	c.showConductor(r, where)
	return nil
}

func (c *Call) showConductor(r *conductor.Resolution, where conductor.Where) {
	if r.Problem != nil {
		c.warn("the claims could not be read, so nobody conducts by one: %s", Clean(r.Problem.Error()))
	}
	if c.json {
		c.emit(r.JSON())
		return
	}
	place := Clean(r.Workspace)
	if where.Path != "" {
		place = Clean(where.Path) + " (" + place + ")"
	}
	if r.Conductor == "" {
		c.line("nobody conducts " + place)
	} else {
		c.line(Clean(string(r.Conductor)) + " conducts " + place + howConducts(r))
	}
	for _, i := range r.Next {
		c.line("  then " + Clean(string(i)))
	}
	if len(r.Candidates) == 0 {
		c.line("no agent is live there")
		return
	}
	var rows [][]string
	for _, s := range r.Candidates {
		name, seen := s.Name, s.HeartbeatAt
		if name == "" {
			name = "-"
		}
		if at, ok := envelope.ParseTime(seen); ok {
			seen = agoShort(max(0, time.Since(at)))
		}
		rows = append(rows, []string{string(s.Instance), name, strings.Join(s.Roles, ","), seen})
	}
	c.table(rows)
	if r.Conductor == "" {
		c.line(`"tutti conductor claim" takes the seat`)
	}
}

// howConducts says by what, and since when.
func howConducts(r *conductor.Resolution) string {
	claim := r.Claim
	if claim == nil {
		return ", by its role"
	}
	word := ""
	if at, ok := envelope.ParseTime(claim.Since); ok {
		word = ", since " + ago(max(0, time.Since(at)))
	}
	if !claim.Signed {
		word += " (unsigned)"
	}
	return word
}
