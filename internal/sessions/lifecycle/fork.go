package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/sessions/registry"
)

// A ForkRequest says which session to copy.
type ForkRequest struct {
	Name         string // the session whose conversation is copied
	To           string // the name of the new session; "": made from the other one
	Conversation string // the id of the conversation, "": it is found, see [Manager.Resume]
	Trust        bool   // run the command of the row, even if the user never started it
	Prompt       string
	Ready        time.Duration
	Wait         bool
}

// Fork begins a new session with a copy of the conversation of another one. The agent CLI makes the copy; the other session may run on.
// An error of kind Several comes with the candidates.
func (m *Manager) Fork(ctx context.Context, q ForkRequest) (*Created, []Candidate, error) {
	if err := m.o.Halted(); err != nil {
		return nil, nil, err
	}
	r, err := m.settledRow(ctx, q.Name)
	if err != nil {
		return nil, nil, err
	}
	d, err := m.resumable(&r, q.Prompt)
	if err != nil {
		return nil, nil, err
	}
	if d.Life.Fork == nil {
		return nil, nil, &Error{Kind: Nothing, Session: r.Name, Text: d.Title + " cannot copy a conversation"}
	}
	var found Resumed
	id, err := m.which(ctx, ResumeRequest{Name: r.Name, Conversation: q.Conversation}, &r, d, &found)
	if err != nil {
		return nil, found.Candidates, err
	}
	if found.Anew {
		return nil, nil, &Error{Kind: Nothing, Session: r.Name, Text: "nothing was said in it yet", Next: "tutti session create --agent " + d.Name}
	}
	b := &begin{m: m, verb: "fork", kind: d}
	if b.program, b.own, err = commandOf(d, &r); err != nil {
		return nil, nil, err
	}
	if err := b.vouched(whole, r.Name, r.Pane.Cwd, q.Trust); err != nil {
		return nil, nil, err
	}
	if q.To == "" {
		if q.To, err = m.freeName(ctx, r.Name+"-fork"); err != nil {
			return nil, nil, err
		}
	} else if err := m.unnamed(ctx, q.To); err != nil {
		return nil, nil, err
	}
	done, err := m.Create(ctx, CreateRequest{
		Agent: d.Name, Name: q.To, Dir: r.Pane.Cwd, Server: r.ServerName(), Program: b.program, Argv: append([]string{}, b.own...),
		Fork: id, Prompt: q.Prompt, Ready: q.Ready, Wait: q.Wait,
	})
	return done, nil, err
}

// unnamed refuses the name of a session that runs or can be resumed. The row of one that was cut off before its program started may be used.
func (m *Manager) unnamed(ctx context.Context, name string) error {
	r, err := m.row(ctx, name)
	if errors.Is(err, errUnregistered) {
		return nil
	}
	if err == nil {
		r, err = m.settled(ctx, r)
	}
	if err == nil && r.Intent == nil && r.Status == registry.Terminated && r.Resumable == registry.No {
		return nil
	}
	return &Error{Kind: Refused, Session: name, Text: "there is a session of this name already", Err: err}
}

// freeName returns a name that no row has: this one, or the first number behind it that is free.
func (m *Manager) freeName(ctx context.Context, name string) (string, error) {
	rows, problems, err := m.o.Registry.Rows(ctx)
	taken := func(name string) bool {
		return slices.ContainsFunc(rows, func(r registry.Row) bool { return r.Name == name }) ||
			slices.ContainsFunc(problems, func(p registry.Problem) bool { return p.Name == name })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free, err
}

// A RestartRequest says which session is to be stopped and started again.
type RestartRequest struct {
	Stop   StopRequest // its Session is the name
	Resume ResumeRequest
}

// Restart stops a session, if it runs, and starts its agent CLI again with the same conversation. One in which nothing was said, or of
// a program of the user's own, begins anew.
func (m *Manager) Restart(ctx context.Context, q RestartRequest) (*Resumed, error) {
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	name := q.Stop.Session
	r, err := m.row(ctx, name)
	if errors.Is(err, errUnregistered) {
		return nil, &Error{Kind: Refused, Session: name, Text: "not in the registry " + m.o.Registry.Path(), Next: "tutti session list"}
	}
	if err != nil {
		return nil, err
	}
	_, err = m.resumable(&r, q.Resume.Prompt)
	anew, _ := errors.AsType[*Error](err)
	if err != nil && (anew == nil || anew.Kind != Nothing) {
		return nil, err
	}
	if _, err := m.Stop(ctx, q.Stop); err != nil {
		return nil, err
	}
	if anew == nil {
		q.Resume.Name = name
		done, err := m.Resume(ctx, q.Resume)
		if anew, _ = errors.AsType[*Error](err); anew == nil || anew.Kind != Nothing {
			return done, err
		}
	}
	made, err := m.Create(ctx, CreateRequest{Name: name, Trust: q.Resume.Trust, Prompt: q.Resume.Prompt, Ready: q.Resume.Ready, Wait: q.Resume.Wait})
	if made == nil {
		return nil, err
	}
	return &Resumed{Name: name, Row: made.Row, Pane: made.Pane, Anew: true, Looks: made.Looks, Dialog: made.Dialog, Prompted: made.Prompted, Screen: made.Screen}, err
}
