// Package hook is what happens at one event of an agent program: it puts the mail of an agent before its model.
//
// It promises:
//
//   - Mail is claimed before it is printed, so that of several conversations of one agent one gets it. That it was shown is
//     recorded when the next event of the conversation comes, which proves that the program went on; what is lost on the way is
//     offered again, and at the end of a conversation what it may not have seen is left to others at once.
//   - At the end of a turn one more is asked for when there is mail that the agent has not seen. A message is the reason for that
//     once in its life: the trail says so before anything is printed. No program has to count, and none is kept busy.
//   - What is printed has at most [MaxAnswer] bytes. A text of a peer is marked as such, holds no control characters and no tag of an agent
//     program, and stands behind bars, so that none of its lines can pass for one of ours.
//   - At the end of a turn nothing of a peer is printed, but one sentence of ours: agent programs give it to their model in the words of its
//     user. The texts come with the next event, or by the tool.
//   - Nothing is said where the model will not read it and a later event can say it instead ([driver.Hooks.Drops]).
//   - What an agent does is reported to the job on which its session works. An agent in no session of ours is not asked about.
//   - An agent that works in the folder of a project gets the messages that other projects have sent to its mailbox, each once
//     in a conversation of the agent, verified by the real gpg and with what the protocol expects of the reader. Their bodies are not printed.
//     With nothing new that costs a look at the times of two files. Where something is new, a program that cannot judge it is replaced by
//     one that can, before anything was done ([Elsewhere]).
//   - At the beginning of a conversation an agent sees in one line what else waits for it, and what to type first. Where nothing can,
//     that costs a look for some folders.
//   - While the halt switch is on, every event that can stop the agent denies: the tool, the prompt, the next request to the model. One function
//     decides that, and whether the event must be denied does not depend on the input, the bus or what is remembered of the conversation.
//   - In which agent CLI process it ran, and which halt it made known there, is put down for "tutti halt" (package hookmark).
//   - Before an agent changes a file that a peer has reserved, it sees who has it and until when; nothing is blocked. Where
//     there is none that costs a look for a folder; where there may be one, a program that does without package reservation is replaced by one that
//     has it ([WarnElsewhere]).
//   - After a halt was cleared, an agent is shown nothing until its user has let it go on.
//
// How the programs differ is for package driver to know, who an agent is for identity, what becomes of mail for post. Where the
// bus is and how an agent is connected is handed in. It starts no goroutine.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/approval"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/governance/reservation"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

// A Bus is what a hook works on.
type Bus struct {
	Root   string // absolute
	Office *mail.Service
	// Bound returns the agent of a conversation, "" when it is not known yet.
	Bound func(ctx context.Context, conversation string) (address.Instance, error)
	// Connect finds or makes the agent of a conversation. notice is what changed for it, mostly "".
	Connect func(ctx context.Context, conversation string) (i address.Instance, notice string, err error)
	Close   func() error
	// Leases knows which agent works on which file; nil: not checked.
	Leases *reservation.Reservations
	// Waits returns what waits for an agent beside its mail; nil: not checked.
	Waits func(ctx context.Context, i address.Instance) ([]todo.Item, error)
}

// A RefusedError reports a bus that is not opened before the user accepts it. The hook says so at the beginning of a conversation:
// otherwise hooks would fall silent without a reason that the user can see.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// A BusChoice says which bus is used.
type BusChoice struct {
	Root string // that very one, which must be there; "": the one for Dir, which is made as the server of the agent would
	Dir  string // where the agent works; "": where the hook runs
}

