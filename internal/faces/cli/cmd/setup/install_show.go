package setup

import (
	"os"
	"path/filepath"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var stepWords = [...][3]string{ // done, planned
	{"copy", "copied", "would copy"},
	{"link", "linked", "would link"},
	{"write", "wrote", "would write"},
	{"keep", "up to date", "up to date"},
	{"remove", "removed", "would remove"},
	{"refuse", "left, not ours", "would leave, not ours"},
}

// showSteps says what was done. Manual pages are many and of one kind: it prints how many there are of each fate,
// and by name of those that are not ours.
func showSteps(c *kit.Call, opt *installOptions, dir string, steps []step) {
	column := 1
	if opt.DryRun {
		column = 2
	}
	var rows, counted [][]string
	for _, w := range stepWords {
		pages := 0
		for _, s := range steps {
			if s.Does == w[0] && s.page != nil {
				pages++
			}
		}
		if pages > 0 {
			counted = append(counted, []string{w[column], kit.Plural(pages, "manual page") + " in " + c.App.Shown(PageDir(dir))})
		}
	}
	for _, s := range steps {
		for _, w := range stepWords {
			if w[0] == s.Does && s.page == nil {
				rows = append(rows, []string{w[column], c.App.Shown(s.Path)})
			}
		}
	}
	if c.JSON {
		c.Result(installed{true, opt.DryRun, render.List(steps), inPath(dir)})
		return
	}
	rows = append(rows, counted...)
	c.Rows(rows)
	if len(rows) == 0 {
		c.Line("nothing of ours in " + kit.Clean(c.App.Shown(dir)))
	}
	if !opt.Uninstall {
		pathAdvice(c, dir)
		manAdvice(c, opt, dir)
	}
}

// pathLine is how a folder comes into PATH.
func pathLine(c *kit.Call, dir string) string {
	return `add this line to your shell's start file: export PATH=` + kit.QuoteForShell(c.App.Shown(dir)) + `:"$PATH"`
}

// pathAdvice says when the shell does not look into the folder, or finds another program first.
func pathAdvice(c *kit.Call, dir string) {
	if !inPath(dir) {
		c.Remark("%s is not in PATH", kit.Clean(c.App.Shown(dir)))
		c.Remark("hint: %s", pathLine(c, dir))
		return
	}
	for _, name := range append([]string{"tutti"}, linkNames(c)...) {
		if first := kit.FirstInPath(name); first != "" && filepath.Dir(first) != dir {
			c.Remark("%s comes first in PATH, so %s still means that one", kit.Clean(first), name)
		}
	}
}

func inPath(dir string) bool {
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		if p == dir || filepath.Clean(p) == dir {
			return true
		}
	}
	return false
}
