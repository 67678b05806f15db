package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

// A jobRelay carries reports on jobs between the job store and a broker, both ways, for a caller that follows them. It runs
// beside everything else: a broker that does not answer delays no caller, and gets what it missed as soon as it is
// back. A nil one does nothing.
type jobRelay struct {
	b        *job.Book
	dial     func(ctx context.Context) (job.Network, error)
	complain func(error)                                // safe for concurrent use; of nil: the broker is there again
	halt     func() (look <-chan struct{}, stop func()) // as App.HaltLook; nil: the switch is looked at
	first    time.Duration                              // between a fault and the next attempt; it doubles up to most
	most     time.Duration

	wake chan struct{}
	quit context.CancelFunc // nil: it was not begun
	ends sync.WaitGroup

	mu   sync.Mutex
	open map[string]*job.Job // which are to be listened to
	want map[string]bool     // of which the broker may not have been told all

	busy  chan struct{} // holds one as long as a pass is made; guards what follows
	net   job.Network
	heard map[string]bool // which are listened to
}

func newJobRelay(b *job.Book, dial func(ctx context.Context) (job.Network, error), complain func(error)) *jobRelay {
	return &jobRelay{
		b: b, dial: dial, complain: complain, first: time.Second, most: 15 * time.Second, wake: make(chan struct{}, 1),
		busy: make(chan struct{}, 1), open: map[string]*job.Job{}, want: map[string]bool{}, heard: map[string]bool{},
	}
}

// hear listens to what is said of a job that is not over.
func (r *jobRelay) hear(j *job.Job) {
	if r == nil || j.Status.Over() {
		return
	}
	r.mu.Lock()
	_, known := r.open[j.ID]
	r.open[j.ID] = j
	r.mu.Unlock()
	if !known {
		r.nudge()
	}
}

// tell tells the broker what it was not told of a job.
func (r *jobRelay) tell(id string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.want[id] = true
	r.mu.Unlock()
	r.nudge()
}

func (r *jobRelay) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyhow
	}
}

// begin does at once what was asked for until now, and goes on with the rest, also when that failed.
func (r *jobRelay) begin(ctx context.Context) error {
	err := r.pass(ctx)
	ctx, r.quit = context.WithCancel(ctx)
	r.ends.Go(func() { r.run(ctx, err) })
	if isHalted(err) {
		return nil
	}
	return err
}

// lastTime is how long a broker has for what it was not told when a job is over: to take up one message, and a little more.
const lastTime = 20 * time.Second

// last waits until the broker has everything, or cannot get it now.
func (r *jobRelay) last(ctx context.Context) {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	if err := r.pass(ctx); err != nil && !isHalted(err) {
		r.complain(err)
	}
}

func (r *jobRelay) close() {
	if r == nil || r.quit == nil {
		return
	}
	r.quit()
	r.ends.Wait()
	if r.net != nil {
		_ = r.net.Close()
	}
}

// run makes a pass whenever there is a reason to. err is the result of the previous pass.
func (r *jobRelay) run(ctx context.Context, err error) {
	wait := r.first
	var cleared <-chan struct{}
	for {
		var again <-chan time.Time
		switch {
		case err == nil:
			wait = r.first
		case isHalted(err):
			if cleared == nil {
				cleared = r.cleared(ctx)
			}
		default:
			again = time.After(wait)
			wait = min(2*wait, r.most)
		}
		select {
		case <-ctx.Done():
			return
		case <-cleared:
			cleared = nil
		case <-again:
		case <-r.wake:
		}
		if err = r.pass(ctx); err != nil && ctx.Err() == nil && !isHalted(err) {
			r.complain(err)
		}
	}
}

// cleared returns a channel that is closed when the halt switch is off.
func (r *jobRelay) cleared(ctx context.Context) <-chan struct{} {
	off := make(chan struct{})
	r.ends.Go(func() {
		var look <-chan struct{}
		if r.halt != nil {
			var stop func()
			look, stop = r.halt()
			defer stop()
		}
		if _, err := halt.WaitFor(ctx, look, false); err == nil {
			close(off)
		}
	})
	return off
}

func isHalted(err error) bool {
	_, halted := errors.AsType[*halt.Error](err)
	return halted
}

// pass connects, listens and tells, as far as that was not done. A refusal by the job itself is reported and not retried.
func (r *jobRelay) pass(ctx context.Context) (err error) {
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.net == nil {
		net, err := r.dial(ctx)
		if err != nil {
			return err
		}
		r.net = net
		net.Back(func(err error) {
			r.complain(err)
			r.nudge()
		})
	}
	r.mu.Lock()
	open, want := maps.Clone(r.open), slices.Sorted(maps.Keys(r.want))
	clear(r.want)
	r.mu.Unlock()
	for id, j := range open {
		if !r.heard[id] {
			err = errors.Join(err, r.subscribe(ctx, j))
		}
	}
	for i, id := range want {
		_, e := r.b.Flush(ctx, id, r.net)
		_, damaged := errors.AsType[*job.DamagedError](e)
		_, unsent := errors.AsType[*job.SendError](e)
		switch {
		case e == nil, errors.Is(e, job.ErrNone): // it went away
		case damaged:
			r.complain(e)
		case unsent, isHalted(e): // the others would fare no better
			r.keep(want[i:])
			return errors.Join(err, e)
		default:
			r.keep(want[i : i+1])
			err = errors.Join(err, e)
		}
	}
	return err
}

// keep notes what the broker was not told after all.
func (r *jobRelay) keep(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.want[id] = true
	}
}

func (r *jobRelay) subscribe(ctx context.Context, j *job.Job) error {
	if err := j.CheckTopic(); err != nil {
		r.heard[j.ID] = true
		r.complain(err)
		return nil
	}
	err := r.net.Subscribe(ctx, j.Topic(), func(payload []byte, size int64) {
		_, err := r.b.Receive(context.WithoutCancel(ctx), j.ID, payload, size) // what became of it is seen in the log
		if err != nil {
			r.complain(err)
		}
	})
	r.heard[j.ID] = err == nil
	return err
}
