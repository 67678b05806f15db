package comms

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// A setupStep is one step of comms init.
type setupStep struct {
	OK   bool   `json:"ok"`
	Step string `json:"step"`
	Text string `json:"text"`
}

// An initiated is a project that is ready for messages.
type initiated struct {
	OK      bool        `json:"ok"` // every step succeeded
	Project string      `json:"project"`
	Path    string      `json:"path"`
	Address string      `json:"address"`
	Steps   []setupStep `json:"steps"`
}

// A projectSetup is what was done for a project, step by step.
type projectSetup struct {
	c     *kit.Call
	steps []setupStep
	bad   bool
}

// did says how a step went.
func (s *projectSetup) did(ok bool, step, text string) {
	s.bad = s.bad || !ok
	if s.c.JSON {
		s.steps = append(s.steps, setupStep{ok, step, text})
		return
	}
	mark := s.c.Paint(kit.Green, "✓")
	if !ok {
		mark = s.c.Paint(kit.Yellow, "⚠")
	}
	s.c.Line(mark + " " + step + ": " + kit.Clean(text))
}

type commsInitOptions struct {
	Service, NoService bool
}

// runCommsInit makes a project ready for messages. Whatever is there already is left as it is.
func runCommsInit(ctx context.Context, c *kit.Call, opt *commsInitOptions) error {
	if opt.Service && opt.NoService {
		return kit.Usagef("comms init: --service and --no-service do not go together")
	}
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	s := &projectSetup{c: c}
	p, err := s.project(o)
	if err != nil {
		return err
	}
	box, err := o.MakeMailbox(p)
	if err != nil {
		return kit.FailIO(kit.HintOf(err), err, "init")
	}
	wide, path := box.Wide, box.Path()
	if err := box.Close(); err != nil {
		return kit.FailIO("", err, "init")
	}
	s.did(!wide, "mailbox", c.App.Shown(path)+wideWords(wide))
	if opt.Service {
		s.service(ctx)
	}
	s.machines(ctx, o)
	if c.JSON {
		c.Result(initiated{!s.bad, p.Name, p.Path, o.Machine() + "." + p.Name, render.List(s.steps)})
	} else {
		name := kit.Clean(p.Name)
		c.Line("from this machine: tutti send local." + name + " TEXT")
		c.Line("from another machine: tutti send MACHINE." + name + " TEXT, where MACHINE is what it calls this one")
	}
	return nil
}

func wideWords(wide bool) string {
	if wide {
		return " can be entered by others: chmod 700"
	}
	return ""
}

// project finds the folder and makes a project of it.
func (s *projectSetup) project(o *exchange.Service) (exchange.Project, error) {
	path := kit.Absolute(s.c.App.WorkDir(), ".")
	if arg := s.c.Arg(0); arg != "" {
		path = kit.Absolute(s.c.App.WorkDir(), arg)
		if !strings.ContainsRune(arg, filepath.Separator) && arg != "." && arg != ".." {
			path = filepath.Join(o.ProjectRoots()[0], arg)
		}
	}
	p := exchange.Project{Name: filepath.Base(path), Path: path}
	if path == "" || path == o.Home || path == string(filepath.Separator) {
		return p, kit.Refuse("tutti comms init NAME makes ~/projects/NAME", "%s cannot be a project", kit.Clean(s.c.App.Shown(path)))
	}
	if p.Slug() == "" {
		return p, kit.Refuse("", "%s: nothing of its name can stand in the name of a sender", kit.Clean(p.Name))
	}
	if !machines.ValidProject(p.Name) {
		return p, kit.Refuse("tutti comms init "+p.Slug()+"   # a name without what cannot stand in MACHINE.PROJECT", "%q: a project with this name could not receive mail", kit.Clean(p.Name))
	}
	mark, word := filepath.Join(path, protocol.ProjectMark), "there"
	if info, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) {
		word = "made"
		if err := os.MkdirAll(mark, 0o755); err != nil {
			return p, kit.FailIO("", err, "init")
		}
	} else if err != nil || !info.IsDir() {
		return p, kit.FailIO("", err, "%s is not a folder", kit.Clean(mark))
	}
	known, err := o.Project(p.Name)
	ok := err == nil && known.Path == p.Path
	text := s.c.App.Shown(path) + " (" + word + ")"
	if !ok {
		text += ", which is not in any of your project folders, so it cannot be addressed (project_roots in the settings)"
	}
	s.did(ok, "project", text)
	return p, nil
}

