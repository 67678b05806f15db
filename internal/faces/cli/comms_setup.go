package cli

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
	"tutti/internal/core/canonjson"
)

// A setup is what was done for a project, step by step.
type projectSetup struct {
	c     *Call
	steps list
	bad   bool
}

// did says how a step went.
func (s *projectSetup) did(ok bool, step, text string) {
	s.bad = s.bad || !ok
	if s.c.json {
		var o canonjson.Object
		o.Bool("ok", ok)
		o.Str("step", step)
		o.Str("text", text)
		s.steps.obj(&o)
		return
	}
	mark := s.c.paint(green, "✓")
	if !ok {
		mark = s.c.paint(yellow, "⚠")
	}
	s.c.line(mark + " " + step + ": " + Clean(text))
}

// runCommsInit makes a project ready for messages. Whatever is there already is left as it is.
func runCommsInit(ctx context.Context, c *Call) error {
	if c.on("service") && c.on("no-service") {
		return usagef("comms init: --service and --no-service do not go together")
	}
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	s := &projectSetup{c: c}
	p, err := s.project(o)
	if err != nil {
		return err
	}
	box, err := o.MakeMailbox(p)
	if err != nil {
		return failIO(hintOf(err), err, "init")
	}
	wide, path := box.Wide, box.Path()
	if err := box.Close(); err != nil {
		return failIO("", err, "init")
	}
	s.did(!wide, "mailbox", c.App.Shown(path)+wideWords(wide))
	if c.on("service") {
		s.service(ctx)
	}
	s.machines(ctx, o)
	if c.json {
		var j canonjson.Object
		j.Bool("ok", !s.bad)
		j.Str("project", p.Name)
		j.Str("path", p.Path)
		j.Str("address", o.Machine()+"."+p.Name)
		j.Raw("steps", s.steps.bytes())
		c.emit(j.Bytes())
	} else {
		c.line("others on this machine write to it with: tutti comms send local." + Clean(p.Name) + " FILE")
	}
	return nil
}

func wideWords(wide bool) string {
	if wide {
		return " can be entered by others: chmod 700"
	}
	return ""
}

// project finds the folder that is meant and makes a project of it.
func (s *projectSetup) project(o *exchange.Service) (exchange.Project, error) {
	path := absolute(s.c.App.WorkDir(), ".")
	if arg := s.c.arg(0); arg != "" {
		path = absolute(s.c.App.WorkDir(), arg)
		if !strings.ContainsRune(arg, filepath.Separator) && arg != "." && arg != ".." {
			path = filepath.Join(o.ProjectRoots()[0], arg)
		}
	}
	p := exchange.Project{Name: filepath.Base(path), Path: path}
	if path == "" || path == o.Home || path == string(filepath.Separator) {
		return p, refuse("tutti comms init NAME makes ~/projects/NAME", "%s cannot be a project", Clean(s.c.App.Shown(path)))
	}
	if p.Slug() == "" {
		return p, refuse("", "%s: nothing of its name can stand in the name of a sender", Clean(p.Name))
	}
	if !machines.ValidProject(p.Name) {
		return p, refuse("tutti comms init "+p.Slug()+"   # a name without what cannot stand in MACHINE.PROJECT", "%q: nobody could write to a project of that name", Clean(p.Name))
	}
	mark, word := filepath.Join(path, protocol.ProjectMark), "there"
	if info, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) {
		word = "made"
		if err := os.MkdirAll(mark, 0o755); err != nil {
			return p, failIO("", err, "init")
		}
	} else if err != nil || !info.IsDir() {
		return p, failIO("", err, "%s is no folder", Clean(mark))
	}
	known, err := o.Project(p.Name)
	ok := err == nil && known.Path == p.Path
	text := s.c.App.Shown(path) + " (" + word + ")"
	if !ok {
		text += ", which lies in none of your project folders: nobody can address it (project_roots in the settings)"
	}
	s.did(ok, "project", text)
	return p, nil
}

// service lets systemd run the watcher. Where that cannot be, messages come all the same.
func (s *projectSetup) service(ctx context.Context) {
	w, err := s.c.watcher()
	if err != nil {
		s.did(false, "watcher", err.Error()+"; "+hintOf(err))
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
			s.did(false, p.Title, "unreachable ("+p.Cause()+")")
		case p.Halted:
			s.did(true, p.Title, "reachable, and halted")
		default:
			s.did(true, p.Title, "reachable in "+p.Latency.Round(time.Millisecond).String())
		}
	}
}

// runCommsArchive moves the messages of released conversations away from the mailbox.
func runCommsArchive(ctx context.Context, c *Call) error {
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	p, err := c.projectHere(o)
	if err != nil {
		return err
	}
	reports, err := o.Archive(ctx, p, c.Args, c.on("dry-run"))
	refused := false
	var l list
	for i := range reports {
		r := &reports[i]
		refused = refused || r.Refused != "" || r.Err != nil
		if c.json {
			l.raw(archiveJSON(r))
		} else {
			c.showArchived(r)
		}
	}
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(reports) == 0 && err == nil:
		c.nothing("no conversation here is released")
	}
	if err != nil {
		return generalFault(err)
	}
	if refused {
		return &fault{code: exitState}
	}
	return nil
}

func (c *Call) showArchived(r *exchange.ArchiveReport) {
	id := Clean(r.Conversation)
	switch {
	case r.Err != nil:
		c.warn("%s: %s", id, Clean(r.Err.Error()))
	case r.Refused == exchange.RefusedUnknown:
		c.warn("%s: there is no such conversation in the mailbox", id)
	case r.Refused != "":
		c.warn("%s is not over: %s", id, Clean(protocol.StateLine(r.Conversation, &r.State)))
	}
	if len(r.Moved) == 0 {
		return
	}
	word := "archived"
	if c.on("dry-run") {
		word = "would be archived"
	}
	c.line(id + ": " + plural(len(r.Moved), "message") + " " + word)
	if c.verbose || c.on("dry-run") {
		for _, m := range r.Moved {
			c.line("  " + Clean(m.To))
		}
	}
}

func archiveJSON(r *exchange.ArchiveReport) []byte {
	var moved list
	for _, m := range r.Moved {
		var o canonjson.Object
		o.Str("from", m.From)
		o.Str("to", m.To)
		moved.obj(&o)
	}
	var o canonjson.Object
	o.Str("conversation_id", r.Conversation)
	o.Raw("moved", moved.bytes())
	o.Opt("refused", r.Refused)
	if r.Err != nil {
		o.Str("error", r.Err.Error())
	}
	return o.Bytes()
}
