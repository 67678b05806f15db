package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/driver"
	"tutti/internal/proc"
	"tutti/internal/roster"
	"tutti/internal/tmux"
)

// A ResumeRequest says which session is to go on.
type ResumeRequest struct {
	Name         string
	Conversation string // the id of the conversation, "": it is found
	Latest       bool   // of several conversations that it could be, the newest
	Force        bool   // also where the row says that there is nothing to go on with
	Trust        bool   // run the command of the row, whoever has written it
	Prompt       string
	Ready        time.Duration
	Wait         bool // look again after 0.3 s and 2 s
}

// Resumed is a session that goes on.
type Resumed struct {
	Name  string
	Row   roster.Row
	Pane  tmux.Pane
	Err   error // with ResumeAll: why it does not
	Found string
	// Running: it was never away, and nothing was done.
	Running bool
	// Anew: nothing had been said in its conversation, which was begun again under the same id.
	Anew       bool
	Candidates []Candidate // with an error of kind Several
	Looks      []string
	Dialog     string
	Prompted   bool
	Screen     string
}

// How the conversation was found.
const (
	foundGiven  = "named"
	foundHeard  = "heard from its hooks"
	foundRow    = "in the registry"
	foundDisk   = "the only one on disk"
	foundLatest = "the newest on disk"
	foundNoted  = "noted in the registry by another program"
)

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

func (m *Manager) resume(ctx context.Context, q ResumeRequest, r roster.Row) (*Resumed, error) {
	done := &Resumed{Name: r.Name, Row: r}
	if s := m.look(ctx, &r); s.State == Alive {
		done.Running, done.Pane = true, s.Pane
		return done, nil
	}
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	if r.Status == roster.Terminated && r.Resumable == roster.No && !q.Force {
		return nil, &Error{
			Kind: Refused, Session: r.Name, Text: "there is nothing to go on with: " + endWord(&r),
			Next: "tutti session create --session " + r.Name,
		}
	}
	if err := m.unused(ctx, &r); err != nil {
		return nil, err
	}
	if again, err := m.row(ctx, r.Name); err != nil { // its end may just have been written
		return nil, err
	} else if again.OwnerID == r.OwnerID {
		r = again
	}
	b := &begin{m: m, verb: verbResume}
	var err error
	if b.kind, err = m.resumable(&r, q.Prompt); err != nil {
		return nil, err
	}
	b.program, b.own = commandOf(b.kind, &r)
	if err := b.vouched(whole, r.Name, r.Pane.Cwd, q.Trust); err != nil {
		return nil, err
	}
	if b.server, err = server(&r); err != nil {
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
	if err := b.again(ctx, r, id); err != nil {
		return nil, err
	}
	return done, b.goOn(ctx, q, done)
}

// endWord is how a row has ended.
func endWord(r *roster.Row) string {
	switch {
	case r.Mode == "purge":
		return "its conversation was deleted"
	case r.VisibleNote != "":
		return r.VisibleNote
	}
	return "its program ended before anything was said"
}

// resumable finds the program of a row, and whether it can go on with a conversation.
func (m *Manager) resumable(r *roster.Row, prompt string) (*driver.Driver, error) {
	d, ok := driver.Kind(r.Kind())
	switch {
	case !ok:
		return nil, &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("its program %.100q is none that is known", r.Kind())}
	case d.Life.Resume == nil && d.Program == "":
		return nil, &Error{
			Kind: Refused, Session: r.Name, Text: "a program of your own has no conversation to go on with",
			Next: "to start it again: tutti session create --session " + r.Name,
		}
	case d.Life.Resume == nil:
		return nil, &Error{
			Kind: Refused, Session: r.Name, Text: "it is not known how " + d.Title + " goes on with a conversation",
			Next: "tutti session create --session " + r.Name,
		}
	case prompt != "" && d.Life.Screen == nil:
		return nil, &Error{Kind: Refused, Session: r.Name, Text: "its screen is not known, so nobody can tell when a prompt may be typed into " + d.Title}
	}
	return d, nil
}

// commandOf is the program of a row, and the arguments of its user.
func commandOf(d *driver.Driver, r *roster.Row) (program string, own []string) {
	if len(r.StartArgv) == 0 {
		return d.Program, nil
	}
	return r.StartArgv[0], ownArgs(&d.Life, r.StartArgv)
}

// which finds the conversation: the one that is named; the one that its hooks told of last; the one of its row; the only one that it can
// be of those on disk; the one that a program of others has noted. It is never guessed.
func (m *Manager) which(ctx context.Context, q ResumeRequest, r *roster.Row, d *driver.Driver, done *Resumed) (string, error) {
	if q.Conversation != "" {
		if !d.Life.IsID(q.Conversation) {
			return "", &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("%.100q is no conversation of %s", q.Conversation, d.Title)}
		}
		done.Found = foundGiven
		return q.Conversation, nil
	}
	heard, err := m.heard(ctx, d, r)
	if err != nil {
		m.o.Tell("the bus cannot say which conversation it was: " + err.Error())
	}
	if heard != "" && heard != r.Conversation() && m.there(d, r.Pane.Cwd, heard) {
		done.Found = foundHeard
		return heard, nil
	}
	id := r.Conversation()
	if d.Life.IsID(id) && m.there(d, r.Pane.Cwd, id) {
		done.Found = foundRow
		return id, nil
	}
	others, err := m.others(ctx, r, d)
	if err != nil {
		return "", err
	}
	switch {
	case len(others) == 1:
		done.Found = foundDisk
		return others[0].ID, nil
	case len(others) > 1 && q.Latest:
		done.Found = foundLatest
		return others[0].ID, nil
	case len(others) > 1:
		done.Candidates = others
		return "", &Error{
			Kind: Several, Session: r.Name, Text: fmt.Sprintf("it is not known which of %d conversations was its own", len(others)),
			Next: fmt.Sprintf("tutti session resume %s --conversation %s   # or --latest", r.Name, others[0].ID),
		}
	}
	if id != "" && d.Talk.Choose != nil {
		done.Found, done.Anew = foundRow, true
		return id, nil
	}
	if noted, err := m.noted(ctx, r, d); noted != "" || err != nil {
		done.Found = foundNoted
		return noted, err
	}
	return "", &Error{
		Kind: Refused, Session: r.Name, Text: "no conversation of it is known: nothing was said in it, or its program keeps it elsewhere",
		Next: "tutti session create --session " + r.Name,
	}
}

