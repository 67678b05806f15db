package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A ResumeRequest says which session is to go on.
type ResumeRequest struct {
	Name         string
	Conversation string // the id of the conversation, "": it is found
	Latest       bool   // of the conversations of its folder that can be its own, the newest
	Unproven     bool   // take the conversation of the row, and what another program noted, without a proof: the older scripts do
	Force        bool   // also where the row says that there is nothing to go on with
	Trust        bool   // run the command of the row, no matter who wrote it
	Prompt       string
	Ready        time.Duration
	Wait         bool // look again after 0.3 s and 2 s
}

// Resumed is a session that goes on.
type Resumed struct {
	Name string
	Row  registry.Row
	Pane tmux.Pane
	Err  error // with ResumeAll: why it does not
	// Left is with ResumeAll why it was left out, though nothing failed; nil when it was not.
	Left  *Error
	Found string
	// Running: it was never away, and nothing was done.
	Running bool
	// Anew: nothing had been said in its conversation, which was begun again: under the same id, if its program takes that twice.
	Anew       bool
	Candidates []Candidate // with an error of kind Several
	Looks      []string
	Dialog     string
	Prompted   bool
	Screen     string

	own bool // its transcript is proven to be its own
}

// How the conversation was found.
const (
	foundGiven  = "named"
	foundHeard  = "heard from its hooks"
	foundRow    = "in the registry"
	foundLatest = "the newest on disk"
	foundNoted  = "noted in the registry by another program"
)

// From says for people where its conversation was found.
func (r *Resumed) From() string {
	switch {
	case r.Found == foundGiven:
		return "the one that you named"
	case r.Found == foundHeard:
		return "its own, from its hooks"
	case r.Found == foundRow && r.own:
		return "its own, from the registry"
	case r.Found == foundRow:
		return "from the registry"
	case r.Found == foundLatest:
		return "the newest of its folder"
	}
	return r.Found
}

