package comms

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/watcher"
	"tutti/internal/faces/cli/kit"
)

type commsWatchOptions struct {
	ProjectsGlob, Log string
	NoNotify, Once    bool
	Rescan            int
}

// runCommsWatch follows the mailboxes until it is interrupted.
func runCommsWatch(ctx context.Context, c *kit.Call, opt *commsWatchOptions) error {
	o, set, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	look, stop := c.App.HaltLook()
	defer stop()
	w := watcher.Options{
		Office: o, Log: opt.Log, Once: opt.Once, NoNotify: opt.NoNotify,
		Rescan: time.Duration(opt.Rescan) * time.Second, NotifyCommand: set.NotifyCommand, HaltLook: look,
		Warn: func(text string) { c.Warn("%s", kit.Clean(text)) },
	}
	if c.IsSet(&opt.Rescan) && w.Rescan == 0 {
		return kit.Usagef("--rescan: at least one second")
	}
	if glob := opt.ProjectsGlob; glob != "" {
		w.Globs = []string{overview.Pattern(o.Home, glob)}
	}
	if w.Log != "" {
		w.Log = kit.Absolute(c.App.WorkDir(), w.Log)
	}
	if !c.Quiet {
		w.Line = func(l watcher.Line) { watchedLine(c, l) }
	}
	err = watcher.Run(ctx, w)
	switch {
	case errors.Is(err, watcher.ErrSecond):
		return kit.Refuse("", "watch: %s", err)
	case errors.Is(err, watcher.ErrNoRoot):
		return kit.Refuse(`project_roots in the table [comms] of ~/.config/tutti/config.toml says where they are`, "watch: %s", err)
	}
	return kit.GeneralFault(err)
}

// A watched is a message that arrived, one per line.
type watched struct {
	At         string `json:"at"`
	Project    string `json:"project"`
	File       string `json:"file"`
	Suppressed bool   `json:"suppressed"` // during a halt, so no notice was shown
}

// watchedLine prints a line at once. A reader that has gone away is noticed by the log only.
func watchedLine(c *kit.Call, l watcher.Line) {
	if c.JSON {
		c.ResultLine(watched{l.At.Format(time.RFC3339), l.Project, l.File, l.Suppressed})
	} else {
		c.Line(l.String())
	}
	_ = c.Flush() // the next one will say what is wrong with standard output
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
	if path := kit.FirstInPath(name); path != "" {
		return filepath.Abs(path)
	}
	return "", kit.BadState(`"tutti install" puts it into ~/.local/bin`, "%s is not there", name)
}

// readWatcher returns the service of this user.
func readWatcher(c *kit.Call) (watcher.Service, error) {
	o, _, err := c.CommsService()
	if err != nil {
		return watcher.Service{}, kit.GeneralFault(err)
	}
	program, err := watchProgram()
	return watcher.Service{Home: o.Home, Program: program, Roots: o.ProjectRoots()}, err
}

type serviceInstallOptions struct {
	NoStart bool
}

func runServiceInstall(ctx context.Context, c *kit.Call, opt *serviceInstallOptions) error {
	s, err := readWatcher(c)
	if err != nil {
		return err
	}
	r, err := s.Install(ctx, !opt.NoStart && !haltedNow())
	if err != nil {
		return serviceFault(err)
	}
	showService(c, &r)
	return nil
}

func runServiceRemove(ctx context.Context, c *kit.Call) error {
	s, _ := readWatcher(c) // the units are removed also where the program is gone
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
	showService(c, &r)
	return nil
}

func runServiceShow(ctx context.Context, c *kit.Call) error {
	s, err := readWatcher(c)
	if err != nil && s.Home == "" {
		return err
	}
	r := s.Show(ctx)
	showService(c, &r)
	for _, u := range r.Units {
		if !u.There {
			return &kit.Fault{Code: kit.ExitState}
		}
	}
	return nil
}

func serviceFault(err error) error {
	var foreign *watcher.ForeignUnitError
	if errors.As(err, &foreign) {
		return kit.BadState(foreign.Hint(), "%s", foreign.Error())
	}
	return kit.FailIO(kit.HintOf(err), err, "")
}

// showService prints what was changed and how the units are.
func showService(c *kit.Call, r *watcher.Report) {
	for _, w := range r.Warnings {
		c.Warn("%s", kit.Clean(w))
	}
	if c.JSON {
		c.Result(r)
		return
	}
	for _, path := range r.Changed {
		c.Line("changed: " + kit.Clean(c.App.Shown(path)))
	}
	for _, u := range r.Units {
		state := "not there"
		if u.There {
			switch {
			case !u.Own:
				state = "not ours"
			case !u.Current:
				state = "of another release: tutti service install"
			default:
				state = "there"
			}
			for _, word := range [...]string{u.Enabled, u.Active} {
				if word != "" {
					state += ", " + kit.Clean(word)
				}
			}
		}
		c.Line(u.Name + ": " + state)
	}
}
