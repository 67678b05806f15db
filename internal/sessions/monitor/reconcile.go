package monitor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// tell reports a difference, unless it was reported already.
func (mo *monitor) tell(d Difference) {
	key := d.Class + " " + d.Session
	if mo.said != nil {
		mo.said[key] = true
	}
	text := fmt.Sprint(d.Found, d.Does, d.Done, d.Err)
	if mo.told[key] == text {
		return
	}
	mo.told[key] = text
	d.At = time.Now()
	if mo.w.Tell != nil {
		mo.w.Tell(d)
	}
}

// one brings one row up to date. It returns after which time it has to be looked at again, 0 for no hurry.
func (mo *monitor) one(ctx context.Context, f *observe.Found, full bool, problems []registry.Problem) (again time.Duration) {
	r := f.Row
	if r == nil {
		mo.adopt(ctx, f, problems)
		return 0
	}
	if f.UnderWay {
		mo.clear(f)
		return between // its end is heard, but for that of a process that is killed
	}
	if f.CutOff {
		mo.settle(ctx, f)
		return 0
	}
	if r.Status != registry.Running {
		mo.clear(f)
		return 0
	}
	switch f.State {
	case observe.Unknown:
		mo.tell(Difference{Class: "?", Session: f.Name, Server: f.Server, Found: "tmux does not tell: " + f.Err.Error()})
		return 0 // nothing is known, and what was suspected before stays so
	case observe.Dead, observe.Absent:
		return mo.gone(ctx, f)
	case observe.Alive:
		mo.clear(f)
		mo.talk(ctx, f, full)
		if full && !mo.w.DryRun {
			mo.KeepPresent(ctx, r, &f.Observation)
		}
		return mo.later(ctx, f)
	}
	mo.clear(f)
	return 0
}

// LooksAgain is what is done about a session that one look did not find.
const LooksAgain = "look again"

// clear says that a session is not gone.
func (mo *monitor) clear(f *observe.Found) { delete(mo.suspects, f.Name) }

// gone writes that a session is gone, when two looks have said so. A program that runs on without its session keeps its row: it
// could not be ended otherwise.
func (mo *monitor) gone(ctx context.Context, f *observe.Found) (again time.Duration) {
	d := Difference{Class: "A", Session: f.Name, Server: f.Server, Found: goneWords(f)}
	if f.Process.PID > 0 && f.State == observe.Absent {
		mo.clear(f)
		mo.tell(d)
		return 0
	}
	now := time.Now()
	s, ok := mo.suspects[f.Name]
	if !ok || s.revision != f.Row.Revision {
		s = suspect{since: now, revision: f.Row.Revision}
		mo.suspects[f.Name] = s
	}
	if left := between - now.Sub(s.since); left > 0 {
		d.Does = LooksAgain
		mo.tell(d)
		return left
	}
	mo.clear(f)
	d.Does = "terminated"
	if mo.w.DryRun {
		mo.tell(d)
		return 0
	}
	lost := f.State == observe.Absent && (observe.EarlierBoot(f.Row) || mo.noServer(f.Server))
	d.Done, d.Err = mo.RecordEnd(ctx, f.Row, &f.Observation, lifecycle.End{How: d.Found, Lost: lost, Alone: mo.single(f)})
	mo.tell(d)
	return 0
}

// goneWords say what became of a session.
func goneWords(f *observe.Found) string {
	switch {
	case f.State == observe.Dead:
		return "its program has ended" + lifecycle.HowEnded(&f.Pane)
	case f.Process.PID > 0:
		return "its session is gone, and process " + strconv.Itoa(f.Process.PID) + " runs on: tutti session stop " + f.Name
	case observe.EarlierBoot(f.Row):
		return "the machine was started anew"
	}
	return "its session is gone"
}

// noServer tells whether no tmux server of that name runs.
func (mo *monitor) noServer(name string) bool {
	s := mo.view.Server(name)
	return s != nil && s.Absent()
}

