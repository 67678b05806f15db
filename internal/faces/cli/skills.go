package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/skill"
	"tutti/internal/core/canonjson"
)

// runInstallSkills puts the skill where agent programs look, or takes it away.
func runInstallSkills(_ context.Context, c *Call) error {
	if c.under == H2A && !c.isSet("host") {
		return hintInstead(c.missing("host"), "--host "+strings.Join(skillHosts, "|"))
	}
	for _, other := range [...]string{"force", "print"} {
		if c.on("remove") && c.on(other) {
			return usagef("install-skills: --remove and --%s do not go together", other)
		}
	}
	q, err := c.skillRequest()
	if err != nil {
		return err
	}
	if c.on("print") {
		return c.printSkill(q)
	}
	var r *skill.Report
	if c.on("remove") {
		r = skill.Remove(q)
	} else {
		r = skill.Install(q)
	}
	switch {
	case c.under == H2A:
		c.skillsAsH2A(q, r)
	case c.json:
		c.skillsJSON(q, r)
	default:
		c.showSkills(q, r)
	}
	if err := r.Err(); err != nil {
		return failIO("", err, "")
	}
	if !r.Complete() {
		return c.skillsLeft(q, r)
	}
	return nil
}

// skillRequest is what the command line asks for. A project needs no home folder.
func (c *Call) skillRequest() (*skill.Request, error) {
	// A skill file of another program or an edited one is kept beside and replaced: left alone, it would teach what is no longer there.
	force := c.on("force") || c.under != H2A && !c.on("sessions")
	q := &skill.Request{Force: force, Strict: c.under == H2A, Now: time.Now(), Sessions: c.on("sessions"), Has: func(name string) bool { return c.Table.has(c.under, name) }}
	q.Place.Env = os.Getenv
	home, err := c.App.Home()
	if scope := c.text("scope"); scope == driver.Project.String() || q.Sessions && scope == "" {
		q.Scope = driver.Project
		q.Place.Dir, err = os.Getwd()
	}
	if err != nil {
		return nil, failIO("", err, "")
	}
	q.Place.Home = home
	if d, ok := driver.Get(c.text("host")); ok {
		q.Drivers = []*driver.Driver{d}
		return q, nil
	}
	for _, d := range driver.All() {
		if c.on("remove") || c.on("print") || home != "" && isHere(d, q.Place) {
			q.Drivers = append(q.Drivers, d)
		}
	}
	if len(q.Drivers) == 0 && !q.Sessions {
		return nil, refuse("tutti install-skills --host claude", "no agent program was found here; name one: %s", strings.Join(skillHosts[:len(skillHosts)-1], ", "))
	}
	return q, nil
}

