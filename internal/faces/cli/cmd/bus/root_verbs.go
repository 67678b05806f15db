package bus

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

type initOptions struct{ Force bool }

// An initiated is the bus that was created, or existed already.
type initiated struct {
	OK   bool   `json:"ok"`
	Root string `json:"root"` // the bus
}

// runInit creates the bus of a folder, or of the place where verbs look for it.
func runInit(ctx context.Context, c *kit.Call, opt *initOptions) error {
	if c.Under == kit.Tutti && c.Arg(0) != "" {
		if c.RootFlag() != "" {
			return kit.Usagef("init: either a folder or --root, not both")
		}
		c.App.Use(filepath.Join(c.Arg(0), ".h2a"))
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	c.SayRoot(root)
	if !opt.Force && app.TrackedByGit(ctx, root.Path) {
		return trackedFault(c.App.Shown(root.Path))
	}
	was := app.IsBus(root.Path)
	s, err := c.App.Open(app.Creating)
	if err != nil {
		return kit.AsIO(err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if !was {
		if _, err := c.App.Accept(root.Path, time.Now()); err != nil {
			c.Warn("%s", kit.Clean(err.Error())) // a default or named root works without it
		}
	}
	if c.JSON {
		c.Result(initiated{true, root.Path})
		return nil
	}
	c.Printf("bus ready: %s\n", kit.Clean(c.App.Shown(root.Path)))
	sayForeign(c, root, was)
	return nil
}

// sayForeign warns that an existing bus is not used before the user accepts it.
func sayForeign(c *kit.Call, root *app.Root, was bool) {
	if !was || root.Source != app.FromFlag || filepath.Base(root.Path) != ".h2a" || c.App.IsAccepted(root.Path) {
		return
	}
	c.Remark("it was there already, and is used only where --root names it")
	c.Remark("hint: %s", kit.Clean(app.AcceptHint(root.Path)))
}

func trackedFault(path string) error {
	return kit.Refuse("git rm -r --cached "+path+"   # and put .h2a/ into .gitignore; or --force",
		"%s is tracked by git: anyone who can push to the repository could write your agents' mail and keys", kit.Clean(path))
}

// A rootView is the bus that commands here use.
type rootView struct {
	Root       string   `json:"root"`       // the bus
	RootSource string   `json:"rootSource"` // what chose the bus
	Exists     bool     `json:"exists"`     // there is a bus
	Others     []string `json:"others"`     // other buses that could be used here
}

// runRoot shows which bus verbs use here.
func runRoot(_ context.Context, c *kit.Call) error {
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	others := c.App.OtherRoots()
	if c.JSON {
		c.Result(rootView{root.Path, string(root.Source), app.IsBus(root.Path), render.List(others)})
		return nil
	}
	c.Line(kit.Clean(root.Path))
	c.Prose("  ", 2, root.Source.Why())
	if u := root.Unaccepted; u != nil {
		c.Prose("  ", 2, kit.Clean(u.Error()))
		c.Prose("  ", 2, kit.Clean(u.Hint()))
	}
	switch {
	case app.IsBus(root.Path) || c.App.NeedsDaemon():
	case app.Blocked(root.Path):
		c.Line("  it is not a folder, so there cannot be a bus")
		c.Line("  " + kit.Clean(app.UnblockHint(root.Path)))
	default:
		c.Line(`  there is no bus yet; "tutti init" makes it`)
	}
	for _, o := range others {
		c.Line("also in play: " + kit.Clean(o))
	}
	for _, p := range root.Passed {
		c.Prose("  ", 2, kit.Clean(p.Hint()))
	}
	return nil
}

type rootAcceptOptions struct{ Force bool }

func runRootAccept(ctx context.Context, c *kit.Call, opt *rootAcceptOptions) error {
	if _, err := c.ForUser("accept a bus"); err != nil && c.Under == kit.Tutti {
		return err
	}
	path := c.Arg(0)
	if !app.IsBus(path) {
		if inner := filepath.Join(path, ".h2a"); app.IsBus(inner) {
			path = inner
		} else {
			return kit.BadState(`"tutti init `+app.QuoteArg(c.Arg(0))+`" makes one`, "%s is not a bus", kit.Clean(c.Arg(0)))
		}
	}
	if !opt.Force && app.TrackedByGit(ctx, path) {
		return trackedFault(path)
	}
	real, err := c.App.Accept(path, time.Now())
	if err != nil {
		return err
	}
	return rootChanged(c, "accepted", rootChange{OK: true, Accepted: real})
}

func runRootDrop(_ context.Context, c *kit.Call) error {
	path := c.Arg(0)
	if inner := filepath.Join(path, ".h2a"); !app.IsBus(path) && app.IsBus(inner) {
		path = inner
	}
	real, err := c.App.Drop(path, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return kit.BadState(`"tutti root list" shows those that are`, "%s is not among the accepted buses", kit.Clean(real))
	}
	if err != nil {
		return err
	}
	return rootChanged(c, "dropped", rootChange{OK: true, Dropped: real})
}

// A rootChange is a bus that was accepted, or dropped.
type rootChange struct {
	OK       bool   `json:"ok"`
	Accepted string `json:"accepted,omitempty"` // its folder
	Dropped  string `json:"dropped,omitempty"`  // its folder
}

func rootChanged(c *kit.Call, word string, v rootChange) error {
	if c.JSON {
		c.Result(v)
	} else {
		c.Line(word + ": " + kit.Clean(v.Accepted+v.Dropped))
	}
	return nil
}

// An acceptedRoot is a bus that the user has accepted.
type acceptedRoot struct {
	Path       string `json:"path"`
	AcceptedAt string `json:"acceptedAt"`
	Valid      bool   `json:"valid"` // it is still the same folder
}

func runRootList(_ context.Context, c *kit.Call) error {
	roots, err := c.App.Roots()
	if err != nil {
		return kit.FailIO("", err, "")
	}
	l := []acceptedRoot{}
	var rows [][]string
	for _, r := range roots.Accepted() {
		state := "accepted " + kit.Ago(time.Since(r.At))
		if !r.Still() {
			state = "gone or replaced"
		}
		rows = append(rows, []string{r.Path, state})
		l = append(l, acceptedRoot{r.Path, r.At.UTC().Format("2006-01-02T15:04:05.000Z"), r.Still()})
	}
	switch {
	case c.JSON:
		c.Result(l)
	case len(rows) == 0:
		c.Line("none; the default " + "~/h2a-workspace/.h2a" + " needs no consent")
	default:
		c.Rows(rows)
	}
	return nil
}