// Options are what a hook is given.
type Options struct {
	Driver *driver.Driver
	Event  string // as the command line has it
	Input  []byte // what the program wrote
	Env    func(name string) string
	State  string // this user's folder of state
	Open   func(ctx context.Context, p BusChoice) (*Bus, error)
	Out    io.Writer
	Now    func() time.Time
	// Tell is called with what the agent does when its event was dealt with, but not while it is halted: whether it works, as
	// it does after a prompt, after a tool, and when one more turn was asked for. i is "" where it is not known. Nil: not
	// called.
	Tell func(c *driver.Call, i address.Instance, works bool)
	// Projects leads to the conversations between projects; nil: there are no notices about them.
	Projects *Projects
	// Warner reads the file reservations; nil: there are no warnings.
	Warner *Warner
	// Waits is called at the beginning of a conversation before anything is done, in a program that cannot tell what waits for an agent: it
	// puts one in its place that can, if something may wait, and returns if not. Nil: this one can.
	Waits func(p BusChoice) error
	// Process is the agent CLI whose hook this is, and Build tells this program from others, for the marks of package hookmark. Denies: the
	// settings that call this hook call it for all tools. Nil: no mark is made.
	Process func() (proc.ID, bool)
	Build   string
	Denies  bool
	// Dialog is asked again and again at an event of [driver.Event.Beside] while a dialog is open; it returns false when it was
	// answered. Nil: no hook waits beside a dialog.
	Dialog func() bool
	// Detach is called at an event of [driver.Event.Detached] with who asks. It leaves a process behind that waits until the dialog was
	// answered. Nil: none is.
	Detach func(r approval.Request) error
	// Notice tells the user at the desktop that a halt ended without a recorded lift; nil: no notice.
	Notice func(text string)
	// Switch and Memory look at the halt switch; nil: as package halt does.
	Switch func() halt.State
	Memory func() (halt.Entry, error)
}

// Run does what an event asks for, and returns when the answer is written. An error is for a log: what could not be done is left
// for the next event, and the program is not to be bothered with it.
func Run(ctx context.Context, o Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal failure: %v", p)
		}
	}()
	if o.Switch == nil {
		o.Switch = halt.Read
	}
	if o.Memory == nil {
		o.Memory = halt.Memory
	}
	e := &event{o: o, hooks: &o.Driver.Hooks, now: o.Now()}
	defer e.mark(&err)
	if e.call, err = e.hooks.Read(o.Event, o.Input); err != nil {
		e.call = driver.Call{} // the command line says which event it is, and nothing else is needed to deny it
		e.call.Event, _ = e.hooks.Event(o.Event)
	}
	if v := e.hooks.Conversation; e.call.Conversation == "" && v != "" {
		e.call.Conversation = o.Env(v)
	}
	e.call.Dir = e.folder()
	e.notes = notesFor(o.State, o.Driver.Name, e.call.Conversation)
	why, must := e.refused()
	if !must {
		why, must = e.unengaged(ctx)
	}
	if must {
		return errors.Join(e.deny(why), err)
	}
	switch {
	case err != nil:
		return err
	case e.call.Conversation == "":
		return errors.New("the input names no conversation")
	case e.call.Event.Moment == driver.Other:
		return nil
	}
	err = e.run(ctx)
	if why, must := e.refused(); must && !e.said { // a halt that came meanwhile
		err = errors.Join(e.deny(why), err)
	}
	return err
}

// An event is one at work.
type event struct {
	o     Options
	call  driver.Call
	hooks *driver.Hooks
	now   time.Time
	notes *notes
	was   note // what is remembered of the conversation, once it is loaded
	known bool // something is
	read  bool // was and known are loaded
	bus   *Bus
	r     mail.Reader
	more  bool // one more turn was asked for
	at    place
	lets  uint64 // the halt after which its user has let it go on, which is to be said; 0: nothing is
	said  bool   // something was printed
	acked bool   // a halt has stopped the agent at this event
	halts bool   // the switch is on
}

// folder is where the agent program was started, as far as it tells.
func (e *event) folder() string {
	if v := e.o.Driver.Hooks.Folder; v != "" {
		if dir := e.o.Env(v); filepath.IsAbs(dir) {
			return dir
		}
	}
	if filepath.IsAbs(e.call.Dir) {
		return e.call.Dir
	}
	return ""
}

