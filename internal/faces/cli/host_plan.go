package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/setup"
	"tutti/internal/core/canonjson"
)

// showSetup tells a person what was done, or with --diff what would be.
func (c *Call) showSetup(q *setup.Request, plans []*setup.Plan) {
	before := len(c.out)
	for _, p := range plans {
		if c.on("diff") {
			c.showDiff(q, p)
		} else {
			c.showPlan(q, p)
		}
	}
	changed := slices.ContainsFunc(plans, (*setup.Plan).Changed)
	failed := slices.ContainsFunc(plans, func(p *setup.Plan) bool { return p.Err != nil })
	switch {
	case changed && !failed && !q.Remove && !c.on("diff"):
		skills := "tutti install-skills"
		if q.Scope == driver.Project {
			skills += " --scope project"
		}
		c.line("→ " + folded(`"`+skills+`" teaches the models to use it; "tutti host status" checks the result`, 2, c.columns))
	case changed || failed:
	case c.on("diff"):
		c.remark("nothing would change")
	case q.Remove && len(c.out) == before:
		c.line("nothing of ours is in the settings of any agent program")
	}
}

// callable tells whether a program can be called.
func callable(d *driver.Driver) bool {
	_, err := exec.LookPath(d.Program)
	return err == nil
}

// namesHost tells whether one program was asked for, and not those that are found.
func (c *Call) namesHost() bool { return c.isSet("host") && c.text("host") != everyHost }

func (c *Call) showPlan(q *setup.Request, p *setup.Plan) {
	var rows [][]string
	for _, ch := range p.Changes {
		if p.Err != nil && !ch.Written() {
			continue
		}
		for i, did := range ch.Did {
			path := c.App.Shown(ch.Path)
			if i > 0 {
				path = ""
			}
			rows = append(rows, []string{"  " + path, did})
		}
		if ch.Backup != "" {
			rows = append(rows, []string{"", "before: " + c.App.Shown(ch.Backup)})
		}
	}
	if p.Err == nil {
		for _, r := range p.Remarks {
			rows = append(rows, []string{"  note", r})
		}
	}
	state := ""
	switch {
	case p.Err != nil && len(rows) == 0:
		state = "nothing was changed, see below"
	case p.Err != nil:
		state = "only in part, see below"
	case q.Remove && !p.Changed():
		if len(p.Remarks) == 0 && !c.namesHost() {
			return // it may not even be installed
		}
		state = "nothing of ours is there"
	case !p.Changed():
		state = "already up to date"
	case !q.Remove:
		next := "restart " + p.Driver.Title + " where it runs now"
		if !callable(p.Driver) {
			next = p.Driver.Title + " is not in PATH; it uses this once it is installed"
		}
		for _, n := range append(p.Notes(), next) {
			rows = append(rows, []string{"  next", n})
		}
	}
	if state != "" {
		state = ": " + state
	}
	c.line(c.paint(bold, p.Driver.Title) + state)
	c.facts(rows)
}

// showDiff prints what would change, in the form that patch reads.
func (c *Call) showDiff(q *setup.Request, p *setup.Plan) {
	for _, ch := range p.Changes {
		if p.Err != nil || !ch.Changed() {
			continue
		}
		from, to := Clean(ch.Path), Clean(ch.Path)
		if ch.Before == nil {
			from = os.DevNull
		}
		if ch.After == nil {
			to = os.DevNull
		}
		c.line(c.paint(bold, "--- "+from))
		c.line(c.paint(bold, "+++ "+to))
		for line := range strings.Lines(settings.Diff(ch.Before, ch.After)) {
			c.line(c.diffLine(strings.TrimSuffix(line, "\n")))
		}
	}
	for _, r := range p.Remarks {
		c.remark("%s: %s", p.Driver.Title, Clean(r))
	}
}

// diffLine shows a line of a difference. Tabs and the end of a line stay as they are: patch compares them.
func (c *Call) diffLine(line string) string {
	line, end := strings.CutSuffix(line, "\r")
	parts := strings.Split(line, "\t")
	for i, p := range parts {
		parts[i] = Clean(p)
	}
	if line = strings.Join(parts, "\t"); end {
		line += "\r"
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return c.paint(green, line)
	case strings.HasPrefix(line, "-"):
		return c.paint(red, line)
	}
	return line
}

// setupJSON says the same for programs.
func (c *Call) setupJSON(q *setup.Request, plans []*setup.Plan, reviews []reviewReport) {
	var hosts list
	ok := true
	for _, p := range plans {
		var files list
		for _, ch := range p.Changes {
			var o canonjson.Object
			o.Str("path", ch.Path)
			does := p.Err == nil && ch.Changed() || ch.Written()
			o.Bool("changed", does)
			if does {
				o.Strs("did", ch.Did)
			} else {
				o.Strs("did", nil)
			}
			o.Opt("backup", ch.Backup)
			if c.on("diff") && p.Err == nil {
				o.Str("diff", settings.Diff(ch.Before, ch.After))
			}
			files.obj(&o)
		}
		var o canonjson.Object
		o.Str("host", p.Driver.Name)
		o.Bool("ok", p.Err == nil)
		o.Bool("installed", callable(p.Driver))
		o.Bool("changed", p.Err == nil && p.Changed())
		o.Raw("files", files.bytes())
		o.Strs("remarks", p.Remarks)
		if p.Err != nil {
			ok = false
			o.Str("error", p.Err.Error())
		} else if !q.Remove {
			o.Strs("next", p.Notes())
		}
		for _, r := range reviews {
			if r.driver == p.Driver && !r.trusted {
				reviewJSON(&o, r.waiting)
			}
		}
		hosts.obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", ok)
	o.Str("scope", q.Scope.String())
	o.Str("command", q.Command)
	o.Raw("hosts", hosts.bytes())
	c.emit(o.Bytes())
}

// printSetup prints what belongs into each file, as it would stand in an empty one.
func (c *Call) printSetup(q *setup.Request, all []*driver.Driver) error {
	var rows list
	for _, d := range all {
		snippets, err := q.Snippets(d)
		if err != nil {
			return hostFault(err)
		}
		if p := q.Plan(d); len(snippets) == 0 && c.namesHost() && p.Err != nil {
			return hostFault(p.Err)
		}
		for _, s := range snippets {
			if !c.json {
				c.line("# " + d.Title + ": " + c.App.Shown(s.Path))
				c.out = append(c.out, s.Text...)
				continue
			}
			var o canonjson.Object
			o.Str("host", d.Name)
			o.Str("path", s.Path)
			o.Str("text", string(s.Text))
			rows.obj(&o)
		}
	}
	if c.json {
		c.emit(rows.bytes())
	}
	return nil
}

// setupFile puts the server into one file that the user names.
func (c *Call) setupFile(q *setup.Request, d *driver.Driver) error {
	path, err := filepath.Abs(c.text("write"))
	if err != nil {
		return failIO("", err, "")
	}
	p := q.Do(func() *setup.Plan { return q.PlanFile(d, path) })
	if c.json {
		c.setupJSON(q, []*setup.Plan{p}, nil)
	} else {
		c.showPlan(q, p)
	}
	return c.setupFault([]*setup.Plan{p})
}
