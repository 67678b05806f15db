package cli

import (
	"context"
	"strconv"
	"strings"

	"tutti/internal/comms/overview"
	"tutti/internal/halt"
)

// runCommsStatus shows what waits in the mailboxes of all projects.
func runCommsStatus(ctx context.Context, c *Call) error {
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	cache, err := c.App.CacheDir()
	if err != nil {
		cache = "" // it only saves time
	}
	look := overview.Options{Office: o, Only: c.text("project"), Cache: cache}
	if glob := c.text("projects-glob"); glob != "" {
		look.Globs = []string{overview.Pattern(o.Home, glob)}
	}
	s, err := overview.Look(ctx, look)
	if err != nil {
		return generalFault(err)
	}
	if c.json {
		c.emit(s.JSON(c.on("conversations")))
	} else {
		c.showSurvey(s)
	}
	if s.Trouble() {
		return &fault{code: exitUsage} // the warnings say where
	}
	return nil
}

// surveyGap parts the columns of the survey; scripts cut its lines there.
const surveyGap = "   "

// showSurvey prints the table, what is wrong below it, and what has not gone out.
func (c *Call) showSurvey(s *overview.Overview) {
	name, pending := len("project"), len("pending")
	for _, p := range s.Projects {
		name = max(name, Width(Clean(p.Name)))
		pending = max(pending, len(strconv.Itoa(p.Pending)))
	}
	c.line(pad("project", name) + surveyGap + pad("pending", pending) + surveyGap + "most-recent")
	for _, p := range s.Projects {
		recent := "—"
		if m := p.Latest; m != nil {
			recent = Clean(m.Name) + " (" + ago(m.Age) + ")"
		}
		c.line(pad(Clean(p.Name), name) + surveyGap + pad(strconv.Itoa(p.Pending), pending) + surveyGap + recent)
		if c.on("conversations") {
			c.showConversations(p)
		}
	}
	for _, w := range s.Warnings {
		where := ""
		if w.Project != "" {
			where = Clean(w.Project) + ": "
		}
		c.prose("⚠ ", 2, where+Clean(w.Text))
	}
	if s.Failed > 0 {
		c.line(plural(s.Failed, "message") + ` not delivered: "tutti comms retry" lists them`)
	}
}

// showConversations prints the open conversations of a project, each with whom it waits for.
func (c *Call) showConversations(p *overview.Project) {
	for i := range p.Conversations {
		v := &p.Conversations[i]
		if !v.Open {
			continue
		}
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
		c.line("  " + Clean(strings.Join(words, "; ")))
	}
}

// haltedNow tells whether the switch is on.
func haltedNow() bool { return halt.Read().Halted }
