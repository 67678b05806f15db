package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/governance/conductor"
)

// workspace is the one that --workspace names, else the one here.
func (c *Call) workspace() (conductor.Where, error) {
	given := c.value("workspace")
	word := given == "" && c.under == Tutti && c.Verb.MaxArgs > 0
	if word {
		given = c.arg(0)
	}
	w, err := c.App.Workspace(given)
	if errors.Is(err, app.ErrWorkspace) {
		return w, usageHint(aWorkspace, "--workspace: %s", Clean(err.Error()))
	}
	if err != nil || given == "" || w.ID != "" || c.under != Tutti {
		return w, err
	}
	if _, gone := os.Stat(w.Path); gone != nil {
		if word && !strings.ContainsRune(given, filepath.Separator) { // rather a verb that is none than a folder that was
			return w, usageHint(c.otherSeat(given), "%s: there is no folder %s here", c.Verb.Name, Clean(given))
		}
		c.warn("there is no folder %s now", Clean(w.Path))
	}
	return w, nil
}

const aWorkspace = "a workspace is a folder, or an id that begins with ws:"

// otherSeat says what may be meant by a word that is no folder: verbs that are spelled like it, or end with it.
func (c *Call) otherSeat(word string) string {
	if c.Verb.Name != "conductor" {
		return aWorkspace
	}
	words := c.Table.words(Tutti, "conductor")
	meant := nearest(word, words)
	for _, w := range words {
		if strings.HasSuffix(word, "-"+w) && !slices.Contains(meant, w) {
			meant = append(meant, w)
		}
	}
	if len(meant) > 0 {
		return didYouMean(meant, "tutti conductor ")
	}
	return aWorkspace + "; the verbs are " + strings.Join(words, ", ")
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