func (e *event) run(ctx context.Context) (err error) {
	switch m := e.call.Event.Moment; {
	case m == driver.Next:
		return nil
	case m == driver.Use:
		return e.edits(ctx)
	case m == driver.Ask:
		return errors.Join(e.report(ctx), e.beside(ctx), e.detached())
	case e.call.Helper && m == driver.Tool:
		return e.report(ctx)
	case e.call.Helper:
		return nil // from now on the output reaches another reader
	case m == driver.End:
		return errors.Join(e.report(ctx), e.over(ctx)) // there may be no time for both
	}
	defer func() { err = errors.Join(err, e.report(ctx)) }()
	defer e.tell()
	known := e.load()
	doubtful := errors.Join(e.elsewhere(), e.replace(), e.begins())
	defer func() { err = errors.Join(err, doubtful) }()
	epoch := e.epoch()
	if !known {
		e.was = note{Epoch: epoch}
	}
	if e.call.Event.Moment == driver.Tool && len(e.call.Files) > 0 {
		if err := e.edits(ctx); err != nil || e.said { // mail comes at the next event
			return err
		}
	}
	if err := e.prompted(known, epoch); err != nil {
		doubtful = errors.Join(doubtful, err)
	}
	if said, err := e.unrecorded(known); said || err != nil {
		return err
	}
	notice, err := e.open(ctx, known)
	var refused *RefusedError
	if errors.As(err, &refused) && e.call.Event.Moment == driver.Start {
		err = errors.Join(err, e.say("tutti: "+refused.Text+". You get no mail until then: tell your user."))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.bus.Close()) }()
	doubt := e.prove(ctx) // a fault in it must not keep mail back
	if stopped, err := e.waitsForUser(ctx); stopped || err != nil {
		return errors.Join(doubt, err)
	}
	return errors.Join(doubt, e.mail(ctx, notice))
}

// over forgets the conversation. What it was given and nothing proves that it had is free for the next one: a user may begin a new
// conversation before he has said anything in this one.
func (e *event) over(ctx context.Context) (err error) {
	known := e.load()
	if err := e.notes.forget(); err != nil || !known || len(e.was.Printed) == 0 {
		return err
	}
	e.bus, err = e.o.Open(ctx, BusChoice{Root: e.was.Root, Dir: e.call.Dir})
	if err != nil {
		return err
	}
	if e.bus.Root == e.was.Root {
		ids := make([]string, len(e.was.Printed))
		for i := range ids {
			ids[i] = e.was.Printed[i].ID
		}
		err = e.bus.Office.GiveBack(ctx, mail.Reader{Instance: e.was.Instance, Session: e.call.Conversation}, ids)
	}
	return errors.Join(err, e.bus.Close())
}

// epoch is how many halts there were, see halt.Epoch.
func (e *event) epoch() uint64 {
	m, err := e.o.Memory()
	if err != nil {
		return halt.UnknownEpoch
	}
	return m.Count
}

// open opens the bus and finds out who the agent is.
func (e *event) open(ctx context.Context, known bool) (notice string, err error) {
	e.bus, err = e.o.Open(ctx, BusChoice{Root: e.was.Root, Dir: e.call.Dir})
	if e.was.Root != "" && errors.Is(err, fs.ErrNotExist) && e.call.Event.Moment == driver.Start {
		e.bus, err = e.o.Open(ctx, BusChoice{Dir: e.call.Dir}) // it is gone; a conversation that goes on may use another one
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.bus.Close())
		}
	}()
	who := e.was.Instance
	if e.was.Root != e.bus.Root {
		who = ""
	}
	switch {
	case e.call.Event.Moment == driver.Start:
		who, notice, err = e.bus.Connect(ctx, e.call.Conversation)
	case who == "":
		if who, err = e.bus.Bound(ctx, e.call.Conversation); who == "" && err == nil {
			who, notice, err = e.bus.Connect(ctx, e.call.Conversation)
		}
	}
	if err != nil {
		return "", err
	}
	e.r = mail.Reader{Instance: who, Session: e.call.Conversation}
	if !known || who != e.was.Instance || e.bus.Root != e.was.Root {
		err = e.notes.update(func(n *note) {
			if !known {
				n.Epoch = e.was.Epoch
			}
			n.Root, n.Instance = e.bus.Root, who
		})
		e.was.Printed = nil // it was another agent's
	}
	if e.call.Event.Moment == driver.Start {
		e.notes.sweep(e.now)
	}
	return notice, err
}

