package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/canonjson"
)

// runInit makes the bus that is meant, or the one of the folder that is named.
func runInit(ctx context.Context, c *Call) error {
	if c.under == Tutti && c.arg(0) != "" {
		if c.rootFlag() != "" {
			return usagef("init: either a folder or --root, not both")
		}
		c.App.Use(filepath.Join(c.arg(0), ".h2a"))
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	c.sayRoot(root)
	if !c.on("force") && app.TrackedByGit(ctx, root.Path) {
		return trackedFault(c.App.Shown(root.Path))
	}
	was := app.IsBus(root.Path)
	s, err := c.App.Open(app.Creating)
	if err != nil {
		return asIO(err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if !was {
		if _, err := c.App.Accept(root.Path, time.Now()); err != nil {
			c.warn("%s", Clean(err.Error())) // a default or named root works without it
		}
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("root", root.Path)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("bus ready: %s\n", Clean(c.App.Shown(root.Path)))
	c.sayForeign(root, was)
	return nil
}

// sayForeign tells that a bus which was there already is not taken up by standing near it.
func (c *Call) sayForeign(root *app.Root, was bool) {
	if !was || root.Source != app.FromFlag || filepath.Base(root.Path) != ".h2a" || c.App.IsAccepted(root.Path) {
		return
	}
	c.remark("it was there already, and is used only where --root names it")
	c.remark("hint: %s", Clean(app.AcceptHint(root.Path)))
}

func trackedFault(path string) error {
	return refuse("git rm -r --cached "+path+"   # and put .h2a/ into .gitignore; or --force",
		"%s is tracked by git: whoever can push to the repository could write your agents' mail and keys", Clean(path))
}

// runRoot shows which bus is meant.
func runRoot(_ context.Context, c *Call) error {
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	others := c.App.OtherRoots()
	if c.json {
		var o canonjson.Object
		o.Str("root", root.Path)
		o.Str("rootSource", string(root.Source))
		o.Bool("exists", app.IsBus(root.Path))
		o.Strs("others", others)
		c.emit(o.Bytes())
		return nil
	}
	c.line(Clean(root.Path))
	c.prose("  ", 2, root.Source.Why())
	if !app.IsBus(root.Path) && !c.App.NeedsDaemon() {
		c.line(`  there is no bus yet; "tutti init" makes it`)
	}
	for _, o := range others {
		c.line("also in play: " + Clean(o))
	}
	for _, p := range root.Passed {
		c.prose("  ", 2, Clean(p.Hint()))
	}
	return nil
}

func runRootAccept(ctx context.Context, c *Call) error {
	path := c.arg(0)
	if !app.IsBus(path) {
		if inner := filepath.Join(path, ".h2a"); app.IsBus(inner) {
			path = inner
		} else {
			return badState(`"tutti init `+app.QuoteArg(c.arg(0))+`" makes one`, "%s is no bus", Clean(c.arg(0)))
		}
	}
	if !c.on("force") && app.TrackedByGit(ctx, path) {
		return trackedFault(path)
	}
	real, err := c.App.Accept(path, time.Now())
	if err != nil {
		return err
	}
	return c.rootChanged("accepted", real)
}

func runRootDrop(_ context.Context, c *Call) error {
	path := c.arg(0)
	if inner := filepath.Join(path, ".h2a"); !app.IsBus(path) && app.IsBus(inner) {
		path = inner
	}
	real, err := c.App.Drop(path, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return badState(`"tutti root list" shows those that are`, "%s is not among the accepted buses", Clean(real))
	}
	if err != nil {
		return err
	}
	return c.rootChanged("dropped", real)
}

func (c *Call) rootChanged(word, path string) error {
	if !c.json {
		c.printf("%s: %s\n", word, Clean(path))
		return nil
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str(word, path)
	c.emit(o.Bytes())
	return nil
}

func runRootList(_ context.Context, c *Call) error {
	roots, err := c.App.Roots()
	if err != nil {
		return failIO("", err, "")
	}
	var l list
	var rows [][]string
	for _, r := range roots.Accepted() {
		state := "accepted " + ago(time.Since(r.At))
		if !r.Still() {
			state = "gone or replaced"
		}
		rows = append(rows, []string{r.Path, state})
		var o canonjson.Object
		o.Str("path", r.Path)
		o.Str("acceptedAt", r.At.UTC().Format("2006-01-02T15:04:05.000Z"))
		o.Bool("valid", r.Still())
		l.obj(&o)
	}
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(rows) == 0:
		c.line("none; the default " + "~/h2a-workspace/.h2a" + " needs no consent")
	default:
		c.table(rows)
	}
	return nil
}