// Resume goes on with the conversation of a session whose program has ended. An error of kind Several comes with the candidates.
func (m *Manager) Resume(ctx context.Context, q ResumeRequest) (*Resumed, error) {
	r, err := m.row(ctx, q.Name)
	if errors.Is(err, errUnregistered) {
		return nil, &Error{Kind: Refused, Session: q.Name, Text: "it is not registered", Next: `"tutti session list" shows those that are; a new one: tutti session create --session ` + q.Name + " --agent PROGRAM"}
	}
	if err == nil {
		r, err = m.settled(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return m.resume(ctx, q, r)
}

func (m *Manager) resume(ctx context.Context, q ResumeRequest, r registry.Row) (*Resumed, error) {
	if s := observe.Look(ctx, &r); s.State == observe.Alive {
		return m.goesOn(ctx, q, r, &s)
	}
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	b := &begin{m: m, verb: VerbResume}
	var err error
	if b.kind, err = m.resumable(&r, q.Prompt); err != nil {
		return nil, err
	}
	if r.Status == registry.Terminated && r.Resumable == registry.No && !wasLost(&r) && !q.Force {
		e := &Error{Kind: Nothing, Session: r.Name, Text: "there is nothing to go on with: " + endWord(&r), Next: "tutti session create --session " + r.Name}
		if r.Mode != modePurge {
			e.Next += "   # --force looks for its conversation all the same"
		}
		return nil, e
	}
	if err := m.unused(ctx, &r); err != nil {
		return nil, err
	}
	if again, err := m.row(ctx, r.Name); err != nil { // its end may just have been written
		return nil, err
	} else if again.OwnerID == r.OwnerID {
		r = again
	}
	done := &Resumed{Name: r.Name, Row: r}
	if b.program, b.own, err = commandOf(b.kind, &r); err != nil {
		return nil, err
	}
	if err := b.vouched(whole, r.Name, r.Pane.Cwd, q.Trust); err != nil {
		return nil, err
	}
	if b.server, err = observe.ServerOf(&r); err != nil {
		return nil, &Error{Kind: Refused, Session: r.Name, Text: "it cannot be taken up again", Err: err}
	}
	id, err := m.which(ctx, q, &r, b.kind, done)
	if err != nil {
		return done, err
	}
	if p, used := m.inUse(b.kind, r.Pane.Cwd, id); used {
		return nil, &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("process %d (%s) is in that conversation, and two would spoil it", p.PID, p.Comm)}
	}
	args := b.kind.Life.Resume(id, driver.Begin{Args: b.own})
	if done.Anew {
		args = b.kind.Life.Start(driver.Begin{Conversation: id, Args: b.own})
	}
	b.argv = append([]string{b.program}, args...)
	over := !done.Anew && (id != r.Conversation() || m.proven(ctx, b.kind, &r, id) == "" || m.tookOver(ctx, b.kind, &r, id))
	if err := b.again(ctx, r, id, over); err != nil {
		return nil, err
	}
	return done, b.goOn(ctx, q, done)
}

// goesOn is for a session that was never away. What its row says of an end is put right.
func (m *Manager) goesOn(ctx context.Context, q ResumeRequest, r registry.Row, s *observe.Observation) (*Resumed, error) {
	done := &Resumed{Name: r.Name, Row: r, Pane: s.Pane, Running: true}
	if r.Status != registry.Running || r.Intent != nil && !ours(r.Intent) { // put away, or a stop of it was cut off
		var err error
		done.Row, err = m.o.Registry.Change(ctx, r.Name, func(row *registry.Row, found bool) error {
			if !found || row.Revision != r.Revision {
				return errTaken
			}
			m.lives(row, &s.Pane, s.Process)
			row.Intent = nil
			return nil
		})
		if errors.Is(err, errTaken) {
			return nil, atWork(r.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	switch now := done.Row.Conversation(); {
	case q.Conversation != "" && q.Conversation != now && now != "":
		return done, &Error{Kind: Refused, Session: r.Name, Text: "it runs already, in conversation " + now, Next: "tutti session stop " + r.Name + ", then the same again"}
	case q.Conversation != "" && now == "":
		return done, &Error{Kind: Refused, Session: r.Name, Text: "it runs already, and in which conversation is not known", Next: "tutti session stop " + r.Name + ", then the same again"}
	case q.Prompt != "":
		return done, &Error{
			Kind: Refused, Session: r.Name, Text: "it runs already, and its prompt was not typed",
			Next: "tutti session attach " + r.Name + "   # or give it as a job: tutti job submit --agent-session tmux:" + r.Name,
		}
	}
	return done, nil
}

// atWork reports that another process has changed a row meanwhile.
func atWork(name string) error {
	return &Error{Kind: Busy, Session: name, Text: "another process has just begun or changed it", Next: "tutti session status " + name}
}

// endWord is how a row has ended.
func endWord(r *registry.Row) string {
	switch {
	case r.Mode == modePurge:
		return "its conversation was deleted"
	case r.VisibleNote != "":
		return r.VisibleNote
	}
	return "its program ended before anything was said"
}

// resumable finds the program of a row, and whether it can go on with a conversation.
func (m *Manager) resumable(r *registry.Row, prompt string) (*driver.Driver, error) {
	d, ok := driver.Kind(r.Kind())
	switch {
	case !ok:
		return nil, &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("its program %.100q is none that is known", r.Kind())}
	case d.Life.ResumeBy == "" && d.Program == "":
		return nil, &Error{
			Kind: Nothing, Session: r.Name, Text: "a program of your own has no conversation to go on with",
			Next: "to start it again: tutti session create --session " + r.Name,
		}
	case d.Life.ResumeBy == "":
		return nil, &Error{
			Kind: Nothing, Session: r.Name, Text: "it is not known how " + d.Title + " goes on with a conversation",
			Next: "tutti session create --session " + r.Name,
		}
	case prompt != "" && d.Life.Screen == nil:
		return nil, &Error{Kind: Refused, Session: r.Name, Text: typesOnly}
	}
	return d, nil
}

// commandOf is the program of a row, and the arguments of its user, but for those that say which conversation it was to be.
func commandOf(d *driver.Driver, r *registry.Row) (program string, own []string, err error) {
	argv, err := argvOf(r)
	if err != nil || len(argv) == 0 {
		return d.Program, nil, err
	}
	own, _, _ = d.Life.Unchosen(ownArgs(&d.Life, argv))
	return argv[0], own, nil
}

// again writes what is about to be done, and starts the program. When nothing was started the row is as it was.
// over: the conversation is one that the session may not have begun.
func (b *begin) again(ctx context.Context, r registry.Row, id string, over bool) error {
	owner, err := newOwner()
	if err != nil {
		return err
	}
	b.row, err = b.m.o.Registry.Change(ctx, r.Name, func(row *registry.Row, found bool) error {
		if !found || row.Revision != r.Revision {
			return errTaken
		}
		if row.Conversation() != id {
			row.Forget()
			row.SetConversation(b.kind.Name, id)
		}
		setProof(row, id, StartedWith, over, true)
		row.OwnerID, row.Intent = owner, b.m.intent(VerbResume, stepClaimed)
		row.Set(beforeMember, r.JSON())
		return nil
	})
	if errors.Is(err, errTaken) {
		return atWork(r.Name)
	}
	if err != nil {
		return err
	}
	b.m.reached("claimed")
	err = b.start(ctx)
	if err == nil {
		b.m.reached("made")
		return nil
	}
	if b.adrift(ctx, err) {
		return err
	}
	_, e := b.m.o.Registry.Change(context.WithoutCancel(ctx), r.Name, func(row *registry.Row, found bool) error {
		if !found || row.OwnerID != owner {
			return registry.ErrNoChange
		}
		revision := row.Revision
		*row = r.Clone()
		row.Revision = revision
		return nil
	})
	return errors.Join(err, e)
}

// goOn does what comes after the start.
func (b *begin) goOn(ctx context.Context, q ResumeRequest, done *Resumed) error {
	err := b.announce(ctx)
	if err == nil && q.Prompt != "" {
		done.Prompted, err = b.prompt(ctx, q.Prompt, q.Ready)
	}
	if err == nil && q.Wait {
		err = b.wait(ctx)
	}
	done.Row, done.Pane, done.Looks, done.Dialog = b.row, b.pane, Looks(&b.row), Dialog(b.seen)
	if b.ended {
		done.Screen = b.screen
	}
	return err
}