// isHere tells whether a user has a program: it can be called, or has settings. The names of those that nobody tried may be
// those of other programs.
func isHere(d *driver.Driver, p driver.Site) bool {
	if len(d.Tried) > 0 && callable(d) {
		return true
	}
	for _, path := range settingsOf(d, p) {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// printSkill prints what would be written.
func (c *Call) printSkill(q *skill.Request) error {
	form := driver.Markdown
	var titles []string
	if c.isSet("host") && c.text("host") != everyHost && len(q.Drivers[0].Skills.Folders) > 0 {
		form, titles = q.Drivers[0].Skills.Folders[0].Form, []string{q.Drivers[0].Title}
	}
	parts := skill.Parts(form, titles)
	if q.Sessions {
		parts = slices.Concat(skill.Sessions(q.Has)...)
	}
	if !c.json {
		for _, p := range parts {
			if q.Sessions && !p.Program || !q.Sessions && p.Name == parts[len(parts)-1].Name {
				c.out = append(c.out, p.Text...)
			}
		}
		return nil
	}
	var l list
	for _, p := range parts {
		var o canonjson.Object
		o.Str("name", p.Name)
		o.Str("text", p.Text)
		l.obj(&o)
	}
	var o canonjson.Object
	o.Raw("files", l.bytes())
	c.emit(o.Bytes())
	return nil
}

// skillsAsH2A prints the object of the older program.
func (c *Call) skillsAsH2A(q *skill.Request, r *skill.Report) {
	var installed, skipped, pruned list
	for i := range r.Files {
		switch f := &r.Files[i]; f.State {
		case skill.Left, skill.Failed:
			var o canonjson.Object
			o.Str("name", skill.Name)
			o.Str("reason", leftReason(f))
			skipped.obj(&o)
		case skill.Same: // in a folder that the older program does not know, which another one of today's shares
		default:
			installed.str(f.Path)
		}
	}
	for i := range r.Old {
		if o := &r.Old[i]; o.Moved != "" {
			var row canonjson.Object
			row.Str("name", o.Name)
			row.Str("path", o.Path)
			pruned.obj(&row)
		} else {
			c.warn("%s: left, for it %s", Clean(c.App.Shown(o.Path)), Clean(o.Why))
		}
	}
	var o canonjson.Object
	o.Bool("ok", r.Complete() && r.Err() == nil)
	o.Str("host", c.text("host"))
	o.Str("scope", q.Scope.String())
	o.Str("targetBase", r.Base)
	o.Raw("installed", installed.bytes())
	o.Raw("skipped", skipped.bytes())
	o.Raw("prunedLegacy", pruned.bytes())
	o.Opt("importHint", importHint(q))
	c.emit(o.Bytes())
}

func leftReason(f *skill.Result) string {
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.Path + " " + f.Why
}

// importHint is what the user has to do beside that.
func importHint(q *skill.Request) string {
	var all []string
	for _, d := range q.Drivers {
		if d.Skills.Note != "" {
			all = append(all, d.Skills.Note)
		}
	}
	return strings.Join(all, "; ")
}

// skillsJSON says each file with what became of it.
func (c *Call) skillsJSON(q *skill.Request, r *skill.Report) {
	var files, old list
	for i := range r.Files {
		f := &r.Files[i]
		var o canonjson.Object
		o.Str("path", f.Path)
		o.Str("state", f.State.String())
		o.Strs("for", f.For)
		o.Opt("backup", f.Backup)
		if f.Err != nil {
			o.Str("error", f.Err.Error())
		}
		o.Opt("why", f.Why)
		files.obj(&o)
	}
	for i := range r.Old {
		f := &r.Old[i]
		var o canonjson.Object
		o.Str("name", f.Name)
		o.Str("path", f.Path)
		o.Opt("moved", f.Moved)
		o.Opt("why", f.Why)
		old.obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", r.Complete() && r.Err() == nil)
	o.Str("scope", q.Scope.String())
	o.Raw("files", files.bytes())
	o.Raw("old", old.bytes())
	if !c.on("remove") {
		o.Opt("importHint", importHint(q))
	}
	c.emit(o.Bytes())
}

// skillWords are what people read for the states.
var skillWords = [...]string{
	skill.Written: "wrote", skill.Updated: "updated", skill.Replaced: "replaced", skill.Same: "up to date", skill.Left: "left alone",
	skill.Removed: "removed", skill.Failed: "failed",
}

// showSkills tells a person. The parts that a skill refers to go without saying, unless something is the matter.
func (c *Call) showSkills(q *skill.Request, r *skill.Report) {
	var rows [][]string
	for i := range r.Old {
		if o := &r.Old[i]; o.Moved != "" {
			rows = append(rows, []string{"moved", c.App.Shown(o.Path), "to " + c.App.Shown(o.Moved)})
		} else {
			rows = append(rows, []string{"left alone", c.App.Shown(o.Path), o.Why})
		}
	}
	for i := range r.Files {
		f := &r.Files[i]
		remark := strings.Join(f.For, ", ")
		switch {
		case f.Why != "":
			remark = f.Why
		case f.Err != nil:
			remark = "see below"
		}
		rows = append(rows, []string{skillWords[f.State], c.App.Shown(f.Path), remark})
		if f.Backup != "" {
			rows = append(rows, []string{"", "before: " + c.App.Shown(f.Backup)})
		}
	}
	c.facts(rows)
	if c.on("remove") {
		if len(rows) == 0 {
			c.line("no skill of ours lies in the folders of " + titlesOf(q.Drivers))
		}
		return
	}
	if absent := c.absentHosts(q, r); absent != "" {
		c.remark("not found here, and left out: %s", absent)
	}
	if note := importHint(q); note != "" {
		c.remark("hint: %s", note)
	}
}

func titlesOf(all []*driver.Driver) string {
	var titles []string
	for _, d := range all {
		titles = append(titles, d.Title)
	}
	return strings.Join(titles, ", ")
}

// absentHosts are the programs that all left out. The skills of the sessions lie where some look that are not here.
func (c *Call) absentHosts(q *skill.Request, r *skill.Report) string {
	if c.isSet("host") && c.text("host") != everyHost {
		return ""
	}
	var absent []*driver.Driver
	for _, d := range driver.All() {
		if slices.Contains(q.Drivers, d) || q.Sessions && slices.ContainsFunc(r.Files, func(f skill.Result) bool { return slices.Contains(f.For, d.Title) }) {
			continue
		}
		absent = append(absent, d)
	}
	return titlesOf(absent)
}

// skillsLeft is the fault when files were left alone.
func (c *Call) skillsLeft(q *skill.Request, r *skill.Report) error {
	n := 0
	for i := range r.Files {
		if r.Files[i].State == skill.Left {
			n++
		}
	}
	hint := "--force replaces what was edited, and keeps it beside; a link has to be removed by hand"
	switch {
	case c.on("remove"):
		hint = "look at what is left, and remove it by hand"
	case q.Force:
		hint = "remove what is in the way by hand"
	}
	return badState(hint, "left alone: %s", plural(n, "file"))
}
