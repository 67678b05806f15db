package comms

import (
	"context"
	"strconv"
	"strings"

	"tutti/internal/comms/overview"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

type commsStatusOptions struct {
	ProjectsGlob, Project string
	Conversations         bool
}

// runCommsStatus shows what waits in the mailboxes of all projects.
func runCommsStatus(ctx context.Context, c *kit.Call, opt *commsStatusOptions) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	look := overview.Options{Office: o, Only: opt.Project, ByTheLetter: c.Under == kit.Cross}
	if glob := opt.ProjectsGlob; glob != "" {
		look.Globs = []string{overview.Pattern(o.Home, glob)}
	}
	s, err := overview.Look(ctx, look)
	if err != nil {
		return kit.GeneralFault(err)
	}
	if c.JSON {
		c.Result(s.View(opt.Conversations))
	} else {
		showSurvey(c, opt, s)
	}
	if s.Trouble() {
		return &kit.Fault{Code: kit.ExitUsage} // the warnings say where
	}
	return nil
}

// surveyGap parts the columns of the survey; scripts cut its lines there.
const surveyGap = "   "

// showSurvey prints the table, what is wrong below it, and what has not gone out.
func showSurvey(c *kit.Call, opt *commsStatusOptions, s *overview.Overview) {
	name, pending, open := len("project"), len("pending"), 0
	for _, p := range s.Projects {
		name = max(name, kit.Width(kit.Clean(p.Name)))
		pending = max(pending, len(strconv.Itoa(p.Pending)))
	}
	c.Line(kit.Pad("project", name) + surveyGap + kit.Pad("pending", pending) + surveyGap + "most-recent")
	for _, p := range s.Projects {
		recent := "—"
		if m := p.Latest; m != nil {
			recent = kit.Clean(m.Name) + " (" + kit.Ago(m.Age) + ")"
		}
		c.Line(kit.Pad(kit.Clean(p.Name), name) + surveyGap + kit.Pad(strconv.Itoa(p.Pending), pending) + surveyGap + recent)
		if opt.Conversations {
			open += showConversations(c, p)
		}
	}
	if opt.Conversations && open == 0 && c.Under == kit.Tutti {
		c.Line("no open conversation")
	}
	for _, w := range s.Warnings {
		where := ""
		if w.Project != "" {
			where = kit.Clean(w.Project) + ": "
		}
		c.Prose("⚠ ", 2, where+kit.Clean(w.Text))
	}
	if s.Failed > 0 {
		c.Line(kit.Plural(s.Failed, "message") + ` not delivered: "tutti comms retry" lists them`)
	}
}

// showConversations prints the open conversations of a project, each with whom it waits for, and returns their number.
func showConversations(c *kit.Call, p *overview.Project) (open int) {
	for i := range p.Conversations {
		v := &p.Conversations[i]
		if !v.Open {
			continue
		}
		open++
		words := []string{v.Line()}
		if v.AwaitedName != "" {
			words[0] += " (" + v.AwaitedName + ")"
		}
		for _, w := range [...]struct {
			on   bool
			word string
		}{
			{v.VerificationOverdue, "verification overdue"},
			{v.ReplyOverdue, "reply overdue"},
			{v.Stalled, "stalled"},
			{v.CapReached, "an escalate is due"},
			{v.OneSided, "only one side is known here"},
		} {
			if w.on {
				words = append(words, w.word)
			}
		}
		c.Line("  " + kit.Clean(strings.Join(words, "; ")))
	}
	return open
}

// haltedNow tells whether the switch is on.
func haltedNow() bool { return halt.Read().Halted }
