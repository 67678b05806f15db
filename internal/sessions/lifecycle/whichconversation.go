package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// which finds the conversation: the one that is named; the one that its hooks told of last; the one of its row; the only one that it can
// be of those on disk; the one that a program of others has noted. It is never guessed.
func (m *Manager) which(ctx context.Context, q ResumeRequest, r *registry.Row, d *driver.Driver, done *Resumed) (string, error) {
	if q.Conversation != "" {
		if !d.Life.IsID(q.Conversation) {
			return "", &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("%.100q is no conversation of %s", q.Conversation, d.Title)}
		}
		if !q.Force && !m.there(d, r.Pane.Cwd, q.Conversation) {
			done.Candidates, _ = m.candidates(ctx, d, r.Pane.Cwd) // those that there are, as a help
			return "", &Error{
				Kind: Refused, Session: r.Name, Text: fmt.Sprintf("%s keeps no conversation %s of %s", d.Title, q.Conversation, r.Pane.Cwd),
				Next: "--force tries it all the same",
			}
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
	id, of := r.Conversation(), observe.NotKept
	if d.Life.IsID(id) {
		of = observe.Keeps(d, m.place(r.Pane.Cwd), id)
	}
	if of == observe.Kept {
		done.Found = foundRow
		return id, nil
	}
	others, sure, err := m.others(ctx, r, d)
	if err != nil {
		return "", err
	}
	switch {
	case len(others) == 1 && sure:
		done.Found = foundDisk
		return others[0].ID, nil
	case len(others) > 0 && q.Latest:
		done.Found = foundLatest
		return others[0].ID, nil
	case len(others) > 0:
		done.Candidates = others
		text := fmt.Sprintf("it is not known which of %d conversations was its own", len(others))
		if len(others) == 1 {
			text = "there is one conversation that can be its own, or that of another session of this folder"
		}
		return "", &Error{
			Kind: Several, Session: r.Name, Text: text, Next: fmt.Sprintf("tutti session resume %s --conversation %s   # or --latest", r.Name, others[0].ID),
		}
	}
	if d.Life.IsID(id) && d.Life.Choose != "" { // a row can have anything there, and others may have written it
		done.Found, done.Anew = foundRow, true
		if of == observe.Silent { // it takes no id twice
			return address.NewUUID(), nil
		}
		return id, nil
	}
	if noted, err := m.noted(ctx, r, d); noted != "" || err != nil {
		done.Found = foundNoted
		return noted, err
	}
	return "", &Error{
		Kind: Nothing, Session: r.Name, Text: "no conversation of it is known: nothing was said in it, or its program keeps it elsewhere",
		Next: "tutti session create --session " + r.Name,
	}
}

// formerProcess is the first process of the row's pane as it was, of whatever boot.
func formerProcess(r *registry.Row) (proc.ID, bool) {
	return proc.ID{PID: r.Pane.PID, Start: r.Pane.StartTicks, Boot: r.BootID}, r.Pane.PID > 1 && r.BootID != ""
}

// others are the conversations of the folder that can be the row's, the newest first. sure: none of them can be that of another row.
func (m *Manager) others(ctx context.Context, r *registry.Row, d *driver.Driver) (found []Candidate, sure bool, err error) {
	if found, err = m.candidates(ctx, d, r.Pane.Cwd); err != nil {
		return nil, false, err
	}
	rows, _, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, false, err
	}
	found, sure = itsOwn(rows, r, found)
	return found, sure, nil
}

// itsOwn leaves of the conversations of a folder those that can be a row's: begun in its time, and no other row's. sure: no other row
// whose conversation is not known can have begun one of them.
func itsOwn(rows []registry.Row, r *registry.Row, found []Candidate) (own []Candidate, sure bool) {
	sure = true
	for _, c := range found {
		if !inTime(r, &c) || slices.Contains(r.PreviousIDs, c.ID) {
			continue
		}
		taken, shared := false, false
		for i := range rows {
			o := &rows[i]
			if o.Name == r.Name {
				continue
			}
			taken = taken || o.Conversation() == c.ID || slices.Contains(o.PreviousIDs, c.ID)
			shared = shared || o.Conversation() == "" && o.Kind() == r.Kind() && o.Pane.Cwd == r.Pane.Cwd && inTime(o, &c)
		}
		if !taken {
			own = append(own, c)
			sure = sure && !shared
		}
	}
	return own, sure
}

// inTime tells whether a conversation was begun while the session of a row was there, as far as both say.
func inTime(r *registry.Row, c *Candidate) bool {
	const slack = 5 * time.Second // the clocks are one, but the row is written first, its times are rounded, and ends are noticed later
	if c.Began.IsZero() {
		return true
	}
	if !r.CreatedAt.IsZero() && c.Began.Before(r.CreatedAt.Add(-slack)) {
		return false
	}
	end := endOf(r)
	return end.IsZero() || !c.Began.After(end.Add(slack))
}

// endOf is the time after which a session had certainly ended, zero when it may live or that is not known.
func endOf(r *registry.Row) time.Time {
	if r.BootID != "" && r.BootID != proc.BootID() {
		if boot, ok := proc.StartTime(1); ok { // nothing of it was there after that
			return boot
		}
	}
	switch r.Status {
	case registry.Stopped:
		return r.StoppedAt
	case registry.Terminated:
		return r.TerminatedAt
	}
	return time.Time{}
}

// noted is the conversation that a program of others has noted for the folder.
func (m *Manager) noted(ctx context.Context, r *registry.Row, d *driver.Driver) (string, error) {
	beside, err := m.o.Registry.Beside(ctx)
	if err != nil {
		return "", err
	}
	id, cwd := registry.Identity(beside, d.Name)
	if m.place(cwd).Dir != m.place(r.Pane.Cwd).Dir || !d.Life.IsID(id) || !m.there(d, cwd, id) {
		return "", nil
	}
	return id, nil
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
