package agree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/conductor"
)

// A seatOptions is the flag of verbs about the conductor of a workspace.
type seatOptions struct{ Workspace string }

// workspace returns the workspace that --workspace or the argument names, else the one of this folder.
func workspace(c *kit.Call, opt *seatOptions) (conductor.Where, error) {
	given := opt.Workspace
	word := given == "" && c.Under == kit.Tutti && c.Verb.MaxArgs > 0
	if word {
		given = c.Arg(0)
	}
	w, err := full.Workspace(c.App, given)
	if errors.Is(err, full.ErrWorkspace) {
		return w, kit.UsageHint(aWorkspace, "--workspace: %s", kit.Clean(err.Error()))
	}
	if err != nil || given == "" || w.ID != "" || c.Under != kit.Tutti {
		return w, err
	}
	if _, gone := os.Stat(w.Path); gone != nil {
		if word && !strings.ContainsRune(given, filepath.Separator) { // more likely a mistyped verb than a removed folder
			return w, kit.UsageHint(otherSeat(c, given), "%s: there is no folder %s here", c.Verb.Name, kit.Clean(given))
		}
		c.Warn("there is no folder %s now", kit.Clean(w.Path))
	}
	return w, nil
}

const aWorkspace = "a workspace is a folder, or an id that begins with ws:"

// otherSeat returns a hint for a word that does not name a folder: verbs with a similar spelling, or whose name it ends with.
func otherSeat(c *kit.Call, word string) string {
	switch {
	case c.Verb.Name != "conductor":
		return aWorkspace
	case word == "status" || word == "show":
		return "tutti conductor shows who conducts this folder"
	}
	words := c.Table.Words(kit.Tutti, "conductor")
	meant := kit.Nearest(word, words)
	for _, w := range words {
		if strings.HasSuffix(word, "-"+w) && !slices.Contains(meant, w) {
			meant = append(meant, w)
		}
	}
	if len(meant) > 0 {
		return kit.DidYouMean(meant, "tutti conductor ")
	}
	return aWorkspace + "; the verbs are " + strings.Join(words, ", ")
}

func runConductor(ctx context.Context, c *kit.Call, opt *seatOptions) error {
	where, err := workspace(c, opt)
	if err != nil {
		return err
	}
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w == nil {
		id := where.ID
		if id == "" {
			id = string(where.Derived)
		}
		showConductor(c, &conductor.Resolution{Workspace: id}, where)
		return nil
	}
	defer w.Close()
	r, err := full.Conductor(w).Resolve(ctx, where, time.Now())
	if err != nil {
		return err
	}
	showConductor(c, r, where)
	return nil
}

func showConductor(c *kit.Call, r *conductor.Resolution, where conductor.Where) {
	if r.Problem != nil {
		c.Warn("cannot read the claims, so none is counted: %s", kit.Clean(r.Problem.Error()))
	}
	if c.JSON {
		c.Result(r.View())
		return
	}
	place := kit.Clean(r.Workspace)
	if where.Path != "" {
		place = kit.Clean(where.Path) + " (" + place + ")"
	}
	if r.Conductor == "" {
		c.Line("no agent conducts " + place)
	} else {
		c.Line(kit.Name(r.Conductor) + " conducts " + place + HowConducts(r))
	}
	for _, i := range r.Next {
		c.Line("  then " + kit.Name(i))
	}
	if len(r.Candidates) == 0 {
		c.Line("no agent is live there")
		return
	}
	var rows [][]string
	for _, s := range r.Candidates {
		name, seen := s.Name, s.HeartbeatAt
		if name == "" {
			name = "-"
		}
		if at, ok := envelope.ParseTime(seen); ok {
			seen = fast.AgoShort(max(0, time.Since(at)))
		}
		rows = append(rows, []string{string(s.Instance), name, strings.Join(s.Roles, ","), seen})
	}
	c.Rows(rows)
	if r.Conductor == "" {
		c.Line(`"tutti conductor claim" makes your agent the conductor`)
	}
}

// HowConducts returns whether the conductor has the role by a claim, and since when.
func HowConducts(r *conductor.Resolution) string {
	claim := r.Claim
	if claim == nil {
		return ", by its role"
	}
	word := ""
	if at, ok := envelope.ParseTime(claim.Since); ok {
		word = ", since " + kit.Ago(max(0, time.Since(at)))
	}
	if !claim.Signed {
		word += " (unsigned)"
	}
	return word
}
