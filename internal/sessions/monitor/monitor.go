package monitor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// Watching says how sessions are watched.
type Watching struct {
	Observer *observe.Observer
	// DryRun: nothing is written, but for what was found.
	DryRun bool
	// Every is how often everything is looked at although nothing was heard; 0: 30 s.
	Every time.Duration
	// Tell gets each difference once, and again when something was done about it. Nil: none.
	Tell func(Difference)
	// Ready is called when from now on nothing is missed; nil: not called.
	Ready func()
}

// A Difference is where row and world do not agree, and what is done about it.
type Difference struct {
	At      time.Time
	Class   string // A, B, C as in [Drifts]; "begin" for a session that is being begun, "cut" for what was cut off; "?" for what is not known
	Session string
	Server  string
	Found   string // in words
	Does    string // what is, or would be, done; "" for nothing
	Done    bool
	Err     error // it could not be done
}

// The times of a monitor.
const (
	netEvery = 30 * time.Second      // a full look although nothing was heard
	between  = time.Second           // lies between the two looks after which a session is called gone
	breath   = 50 * time.Millisecond // lies at least between two passes, however much is heard
)

// A WatchedError says that a registry has a monitor already.
type WatchedError struct{ Holder proc.ID }

func (e *WatchedError) Error() string {
	if e.Holder.PID == 0 {
		return "another monitor watches these sessions"
	}
	return fmt.Sprintf("process %d watches these sessions already", e.Holder.PID)
}

// Reconcile brings the registry up to date once. It takes a second when a session seems to be gone, because that is looked at twice.
func Reconcile(ctx context.Context, m *lifecycle.Manager, w Watching) error {
	mo := newMonitor(m, w)
	if !w.DryRun {
		release, err := mo.alone(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	for {
		wait, err := mo.pass(ctx, true)
		if err != nil || wait > 2*between || len(mo.suspects) == 0 && !mo.young {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Run keeps the registry up to date until the context ends. It gets events from tmux and the file system, and looks at
// everything now and then; in between nothing wakes up.
func Run(ctx context.Context, m *lifecycle.Manager, w Watching) error {
	mo := newMonitor(m, w)
	if !w.DryRun {
		release, err := mo.alone(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	path := m.Registry().Path()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	look, stop, err := fswatch.Notify(filepath.Dir(path), filepath.Base(path))
	defer stop()
	if err != nil {
		look = nil // the net has to do
	}
	mo.live = true
	defer mo.listener.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	net := time.Time{}
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		case <-mo.listener.heard:
		case _, ok := <-look:
			if !ok {
				look = nil
			}
		}
		began := time.Now()
		full := !began.Before(net)
		wait, err := mo.pass(ctx, full)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && first:
			return err
		case err != nil:
			mo.tell(Difference{Class: "?", Found: err.Error()})
		}
		if full {
			net = began.Add(mo.every)
		}
		if first && w.Ready != nil {
			w.Ready()
		}
		timer.Reset(min(wait, time.Until(net)))
		if err := sleep(ctx, breath-time.Since(began)); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A monitor is one that watches.
type monitor struct {
	*lifecycle.Manager
	w        Watching
	every    time.Duration
	began    time.Time
	passes   int64
	live     bool          // it goes on
	view     *observe.View // of this pass
	listener *listener
	suspects map[string]suspect
	young    bool              // a session was begun so lately that it has to be looked at again
	told     map[string]string // what was reported of a session and class
	said     map[string]bool   // what was found in this pass
}

// A suspect is a session that seems to be gone.
type suspect struct {
	since    time.Time
	revision int64
}

func newMonitor(m *lifecycle.Manager, w Watching) *monitor {
	mo := &monitor{
		Manager: m, w: w, every: w.Every, began: time.Now(), listener: newListener(),
		suspects: map[string]suspect{}, told: map[string]string{},
	}
	if mo.every <= 0 {
		mo.every = netEvery
	}
	return mo
}

// alone makes this the only monitor of the registry.
func (mo *monitor) alone(ctx context.Context) (release func(), err error) {
	path := lockPath(mo.Registry().Path())
	dir, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("watch the sessions: %w", err)
	}
	lock, err := filelock.Acquire(ctx, dir.FD(), dir.Path(), filelock.Options{Kernel: filepath.Base(path), Timeout: breath})
	var held *filelock.HeldError
	if errors.As(err, &held) {
		e := &WatchedError{}
		if b, ok := ReadBeat(mo.Registry().Path()); ok && b.Process.Alive() {
			e.Holder = b.Process
		}
		err = e
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return func() {
		_ = lock.Release() // it ends with the process in any case
		_ = dir.Close()
	}, nil
}

// pass looks at everything once and does what has to be done. It returns after which time another look is due.
func (mo *monitor) pass(ctx context.Context, full bool) (wait time.Duration, err error) {
	rows, problems, err := mo.Registry().Rows(ctx)
	if err != nil {
		return mo.every, err
	}
	if mo.live {
		mo.watch(ctx, rows) // before the look: what happens after it is heard
	}
	mo.said, mo.young = map[string]bool{}, false
	rep := mo.w.Observer.Quick(ctx, rows)
	mo.view = rep.View
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	wait = mo.every
	for i := range rep.Sessions {
		if next := mo.one(ctx, &rep.Sessions[i], full, problems); next > 0 {
			wait = min(wait, next)
		}
	}
	for key := range mo.told {
		if !mo.said[key] {
			delete(mo.told, key)
		}
	}
	mo.passes++
	if !mo.w.DryRun {
		err = mo.beat(rep)
	}
	return wait, err
}

// beat writes that this monitor is there, and what it knows of the servers.
func (mo *monitor) beat(rep *observe.Report) error {
	b := Beat{Process: proc.Self(), Began: mo.began, At: time.Now(), Pass: mo.passes}
	for _, s := range rep.View.All() {
		heard := Heard{Name: s.Name, Result: "polled"}
		if mo.listener.hears(s.Name) {
			heard.Result = "watched"
		}
		switch {
		case s.Absent():
			heard.Result = "absent"
		case s.Err != nil:
			heard.Result = s.Err.Error()
		}
		b.Servers = append(b.Servers, heard)
	}
	return b.write(mo.Registry().Path())
}

// watch lets tmux tell of those servers on which something runs.
func (mo *monitor) watch(ctx context.Context, rows []registry.Row) {
	names := slices.Clone(mo.w.Observer.Servers)
	for i := range rows {
		if rows[i].Status == registry.Running {
			names = append(names, rows[i].ServerName())
		}
	}
	servers := map[string]tmux.Server{}
	for _, name := range names {
		if server, err := tmux.Named(name); err == nil {
			servers[name] = server
		}
	}
	mo.listener.listen(ctx, servers)
}
