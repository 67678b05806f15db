package setup

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

type manOptions struct {
	Dir  string
	Roff bool
}

// runMan shows a page, prints it, or writes all of them.
func runMan(ctx context.Context, c *kit.Call, opt *manOptions) error {
	if dir := opt.Dir; dir != "" || c.IsSet(&opt.Dir) {
		return writePages(c, dir)
	}
	page, text, err := pageOf(c)
	switch {
	case err != nil:
		return err
	case c.Columns == 0 || opt.Roff:
		c.Out = append(c.Out, page...)
		return nil
	case showPage(ctx, c, page):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	text()
	return nil
}

// pageOf returns the page that the arguments name, and what prints its text where there is no man.
func pageOf(c *kit.Call) (page []byte, text func(), err error) {
	c.Args = kit.Unalias(c.Args, 0)
	name := strings.Join(c.Args, "-")
	under, cross := kit.ProgramName(name)
	switch {
	case name == "" || name == "tutti":
		return docs.MainPage(c.Table), func() { docs.OverviewTutti(c) }, nil
	case under == kit.H2A:
		return docs.H2APage(c.Table), func() { docs.OverviewH2A(c) }, nil
	case under == kit.Cross && c.Table.Find(kit.Cross, cross, "") != nil:
		v := c.Table.Find(kit.Cross, cross, "")
		return docs.VerbPage(c.Table, v, kit.Cross), func() { c.Under = kit.Cross; docs.VerbHelp(c, v) }, nil
	}
	v, err := docs.VerbOf(c, "man")
	if err == nil && v == nil {
		words := c.Table.Words(kit.Tutti, c.Arg(0))
		err = kit.UsageHint("tutti man "+c.Arg(0)+" "+words[0], "%s: missing verb; one of: %s", c.Arg(0), strings.Join(words, ", "))
	}
	if err != nil {
		return nil, nil, err
	}
	return docs.VerbPage(c.Table, v, kit.Tutti), func() { docs.VerbHelp(c, v) }, nil
}

// showPage shows a page by the program man, which knows the user's pager and the width of the terminal. It tells whether
// that worked. What man itself had to complain about it has said.
func showPage(ctx context.Context, c *kit.Call, page []byte) bool {
	program, err := exec.LookPath("man")
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, program, "-l", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(page), c.OutFile, c.ErrFile
	// An interrupt concerns the pager. Caught here, it does not leave the pager without a parent; ignored, it would
	// be ignored by the pager as well.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	return cmd.Run() == nil
}

// writePages writes all pages into a folder, and nothing when a file there is not ours.
func writePages(c *kit.Call, dir string) error {
	if len(c.Args) > 0 {
		return kit.Usagef("--dir writes all pages: %q has no place", kit.Clean(c.Arg(0)))
	}
	if dir == "" {
		return kit.UsageHint("--dir=.", "--dir needs a folder")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return kit.FailIO("", err, "find the folder")
	}
	steps := planPages(c, dir, false)
	if foreign := refused(steps); len(foreign) > 0 {
		return kit.BadState("name another folder, or move them away", "not ours, and in the way: %s", kit.Clean(strings.Join(foreign, ", ")))
	}
	if err := carryOut(steps); err != nil {
		return kit.FailIO("", err, "write manual pages")
	}
	c.Line(kit.Plural(len(steps), "manual page") + " in " + kit.Clean(c.App.Shown(dir)))
	return nil
}

// PageDir is where the manual pages for programs in a folder belong: man looks below share/man beside a folder bin
// that is in PATH, and inside any other folder that is.
func PageDir(programs string) string {
	if filepath.Base(programs) == "bin" {
		programs = filepath.Dir(programs)
	}
	return filepath.Join(programs, "share/man/man1")
}

// planPages lists what has to be done for all pages to lie in a folder, and for no old one of ours to be left.
func planPages(c *kit.Call, dir string, force bool) []step {
	var steps []step
	known := map[string]bool{}
	for name, page := range docs.ManPages(c.Table) {
		known[name] = true
		steps = append(steps, check(step{Path: filepath.Join(dir, name), Does: "write", page: page}, force))
	}
	for _, path := range oldPages(dir) {
		if !known[filepath.Base(path)] && isOurPage(path) {
			steps = append(steps, step{Path: path, Does: "remove", page: []byte{}})
		}
	}
	return steps
}

// planPageRemoval lists the pages of ours in a folder.
func planPageRemoval(c *kit.Call, dir string) []step {
	var steps []step
	for _, path := range oldPages(dir) {
		if isOurPage(path) {
			steps = append(steps, step{Path: path, Does: "remove", page: []byte{}})
		} else if docs.HasPage(c.Table, strings.TrimSuffix(filepath.Base(path), ".1")) {
			steps = append(steps, step{Path: path, Does: "refuse"})
		}
	}
	return steps
}

// oldPages returns the files of a folder under names that our pages have, or had in another release.
func oldPages(dir string) []string {
	entries, err := smallfile.ReadDir(dir, smallfile.Follow)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		name := e.Name()
		ours := name == "h2a.1" || name == "tutti.1" || strings.HasPrefix(name, "tutti-") || strings.HasPrefix(name, "cross-agent-")
		if ours && strings.HasSuffix(name, ".1") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// isOurPage tells whether a file is a page that we wrote. A link is not: we make none.
func isOurPage(path string) bool {
	f, err := smallfile.Open(path, smallfile.NoLinks)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(docs.PageMark))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == docs.PageMark
}

// manAdvice says when man looks elsewhere. It finds the pages by the folder of the programs in PATH, which pathAdvice is
// about, unless MANPATH says where to look; an empty element of that one stands for the usual places.
func manAdvice(c *kit.Call, opt *installOptions, programs string) {
	where := filepath.SplitList(os.Getenv("MANPATH"))
	tree := filepath.Dir(PageDir(programs))
	if opt.NoMan || len(where) == 0 || slices.Contains(where, "") || slices.Contains(where, tree) {
		return
	}
	c.Remark("%s is not in MANPATH, so man does not look there", kit.Clean(c.App.Shown(tree)))
	c.Remark(`hint: "tutti man <verb>" shows the pages all the same; or: export MANPATH=%s:"$MANPATH"`, kit.QuoteForShell(c.App.Shown(tree)))
}
