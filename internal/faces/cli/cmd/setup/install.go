package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

// formerName is what tutti-full was called. Settings of agent CLIs may start it by that name.
const formerName = "tuttid"

// A step is one thing that install does, or found done.
type step struct {
	Path string `json:"path"`         // of the file
	Does string `json:"step"`         // "copy", "link", "write", "keep", "remove", "refuse"
	To   string `json:"to,omitempty"` // source of a copy, target of a link
	page []byte // of a manual page: what is written; nil for a program
}

// An installed is what was done, or would be.
type installed struct {
	OK     bool   `json:"ok"`
	DryRun bool   `json:"dryRun"` // nothing was done
	Steps  []step `json:"steps"`  // a file each
	InPath bool   `json:"inPath"` // the folder is in PATH
}

type installOptions struct {
	Dir                                   string
	Link, Force, DryRun, NoMan, Uninstall bool
}

// runInstall lays programs and links, or takes them away.
func runInstall(_ context.Context, c *kit.Call, opt *installOptions) error {
	dir, err := installDir(c, opt)
	if err != nil {
		return err
	}
	steps, err := planAll(c, opt, dir)
	if err != nil {
		return err
	}
	if foreign := refused(steps); len(foreign) > 0 && !opt.Uninstall {
		hint := "--force replaces them"
		if steps[len(steps)-1].page != nil {
			hint += "; --no-man leaves the manual pages out"
		}
		return kit.BadState(hint, "not ours, and in the way: %s", kit.Clean(strings.Join(foreign, ", ")))
	}
	if users := startedFrom(c, dir); opt.Uninstall && len(users) > 0 && !opt.Force {
		hint := "tutti host setup --remove    # then again; --force removes the programs all the same"
		if !opt.DryRun {
			return kit.BadState(hint, "nothing was removed: the settings of %s still start %s, and their hooks would do nothing", kit.Clean(strings.Join(users, ", ")), kit.Clean(c.App.Shown(filepath.Join(dir, "tutti"))))
		}
		c.Remark("first: %s", hint)
	}
	if !opt.DryRun {
		if err := carryOut(steps); err != nil {
			return kit.FailIO("", err, "install")
		}
	}
	showSteps(c, opt, dir, steps)
	return nil
}

// startedFrom names the agent CLIs whose settings start the program that is installed in a folder.
func startedFrom(c *kit.Call, dir string) (titles []string) {
	home, err := c.App.Home()
	if err != nil {
		return nil
	}
	self := filepath.Join(dir, "tutti")
	place := driver.Site{Home: home, Env: os.Getenv}
	for _, d := range driver.All() {
		found := false
		for _, path := range settingsOf(d, place, driver.User) {
			for _, at := range namedIn(path) {
				found = found || at == self || app.SameFile(at, self)
			}
		}
		if found {
			titles = append(titles, d.Title)
		}
	}
	return titles
}

// planAll lists the steps for the programs and for the manual pages.
func planAll(c *kit.Call, opt *installOptions, dir string) (steps []step, err error) {
	if opt.Uninstall {
		steps = planRemoval(c, dir)
	} else if steps, err = planInstall(c, opt, dir); err != nil {
		return nil, err
	}
	switch {
	case opt.NoMan:
	case opt.Uninstall:
		steps = append(steps, planPageRemoval(c, PageDir(dir))...)
	default:
		steps = append(steps, planPages(c, PageDir(dir), opt.Force)...)
	}
	return steps, nil
}

// refused returns the files that are not ours and in the way.
func refused(steps []step) (paths []string) {
	for i := range steps {
		if steps[i].Does == "refuse" {
			paths = append(paths, steps[i].Path)
		}
	}
	return paths
}

func installDir(c *kit.Call, opt *installOptions) (string, error) {
	if dir := opt.Dir; dir != "" {
		return filepath.Abs(dir)
	}
	home, err := c.App.Home()
	return filepath.Join(home, ".local/bin"), err
}

// linkNames are the other names of the program: those under which the table has verbs.
func linkNames(c *kit.Call) []string {
	names := []string{"h2a"}
	for v := range c.Table.Shown(kit.Cross) {
		names = append(names, "cross-agent-"+v.CrossName())
	}
	return names
}

func planInstall(c *kit.Call, opt *installOptions, dir string) ([]step, error) {
	daemon, err := kit.FullPath()
	if err != nil {
		return nil, kit.FailIO("", err, "find our own program")
	}
	// tutti-full first: between the two steps a tutti that hands over says that the builds differ, instead of that half
	// of the program is missing.
	var steps []step
	for _, src := range []string{daemon, filepath.Join(filepath.Dir(daemon), "tutti")} {
		if _, err := os.Stat(src); err != nil {
			return nil, kit.FailIO(`build both programs ("make build") and run the new one: bin/tutti install`, err, "")
		}
		s := step{Path: filepath.Join(dir, filepath.Base(src)), Does: "copy", To: src}
		if opt.Link {
			s.Does = "link"
		}
		steps = append(steps, check(s, opt.Force))
	}
	for _, name := range linkNames(c) {
		steps = append(steps, check(step{Path: filepath.Join(dir, name), Does: "link", To: "tutti"}, opt.Force))
	}
	if old := filepath.Join(dir, formerName); isOurs(old) { // last: until then the old tutti goes on with its old program
		steps = append(steps, check(step{Path: old, Does: "link", To: "tutti-full"}, opt.Force))
	}
	return steps, nil
}

