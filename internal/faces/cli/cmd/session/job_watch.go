package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/job"
)

// A jobWatch follows jobs and prints what happens.
type jobWatch struct {
	c      *kit.Call
	b      *job.Book
	p      JobTools
	id     string     // "": all
	relay  *jobRelay  // nil: no broker is configured
	mu     sync.Mutex // guards warned: the network speaks up beside us
	warned string
	drives bool // hands the turns of a loop to and fro
	halted bool // the switch is on, and was said to be
	missed int
	copy   io.WriteCloser // of what is printed, nil: none
	last   *job.Job
}

func (w *jobWatch) close() {
	w.relay.close()
	w.relay = nil
	if w.copy != nil {
		_ = w.copy.Close()
	}
}

type jobWatchOptions struct {
	ofWorkspace
	Drive bool
}

func runJobWatch(ctx context.Context, c *kit.Call, b *job.Book, opt *jobWatchOptions) error {
	p := JobToolsOf()
	w := &jobWatch{c: c, b: b, p: p, id: c.Arg(0), drives: opt.Drive}
	defer w.close()
	jobs := make([]*job.Job, 1)
	var err error
	if w.id != "" {
		jobs[0], err = b.Get(w.id)
	} else {
		jobs, _, err = b.List()
	}
	if err != nil {
		return err
	}
	broker, err := job.BrokerOf(b.Workspace, os.Getenv)
	if err != nil && !errors.Is(err, job.ErrNoBroker) {
		return err
	}
	w.connect(ctx, broker, jobs...)
	if opt.Drive {
		if w.id == "" {
			return kit.Refuse("", "job watch: --drive needs one job, and a program that can type into sessions")
		}
		if err := w.drive(ctx, jobs[0]); err != nil {
			return err
		}
	}
	return w.wait(ctx)
}

// connect listens to the broker that is configured, if there is one, and tells it what it was not told yet. One that is away is asked
// again as long as is followed.
func (w *jobWatch) connect(ctx context.Context, broker job.Broker, jobs ...*job.Job) {
	if broker.Host == "" {
		return
	}
	w.relay = newJobRelay(w.b, func(ctx context.Context) (job.Network, error) { return w.p.Dial(ctx, broker) }, w.complain)
	w.relay.halt = w.c.App.HaltLook
	for _, j := range jobs {
		w.relay.hear(j)
		w.relay.tell(j.ID)
	}
	if err := w.relay.begin(ctx); err != nil {
		w.c.Warn("following on this machine alone until the broker is there: %s", kit.Clean(err.Error()))
		w.mu.Lock()
		w.warned = err.Error() // which every further attempt would say again
		w.mu.Unlock()
	}
}

// ungiven reports to listeners elsewhere that a job was given to no agent.
func (w *jobWatch) ungiven(ctx context.Context, id string) {
	j, err := w.b.Get(id)
	switch {
	case err != nil || w.b.Unpublished(j) == 0:
	case w.relay != nil:
		w.relay.tell(id)
		w.relay.last(ctx)
	default:
		tellBroker(ctx, w.c, w.b, j, w.p)
	}
}

// complain warns of what goes wrong beside following, and not twice of the same until it was well again.
func (w *jobWatch) complain(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.warned = ""
	case err.Error() != w.warned:
		w.warned = err.Error()
		w.c.Warn("%s", kit.Clean(err.Error()))
	}
}

// drive hands a job to whose turn it is.
func (w *jobWatch) drive(ctx context.Context, j *job.Job) error {
	by, _ := w.c.JobActor()
	d, err := w.p.deliverer(w.c, w.b)
	if err != nil {
		return err
	}
	_, err = w.b.HandOver(ctx, j.ID, d, by)
	return err
}

// wait follows until one job is over, or for ever.
func (w *jobWatch) wait(ctx context.Context) error {
	if w.id != "" && w.c.Verb.Name == "job submit" {
		f, err := smallfile.Append(filepath.Join(w.b.Dir(), w.id+".subscriber.out"), smallfile.NoLinks)
		if err == nil {
			w.copy = f
		}
	}
	if err := w.c.Flush(); err != nil {
		return err
	}
	err := w.b.Follow(ctx, job.Follower{
		ID: w.id, All: w.id != "",
		Ready: w.ready, Line: w.line,
		State: func(j *job.Job) error { return w.state(ctx, j) },
		Bad:   func(_ string, err error) { w.complain(err) },
		Total: w.c.Verb.Name == "job submit", // the caller waits no longer than that
	})
	if err != nil {
		return jobFault(w.c, err)
	}
	return w.result()
}

// A watchStart is the line of --json from which on nothing is missed.
type watchStart struct {
	Event  string `json:"event"`  // watching
	Polled bool   `json:"polled"` // it looks once a second, because the system grants no file watcher
}

// ready says that from now on nothing is missed.
func (w *jobWatch) ready(polled bool) error {
	if polled {
		w.c.Warn("the system grants no watcher: looking once a second")
	}
	if !w.c.JSON {
		w.c.Remark("following %s", kit.Clean(cmp.Or(w.id, "the jobs in "+w.b.Dir())))
		return nil
	}
	w.c.ResultLine(watchStart{"watching", polled})
	return w.c.Flush()
}

// state stops following a job that has ended, also if another program ended it without a line in the log. A
// loop it hands on, whatever was said last: the word that ended a turn may be followed by others before anybody looks.
func (w *jobWatch) state(ctx context.Context, j *job.Job) error {
	if w.id == "" {
		return nil
	}
	if w.last = j; !j.Status.Over() {
		if w.drives && j.Type == job.Loop && j.ToHand() {
			return w.handOn(ctx, j)
		}
		return nil
	}
	w.relay.last(ctx)
	return job.ErrEnough
}

// line prints a line, and does what follows from it.
func (w *jobWatch) line(l *job.Line, j *job.Job) error {
	w.last = j
	if !w.silent() {
		jobLine(w.c, l, w.id == "")
		if err := w.c.Flush(); err != nil {
			return err
		}
	}
	if w.copy != nil {
		_, _ = io.WriteString(w.copy, jobText(l, false)+"\n")
	}
	w.relay.hear(j)
	if l.Event != nil && l.Via != job.ByNetwork {
		w.relay.tell(j.ID)
	}
	return nil
}

// handOn hands a loop to the agent whose turn it is, unless another process drives the loop.
func (w *jobWatch) handOn(ctx context.Context, j *job.Job) error {
	err := w.drive(ctx, j)
	if _, refused := errors.AsType[*job.StateError](err); refused {
		if now, e := w.b.Get(j.ID); e == nil && !now.ToHand() {
			return nil
		}
	}
	return err
}

// silent tells whether the halt switch is on, and says so when that has changed.
func (w *jobWatch) silent() bool {
	s := halt.Read()
	switch {
	case s.Halted && !w.halted:
		w.c.Remark("%s; silent until it is cleared", kit.BannerText(s))
	case !s.Halted && w.halted:
		w.c.Remark("halt cleared; %s came meanwhile: tutti job logs", kit.Plural(w.missed, "line"))
		w.missed = 0
	}
	if w.halted = s.Halted; s.Halted {
		w.missed++
	}
	return s.Halted
}

// result is how the one job that was followed has ended.
func (w *jobWatch) result() error {
	j := w.last
	if w.id == "" || j == nil || j.Status == job.StatusCompleted {
		return nil
	}
	return &kit.Fault{Code: kit.ExitState, Msg: "job " + j.ID + ": " + kit.Clean(string(j.Status)) + ": " + cmp.Or(fast.FirstLine(j.Detail, ""), "no reason was given")}
}
