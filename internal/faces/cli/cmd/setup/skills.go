package setup

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/skill"
	"tutti/internal/core/render"
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
		return nil, kit.Refuse("tutti install-skills --host claude", "no agent CLI is on the PATH; name one to set it up before you install it: %s", strings.Join(SkillHosts[:len(SkillHosts)-1], ", "))
	}
	return q, nil
}

// isHere tells whether a user has a program: it can be called, or has settings. The names of untested ones may be
// those of other programs.
func isHere(d *driver.Driver, p driver.Site) bool {
	if len(d.Tried) > 0 && callable(d) {
		return true
	}
	for _, path := range settingsOf(d, p, driver.User) {
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
	parts := skill.Parts(q.Name(), form, titles)
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
	c.Result(printedSkill{render.List(parts)})
	return nil
}

// A printedSkill is what --print shows of a skill.
type printedSkill struct {
	Files []skill.Part `json:"files"`
}

// A skillsReport is what h2a install-skills prints.
type skillsReport struct {
	OK        bool           `json:"ok"`
	Host      string         `json:"host"`
	Scope     string         `json:"scope"`
	Base      string         `json:"targetBase"` // the folder below which skills are
	Installed []string       `json:"installed"`  // files
	Skipped   []skippedSkill `json:"skipped"`
	Pruned    []prunedSkill  `json:"prunedLegacy"` // files of older versions that were moved away
	Hint      string         `json:"importHint,omitempty"`
}

// A skippedSkill is a skill that was not installed, and why.
type skippedSkill struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// A prunedSkill is a file of an older version.
type prunedSkill struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// skillsAsH2A prints the object of the older program.
func skillsAsH2A(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) {
	v := skillsReport{
		OK: r.Complete() && r.Err() == nil, Host: opt.Host, Scope: q.Scope.String(), Base: r.Base,
		Installed: []string{}, Skipped: []skippedSkill{}, Pruned: []prunedSkill{}, Hint: importHint(q),
	}
	for i := range r.Files {
		switch f := &r.Files[i]; f.State {
		case skill.Left, skill.Failed:
			v.Skipped = append(v.Skipped, skippedSkill{q.Name(), leftReason(f)})
		case skill.Same: // in a folder that the older program does not know, which another one of today's shares
		default:
			v.Installed = append(v.Installed, f.Path)
		}
	}
	for i := range r.Old {
		if o := &r.Old[i]; o.Moved != "" {
			v.Pruned = append(v.Pruned, prunedSkill{o.Name, o.Path})
		} else {
			c.Warn("%s: left, for it %s", kit.Clean(c.App.Shown(o.Path)), kit.Clean(o.Why))
		}
	}
	c.Result(v)
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
			all = append(all, strings.ReplaceAll(d.Skills.Note, " "+skill.Name+"\"", " "+q.Name()+"\""))
		}
	}
	return strings.Join(all, "; ")
}

// A skillsView is what became of the files of a skill.
type skillsView struct {
	OK    bool        `json:"ok"`
	Scope string      `json:"scope"`
	Files []skillFile `json:"files"`
	Old   []skill.Old `json:"old"`                  // files of older versions
	Hint  string      `json:"importHint,omitempty"` // what is left to do
}

// A skillFile is one file of a skill.
type skillFile struct {
	Path   string   `json:"path"`
	State  string   `json:"state"` // what was done
	For    []string `json:"for"`   // agent CLIs that read it
	Backup string   `json:"backup,omitempty"`
	Error  *string  `json:"error,omitempty"`
	Why    string   `json:"why,omitempty"` // why it was left alone
}

// skillsJSON says each file with what became of it.
func skillsJSON(c *kit.Call, opt *installSkillsOptions, q *skill.Request, r *skill.Report) {
	v := skillsView{OK: r.Complete() && r.Err() == nil, Scope: q.Scope.String(), Files: []skillFile{}, Old: render.List(r.Old)}
	for i := range r.Files {
		f := &r.Files[i]
		one := skillFile{Path: f.Path, State: f.State.String(), For: render.List(f.For), Backup: f.Backup, Why: f.Why}
		if f.Err != nil {
			text := f.Err.Error()
			one.Error = &text
		}
		v.Files = append(v.Files, one)
	}
	if !opt.Remove {
		v.Hint = importHint(q)
	}
	c.Result(v)
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
