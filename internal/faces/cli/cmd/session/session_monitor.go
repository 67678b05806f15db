package session

import (
	"context"
	"errors"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/monitor"
)

var MonitorVerbs = []kit.Verb{{
	Name: "session monitor", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Waits: true, Run: onSessions(sessionMonitor),
	Short: "keep the session registry up to date",
	Flags: []kit.Flag{
		registryFlag,
		{Name: "once", Kind: kit.Switch, Help: "look once and end"},
		{Name: "dry-run", Kind: kit.Switch, Help: "say what would be written, and write nothing"},
		{Name: "emit-diff", Kind: kit.Switch, Help: "print each difference as a line of JSON"},
	},
	Does: `Watches the sessions of the registry and writes into it what becomes of them, until it is interrupted. tmux tells it when
something happens, and every 30 seconds it looks at everything; in between it sleeps.

A session that is said to run and is gone, or whose program has ended, is written down as terminated after two looks, a second
apart, with its last screen; it can be resumed if its conversation is known. A session that looks like one of these, and has no row,
gets one. A conversation that its program tells of is recorded. Looks at new sessions after 0.3 and 2 seconds are done here. What a
create, resume or stop has left half done is settled.

A registry has one monitor. Its last look stands in monitor.json beside the registry, and session status tells how old it is.`,
	Wont: `It ends no program and types nothing. When tmux does not answer it writes nothing, and a program that runs on without its
session keeps its row.`,
	Examples: `$ tutti session monitor
$ tutti session monitor --once --dry-run
$ tutti session monitor --emit-diff`,
	Exit: "0 --once, and all is true now; 1 wrong usage, no registry, or it has a monitor; 3 a file could not be read or written; 130 interrupted",
}}

// sessionMonitor keeps the registry true.
func sessionMonitor(ctx context.Context, c *kit.Call, s *sessions) error {
	if _, _, err := s.rows(ctx); err != nil {
		return err
	}
	o, err := s.Observer()
	if err != nil {
		return err
	}
	m, err := s.manager("session monitor")
	if err != nil {
		return err
	}
	var failed error
	w := monitor.Watching{Observer: o, DryRun: c.On("dry-run"), Tell: func(d monitor.Difference) {
		difference(c, &d)
		if err := c.Flush(); err != nil && failed == nil {
			failed = err
		}
	}}
	if c.On("once") {
		if err = monitor.Reconcile(ctx, m, w); err == nil {
			err = failed
		}
	} else {
		w.Ready = func() {
			c.Remark("watching the sessions of %s; Ctrl-C ends it, and no session", kit.Clean(c.App.Shown(s.Path)))
		}
		err = monitor.Run(ctx, m, w)
	}
	if _, ok := errors.AsType[*monitor.WatchedError](err); ok {
		return kit.Refuse("tutti session status", "session monitor: %s", err.Error())
	}
	return err
}

// difference says what was found and what is done about it.
func difference(c *kit.Call, d *monitor.Difference) {
	if c.JSON || c.On("emit-diff") {
		var o canonjson.Object
		o.Str("at", d.At.UTC().Format(kit.JSONTime))
		o.Str("class", d.Class)
		o.Opt("name", d.Session)
		o.Opt("tmux_server", d.Server)
		o.Str("found", d.Found)
		o.Opt("action", d.Does)
		o.Bool("done", d.Done)
		if d.Err != nil {
			o.Str("error", d.Err.Error())
		}
		c.EmitLine(o.Bytes())
		return
	}
	line := d.At.Local().Format(time.TimeOnly) + " " + kit.Clean(d.Session) + ": " + kit.Clean(d.Found)
	switch {
	case d.Err != nil:
		line += "; it could not be " + d.Does + ": " + kit.Clean(d.Err.Error())
	case d.Done:
		line += "; " + d.Does
	case d.Does == monitor.LooksAgain && c.On("dry-run"):
		line += "; it would be looked at again"
	case d.Does != "" && c.On("dry-run"):
		line += "; would be " + d.Does
	}
	c.Line(line)
}
