package session

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/monitor"
)

var MonitorVerbs = []kit.Verb{{
	Name: "session monitor", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Waits: true, Opts: onSessions(sessionMonitor),
	Result: drift{},
	Short:  "keep the session registry up to date",
	Flags: []kit.Flag{
		registryFlag,
		{Name: "once", Kind: kit.Switch, Help: "look once and end"},
		{Name: "dry-run", Kind: kit.Switch, Help: "say what would be written, and write nothing"},
		{Name: "emit-diff", Kind: kit.Switch, Help: "print each difference as a line of JSON"},
		{Name: "subscribe", Kind: kit.Switch, Help: "also hear from the MQTT broker what is reported of jobs of this folder"},
		{Name: "idle-timeout", Kind: kit.Text, Value: "time", Default: "0", Help: "end when nothing has changed for this long; 0: never"},
	},
	Does: `Keeps the rows of the registry up to date until you interrupt it. tmux tells it when a session changes; every 30 seconds it also looks
at all of them. Between two looks it sleeps.

A running session that is gone, or whose program has ended, counts as terminated after two looks, a second apart. Its row then has its
last screen; it can be resumed if its conversation is known. A session of tutti without a row gets one. The monitor also records the
conversation of each session, looks at new sessions after 0.3 and 2 seconds, and finishes what an interrupted create, resume or stop
has left.

--subscribe listens to the broker that MQTT_BROKER names, for all jobs of the folder, and records what is reported of
them. If the broker cannot be reached, it ends with status 3 at once.

A registry has one monitor. It writes monitor.json beside the registry at each look; session status shows how old that is.`,
	Wont: `It ends no program and types nothing, also when a broker reports the end of a job. When tmux does not answer it writes nothing, and a program that runs on without its
session keeps its row.`,
	Examples: `$ tutti session monitor
$ tutti session monitor --once --dry-run
$ tutti session monitor --emit-diff`,
	Exit: "0 --once, and all is true now, or --idle-timeout is over; 1 wrong usage, no registry, or it has a monitor; 3 a file could not be read or written, or with --subscribe the broker could not be reached; 130 interrupted",
}}

type sessionMonitorOptions struct {
	inRegistry
	IdleTimeout                       string
	Once, DryRun, EmitDiff, Subscribe bool
}

// sessionMonitor keeps the registry true.
func sessionMonitor(ctx context.Context, c *kit.Call, s *sessions, opt *sessionMonitorOptions) error {
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
	idle, err := timeFlag(c, &opt.IdleTimeout, 0)
	if err != nil {
		return err
	}
	if opt.Once && (opt.Subscribe || idle > 0) {
		return kit.Usagef("session monitor: --once looks once, so --subscribe and --idle-timeout do not go with it")
	}
	ctx, busy, stop := untilIdle(ctx, idle)
	defer stop()
	if opt.Subscribe {
		done, err := s.hearJobs(ctx, busy)
		if err != nil {
			return err
		}
		defer done()
	}
	var failed error
	w := monitor.Watching{Observer: o, DryRun: opt.DryRun, Tell: func(d monitor.Difference) {
		busy()
		difference(c, opt, &d)
		if err := c.Flush(); err != nil && failed == nil {
			failed = err
		}
	}}
	if opt.Once {
		if err = monitor.Reconcile(ctx, m, w); err == nil {
			err = failed
		}
	} else {
		w.Ready = func() {
			c.Remark("watching the sessions of %s; Ctrl-C ends it, and no session", kit.Clean(c.App.Shown(s.Path)))
		}
		if err = monitor.Run(ctx, m, w); errors.Is(err, errIdle) {
			c.Remark("nothing has changed for %s", idle)
			return nil
		}
	}
	if _, ok := errors.AsType[*monitor.WatchedError](err); ok {
		return kit.Refuse("tutti session status", "session monitor: %s", err.Error())
	}
	return err
}