// prove records that the agent has what an earlier event printed, or gives back what it has not.
func (e *event) prove(ctx context.Context) error {
	var proven []mail.Print
	var lost []string
	for _, p := range e.was.Printed {
		by, _ := e.hooks.Event(p.Event)
		switch {
		case p.Lost || !p.after(&e.call, e.now):
		case p.lostBy(&e.call, by.Moment):
			lost = append(lost, p.ID)
		default:
			proven = append(proven, p.Print)
		}
	}
	if len(proven)+len(lost) == 0 {
		return nil
	}
	err := errors.Join(e.bus.Office.Proven(ctx, e.r, proven), e.bus.Office.GiveBack(ctx, e.r, lost))
	return errors.Join(err, e.notes.update(func(n *note) { // a hook beside this one may have printed more meanwhile
		n.Printed = slices.DeleteFunc(n.Printed, func(p printed) bool { return slices.Contains(proven, p.Print) })
		for i, p := range n.Printed {
			n.Printed[i].Lost = p.Lost || slices.Contains(lost, p.ID)
		}
	}))
}

// The ways in which an agent is notified, as recorded in the trail.
const (
	byHook = "hook"
	byStop = mailbox.ResultStop
)

// mail puts what has come before the agent.
func (e *event) mail(ctx context.Context, notice string) (err error) {
	if e.call.Event.Moment == driver.Start && slices.Contains(e.hooks.Drops, e.call.Source) {
		return nil // the next prompt brings it
	}
	waits, unknown := e.waits(ctx) // a fault in it must not keep mail back
	defer func() { err = errors.Join(err, unknown) }()
	p := e.page(notice, waits)
	if p == nil {
		return nil
	}
	e.bus.Office.Mail.ReadAliasesOnce()
	t, err := e.bus.Office.ReceiveSome(ctx, e.r, 0, p.wants, p.room)
	if err != nil {
		return err
	}
	text := p.text(t)
	r, doubt := e.letters(ctx, e.room(text)) // a fault in it must not keep mail back
	ours, err := e.join(r, &text)
	if doubt = errors.Join(doubt, err); text == "" {
		return doubt
	}
	if why, must := e.refused(); must { // meanwhile: nothing was asked for yet, and what was claimed is offered again
		return errors.Join(doubt, ours.back(e), e.deny(why))
	}
	ids, way := make([]string, 0, len(t.Items)), byHook
	for i := range t.Items {
		ids = append(ids, t.Items[i].ID)
	}
	if e.call.Event.Moment == driver.Stop {
		ids, way = append(ids, p.left()...), byStop // the turn is for what there was no room for, too
	}
	if err := e.bus.Office.Pushed(ctx, e.r, ids, way); err != nil {
		return errors.Join(doubt, ours.back(e), err) // it could be the reason for another turn
	}
	if err := e.write(text); err != nil {
		return errors.Join(doubt, ours.back(e), err)
	}
	if e.lets > 0 {
		doubt = errors.Join(doubt, e.notes.update(func(n *note) { n.Epoch = e.lets }))
	}
	e.more = e.call.Event.Moment == driver.Stop
	if len(t.Items) == 0 {
		return doubt
	}
	err = e.notes.update(func(n *note) {
		for i := range t.Items {
			p := printed{Print: t.Items[i].Print(), Event: e.call.Event.Name, At: e.now}
			n.Printed = slices.DeleteFunc(n.Printed, func(was printed) bool {
				p.Twice = p.Twice || was.ID == p.ID && was.Lost
				return was.ID == p.ID
			})
			n.Printed = append(n.Printed, p)
		}
	})
	if err != nil { // the next event could not know it
		err = errors.Join(err, e.bus.Office.Shown(ctx, e.r, t))
	}
	return errors.Join(doubt, err)
}
