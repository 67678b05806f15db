package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// autoDetected is how a row is said to have ended that nobody stopped.
const autoDetected = "auto-detected"

// tell tells of a difference, unless it was told already.
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
func (mo *monitor) one(ctx context.Context, f *Found, full bool, problems []registry.Problem) (again time.Duration) {
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
	case Unknown:
		mo.tell(Difference{Class: "?", Session: f.Name, Server: f.Server, Found: "tmux does not tell: " + f.Err.Error()})
		return 0 // nothing is known, and what was suspected before stays so
	case Dead, Absent:
		return mo.gone(ctx, f)
	case Alive:
		mo.clear(f)
		mo.talk(ctx, f, full)
		if full && !mo.w.DryRun {
			if err := mo.Kept(ctx, r, f.Observation); err != nil {
				mo.o.Tell("session " + f.Name + ": its presence cannot be kept: " + err.Error())
			}
		}
		return mo.later(ctx, f)
	}
	mo.clear(f)
	return 0
}

// LooksAgain is what is done about a session that one look did not find.
const LooksAgain = "look again"

// clear says that a session is not gone.
func (mo *monitor) clear(f *Found) { delete(mo.suspects, f.Name) }

// gone writes that a session is gone, when two looks have said so. A program that runs on without its session keeps its row: nobody
// could end it otherwise.
func (mo *monitor) gone(ctx context.Context, f *Found) (again time.Duration) {
	d := Difference{Class: "A", Session: f.Name, Server: f.Server, Found: goneWords(f)}
	if f.Process.PID > 0 && f.State == Absent {
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
	d.Done, d.Err = mo.terminate(ctx, f, d.Found)
	mo.tell(d)
	return 0
}

// goneWords say what became of a session.
func goneWords(f *Found) string {
	switch {
	case f.State == Dead:
		return "its program has ended" + howEnded(&f.Pane)
	case f.Process.PID > 0:
		return "its session is gone, and process " + pid(f.Process.PID) + " runs on: tutti session stop " + f.Name
	case anotherBoot(f.Row):
		return "the machine was started anew"
	}
	return "its session is gone"
}

// anotherBoot tells whether a session was begun before the machine was started. Rows of older programs do not say.
func anotherBoot(r *registry.Row) bool { return r.BootID != "" && r.BootID != proc.BootID() }

// terminate writes that a session has ended, if its row is still what was looked at, and takes away what tmux has kept of it.
func (mo *monitor) terminate(ctx context.Context, f *Found, how string) (done bool, err error) {
	server, err := server(f.Row)
	if err != nil {
		return false, err
	}
	screen := ""
	if f.State == Dead {
		text, _ := server.Capture(ctx, f.Pane.Ref(), tmux.Capture{History: -1}) // the end counts, with a picture or without
		screen = registry.Screen(lastWords(text))
	}
	lost := f.State == Absent && (anotherBoot(f.Row) || mo.noServer(f.Server))
	row, err := mo.o.Registry.Change(ctx, f.Name, func(r *registry.Row, found bool) error {
		if !found || r.Revision != f.Row.Revision || r.Intent != nil || r.Status != registry.Running || r.OwnerID != f.Row.OwnerID {
			return registry.ErrNoChange
		}
		if lost {
			Lost(r, mo.Manager, how)
		} else {
			endedRow(r, mo.o.Now(), how, screen, r.Conversation() != "")
		}
		r.Mode = autoDetected
		done = true
		return nil
	})
	if err != nil || !done {
		return false, err
	}
	if mo.o.Bus.Ended != nil {
		if e := mo.o.Bus.Ended(ctx, &row); e != nil {
			mo.o.Tell("the bus was not told of the end of " + f.Name + ": " + e.Error())
		}
	}
	if row.Job != "" && mo.o.Jobs != nil {
		if e := mo.o.Jobs(ctx, row.Job, "error", "the session of its agent has ended"); e != nil && !errors.Is(e, ErrJobOver) {
			mo.o.Tell("job " + row.Job + " was not told that its session ended: " + e.Error())
		}
	}
	if f.State == Dead && f.Pane.Dead && f.Pane.Attached == 0 && mo.single(f) {
		if e := server.Kill(ctx, f.Pane); e != nil && !errors.Is(e, tmux.ErrAbsent) {
			mo.o.Tell("the last screen of " + f.Name + " stays in tmux: " + e.Error())
		}
	}
	return true, nil
}

// noServer tells whether no tmux server of that name runs.
func (mo *monitor) noServer(name string) bool {
	s := mo.view.Server(name)
	return s != nil && s.Absent()
}

// single tells whether the pane is the only one of its session: its user may have made others beside it.
func (mo *monitor) single(f *Found) bool {
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

// settle brings to an end what was cut off. Nothing is signalled: what a stop has left alive is told of.
func (mo *monitor) settle(ctx context.Context, f *Found) {
	in := f.Row.Intent
	d := Difference{Class: "cut", Session: f.Name, Server: f.Server, Found: in.Verb + " was cut off", Does: "settled"}
	defer func() { mo.tell(d) }()
	if in.Verb == verbCreate || in.Verb == verbResume {
		if mo.w.DryRun {
			return
		}
		_, d.Err = mo.Settle(ctx, f.Name)
		d.Done = d.Err == nil
		return
	}
	if in.Verb != verbStop { // of another program, or another release
		d.Does = ""
		return
	}
	first, _ := process(f.Row)
	kin, err := family(f.Row, first)
	switch {
	case err != nil || f.State == Unknown:
		d.Does = ""
	case f.State != Absent || len(kin) > 0:
		d.Does = ""
		d.Found += ", and it lives: tutti session stop " + f.Name
	case mo.w.DryRun:
	default:
		_, d.Err = mo.Stop(ctx, StopRequest{Session: f.Name, Reason: f.Row.StopReason, NoKeys: true})
		d.Done = d.Err == nil
	}
}

// talk records which conversation the program is in.
func (mo *monitor) talk(ctx context.Context, f *Found, full bool) {
	id := f.Conversation
	if id == "" && full && f.Row.Conversation() == "" {
		var err error
		if id, err = mo.Conversation(ctx, f.Row, f.Process); err != nil {
			return // nothing is known
		}
	}
	d, ok := driver.Kind(f.Kind)
	if id == "" || id == f.Row.Conversation() || !ok || d.Life.IsID == nil || !d.Life.IsID(id) {
		return
	}
	diff := Difference{Class: "C", Session: f.Name, Server: f.Server, Found: "it is in conversation " + id, Does: "recorded"}
	defer func() { mo.tell(diff) }()
	if mo.w.DryRun {
		return
	}
	_, diff.Err = mo.o.Registry.Change(ctx, f.Name, func(r *registry.Row, found bool) error {
		if !found || r.Revision != f.Row.Revision || r.Intent != nil {
			return registry.ErrNoChange
		}
		if r.Conversation() != "" {
			r.Forget()
		}
		r.SetConversation(f.Kind, id)
		diff.Done = true
		return nil
	})
}

// adopt gives a row to a session that looks like ours.
func (mo *monitor) adopt(ctx context.Context, f *Found, problems []registry.Problem) {
	d := Difference{Class: "B", Session: f.Name, Server: f.Server, Found: "it has no row", Does: "row added"}
	for _, p := range problems {
		if p.Name == f.Name {
			d.Does, d.Found = "", "its row cannot be used: "+p.Reason
		}
	}
	defer func() { mo.tell(d) }()
	if f.State != Alive {
		d.Does = ""
		return
	}
	if mo.w.DryRun || d.Does == "" {
		return
	}
	_, d.Err = mo.o.Registry.Change(ctx, f.Name, func(r *registry.Row, found bool) error {
		if found {
			return registry.ErrNoChange
		}
		r.Server, r.Agent, r.OwnerID = f.Server, f.Kind, f.Pane.Owner
		if r.Server == "default" {
			r.Server = ""
		}
		mo.present(r, &f.Pane, f.Process)
		r.Pane.Cwd, r.CreatedAt = f.Pane.Path, registry.Stamp(f.Pane.SessionCreated)
		r.VisibleNote = "auto-registered"
		if f.Kind != "" {
			r.SetConversation(f.Kind, f.Conversation)
		}
		d.Done = true
		return nil
	})
}

// later does those looks at a new session that who began it has left to the monitor.
func (mo *monitor) later(ctx context.Context, f *Found) (again time.Duration) {
	const lately = 10 * time.Second // after that it is an old session
	done := Looks(f.Row)
	began, ok := proc.StartTime(f.Process.PID)
	age := time.Since(began)
	if len(done) == 0 || !ok || age > lately || mo.w.DryRun {
		return 0
	}
	for _, l := range laterLooks {
		if slices.Contains(done, l.name) {
			continue
		}
		if age < l.after {
			mo.young = true
			return l.after - age
		}
		d := Difference{Class: "begin", Session: f.Name, Server: f.Server, Found: "it was begun " + l.name + " ago", Does: "looked"}
		d.Done, d.Err = mo.lookAt(ctx, f, l.name)
		mo.tell(d)
		if d.Err != nil || !d.Done {
			return 0
		}
		mo.young = true
		return time.Millisecond // the row has changed: the next look is at the new one
	}
	return 0
}

// lookAt looks at a new session, with its screen, and writes down what it shows.
func (mo *monitor) lookAt(ctx context.Context, f *Found, look string) (done bool, err error) {
	server, err := server(f.Row)
	if err != nil {
		return false, err
	}
	kind, ok := driver.Kind(f.Kind)
	if !ok {
		kind, _ = driver.Kind("custom")
	}
	b := &begin{m: mo.Manager, verb: verbCreate, kind: kind, server: server, row: f.Row.Clone(), pane: f.Pane, first: f.Process}
	if !f.Row.ResumedAt.IsZero() {
		b.verb = verbResume
	}
	if b.looked(ctx, true) {
		return true, b.over(ctx, look)
	}
	return true, b.change(ctx, func(r *registry.Row) {
		addLook(r, look)
		if r.Revision == f.Row.Revision {
			b.noted(r)
		}
	})
}