// single tells whether the pane is the only one of its session: its user may have made others beside it.
func (mo *monitor) single(f *observe.Found) bool {
	s := mo.view.Server(f.Server)
	if s == nil || s.Panes == nil || f.Pane.Owner == "" {
		return false
	}
	n := 0
	for _, p := range s.Panes.Panes {
		if p.Session == f.Pane.Session {
			n++
		}
	}
	return n == 1
}

// settle brings to an end what was cut off. Nothing is signalled: processes that a stop has left alive are reported.
func (mo *monitor) settle(ctx context.Context, f *observe.Found) {
	in := f.Row.Intent
	d := Difference{Class: "cut", Session: f.Name, Server: f.Server, Found: in.Verb + " was cut off", Does: "settled"}
	defer func() { mo.tell(d) }()
	if in.Verb == lifecycle.VerbCreate || in.Verb == lifecycle.VerbResume {
		if mo.w.DryRun {
			return
		}
		_, d.Err = mo.Settle(ctx, f.Name)
		d.Done = d.Err == nil
		return
	}
	if in.Verb != lifecycle.VerbStop { // of another program, or another release
		d.Does = ""
		return
	}
	first, _ := observe.FirstProcess(f.Row)
	kin, _, err := observe.Processes(f.Row, first)
	switch {
	case err != nil || f.State == observe.Unknown:
		d.Does = ""
	case f.State != observe.Absent || len(kin) > 0:
		d.Does = ""
		d.Found += ", and it lives: tutti session stop " + f.Name
	case mo.w.DryRun:
	default:
		_, d.Err = mo.Stop(ctx, lifecycle.StopRequest{Session: f.Name, Reason: f.Row.StopReason, NoKeys: true})
		d.Done = d.Err == nil
	}
}

// later does those looks at a new session that who began it has left to the monitor.
func (mo *monitor) later(ctx context.Context, f *observe.Found) (again time.Duration) {
	const lately = 10 * time.Second // after that it is an old session
	look, after := lifecycle.NextLook(f.Row)
	began, ok := proc.StartTime(f.Process.PID)
	age := time.Since(began)
	if look == "" || !ok || age > lately || mo.w.DryRun {
		return 0
	}
	if age < after {
		mo.young = true
		return after - age
	}
	d := Difference{Class: "begin", Session: f.Name, Server: f.Server, Found: "it was begun " + look + " ago", Does: "looked"}
	d.Done, d.Err = mo.LookAgain(ctx, f, look)
	mo.tell(d)
	if d.Err != nil || !d.Done {
		return 0
	}
	mo.young = true
	return time.Millisecond // the row has changed: the next look is at the new one
}

// talk records which conversation the program is in.
func (mo *monitor) talk(ctx context.Context, f *observe.Found, full bool) {
	id, by := f.Conversation, lifecycle.SelfReport
	if id == "" && full && f.Row.Conversation() == "" {
		var err error
		if id, by, err = mo.Conversation(ctx, f.Row, f.Process); err != nil {
			return // nothing is known
		}
	}
	d, ok := driver.Kind(f.Kind)
	if id == "" || id == f.Row.Conversation() || !ok || d.Life.IsID == nil || !d.Life.IsID(id) {
		return
	}
	diff := Difference{Class: "C", Session: f.Name, Server: f.Server, Found: "it is in conversation " + id, Does: "recorded"}
	if !mo.w.DryRun {
		diff.Done, diff.Err = mo.RecordConversation(ctx, f.Row, id, by)
	}
	mo.tell(diff)
}

// adopt gives a row to a session that looks like ours.
func (mo *monitor) adopt(ctx context.Context, f *observe.Found, problems []registry.Problem) {
	d := Difference{Class: "B", Session: f.Name, Server: f.Server, Found: "it has no row", Does: "row added"}
	for _, p := range problems {
		if p.Name == f.Name {
			d.Does, d.Found = "", "its row cannot be used: "+p.Reason
		}
	}
	if f.State != observe.Alive {
		d.Does = ""
	}
	if !mo.w.DryRun && d.Does != "" {
		d.Done, d.Err = mo.Adopt(ctx, f)
	}
	mo.tell(d)
}
