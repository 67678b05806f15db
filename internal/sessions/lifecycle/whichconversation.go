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

// which finds the transcript of a session: the one that the user names; the one that its hooks reported last; the one in its row, if
// the session's own process had it. Others of the folder are listed and never taken, unless the user asks for the latest.
func (m *Manager) which(ctx context.Context, q ResumeRequest, r *registry.Row, d *driver.Driver, done *Resumed) (string, error) {
	if q.Conversation != "" {
		if !d.Life.IsID(q.Conversation) {
			return "", &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("%.100q is not a conversation of %s", q.Conversation, d.Title)}
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
	if id == "" {
		id = startedID(&d.Life, r)
	}
	own := d.Life.IsID(id) && m.proven(ctx, d, r, id) != ""
	if d.Life.IsID(id) {
		of = observe.Keeps(d, m.place(r.Pane.Cwd), id)
	}
	if of == observe.Kept && (own || q.Unproven) {
		done.Found, done.own = foundRow, own
		return id, nil
	}
	if own && d.Life.Choose != "" && !q.Latest { // nothing was said in it, and nothing else is its own
		done.Found, done.Anew = foundRow, true
		if of == observe.Silent { // it takes no id twice
			return address.NewUUID(), nil
		}
		return id, nil
	}
	others, err := m.others(ctx, r, d)
	if err != nil {
		return "", err
	}
	if q.Unproven && len(others) == 0 {
		if noted, err := m.noted(ctx, r, d); noted != "" || err != nil {
			done.Found = foundNoted
			return noted, err
		}
	}
	switch {
	case len(others) > 0 && q.Latest:
		done.Found = foundLatest
		return others[0].ID, nil
	case of == observe.Kept:
		done.Candidates = others
		return "", &Error{
			Kind: Several, Session: r.Name, Text: "nothing shows that it had conversation " + id + ", which its row names",
			Next: fmt.Sprintf("tutti session resume %s --conversation %s", r.Name, id),
		}
	case len(others) > 0:
		done.Candidates = others
		text := fmt.Sprintf("none of %d conversations of its folder is known to be its own", len(others))
		if len(others) == 1 {
			text = "the only conversation of its folder is not known to be its own"
		}
		return "", &Error{
			Kind: Several, Session: r.Name, Text: text, Next: fmt.Sprintf("tutti session resume %s --conversation %s", r.Name, others[0].ID),
		}
	}
	return "", &Error{
		Kind: Nothing, Session: r.Name, Text: "no conversation of it is known: nothing was said in it, or its agent CLI keeps it elsewhere",
		Next: "tutti session create --session " + r.Name,
	}
}

// formerProcess is the first process of the row's pane as it was, of whatever boot.
func formerProcess(r *registry.Row) (proc.ID, bool) {
	return proc.ID{PID: r.Pane.PID, Start: r.Pane.StartTicks, Boot: r.BootID}, r.Pane.PID > 1 && r.BootID != ""
}

// others are the conversations of the folder that can be the row's, the newest first: begun in its time, and no other row's.
func (m *Manager) others(ctx context.Context, r *registry.Row, d *driver.Driver) (own []Candidate, err error) {
	found, err := m.candidates(ctx, d, r.Pane.Cwd)
	if err != nil {
		return nil, err
	}
	rows, _, err := m.o.Registry.Rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		taken := slices.ContainsFunc(rows, func(o registry.Row) bool {
			return o.Name != r.Name && o.Conversation() == c.ID || slices.Contains(o.PreviousIDs, c.ID)
		})
		if !taken && inTime(r, &c) {
			own = append(own, c)
		}
	}
	return own, nil
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
