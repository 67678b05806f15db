package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/setup"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// showSetup tells a person what was done, or with --diff what would be.
func showSetup(c *kit.Call, opt *hostSetupOptions, q *setup.Request, plans []*setup.Plan) {
	before := len(c.Out)
	for _, p := range plans {
		if opt.Diff {
			showDiff(c, q, p)
		} else {
			showPlan(c, opt, q, p)
		}
	}
	changed := slices.ContainsFunc(plans, (*setup.Plan).Changed)
	failed := slices.ContainsFunc(plans, func(p *setup.Plan) bool { return p.Err != nil })
	switch {
	case changed && !failed && !q.Remove && !opt.Diff:
		skills := "tutti install-skills"
		if q.Scope == driver.Project {
			skills += " --scope project"
		}
		c.Line("→ " + kit.Folded(`"`+skills+`" teaches the models to use it; "tutti host status" checks the result`, 2, c.Columns))
	case changed || failed:
	case opt.Diff:
		c.Remark("nothing would change")
	case q.Remove && len(c.Out) == before:
		c.Line("nothing of ours is in the settings of any agent program")
	}
}

// callable tells whether a program can be called.
func callable(d *driver.Driver) bool {
	_, err := exec.LookPath(d.Program)
	return err == nil
}

// namesHost tells whether one program was asked for, and not those that are found.
func namesHost(c *kit.Call, opt *hostSetupOptions) bool {
	return c.IsSet(&opt.Host) && opt.Host != EveryHost
}

func showPlan(c *kit.Call, opt *hostSetupOptions, q *setup.Request, p *setup.Plan) {
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
		if len(p.Remarks) == 0 && !namesHost(c, opt) {
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
	c.Line(c.Paint(kit.Bold, p.Driver.Title) + state)
	c.Facts(rows)
}

// showDiff prints what would change, in the form that patch reads.
func showDiff(c *kit.Call, q *setup.Request, p *setup.Plan) {
	for _, ch := range p.Changes {
		if p.Err != nil || !ch.Changed() {
			continue
		}
		from, to := kit.Clean(ch.Path), kit.Clean(ch.Path)
		if ch.Before == nil {
			from = os.DevNull
		}
		if ch.After == nil {
			to = os.DevNull
		}
		c.Line(c.Paint(kit.Bold, "--- "+from))
		c.Line(c.Paint(kit.Bold, "+++ "+to))
		for line := range strings.Lines(settings.Diff(ch.Before, ch.After)) {
			c.Line(diffLine(c, strings.TrimSuffix(line, "\n")))
		}
	}
	for _, r := range p.Remarks {
		c.Remark("%s: %s", p.Driver.Title, kit.Clean(r))
	}
}

// diffLine shows a line of a difference. Tabs and the end of a line stay as they are: patch compares them.
func diffLine(c *kit.Call, line string) string {
	line, end := strings.CutSuffix(line, "\r")
	parts := strings.Split(line, "\t")
	for i, p := range parts {
		parts[i] = kit.Clean(p)
	}
	if line = strings.Join(parts, "\t"); end {
		line += "\r"
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return c.Paint(kit.Green, line)
	case strings.HasPrefix(line, "-"):
		return c.Paint(kit.Red, line)
	}
	return line
}

// A setupView is what host setup did, or would do.
type setupView struct {
	OK      bool        `json:"ok"`
	Scope   string      `json:"scope"`
	Command string      `json:"command"` // the program that the settings name
	Hosts   []setupHost `json:"hosts"`
}

// A setupHost is one agent CLI.
type setupHost struct {
	Host      string      `json:"host"`
	OK        bool        `json:"ok"`
	Installed bool        `json:"installed"` // it is in PATH
	Changed   bool        `json:"changed"`
	Files     []setupFile `json:"files"`
	Remarks   []string    `json:"remarks"`
	Error     string      `json:"error,omitempty"`
	Next      []string    `json:"next,omitzero"`       // what is left to do; absent with --remove and on an error
	Untrusted []string    `json:"untrusted,omitempty"` // events whose hooks wait for the user's review
}

// A setupFile is a file of settings.
type setupFile struct {
	Path    string   `json:"path"`
	Changed bool     `json:"changed"`
	Did     []string `json:"did"`              // the changes
	Backup  string   `json:"backup,omitempty"` // the copy of the earlier file
	Diff    *string  `json:"diff,omitempty"`   // with --diff
}

// A snippet is what belongs into a file, with --print.
type snippet struct {
	Host string `json:"host"`
	Path string `json:"path"`
	Text string `json:"text"`
}

// setupJSON says the same for programs.
func setupJSON(c *kit.Call, opt *hostSetupOptions, q *setup.Request, plans []*setup.Plan, reviews []reviewReport) {
	v := setupView{OK: true, Scope: q.Scope.String(), Command: q.Command, Hosts: []setupHost{}}
	for _, p := range plans {
		h := setupHost{
			Host: p.Driver.Name, OK: p.Err == nil, Installed: callable(p.Driver), Changed: p.Err == nil && p.Changed(),
			Files: []setupFile{}, Remarks: render.List(p.Remarks),
		}
		for _, ch := range p.Changes {
			f := setupFile{Path: ch.Path, Changed: p.Err == nil && ch.Changed() || ch.Written(), Did: []string{}, Backup: ch.Backup}
			if f.Changed {
				f.Did = render.List(ch.Did)
			}
			if opt.Diff && p.Err == nil {
				diff := settings.Diff(ch.Before, ch.After)
				f.Diff = &diff
			}
			h.Files = append(h.Files, f)
		}
		if p.Err != nil {
			v.OK, h.Error = false, p.Err.Error()
		} else if !q.Remove {
			h.Next = render.List(p.Notes())
		}
		for _, r := range reviews {
			if r.driver == p.Driver && !r.trusted {
				h.Untrusted = untrusted(r.waiting)
			}
		}
		v.Hosts = append(v.Hosts, h)
	}
	c.Result(v)
}

// printSetup prints what belongs into each file, as it would stand in an empty one.
func printSetup(c *kit.Call, opt *hostSetupOptions, q *setup.Request, all []*driver.Driver) error {
	rows := []snippet{}
	for _, d := range all {
		snippets, err := q.Snippets(d)
		if err != nil {
			return hostFault(err)
		}
		if p := q.Plan(d); len(snippets) == 0 && namesHost(c, opt) && p.Err != nil {
			return hostFault(p.Err)
		}
		for _, s := range snippets {
			if !c.JSON {
				c.Line("# " + d.Title + ": " + c.App.Shown(s.Path))
				c.Out = append(c.Out, s.Text...)
				continue
			}
			rows = append(rows, snippet{d.Name, s.Path, string(s.Text)})
		}
	}
	if c.JSON {
		c.Result(rows)
	}
	return nil
}

// setupOneFile puts the server into one file that the user names.
func setupOneFile(c *kit.Call, opt *hostSetupOptions, q *setup.Request, d *driver.Driver) error {
	path, err := filepath.Abs(opt.Write)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	p := q.Do(func() *setup.Plan { return q.PlanFile(d, path) })
	if c.JSON {
		setupJSON(c, opt, q, []*setup.Plan{p}, nil)
	} else {
		showPlan(c, opt, q, p)
	}
	return setupFault(c, []*setup.Plan{p})
}
