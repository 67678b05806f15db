package cli

import (
	"os"
	"path/filepath"

	"tutti/internal/core/canonjson"
)

var stepWords = [...][3]string{ // done, planned
	{"copy", "copied", "would copy"},
	{"link", "linked", "would link"},
	{"write", "wrote", "would write"},
	{"keep", "up to date", "up to date"},
	{"remove", "removed", "would remove"},
	{"refuse", "left, not ours", "would leave, not ours"},
}

// showSteps says what was done. Manual pages are many and of one kind: people are told how many there are of each fate,
// and by name of those that are not ours.
func (c *Call) showSteps(dir string, steps []step) {
	column := 1
	if c.on("dry-run") {
		column = 2
	}
	var l list
	var rows, counted [][]string
	for _, w := range stepWords {
		pages := 0
		for _, s := range steps {
			if s.Does == w[0] && s.page != nil {
				pages++
			}
		}
		if pages > 0 {
			counted = append(counted, []string{w[column], plural(pages, "manual page") + " in " + c.App.Shown(pageDir(dir))})
		}
	}
	for _, s := range steps {
		var o canonjson.Object
		o.Str("path", s.Path)
		o.Str("step", s.Does)
		o.Opt("to", s.To)
		l.obj(&o)
		for _, w := range stepWords {
			if w[0] == s.Does && s.page == nil {
				rows = append(rows, []string{w[column], c.App.Shown(s.Path)})
			}
		}
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Bool("dryRun", c.on("dry-run"))
		o.Raw("steps", l.bytes())
		o.Bool("inPath", inPath(dir))
		c.emit(o.Bytes())
		return
	}
	rows = append(rows, counted...)
	c.table(rows)
	if len(rows) == 0 {
		c.line("nothing of ours in " + Clean(c.App.Shown(dir)))
	}
	if !c.on("uninstall") {
		c.pathAdvice(dir)
		c.manAdvice(dir)
	}
}

// pathLine is how a folder comes into PATH.
func (c *Call) pathLine(dir string) string {
	return `add this line to your shell's start file: export PATH=` + quoteForShell(c.App.Shown(dir)) + `:"$PATH"`
}

// pathAdvice says when the shell does not look into the folder, or finds another program first.
func (c *Call) pathAdvice(dir string) {
	if !inPath(dir) {
		c.remark("%s is not in PATH", Clean(c.App.Shown(dir)))
		c.remark("hint: %s", c.pathLine(dir))
		return
	}
	for _, name := range append([]string{"tutti"}, c.linkNames()...) {
		if first := firstInPath(name); first != "" && filepath.Dir(first) != dir {
			c.remark("%s comes first in PATH, so %s still means that one", Clean(first), name)
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
