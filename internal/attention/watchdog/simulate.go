package watchdog

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// A Day is what was recorded of agents: lines of the log of a bus (see [Line]), by time.
type Day struct {
	Lines []Line
	Bad   int // lines that are none
}

// maxDay bounds how much of a file is read: a line has two hundred bytes, and a day of a hundred agents has thirty thousand of them.
const maxDay = 256 << 20

// ReadDay reads lines of JSON. A line that is none is counted and passed by; an entry as it lies on a bus is the line of its record.
func ReadDay(in io.Reader) (*Day, error) {
	d := &Day{}
	limited := &io.LimitedReader{R: in, N: maxDay}
	lines := bufio.NewScanner(limited)
	const longest = 64 << 10
	lines.Buffer(make([]byte, 0, 4<<10), longest)
	for lines.Scan() {
		raw := bytes.TrimSpace(lines.Bytes())
		if len(raw) == 0 {
			continue
		}
		if l, ok := ParseLine(raw); ok {
			d.Lines = append(d.Lines, l)
		} else {
			d.Bad++
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("a line has more than %d bytes: it is not a log of a drumbeat", longest)
	case err != nil:
		return nil, err
	case limited.N == 0:
		return nil, fmt.Errorf("it has more than %d bytes; cut the day that you mean out of it", maxDay)
	}
	slices.SortStableFunc(d.Lines, func(a, b Line) int { return a.At.Compare(b.At) })
	return d, nil
}

// A Step is something that would have been done.
type Step struct {
	At       time.Time
	Kind     string // [Asked], [Raised], [WentOn]
	Instance address.Instance
	Count    int
	Text     string
}

// JSON is a step for programs.
func (s *Step) JSON() []byte {
	var o canonjson.Object
	o.Str("at", envelope.Stamp(s.At))
	o.Str("event", s.Kind)
	o.Str("instance", string(s.Instance))
	o.Int("relanceCount", int64(s.Count))
	o.Str("text", s.Text)
	return o.Bytes()
}

// A Replay is what would have been done on a day with other settings, beside what was done.
type Replay struct {
	From, To             time.Time
	Agents, Stops        int
	Steps                []Step
	Asked, Raised, Ended int // would have been: asked to go on, escalated, gone on by themselves
	WasAsked, WasRaised  int
}

// Replay plays a day with settings. What agents did stays as it was recorded: how one would have answered to being asked at
// another time is unknown. Agents that still stood still when the day ended are followed until nothing more would have been
// done about them. Verdicts of a decider count from when they were given, where the settings enforce them; what takes a look at
// a screen, a halt or a conductor does not come in.
func (d *Day) Replay(s Settings) *Replay {
	s = s.Full()
	r := &replay{s: s, all: map[address.Instance]*standing{}, out: &Replay{}}
	if len(d.Lines) == 0 {
		return r.out
	}
	r.out.From, r.out.To = d.Lines[0].At, d.Lines[len(d.Lines)-1].At
	beat := r.out.From
	for i := range d.Lines {
		l := &d.Lines[i]
		beat = r.until(beat, l.At)
		r.take(l)
	}
	r.until(beat, time.Time{})
	r.out.Agents = len(r.all)
	return r.out
}

// A replay is one at work.
type replay struct {
	s   Settings
	all map[address.Instance]*standing
	out *Replay
}

// A standing is an agent on that day.
type standing struct {
	e       *Entry // nil: it has not stopped
	did     time.Time
	looked  time.Time // when it was asked last, or put away
	verdict string
	raised  int // how often it had been asked when it was escalated; -1: it was not
}

// until makes the beats before a time, the zero time: all that come to anything, and returns when the next one is.
func (r *replay) until(beat, end time.Time) time.Time {
	for end.IsZero() || beat.Before(end) {
		next, any := r.next(beat)
		if !any || !end.IsZero() && !next.Before(end) {
			return r.align(beat, end)
		}
		beat = next
		r.beat(beat)
		beat = beat.Add(r.s.Interval)
	}
	return beat
}

// align is the first beat that is not before a time.
func (r *replay) align(beat, end time.Time) time.Time {
	if missing := end.Sub(beat); missing > 0 {
		beat = beat.Add((missing + r.s.Interval - 1) / r.s.Interval * r.s.Interval)
	}
	return beat
}

// next is the first beat, from the given one on, at which something is due.
func (r *replay) next(beat time.Time) (first time.Time, any bool) {
	for _, a := range r.all {
		if a.e == nil {
			continue
		}
		var at time.Time
		switch ruling, _, until := Judge(a.e, Known{Did: a.did}, &r.s, beat); ruling {
		case Wait:
			at = r.align(beat, until)
		case Due, Progress:
			at = beat
		case Spent:
			if a.raised == a.e.RelanceCount {
				continue
			}
			at = beat
		default:
			continue
		}
		if !any || at.Before(first) {
			first, any = at, true
		}
	}
	return first, any
}

// beat is one beat.
func (r *replay) beat(now time.Time) {
	all := make([]*standing, 0, len(r.all))
	for _, a := range r.all {
		if a.e != nil {
			all = append(all, a)
		}
	}
	unseen := func(a *standing) time.Time { return later(a.e.StoppedAt, a.looked) }
	slices.SortFunc(all, func(a, b *standing) int {
		return cmp.Or(unseen(a).Compare(unseen(b)), cmp.Compare(a.e.Instance, b.e.Instance))
	})
	asked := 0
	for _, a := range all {
		if asked >= busy {
			return
		}
		switch ruling, why, _ := Judge(a.e, Known{Did: a.did}, &r.s, now); {
		case ruling == Progress:
			r.step(now, WentOn, a, why)
			r.out.Ended++
			a.e, a.raised = nil, -1
		case ruling == Spent && a.raised != a.e.RelanceCount:
			r.raise(now, a, why)
		case ruling == Due:
			asked++
			a.looked = now
			r.due(now, a)
		}
	}
}

func (r *replay) due(now time.Time, a *standing) {
	if a.verdict != "" && r.s.Enforce && Consulted(a.e, &r.s) {
		if done := Apply(Verdict{Action: a.verdict}, a.e.WorkStatus, true); done != Relance {
			a.e.Terminal = done
			r.raise(now, a, "the decider said "+a.verdict)
			return
		}
	}
	a.e.RelanceCount++
	a.e.LastRelance = now
	r.out.Asked++
	r.step(now, Asked, a, "would be asked to go on, "+nth(a.e.RelanceCount))
}

func (r *replay) raise(now time.Time, a *standing, why string) {
	a.raised = a.e.RelanceCount
	r.out.Raised++
	r.step(now, Raised, a, "would be escalated: "+why)
}

func (r *replay) step(now time.Time, kind string, a *standing, words string) {
	r.out.Steps = append(r.out.Steps, Step{now, kind, a.e.Instance, a.e.RelanceCount, words})
}

// take takes what was recorded.
func (r *replay) take(l *Line) {
	a := r.all[l.Instance]
	if a == nil {
		a = &standing{raised: -1}
		r.all[l.Instance] = a
	}
	switch l.Event {
	case LogRecorded:
		r.out.Stops++
		stop := Stop{Instance: l.Instance, Status: l.Status, Origin: l.Origin}
		if stop.Check() != nil {
			return
		}
		if a.e != nil { // as it would lie on the bus
			a.e.Raw = a.e.written()
		}
		e, err := ParseEntry(entryOf(&stop, a.e, l.At, r.s.Window))
		if err != nil {
			return
		}
		if a.e = e; e.RelanceCount == 0 || l.Status == presence.Done {
			a.raised = -1
		}
	case LogCleared:
		a.e, a.raised = nil, -1
	case LogActive:
		if a.did = l.At; a.e != nil && a.e.tries() > 0 && l.At.Sub(a.e.tried()) <= r.s.Progress {
			return // no more than an answer, with these settings
		}
		a.e, a.raised = nil, -1
	case LogRelanced:
		r.out.WasAsked++
	case LogEscalated:
		r.out.WasRaised++
	case "":
		a.verdict = l.Decided
	}
}

// written is the text of an entry whose count has changed in memory.
func (e *Entry) written() []byte {
	raw := canonjson.Set(e.Raw, "relanceCount", number(e.RelanceCount))
	if !e.LastRelance.IsZero() {
		raw = canonjson.Set(raw, "lastRelanceAt", quoted(envelope.Stamp(e.LastRelance)))
	}
	if e.Terminal != "" {
		raw = canonjson.Set(raw, "terminal", []byte(`{"action":`+string(quoted(e.Terminal))+`,"at":"`+envelope.Stamp(e.LastRelance)+`"}`))
	}
	return raw
}
