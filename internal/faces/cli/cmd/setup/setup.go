package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/agents/skill"
	"tutti/internal/app"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

type setupOptions struct {
	Dir                  string
	Yes, Diff, Remove    bool
	TrustHooks, NoTrust  bool
	NoInstall            bool
	NoSkills, NoComplete bool
}

// A setupRun is what one run of setup is to do: each part is planned before the question and carried out after it.
type setupRun struct {
	c        *kit.Call
	opt      *setupOptions
	dir      string // of the programs
	programs []step
	packaged string // where the programs are already, and stay; ""
	hosts    *setup.Request
	drivers  []*driver.Driver
	plans    []*setup.Plan
	skills   *skill.Request
	complete *completion
	trusted  bool // Codex's trust in the hooks was recorded
}

// A completion is the file in which a shell finds what completes our names.
type completion struct {
	path string
	text []byte
}

// A setupReport is what setup did, or would do.
type setupReport struct {
	OK       bool            `json:"ok"`
	DryRun   bool            `json:"dryRun"`             // nothing was done
	Programs []step          `json:"programs"`           // a file each
	Packaged string          `json:"packaged,omitempty"` // the folder in which the programs are already, and stay
	Hosts    []connectedHost `json:"hosts"`
	Skills   []string        `json:"skills"`               // files of the skill that were written or removed; in a dry run the main file of each folder
	Complete string          `json:"completion,omitempty"` // the file that was written or removed
	Problems []finding       `json:"problems"`             // what doctor finds afterwards
}

// A connectedHost is an agent CLI whose settings were changed.
type connectedHost struct {
	Host  string   `json:"host"`
	Files []string `json:"files"` // that change
	Error string   `json:"error,omitempty"`
}

// runSetup installs the programs, connects all agent CLIs, teaches their models and completes names in the shell; or takes all of it away.
func runSetup(ctx context.Context, c *kit.Call, opt *setupOptions) error {
	if opt.TrustHooks {
		if _, err := c.ForUser("record that you trust hooks"); err != nil {
			return err
		}
	}
	if opt.Remove && !opt.Diff {
		if _, err := c.ForUser("remove tutti"); err != nil {
			return err
		}
	}
	if !opt.Yes && !opt.Diff && !opt.Remove && kit.FactsOf(c.App).Attended() { // the question is for the user
		if _, err := c.ForUser("set up your agent CLIs"); err != nil {
			return err
		}
	}
	w, err := planSetup(c, opt)
	if err != nil {
		return err
	}
	view := w.view()
	if opt.Diff {
		w.showDiff(view)
		return setupFault(c, w.plans)
	}
	if !c.JSON {
		w.showPlan(view)
	}
	if w.changes(view) {
		question, line := "Set this up?", "tutti setup"
		if opt.Remove {
			question, line = "Remove this?", "tutti setup --remove"
		}
		if err := c.Confirm(opt.Yes, question, "nothing was changed", line+" --diff   # shows each line; then: "+line+" --yes"); err != nil {
			return err
		}
		if !opt.Yes && !opt.Remove {
			opt.TrustHooks = true // the user was asked for it, too
		}
	}
	return w.run(ctx, view)
}

// planSetup looks at what is there and what is to be done.
func planSetup(c *kit.Call, opt *setupOptions) (*setupRun, error) {
	w := &setupRun{c: c, opt: opt}
	hosts := &hostSetupOptions{Host: EveryHost, Scope: driver.User.String(), Remove: opt.Remove, Diff: opt.Diff, TrustHooks: opt.TrustHooks, NoTrust: opt.NoTrust}
	var err error
	w.hosts, w.drivers, err = hostRequest(c, hosts)
	if w.hosts == nil {
		return nil, err
	}
	if err := w.planPrograms(); err != nil {
		return nil, err
	}
	for _, d := range w.drivers { // without any, the programs are installed all the same
		w.plans = append(w.plans, w.hosts.Plan(d))
	}
	if !opt.NoSkills && len(w.drivers) > 0 {
		if w.skills, err = skillRequest(c, &installSkillsOptions{Host: EveryHost, Remove: opt.Remove}); err != nil {
			return nil, err
		}
	}
	if !opt.NoComplete {
		w.complete = w.completionFile()
	}
	return w, nil
}