// difference says what was found and what is done about it.
func difference(c *kit.Call, opt *sessionMonitorOptions, d *monitor.Difference) {
	if c.JSON || opt.EmitDiff {
		v := drift{At: d.At.UTC().Format(kit.JSONTime), Class: d.Class, Name: d.Session, Server: d.Server, Found: d.Found, Action: d.Does, Done: d.Done}
		if d.Err != nil {
			text := d.Err.Error()
			v.Error = &text
		}
		c.ResultLine(v)
		return
	}
	line := d.At.Local().Format(time.TimeOnly) + " " + kit.Clean(d.Session) + ": " + kit.Clean(d.Found)
	switch {
	case d.Err != nil:
		line += "; it could not be " + d.Does + ": " + kit.Clean(d.Err.Error())
	case d.Done:
		line += "; " + d.Does
	case d.Does == monitor.LooksAgain && opt.DryRun:
		line += "; it would be looked at again"
	case d.Does != "" && opt.DryRun:
		line += "; would be " + d.Does
	}
	c.Line(line)
}

// errIdle ends a monitor in which nothing happens any more.
var errIdle = errors.New("nothing happens")

// untilIdle returns a context that ends with errIdle when busy was not called for so long; 0: never.
func untilIdle(ctx context.Context, limit time.Duration) (_ context.Context, busy, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if limit <= 0 {
		return ctx, func() {}, func() { cancel(nil) }
	}
	t := time.AfterFunc(limit, func() { cancel(errIdle) })
	return ctx, func() { t.Reset(limit) }, func() { t.Stop(); cancel(nil) }
}

// hearJobs listens to the broker for all jobs of the workspace until the context ends. Scripts rely on status 3 where there is none to
// be reached: they look by the clock then.
func (s *sessions) hearJobs(ctx context.Context, busy func()) (stop func(), err error) {
	book, _, err := job.At(s.Workspace())
	if err != nil {
		return nil, err
	}
	const hint = "without --subscribe the monitor works without a broker"
	broker, err := job.BrokerOf(book.Workspace, os.Getenv)
	if err != nil {
		return nil, kit.FailIO(hint, err, "session monitor")
	}
	jobs, _, err := book.List()
	if err != nil {
		return nil, jobFault(s.c, err)
	}
	w := &jobWatch{c: s.c, b: book, p: JobToolsOf()}
	w.relay = newJobRelay(book, func(ctx context.Context) (job.Network, error) { return w.p.Dial(ctx, broker) }, w.complain)
	w.relay.halt = s.c.App.HaltLook
	for _, j := range jobs {
		w.relay.hear(j)
		w.relay.tell(j.ID)
	}
	if err := w.relay.begin(ctx); err != nil {
		w.close()
		return nil, kit.FailIO(hint, err, "session monitor: the broker cannot be reached")
	}
	end := followInto(ctx, book, w.relay, busy, w.complain)
	return func() { end(); w.close() }, nil
}

// followInto hands a relay all jobs of a book, also those that are made later.
func followInto(ctx context.Context, b *job.Book, relay *jobRelay, busy func(), complain func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ends sync.WaitGroup
	ends.Go(func() {
		err := b.Follow(ctx, job.Follower{
			State: func(j *job.Job) error { relay.hear(j); return nil },
			Line: func(l *job.Line, j *job.Job) error {
				busy()
				if j != nil && l.Event != nil && l.Via != job.ByNetwork {
					relay.tell(j.ID)
				}
				return nil
			},
			Bad: func(_ string, err error) { complain(err) },
		})
		if err != nil && ctx.Err() == nil {
			complain(err)
		}
	})
	return func() { cancel(); ends.Wait() }
}

// A drift is a change of a session, one a line.
type drift struct {
	At     string  `json:"at"`
	Class  string  `json:"class"`
	Name   string  `json:"name,omitempty"`
	Server string  `json:"tmux_server,omitempty"`
	Found  string  `json:"found"`
	Action string  `json:"action,omitempty"` // what is done about it
	Done   bool    `json:"done"`
	Error  *string `json:"error,omitempty"`
}
