package setup

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/agents/setup"
	"tutti/internal/app"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

// showPlan says in a few lines what is to be done.
func (w *setupRun) showPlan(v *setupReport) {
	c := w.c
	var rows [][]string
	switch n := len(v.Programs); {
	case w.packaged != "":
		rows = append(rows, []string{"Programs", w.elsewhere()})
	case n > 0:
		rows = append(rows, []string{"Programs", "tutti, tutti-full, links and manual pages: " + kit.Plural(n, "file") + " below " + c.App.Shown(filepath.Dir(w.dir))})
	case !w.opt.NoInstall:
		rows = append(rows, []string{"Programs", w.still()})
	}
	for _, p := range w.plans {
		var files []string
		for _, h := range v.Hosts {
			if h.Host == p.Driver.Name {
				files = append(files, h.Files...)
			}
		}
		switch {
		case p.Err != nil:
			rows = append(rows, []string{p.Driver.Title, "cannot be set up: " + kit.Clean(p.Err.Error())})
		case len(files) > 0:
			text := shownAll(c, files)
			if setup.Reviews(p.Driver) && !w.opt.Yes && !w.opt.Remove && !w.opt.Diff && kit.FactsOf(c.App).Attended() {
				text += " (also marks these hooks as trusted by you)"
			}
			if p.Trusts() {
				text += " (also allows the tools of tutti without asking)"
			}
			rows = append(rows, []string{p.Driver.Title, text})
		case !w.opt.Remove:
			rows = append(rows, []string{p.Driver.Title, "already set up"})
		}
	}
	switch {
	case len(v.Skills) > 0:
		rows = append(rows, []string{"Skill", shownAll(c, v.Skills) + " (what the models read about tutti)"})
	case w.skills != nil && !w.opt.Remove:
		rows = append(rows, []string{"Skill", "already in place"})
	}
	if v.Complete != "" {
		rows = append(rows, []string{"Completion", c.App.Shown(v.Complete)})
	}
	c.Facts(rows)
	if len(w.plans) == 0 && !w.opt.Remove {
		c.Line("No agent CLI is on the PATH. Install one, such as Claude Code or Codex, and type tutti setup again.")
	}
}

// zshLine is what a user of zsh has in a start file, because zsh looks for completion in no folder of the user.
const zshLine = "source <(tutti completion zsh)"

// zshStart is that file, and tells whether the line is in it; "" where the user has another shell, or wants no completion.
func (w *setupRun) zshStart() (path string, there bool) {
	home, err := w.c.App.Home()
	if err != nil || w.opt.NoComplete || w.packaged != "" || filepath.Base(os.Getenv("SHELL")) != "zsh" {
		return "", false
	}
	path = filepath.Join(cmp.Or(os.Getenv("ZDOTDIR"), home), ".zshrc")
	text, _, err := smallfile.Read(path, 1<<20, smallfile.Follow)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", false
	}
	return path, strings.Contains(string(text), "tutti completion zsh")
}

// shownAll is a list of paths for people.
func shownAll(c *kit.Call, paths []string) string {
	return strings.Join(render.Each(paths, c.App.Shown), ", ")
}

// showKept names the folders that stay, with the line that deletes them.
func (w *setupRun) showKept() {
	var ours, shared []string
	for _, folder := range []func() (string, error){w.configFolder, w.c.App.StateDir, w.c.App.CacheDir} {
		if path, err := folder(); err == nil && path != "" {
			ours = append(ours, path)
		}
	}
	if bus, err := w.busFolder(); err == nil && bus != "" {
		shared = append(shared, bus)
	}
	if home, err := w.c.App.Home(); err == nil {
		for _, folder := range []string{".local/state", ".cache"} { // not .config: the halt switch is there
			shared = append(shared, filepath.Join(home, folder, "cross-agent-comms"))
		}
	}
	w.showFolders("Settings and notes of tutti remain. To delete them, too:", ours)
	w.showFolders("Messages and keys remain; programs of h2a and cross-agent-comms use them, too. To delete them:", shared)
}