// planPrograms plans the copies of the programs, unless the shell finds this very program already.
func (w *setupRun) planPrograms() error {
	in := &installOptions{Dir: w.opt.Dir, Uninstall: w.opt.Remove}
	dir, err := installDir(w.c, in)
	if err != nil {
		return err
	}
	w.dir = dir
	self, err := kit.FullPath()
	if err != nil {
		return kit.FailIO(kit.InstallHint, err, "find our own program")
	}
	self = filepath.Join(filepath.Dir(self), "tutti")
	if first := kit.FirstInPath("tutti"); w.opt.Dir == "" && first != "" && app.SameFile(first, self) && filepath.Dir(first) != dir {
		w.packaged = filepath.Dir(first)
		w.hosts.Command = first
		return nil
	}
	if w.opt.NoInstall {
		return nil
	}
	if w.programs, err = planAll(w.c, in, dir); err != nil {
		return err
	}
	if foreign := refused(w.programs); len(foreign) > 0 && !w.opt.Remove {
		return kit.BadState("move it away, or choose another folder: tutti setup --dir DIR", "not ours, and in the way: %s", kit.Clean(strings.Join(foreign, ", ")))
	}
	if !w.opt.Remove {
		w.hosts.Command = filepath.Join(dir, "tutti")
	}
	return nil
}

// completionFile is where the user's shell looks for completion by itself, nil where it looks nowhere.
func (w *setupRun) completionFile() *completion {
	home, err := w.c.App.Home()
	if err != nil || w.packaged != "" {
		return nil
	}
	shell := filepath.Base(os.Getenv("SHELL"))
	at := map[string]string{
		"bash": filepath.Join(home, ".local/share/bash-completion/completions/tutti"),
		"fish": filepath.Join(home, ".config/fish/completions/tutti.fish"),
	}[shell]
	text, ok := shellScript(w.c, shell)
	if at == "" || !ok {
		return nil
	}
	old, _, err := smallfile.Read(at, 1<<20, smallfile.Follow)
	switch {
	case err == nil && string(old) == text && !w.opt.Remove:
		return nil // it is there
	case err == nil && !strings.HasPrefix(string(old), "# completion of tutti"):
		return nil // another program's, or the user's own
	case err != nil && w.opt.Remove, err != nil && !errors.Is(err, os.ErrNotExist):
		return nil
	}
	return &completion{at, []byte(text)}
}

// view is the plan for programs and people.
func (w *setupRun) view() *setupReport {
	v := &setupReport{OK: true, DryRun: w.opt.Diff, Packaged: w.packaged, Programs: []step{}, Hosts: []connectedHost{}, Skills: []string{}, Problems: []finding{}}
	for _, s := range w.programs {
		if s.Does != "keep" && (s.Does == "remove" || !w.opt.Remove) {
			v.Programs = append(v.Programs, s)
		}
	}
	for _, p := range w.plans {
		h := connectedHost{Host: p.Driver.Name}
		for _, ch := range p.Changes {
			if ch.Changed() && !slices.Contains(h.Files, ch.Path) {
				h.Files = append(h.Files, ch.Path)
			}
		}
		if p.Err != nil {
			h.Error, v.OK = p.Err.Error(), false
		}
		if h.Files = render.List(h.Files); len(h.Files) > 0 || h.Error != "" {
			v.Hosts = append(v.Hosts, h)
		}
	}
	if w.skills != nil {
		v.Skills = skillsToChange(w.skills, w.opt.Remove)
	}
	if w.complete != nil {
		v.Complete = w.complete.path
	}
	return v
}

// skillsToChange are the files of the skill that would be written or removed, of each folder the one that models read first.
func skillsToChange(q *skill.Request, remove bool) []string {
	files := []string{}
	for _, r := range skill.Look(q) {
		var changes bool
		switch r.State {
		case skill.Written, skill.Replaced:
			changes = !remove
		case skill.Same:
			changes = remove
		case skill.Updated:
			changes = true
		}
		if changes {
			files = append(files, r.Path)
		}
	}
	return files
}

func (w *setupRun) changes(v *setupReport) bool {
	return len(v.Programs) > 0 || len(v.Skills) > 0 || v.Complete != "" || slices.ContainsFunc(v.Hosts, func(h connectedHost) bool { return len(h.Files) > 0 })
}

