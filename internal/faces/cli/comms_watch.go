package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/watcher"
	"tutti/internal/core/canonjson"
)

// runCommsWatch follows the mailboxes until it is interrupted.
func runCommsWatch(ctx context.Context, c *Call) error {
	o, set, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	cache, err := c.App.CacheDir()
	if err != nil {
		cache = "" // it only saves time
	}
	look, stop := c.App.HaltLook()
	defer stop()
	w := watcher.Options{
		Office: o, Log: c.text("log"), Once: c.on("once"), NoNotify: c.on("no-notify"), Cache: cache,
		Rescan: time.Duration(c.count("rescan", 0)) * time.Second, NotifyCommand: set.NotifyCommand, HaltLook: look,
		Warn: func(text string) { c.warn("%s", Clean(text)) },
	}
	if c.isSet("rescan") && w.Rescan == 0 {
		return usagef("--rescan: at least one second")
	}
	if glob := c.text("projects-glob"); glob != "" {
		w.Globs = []string{overview.Pattern(o.Home, glob)}
	}
	if w.Log != "" {
		w.Log = absolute(c.App.WorkDir(), w.Log)
	}
	if !c.quiet {
		w.Line = func(l watcher.Line) { c.watchedLine(l) }
	}
	err = watcher.Run(ctx, w)
	switch {
	case errors.Is(err, watcher.ErrSecond):
		return refuse("", "watch: %s", err)
	case errors.Is(err, watcher.ErrNoRoot):
		return refuse(`project_roots in the table [comms] of ~/.config/tutti/config.toml says where they are`, "watch: %s", err)
	}
	return generalFault(err)
}

// watchedLine prints a line at once. A reader that has gone away is noticed by the log only.
func (c *Call) watchedLine(l watcher.Line) {
	if c.json {
		var o canonjson.Object
		o.Str("at", l.At.Format(time.RFC3339))
		o.Str("project", l.Project)
		o.Str("file", l.File)
		o.Bool("suppressed", l.Suppressed)
		c.line(string(o.Bytes()))
	} else {
		c.line(l.String())
	}
	_ = c.flush() // the next one will say what is wrong with standard output
}

// watchProgram is the command that the service starts: the one beside this program, else the one that the shell finds.
func watchProgram() (string, error) {
	const name = "cross-agent-watch"
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if path := firstInPath(name); path != "" {
		return filepath.Abs(path)
	}
	return "", badState(`"tutti install" puts it into ~/.local/bin`, "%s is not there", name)
}

// watcher is the service of this user.
func (c *Call) watcher() (watcher.Service, error) {
	o, _, err := c.office()
	if err != nil {
		return watcher.Service{}, generalFault(err)
	}
	program, err := watchProgram()
	return watcher.Service{Home: o.Home, Program: program, Roots: o.ProjectRoots()}, err
}

func runServiceInstall(ctx context.Context, c *Call) error {
	s, err := c.watcher()
	if err != nil {
		return err
	}
	r, err := s.Install(ctx, !c.on("no-start") && !haltedNow())
	if err != nil {
		return serviceFault(err)
	}
	c.showService(&r)
	return nil
}

func runServiceRemove(ctx context.Context, c *Call) error {
	s, _ := c.watcher() // the units are removed also where the program is gone
	if s.Home == "" {
		home, err := c.App.Home()
		if err != nil {
			return err
		}
		s.Home = home
	}
	r, err := s.Remove(ctx)
	if err != nil {
		return serviceFault(err)
	}
	c.showService(&r)
	return nil
}

func runServiceShow(ctx context.Context, c *Call) error {
	s, err := c.watcher()
	if err != nil && s.Home == "" {
		return err
	}
	r := s.Show(ctx)
	c.showService(&r)
	for _, u := range r.Units {
		if !u.There {
			return &fault{code: exitState}
		}
	}
	return nil
}

func serviceFault(err error) error {
	var foreign *watcher.ForeignUnitError
	if errors.As(err, &foreign) {
		return badState(foreign.Hint(), "%s", foreign.Error())
	}
	return failIO(hintOf(err), err, "")
}

// showService prints what was changed and how the units are.
func (c *Call) showService(r *watcher.Report) {
	for _, w := range r.Warnings {
		c.warn("%s", Clean(w))
	}
	if c.json {
		c.emit(serviceJSON(r))
		return
	}
	for _, path := range r.Changed {
		c.line("changed: " + Clean(c.App.Shown(path)))
	}
	for _, u := range r.Units {
		state := "not there"
		if u.There {
			switch {
			case !u.Own:
				state = "somebody else's"
			case !u.Current:
				state = "of another release: tutti service install"
			default:
				state = "there"
			}
			for _, word := range [...]string{u.Enabled, u.Active} {
				if word != "" {
					state += ", " + Clean(word)
				}
			}
		}
		c.line(u.Name + ": " + state)
	}
}

func serviceJSON(r *watcher.Report) []byte {
	var units list
	for _, u := range r.Units {
		var o canonjson.Object
		o.Str("name", u.Name)
		o.Str("path", u.Path)
		o.Bool("exists", u.There)
		o.Bool("own", u.Own)
		o.Bool("current", u.Current)
		o.Opt("active", u.Active)
		o.Opt("enabled", u.Enabled)
		units.obj(&o)
	}
	var o canonjson.Object
	o.Raw("units", units.bytes())
	o.Strs("changed", r.Changed)
	o.Strs("warnings", r.Warnings)
	return o.Bytes()
}