// formerProcess is the first process of the row's pane as it was, of whatever boot.
func formerProcess(r *roster.Row) (proc.ID, bool) {
	return proc.ID{PID: r.Pane.PID, Start: r.Pane.StartTicks, Boot: r.BootID}, r.Pane.PID > 1 && r.BootID != ""
}

// others are the conversations of the folder that can be the row's: begun since its session was, and no other row's.
func (m *Manager) others(ctx context.Context, r *roster.Row, d *driver.Driver) ([]Candidate, error) {
	found, err := m.candidates(ctx, d, r.Pane.Cwd)
	if err != nil {
		return nil, err
	}
	rows, _, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, err
	}
	const slack = 5 * time.Second // the two clocks are one, but the row is written first and rounded
	since := r.CreatedAt
	return slices.DeleteFunc(found, func(c Candidate) bool {
		if !c.Began.IsZero() && !since.IsZero() && c.Began.Before(since.Add(-slack)) || slices.Contains(r.PreviousIDs, c.ID) {
			return true
		}
		for i := range rows {
			if o := &rows[i]; o.Name != r.Name && (o.Conversation() == c.ID || slices.Contains(o.PreviousIDs, c.ID)) {
				return true
			}
		}
		return false
	}), nil
}

// noted is the conversation that a program of others has noted for the folder.
func (m *Manager) noted(ctx context.Context, r *roster.Row, d *driver.Driver) (string, error) {
	k, ok := m.o.Registry.(roster.Keeper)
	if !ok {
		return "", nil
	}
	beside, err := k.Beside(ctx)
	if err != nil {
		return "", err
	}
	id, cwd := roster.Identity(beside, d.Name)
	if cwd != r.Pane.Cwd || !d.Life.IsID(id) || !m.there(d, cwd, id) {
		return "", nil
	}
	return id, nil
}

// again writes what is about to be done, and starts the program. When nothing was started the row is as it was.
func (b *begin) again(ctx context.Context, r roster.Row, id string) error {
	owner, err := newOwner()
	if err != nil {
		return err
	}
	b.row, err = b.m.o.Registry.Change(ctx, r.Name, func(row *roster.Row, found bool) error {
		if !found || row.Revision != r.Revision {
			return errTaken
		}
		if row.Conversation() != id {
			row.Forget()
			row.SetConversation(b.kind.Name, id)
		}
		row.OwnerID, row.Intent = owner, b.m.intent(verbResume, stepClaimed)
		return nil
	})
	if errors.Is(err, errTaken) {
		return &Error{Kind: Refused, Session: r.Name, Text: "somebody else has just begun or changed it", Next: "tutti session status " + r.Name}
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
	_, e := b.m.o.Registry.Change(context.WithoutCancel(ctx), r.Name, func(row *roster.Row, found bool) error {
		if !found || row.OwnerID != owner {
			return roster.ErrNoChange
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
	err := b.known(ctx)
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

// ResumeAll takes up every session again that went without its program having ended by itself: with the machine, with its tmux
// server, or killed. Those that were stopped stay stopped. What cannot be taken up says so in its own result; the error is about
// all.
func (m *Manager) ResumeAll(ctx context.Context, q ResumeRequest) ([]*Resumed, error) {
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	rows, problems, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Resumed
	for _, p := range problems {
		if p.Unusable {
			all = append(all, &Resumed{Name: p.Name, Err: &Error{Kind: Refused, Session: p.Name, Text: "its row cannot be used: " + p.String(), Next: "edit " + m.o.Registry.Path()}})
		}
	}
	for i := range rows {
		row, err := m.settled(ctx, rows[i])
		if err == nil && row.Status != roster.Running && !wasLost(&row) {
			continue
		}
		done := &Resumed{Name: row.Name, Row: row}
		if err == nil {
			one := q
			one.Name, one.Conversation = row.Name, ""
			var more *Resumed
			if more, err = m.resume(ctx, one, row); more != nil {
				done = more
			}
		}
		done.Err = err
		all = append(all, done)
		if ctx.Err() != nil {
			break
		}
	}
	return all, nil
}

// String is a candidate for people.
func (c Candidate) String() string {
	var parts []string
	if !c.Began.IsZero() {
		parts = append(parts, "begun "+c.Began.Local().Format("2006-01-02 15:04"))
	}
	if !c.Changed.IsZero() {
		parts = append(parts, "last "+c.Changed.Local().Format("2006-01-02 15:04"))
	}
	if len(parts) == 0 {
		return c.ID
	}
	return c.ID + " (" + strings.Join(parts, ", ") + ")"
}
