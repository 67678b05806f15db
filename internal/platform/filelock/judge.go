package filelock

import (
	"strconv"
	"strings"
	"time"
)

// A Mode is a way to judge a lock record.
type Mode string

// The modes. The first two are those of the foreign programs, which must all run in the same one.
const (
	ByPID   Mode = "pid"   // a record stands as long as its process exists; what cannot be read stands forever
	ByLease Mode = "lease" // a record stands until its lease is over; what cannot be read is free
	ByBoth  Mode = "both"  // a record is valid if it is valid in either of them
	Ours    Mode = "ours"  // what Acquire does, see the package comment
)

// A Verdict says what to do about a record.
type Verdict string

// The verdicts.
const (
	Wait    Verdict = "wait"    // another process holds it
	Reclaim Verdict = "reclaim" // its process is dead
	Steal   Verdict = "steal"   // its lease is over, or it can belong to no process
)

// A Observed is a record as it was seen, and what one has to know to judge it.
type Observed struct {
	Content  []byte
	Modified time.Time // of the file
	Now      time.Time
	Host     string // this machine
	BootID   string // this boot of it, "" when unknown
	Proc     func(pid int) (start time.Time, alive bool)
}

// A Judgement is a verdict with what follows from it.
type Judgement struct {
	Verdict   Verdict
	NextToken int64     // fencing token for the record that replaces this one; at least 1, 0 for Wait
	Holder    string    // who is named in the record, "" when it cannot be read
	Until     time.Time // when the lease that makes us wait runs out; zero when something else does
}

const (
	// malformedAge: a record that cannot be read is taken for one that is being written until it is this old.
	malformedAge = 60 * time.Second
	// lateStart is by how much a process may seem to have started after its own record: the two times come from different
	// clocks of one machine, and the record's is cut to milliseconds.
	lateStart = 2 * time.Second
	// sameStart is by how much two readings of one process start may differ: a tick, and the time between two calls.
	sameStart = 100 * time.Millisecond
)

// Judge judges a record. It is a pure function but for Observed.Proc.
func Judge(mode Mode, s Observed) Judgement {
	r, err := parseRecord(s.Content)
	if err != nil {
		r = record{}
	}
	j := Judgement{Verdict: Wait, Holder: r.owner()}
	switch mode {
	case ByPID:
		j.Verdict = r.byPID(s)
	case ByLease:
		j.Verdict, j.Until = r.byLease(s.Now)
	case ByBoth:
		if j.Verdict = r.byPID(s); j.Verdict != Wait {
			j.Verdict, j.Until = r.byLease(s.Now)
		}
	case Ours:
		j.Verdict, j.Until = r.strictly(s)
	}
	if j.Verdict != Wait {
		j.Until = time.Time{}
		j.NextToken = r.token + 1
	}
	return j
}

// byPID: a record of another machine, or of none that can be read, is never touched.
func (r record) byPID(s Observed) Verdict {
	if !r.process || r.host != s.Host || r.pid <= 0 {
		return Wait
	}
	if _, alive := s.Proc(r.pid); alive {
		return Wait
	}
	return Reclaim
}

func (r record) byLease(now time.Time) (Verdict, time.Time) {
	if !r.lease || r.renewed.IsZero() {
		return Steal, time.Time{}
	}
	if end := r.renewed.Add(r.length); !now.After(end) {
		return Wait, end
	}
	return Steal, time.Time{}
}

// strictly is our own rule: a lock made on this machine is believed as long as the process that wrote it runs; one from another machine until
// its lease ends, or for ever without a lease; one that cannot be read until it is old (see the package comment).
func (r record) strictly(s Observed) (Verdict, time.Time) {
	host, pid, since := r.host, r.pid, r.started
	if !r.process && r.lease {
		host, pid = splitHolder(r.holder) // what a program that counts leases calls itself
		since = r.acquired
	}
	switch {
	case pid > 0 && host == s.Host:
		if r.runs(s, pid, since) {
			return Wait, time.Time{}
		}
		return Reclaim, time.Time{}
	case r.lease && !r.renewed.IsZero():
		return r.byLease(s.Now)
	case r.process && pid > 0:
		return Wait, time.Time{} // another machine, and no lease that could run out
	}
	if s.Now.Sub(s.Modified) > malformedAge {
		return Steal, time.Time{}
	}
	return Wait, time.Time{}
}

// runs reports whether the process that wrote the record still runs. A pid proves nothing alone: since the record was written the
// machine may have been started anew, or the pid given to another process.
func (r record) runs(s Observed, pid int, since time.Time) bool {
	if r.boot != "" && s.BootID != "" && r.boot != s.BootID {
		return false
	}
	start, alive := s.Proc(pid)
	if !alive || start.IsZero() {
		return alive
	}
	if r.begun > 0 && r.boot != "" && s.BootID != "" {
		// Our own member: counted by a clock that is never set, so it decides alone.
		off := time.Duration(sinceBoot(start)-r.begun) * time.Millisecond
		return off.Abs() <= sameStart
	}
	return since.IsZero() || !start.After(since.Add(lateStart))
}

// splitHolder takes "host:pid" apart; pid is 0 when it is something else.
func splitHolder(holder string) (host string, pid int) {
	i := strings.LastIndexByte(holder, ':')
	if i < 0 {
		return holder, 0
	}
	pid, err := strconv.Atoi(holder[i+1:])
	if err != nil || pid < 0 {
		return holder, 0
	}
	return holder[:i], pid
}
