package job

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/platform/fswatch"
)

// ErrEnough is what a function of a [Follower] returns to end it without an error.
var ErrEnough = errors.New("enough")

// A Follower says how jobs are followed.
type Follower struct {
	ID    string                      // one job; "" for all of the workspace
	All   bool                        // begin with what is in the logs already
	Ready func(polled bool) error     // called once nothing can be missed any more; polled: the system grants no watcher
	Line  func(l *Line, j *Job) error // called for each line of a log; j is the current job, nil where it cannot be read
	State func(j *Job) error          // called when all lines of a job were reported; nil: not called
	Bad   func(id string, err error)  // called when a job cannot be read, once
	// Total: a job that no agent has claimed runs out of time, too, when its total time has passed since it was made.
	Total bool
}

// Follow tells of each line that comes into the logs, until ctx ends or Line returns an error. A job that runs out of time while it
// is followed is expired. Nothing wakes up while nothing happens, where the system grants a watcher.
func (b *Book) Follow(ctx context.Context, f Follower) error {
	if f.ID != "" {
		if err := CheckID(f.ID); err != nil {
			return err
		}
	}
	s := &seen{b: b, f: &f, at: map[string]*place{}, bad: map[string]string{}, due: map[string]time.Time{}}
	records := fswatch.Watch(b.Dir(), fswatch.Options{Names: func(name string) bool {
		return name[0] != '.' && strings.HasSuffix(name, ".json") && (f.ID == "" || name == f.ID+".json")
	}})
	defer records.Close()
	logs := records.C
	if f.ID != "" { // what was dropped is seen here alone
		sub := fswatch.Watch(b.Audit(f.ID), fswatch.Options{Names: func(name string) bool { return name == eventLog }})
		defer sub.Close()
		logs = sub.C
	}
	first := !f.All
	for {
		err := s.look(ctx, first)
		if err == nil && f.Ready != nil {
			err = f.Ready(records.Polled())
			f.Ready = nil
		}
		if err == nil {
			first = false
			err = s.wait(ctx, records.C, logs)
		}
		if errors.Is(err, ErrEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lookAgain is how long a timer is relied upon while a job may run out of time: it stops while the machine sleeps, and the
// clock may be set.
const lookAgain = time.Minute

// wait returns when there is a reason to look again.
func (s *seen) wait(ctx context.Context, records, logs <-chan fswatch.Event) error {
	for {
		var due <-chan time.Time
		var t *time.Timer
		next := s.next()
		if !next.IsZero() {
			t = time.NewTimer(min(max(time.Millisecond, next.Sub(s.b.now())), cmp.Or(s.b.again, lookAgain)))
			due = t.C
		}
		early, err := s.woken(ctx, due, records, logs)
		if t != nil {
			t.Stop()
		}
		if err != nil || !early || !s.b.now().Before(next) {
			return err
		}
	}
}

// woken waits for what comes first; timed: only the timer was over.
func (s *seen) woken(ctx context.Context, due <-chan time.Time, records, logs <-chan fswatch.Event) (timed bool, err error) {
	open := true
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-due:
		return true, nil
	case _, open = <-records:
	case _, open = <-logs:
	}
	if !open {
		return false, fswatch.ErrNoWatcher
	}
	return false, nil
}

// seen is what a follower has told of.
type seen struct {
	b   *Book
	f   *Follower
	at  map[string]*place
	bad map[string]string
	due map[string]time.Time // when a job runs out of time
}

// next is when the first job runs out of time; zero: none does.
func (s *seen) next() (first time.Time) {
	for _, at := range s.due {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

type place struct {
	offset int64
	lines  int
}

// look tells what is new. skip passes over what was there before.
func (s *seen) look(ctx context.Context, skip bool) error {
	jobs, bad, err := s.jobs()
	if err != nil {
		return err
	}
	for _, p := range bad {
		s.broken(p.ID, p.Err)
	}
	for _, j := range jobs {
		if j, err = s.lines(j, skip); err != nil {
			return err
		}
		if err := s.expire(ctx, j); err != nil {
			if ctx.Err() != nil || s.f.ID != "" {
				return err
			}
			s.broken(j.ID, err) // which holds up no other
			s.due[j.ID] = s.b.now().Add(cmp.Or(s.b.again, lookAgain))
		}
		if s.f.State == nil {
			continue
		}
		if err := s.f.State(j); err != nil {
			return err
		}
	}
	return nil
}

// broken tells that a job cannot be read, or ended, once.
func (s *seen) broken(id string, err error) {
	if text := err.Error(); s.bad[id] != text {
		s.bad[id] = text
		if s.f.Bad != nil {
			s.f.Bad(id, err)
		}
	}
}

func (s *seen) jobs() ([]*Job, []Problem, error) {
	clear(s.due)
	if s.f.ID == "" {
		return s.b.List()
	}
	j, err := s.b.Get(s.f.ID)
	return []*Job{j}, nil, err
}

// lines reports the new lines of one log, and returns the job as it is after them. The job is read again when there are lines: it may
// have changed between the reading of its record and that of its log.
func (s *seen) lines(j *Job, skip bool) (*Job, error) {
	p := s.at[j.ID]
	if p == nil {
		p = &place{}
		s.at[j.ID] = p
	}
	lines, next, err := s.b.Log(j.ID, p.offset, p.lines)
	if err != nil {
		return nil, err
	}
	p.offset = next
	if len(lines) == 0 {
		return j, nil
	}
	p.lines = lines[len(lines)-1].N
	if skip {
		return j, nil
	}
	if now, err := s.b.Get(j.ID); err == nil { // or it was removed meanwhile
		j = now
	}
	for i := range lines {
		if err := s.f.Line(&lines[i], j); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// dueOf tells when a job runs out of time for this follower.
func (s *seen) dueOf(j *Job) (at time.Time, which string, ok bool) {
	if s.f.Total && j.Status == StatusPending && j.Timeout > 0 && !j.Created.IsZero() {
		return j.Created.Add(j.Timeout), "total", true
	}
	return j.Due()
}

// expire ends a job whose time is over, and remembers when that of another one is.
func (s *seen) expire(ctx context.Context, j *Job) error {
	at, _, ok := s.dueOf(j)
	if !ok {
		return nil
	}
	if s.b.now().Before(at) {
		s.due[j.ID] = at
		return nil
	}
	_, _, err := s.b.expire(ctx, j.ID, s.dueOf) // its line is seen with the next look, which it brings about
	if _, over := errors.AsType[*StateError](err); over {
		return nil
	}
	return err
}