// service lets systemd run the watcher. Where that cannot be, messages come all the same.
func (s *projectSetup) service(ctx context.Context) {
	w, err := readWatcher(s.c)
	if err != nil {
		s.did(false, "watcher", err.Error()+"; "+kit.HintOf(err))
		return
	}
	r, err := w.Install(ctx, !haltedNow())
	switch {
	case err != nil:
		s.did(false, "watcher", err.Error())
	case len(r.Warnings) > 0:
		s.did(false, "watcher", strings.Join(r.Warnings, "; "))
	case len(r.Changed) > 0:
		s.did(true, "watcher", "its units are written")
	default:
		s.did(true, "watcher", "its units are there")
	}
}

// machines looks at the list of other machines, and at each of them once.
func (s *projectSetup) machines(ctx context.Context, o *exchange.Service) {
	r, err := fleet.Discover(ctx, o, fleet.Options{NoCache: true})
	if err != nil {
		s.did(false, "peers", err.Error())
		return
	}
	for _, w := range r.Warnings {
		s.did(false, "peers", w)
	}
	if len(r.Peers) == 0 {
		s.did(true, "peers", "none in "+s.c.App.Shown(r.PeersPath))
	}
	for i := range r.Peers {
		p := &r.Peers[i]
		switch {
		case !p.Reachable:
			s.did(false, p.Addressed(), "unreachable ("+p.Cause()+")")
		case p.Halted:
			s.did(true, p.Addressed(), "reachable, and halted")
		default:
			s.did(true, p.Addressed(), "reachable in "+p.Latency.Round(time.Millisecond).String())
		}
	}
}

type commsArchiveOptions struct {
	Project string
	DryRun  bool
}

// runCommsArchive moves the messages of released conversations away from the mailbox.
func runCommsArchive(ctx context.Context, c *kit.Call, opt *commsArchiveOptions) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	p, err := c.ProjectHere(o, opt.Project)
	if err != nil {
		return err
	}
	reports, err := o.Archive(ctx, p, c.Args, opt.DryRun)
	refused := false
	for i := range reports {
		r := &reports[i]
		refused = refused || r.Refused != "" || r.Err != nil
		if !c.JSON {
			showArchived(c, opt, r)
		}
	}
	switch {
	case c.JSON:
		c.Result(render.Each(reports, exchange.ArchiveReport.View))
	case len(reports) == 0 && err == nil:
		c.Nothing("no conversation here is released")
	}
	if err != nil {
		return kit.GeneralFault(err)
	}
	if refused {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

func showArchived(c *kit.Call, opt *commsArchiveOptions, r *exchange.ArchiveReport) {
	id := kit.Clean(r.Conversation)
	switch {
	case r.Err != nil:
		c.Warn("%s: %s", id, kit.Clean(r.Err.Error()))
	case r.Refused == exchange.RefusedUnknown:
		c.Warn("%s: there is no such conversation in the mailbox", id)
	case r.Refused != "":
		c.Warn("%s is not over: %s", id, kit.Clean(protocol.StateLine(r.Conversation, &r.State)))
	}
	if len(r.Moved) == 0 {
		return
	}
	word := "archived"
	if opt.DryRun {
		word = "would be archived"
	}
	c.Line(id + ": " + kit.Plural(len(r.Moved), "message") + " " + word)
	if c.Verbose || opt.DryRun {
		for _, m := range r.Moved {
			c.Line("  " + kit.Clean(m.To))
		}
	}
}
