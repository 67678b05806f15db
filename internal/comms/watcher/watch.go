// Package watcher follows the mailboxes of all projects and tells the user of each message that comes, by a notice on the desktop
// and a line in a log.
//
// # What is promised
//
// A message that comes while the watcher runs has its line within milliseconds. One that was there when it started, or that
// came while everything was halted, is reported if its conversation is not released and no line of the log says that it was
// reported: one notice for each project, however many there are. So a watcher that is started again repeats nothing, as long as
// it keeps a log. Projects and mailboxes that are made while it runs are followed from then on; what the system does not report
// is found by looking at everything now and then ([Options].Rescan), and lost events cause a look at once.
//
// A project gets at most one notice in five seconds; what comes meanwhile is counted in the next one. Lines have no such limit.
// While the halt switch is on, lines are marked and there are no notices; the watcher itself goes on.
//
// Nothing is read but the headers that say what is released, nothing is verified, nothing is moved. The receiver decides
// whether a message is authentic.
//
// One user has one watcher ([ErrSecond]). A notifier that hangs holds up no line. The log belongs to the user: it only grows,
// and may be moved away at any time.
package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/halt"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
)

// The times of the watcher.
const (
	DefaultRescan = 60 * time.Second // between two looks at everything
	twice         = 2 * time.Second  // the same name within this counts once
	spacing       = 5 * time.Second  // between two notices of one project
)

// Options say what to follow and whom to tell. Office is needed.
type Options struct {
	Office *exchange.Service
	// Globs are patterns of mailbox folders, ~ for the home folder; none: the mailboxes in the project folders of the office.
	Globs []string
	// Log is the path of the log; "": watch.log in the folder of records; os.DevNull: none is kept.
	Log      string
	Once     bool // tell of what is there, and come back
	NoNotify bool
	Rescan   time.Duration // between two looks at everything; 0: DefaultRescan

	// NotifyCommand is what the user wants to be called for a notice, with {title} and {body} in its arguments; none: what there is.
	NotifyCommand []string
	Env           func(name string) string // nil: os.Getenv

	Line func(Line)        // gets each line besides the log; nil: none
	Warn func(text string) // gets each fault once, for people; nil: none

	Halt func() halt.State // nil: halt.Read
	// HaltLook delivers when the switch may have changed, for Run alone; nil: it is looked at every second.
	HaltLook <-chan struct{}
	Now      func() time.Time // nil: time.Now

	say func(ctx context.Context, title, body string) error // of tests; nil: a program is started
}

// The ways in which a watcher does not start.
var (
	ErrSecond = errors.New("a watcher of yours runs already")
	ErrNoRoot = errors.New("there is no folder with projects")
	// ErrNobody reports that the watcher has no output: no notifier, no log, no receiver of the lines.
	ErrNobody = errors.New("there is neither a notifier nor a log")
)

// LockFile ensures that only one watcher runs; it is in the folder of records.
const LockFile = "watch.lock"

// LogFile is the log in the folder of records.
const LogFile = "watch.log"

// Run follows the mailboxes until ctx ends, which is not an error, or with Once until everything there was reported.
func Run(ctx context.Context, o Options) error {
	o = o.filled()
	w := &watcher{o: o, boxes: map[string]*box{}, parents: map[string]*parent{}, events: make(chan event, 64), done: make(chan struct{}), warned: map[string]bool{}}
	if !w.rooted() {
		return fmt.Errorf("%w: %s", ErrNoRoot, w.patterns()[0])
	}
	lock, err := o.lock(ctx)
	if err != nil {
		return err
	}
	defer lock()
	w.log = openLog(o.logPath(), w.warn)
	defer w.log.close()
	w.notices = newNotices(ctx, &o, w.warn)
	if w.notices == nil && !w.log.kept() && o.Line == nil {
		return ErrNobody
	}
	defer w.notices.finish()
	defer w.close()
	return w.run(ctx)
}

func (o Options) filled() Options {
	if o.Rescan <= 0 {
		o.Rescan = DefaultRescan
	}
	if o.Halt == nil {
		o.Halt = halt.Read
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

func (o *Options) logPath() string {
	switch o.Log {
	case "":
		return o.Office.StatePath(LogFile)
	case os.DevNull:
		return ""
	}
	return o.Log
}

// lock makes this watcher the only one of the user.
func (o *Options) lock(ctx context.Context) (release func(), err error) {
	folder := filepath.Dir(o.Office.StatePath(LockFile))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	d, err := atomicfile.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	l, err := filelock.Acquire(ctx, d.FD(), folder, filelock.Options{Kernel: LockFile, Timeout: -1})
	if err != nil {
		d.Close()
		if held := (*filelock.HeldError)(nil); errors.As(err, &held) {
			return nil, fmt.Errorf("%w (%s is locked)", ErrSecond, o.Office.Shown(held.Path))
		}
		return nil, err
	}
	return func() {
		_ = l.Release() // it ends with the handle at the latest
		d.Close()
	}, nil
}