// showFolders names those of the folders that are there, in a line that deletes them.
func (w *setupRun) showFolders(head string, folders []string) {
	var there []string
	for _, path := range folders {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, kit.QuoteForShell(w.c.App.Shown(path)))
		}
	}
	if len(there) > 0 {
		w.c.Prose("", 0, head)
		w.c.Line("    rm -rf " + strings.Join(there, " "))
	}
}

// configFolder has the settings of tutti.
func (w *setupRun) configFolder() (string, error) {
	path, err := w.c.App.ConfigPath()
	return filepath.Dir(path), err
}

// busFolder is the default bus; one that the user made elsewhere is the user's to find.
func (w *setupRun) busFolder() (string, error) {
	root, err := w.c.App.Root()
	if err != nil || root.Source != app.FromDefault {
		return "", err
	}
	return root.Path, nil
}

// elsewhere is said of programs that setup neither copies nor removes.
func (w *setupRun) elsewhere() string {
	dir := w.c.App.Shown(w.packaged)
	if w.opt.Remove {
		return "stay in " + dir + ": remove them as they came"
	}
	return "already in " + dir
}

func (w *setupRun) still() string {
	if w.opt.Remove {
		return "none of ours in " + w.c.App.Shown(w.dir)
	}
	return "already in " + w.c.App.Shown(w.dir)
}

// showDiff prints each line of settings that would change.
func (w *setupRun) showDiff(v *setupReport) {
	if w.c.JSON {
		w.c.Result(v)
		return
	}
	w.showPlan(v)
	for _, p := range w.plans {
		showDiff(w.c, w.hosts, p)
	}
}

// showDone says what is left to do, and the sentence with which a user begins.
func (w *setupRun) showDone(v *setupReport) {
	c := w.c
	if w.opt.Remove {
		if w.changes(v) {
			c.Line(c.Paint(kit.Green, "Removed."))
		} else {
			c.Line("There is nothing to remove.")
		}
		if len(v.Programs) > 0 && inPath(w.dir) {
			c.Prose("", 0, "If your shell's start file puts "+c.App.Shown(w.dir)+" into PATH for tutti alone, take that line out.")
		}
		if path, there := w.zshStart(); there {
			c.Line("Take the line that completes tutti out of " + c.App.Shown(path) + ".")
		}
		if len(v.Hosts) > 0 {
			c.Line("Restart running agents: until then they keep the server of tutti.")
		}
		showLeft(c, w.hosts, w.plans)
		w.showKept()
		return
	}
	for _, p := range w.plans {
		if p.Err == nil && p.Changed() {
			for _, n := range p.Notes() {
				if !setup.Reviews(p.Driver) || !w.trusted {
					c.Prose("- ", 2, kit.Clean(n))
				}
			}
		}
	}
	if !w.found() {
		c.Prose("", 0, "The shell does not find tutti yet. Type this now, and put it into your shell's start file:")
		c.Line(`    export PATH=` + kit.QuoteForShell(c.App.Shown(w.dir)) + `:"$PATH"`)
	}
	if len(v.Problems) > 0 {
		_ = c.Flush() // what they are about stands above them; the next one reports the error
	}
	for _, f := range v.Problems {
		c.Warn("%s: %s", f.Name, kit.Clean(f.Message))
		if f.Hint != "" {
			c.Remark("hint: %s", kit.Clean(strings.TrimSpace(f.Hint)))
		}
	}
	if path, there := w.zshStart(); path != "" && !there {
		c.Line("For completion in zsh, put this into " + c.App.Shown(path) + ":")
		c.Line("    " + zshLine)
	}
	if len(w.plans) == 0 {
		c.Line(c.Paint(kit.Green, "Done.") + " To see it work without an agent CLI: tutti demo")
		return
	}
	title := w.plans[0].Driver.Title
	for _, p := range w.plans {
		if callable(p.Driver) {
			title = p.Driver.Title
			break
		}
	}
	c.Line(c.Paint(kit.Green, "Done.") + " Start " + title + " in a project folder, or restart it if it is running, and say:")
	c.Line(`    Which other agents are here? Ask tutti.`)
}