// run carries the plan out: connected CLIs start the programs, so these come first; and last where all of it is removed.
func (w *setupRun) run(ctx context.Context, v *setupReport) error {
	if !w.opt.Remove {
		if err := carryOut(w.programs); err != nil {
			return kit.FailIO("", err, "install")
		}
	}
	done := make([]*setup.Plan, 0, len(w.plans))
	for _, d := range w.drivers {
		done = append(done, w.hosts.Do(func() *setup.Plan { return w.hosts.Plan(d) }))
	}
	w.plans = done
	if err := errors.Join(w.runSkills(v), w.runComplete()); err != nil {
		return err
	}
	fault := setupFault(w.c, w.plans)
	if w.opt.Remove && fault == nil {
		if err := carryOut(w.programs); err != nil {
			return kit.FailIO("", err, "remove the programs")
		}
		w.removeEmpty(v)
	}
	if !w.opt.Remove {
		reviews := reviewHooks(w.c, &hostSetupOptions{TrustHooks: w.opt.TrustHooks}, !w.opt.Yes, w.hosts, w.drivers, w.plans)
		w.trusted = slices.ContainsFunc(reviews, func(r reviewReport) bool { return r.trusted })
		w.examine(ctx, v)
	}
	v.OK = fault == nil
	if w.c.JSON {
		w.c.Result(v)
	} else {
		w.showDone(v)
	}
	return fault
}

// removeEmpty removes the folders below the home folder that are empty once what was in them is gone.
func (w *setupRun) removeEmpty(v *setupReport) {
	home, err := w.c.App.Home()
	if err != nil {
		return
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return
	}
	files := slices.Clone(v.Skills)
	for _, s := range w.programs {
		files = append(files, s.Path)
	}
	for _, h := range v.Hosts {
		files = append(files, h.Files...)
	}
	if w.complete != nil {
		files = append(files, w.complete.path)
	}
	for _, path := range files {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		for at := filepath.Dir(path); errors.Is(err, os.ErrNotExist) && at != filepath.Dir(at); { // a folder of the skill went with it
			at = filepath.Dir(at)
			dir, err = filepath.EvalSymlinks(at)
		}
		for ; err == nil && strings.HasPrefix(dir, home+string(filepath.Separator)); dir = filepath.Dir(dir) {
			err = os.Remove(dir) // fails where it is not empty
		}
	}
}

func (w *setupRun) runSkills(v *setupReport) error {
	if w.skills == nil {
		return nil
	}
	do := skill.Install
	if w.opt.Remove {
		do = skill.Remove
	}
	r := do(w.skills)
	v.Skills = []string{}
	for i := range r.Files {
		if f := &r.Files[i]; f.State != skill.Same {
			v.Skills = append(v.Skills, f.Path)
		}
	}
	if err := r.Err(); err != nil {
		return kit.FailIO("", err, "skill")
	}
	return nil
}

func (w *setupRun) runComplete() error {
	switch {
	case w.complete == nil:
		return nil
	case w.opt.Remove:
		return os.Remove(w.complete.path)
	}
	dir := filepath.Dir(w.complete.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return kit.FailIO("", err, "completion")
	}
	if err := atomicfile.WriteFile(w.complete.path, w.complete.text, 0o644); err != nil {
		return kit.FailIO("", err, "completion")
	}
	return nil
}

// found tells whether the shell finds the programs that were set up.
func (w *setupRun) found() bool { return w.packaged != "" || w.opt.NoInstall || inPath(w.dir) }

// examineLimit is how long doctor may take: it asks programs for their versions.
const examineLimit = time.Minute

// examine lets the doctor of the program that was set up look at the result, and keeps what is not in order. Whether a halt really stops
// each CLI is proved by a drill, which takes minutes: the user decides about that.
func (w *setupRun) examine(ctx context.Context, v *setupReport) {
	ctx, stop := context.WithTimeout(ctx, examineLimit)
	defer stop()
	out, err := exec.CommandContext(ctx, w.hosts.Command, "doctor", "--json").Output()
	var r report
	if e := json.Unmarshal(out, &r); e != nil {
		v.Problems = append(v.Problems, finding{"doctor", "failed", cmp.Or(err, e).Error(), "tutti doctor"})
		return
	}
	for _, f := range r.Findings {
		if f.State != "ok" && f.Name != drillFinding && !(f.Name == "names" && !w.found()) {
			v.Problems = append(v.Problems, f)
		}
	}
}