// check looks at what lies where a step wants to put something.
func check(s step, force bool) step {
	path, ours := s.Path, isOurs
	if s.page != nil {
		ours = isOurPage
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil: // nothing there, or the step itself will say why not
	case s.Does == "link" && linksTo(path, s.To), s.Does == "copy" && sameFile(path, s.To), s.Does == "write" && says(path, s.page):
		s.Does = "keep"
	case info.IsDir(), !ours(path) && !force:
		s.Does = "refuse"
	}
	return s
}

// says tells whether a page is written already.
func says(path string, page []byte) bool {
	data, _, err := smallfile.Read(path, int64(len(page)), smallfile.NoLinks)
	return err == nil && bytes.Equal(data, page)
}

func linksTo(path, target string) bool {
	to, err := os.Readlink(path)
	return err == nil && to == target
}

// sameFile tells whether two paths lead to one file, or to two with the same bytes. A link counts as another one: a
// copy was asked for.
func sameFile(a, b string) bool {
	one, err1 := os.Lstat(a)
	two, err2 := os.Stat(b)
	if err1 != nil || err2 != nil || !one.Mode().IsRegular() || one.Size() != two.Size() {
		return false
	}
	if os.SameFile(one, two) {
		return true
	}
	x, _, err1 := smallfile.Read(a, maxProgram, smallfile.Follow)
	y, _, err2 := smallfile.Read(b, maxProgram, smallfile.Follow)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// sameProgram tells whether two paths lead to one program: one file, or a copy of it beside a copy of tutti-full, which does the work.
func sameProgram(a, b string) bool {
	if app.SameFile(a, b) {
		return true
	}
	real, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	pair := [2]string{real, b}
	if same, known := copies.Load(pair); known {
		return same.(bool)
	}
	full := func(path string) string { return filepath.Join(filepath.Dir(path), "tutti-full") }
	same := sameFile(real, b) && (filepath.Base(b) == "tutti-full" || sameFile(full(real), full(b)))
	copies.Store(pair, same)
	return same
}

// copies remembers which programs were compared: all our names lead to the same two.
var copies sync.Map // [2]string to bool

// isOurs tells whether a file, or what a link leads to, is one of our programs. A link whose target is gone is ours when
// it leads to a program of our name.
func isOurs(path string) bool {
	data, _, err := smallfile.Read(path, maxProgram, smallfile.Follow)
	if errors.Is(err, fs.ErrNotExist) {
		to, err := os.Readlink(path)
		base := filepath.Base(to)
		return err == nil && (base == "tutti" || base == "tutti-full" || base == formerName)
	}
	return err == nil && bytes.Contains(data, []byte(kit.Marker))
}

// maxProgram is the size from which a file is not searched for our mark.
const maxProgram = 512 << 20

// planRemoval lists our files in the folder. Other files stay, and are not mentioned.
func planRemoval(c *kit.Call, dir string) []step {
	var steps []step
	for _, name := range append(linkNames(c), "tutti", "tutti-full", formerName) {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		s := step{Path: path, Does: "remove"}
		if !isOurs(path) {
			s.Does = "refuse"
		}
		steps = append(steps, s)
	}
	return steps
}

func carryOut(steps []step) error {
	made := ""
	for _, s := range steps {
		var err error
		if dir := filepath.Dir(s.Path); dir != made {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			made = dir
		}
		switch s.Does {
		case "copy":
			err = copyProgram(s.To, s.Path)
		case "link":
			err = replaceLink(s.To, s.Path)
		case "write":
			err = placeFile(bytes.NewReader(s.page), s.Path, 0o644)
		case "remove":
			err = os.Remove(s.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyProgram puts a copy of a program at path.
func copyProgram(src, path string) error {
	from, err := smallfile.Open(src, smallfile.Follow)
	if err != nil {
		return err
	}
	defer from.Close()
	return placeFile(from, path, 0o755)
}

// placeFile puts a file at path in one step: the old one may be a program that is running.
func placeFile(from io.Reader, path string, perm fs.FileMode) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err = io.Copy(tmp, from); err != nil {
		return err
	}
	if err = tmp.Chmod(perm); err != nil {
		return err
	}
	if perm&0o111 != 0 { // a page that a power cut took is written again; a program may be all that can do so
		if err = tmp.Sync(); err != nil {
			return err
		}
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// replaceLink puts a link at path in one step.
func replaceLink(target, path string) error {
	tmp := fmt.Sprintf("%s/.%s-%d", filepath.Dir(path), filepath.Base(path), os.Getpid())
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}
