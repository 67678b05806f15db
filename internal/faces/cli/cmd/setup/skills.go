package setup

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/skill"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

type installSkillsOptions struct {
	Host, Scope                    string
	Sessions, Force, Remove, Print bool
}

// runInstallSkills puts the skill where agent programs look, or takes it away.
func runInstallSkills(_ context.Context, c *kit.Call, opt *installSkillsOptions) error {
	if c.Under == kit.H2A && !c.IsSet(&opt.Host) {
		return kit.HintInstead(c.Missing(&opt.Host), "--host "+strings.Join(SkillHosts, "|"))
	}
	for _, other := range [...]*bool{&opt.Force, &opt.Print} {
		if opt.Remove && *other {
			return kit.Usagef("install-skills: --remove and --%s do not go together", c.FlagName(other))
		}
	}
	q, err := skillRequest(c, opt)
	if err != nil {
		return err
	}
	if opt.Print {
		return printSkill(c, opt, q)
	}
	var r *skill.Report
	if opt.Remove {
		r = skill.Remove(q)
	} else {
		r = skill.Install(q)
	}
	switch {
	case c.Under == kit.H2A:
		skillsAsH2A(c, opt, q, r)
	case c.JSON:
		skillsJSON(c, opt, q, r)
	default:
		showSkills(c, opt, q, r)
	}
	if err := r.Err(); err != nil {
		return kit.FailIO("", err, "")
	}
	if !r.Complete() {
		return skillsLeft(c, opt, q, r)
	}
	return nil
}

// skillRequest is what the command line asks for. A project needs no home folder.
func skillRequest(c *kit.Call, opt *installSkillsOptions) (*skill.Request, error) {
	// A skill file of another program or an edited one is kept beside and replaced: left alone, it would teach what is no longer there.
	force := opt.Force || c.Under != kit.H2A && !opt.Sessions
	q := &skill.Request{Force: force, Strict: c.Under == kit.H2A, Now: time.Now(), Sessions: opt.Sessions, Has: func(name string) bool { return c.Table.Has(c.Under, name) }}
	q.Place.Env = os.Getenv
	home, err := c.App.Home()
	if scope := opt.Scope; scope == driver.Project.String() || q.Sessions && scope == "" {
		q.Scope = driver.Project
		q.Place.Dir, err = os.Getwd()
	}
	if err != nil {
		return nil, kit.FailIO("", err, "")
	}
	q.Place.Home = home
	if d, ok := driver.Get(opt.Host); ok {
		q.Drivers = []*driver.Driver{d}
		return q, nil
	}
	for _, d := range driver.All() {
		if opt.Remove || opt.Print || home != "" && isHere(d, q.Place) {
			q.Drivers = append(q.Drivers, d)
		}
	}
	if len(q.Drivers) == 0 && !q.Sessions {
		return nil, kit.Refuse("tutti install-skills --host claude", "no agent program was found here; name one: %s", strings.Join(SkillHosts[:len(SkillHosts)-1], ", "))
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
func printSkill(c *kit.Call, opt *installSkillsOptions, q *skill.Request) error {
	form := driver.Markdown
	var titles []string
	if c.IsSet(&opt.Host) && opt.Host != EveryHost && len(q.Drivers[0].Skills.Folders) > 0 {
		form, titles = q.Drivers[0].Skills.Folders[0].Form, []string{q.Drivers[0].Title}
	}
	parts := skill.Parts(form, titles)
	if q.Sessions {
		parts = slices.Concat(skill.Sessions(q.Has)...)
	}
	if !c.JSON {
		for _, p := range parts {
			if q.Sessions && !p.Program || !q.Sessions && p.Name == parts[len(parts)-1].Name {
				c.Out = append(c.Out, p.Text...)
			}
		}
		return nil
	}
	c.Emit(kit.Marshal(map[string][]skill.Part{"files": append([]skill.Part{}, parts...)}))
	return nil
}

// skillsAsH2A prints the object of the older program.
func skillsAsH2A(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) {
	var installed, skipped, pruned kit.List
	for i := range r.Files {
		switch f := &r.Files[i]; f.State {
		case skill.Left, skill.Failed:
			var o canonjson.Object
			o.Str("name", skill.Name)
			o.Str("reason", leftReason(f))
			skipped.Obj(&o)
		case skill.Same: // in a folder that the older program does not know, which another one of today's shares
		default:
			installed.Str(f.Path)
		}
	}
	for i := range r.Old {
		if o := &r.Old[i]; o.Moved != "" {
			var row canonjson.Object
			row.Str("name", o.Name)
			row.Str("path", o.Path)
			pruned.Obj(&row)
		} else {
			c.Warn("%s: left, for it %s", kit.Clean(c.App.Shown(o.Path)), kit.Clean(o.Why))
		}
	}
	var o canonjson.Object
	o.Bool("ok", r.Complete() && r.Err() == nil)
	o.Str("host", opt.Host)
	o.Str("scope", q.Scope.String())
	o.Str("targetBase", r.Base)
	o.Raw("installed", installed.Bytes())
	o.Raw("skipped", skipped.Bytes())
	o.Raw("prunedLegacy", pruned.Bytes())
	o.Opt("importHint", importHint(q))
	c.Emit(o.Bytes())
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
func skillsJSON(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) {
	var files kit.List
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
		files.Obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", r.Complete() && r.Err() == nil)
	o.Str("scope", q.Scope.String())
	o.Raw("files", files.Bytes())
	o.Raw("old", kit.Marshal(append([]skill.Old{}, r.Old...)))
	if !opt.Remove {
		o.Opt("importHint", importHint(q))
	}
	c.Emit(o.Bytes())
}

// skillWords are what people read for the states.
var skillWords = [...]string{
	skill.Written: "wrote", skill.Updated: "updated", skill.Replaced: "replaced", skill.Same: "up to date", skill.Left: "left alone",
	skill.Removed: "removed", skill.Failed: "failed",
}

// showSkills tells a person. The parts that a skill refers to go without saying, unless something is the matter.
func showSkills(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) {
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
	c.Facts(rows)
	if opt.Remove {
		if len(rows) == 0 {
			c.Line("no skill of ours is in the folders of " + titlesOf(q.Drivers))
		}
		return
	}
	if absent := absentHosts(c, opt, q, r); absent != "" {
		c.Remark("not found here, and left out: %s", absent)
	}
	if note := importHint(q); note != "" {
		c.Remark("hint: %s", note)
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
func absentHosts(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) string {
	if c.IsSet(&opt.Host) && opt.Host != EveryHost {
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
func skillsLeft(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) error {
	n := 0
	for i := range r.Files {
		if r.Files[i].State == skill.Left {
			n++
		}
	}
	hint := "--force replaces what was edited, and keeps it beside; a link has to be removed by hand"
	switch {
	case opt.Remove:
		hint = "look at what is left, and remove it by hand"
	case q.Force:
		hint = "remove what is in the way by hand"
	}
	return kit.BadState(hint, "left alone: %s", kit.Plural(n, "file"))
}
