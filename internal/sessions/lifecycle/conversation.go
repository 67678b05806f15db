package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A Candidate is a conversation that a session could be about.
type Candidate struct {
	ID      string
	Began   time.Time // zero where it does not say
	Changed time.Time // of its file; zero where there is none
}

// candidates are the conversations that a program keeps of a folder, the newest first.
func (m *Manager) candidates(ctx context.Context, d *driver.Driver, dir string) (found []Candidate, err error) {
	place := m.place(dir)
	if d.Life.Find.List != nil {
		found, err = askedOf(ctx, d, place.Dir)
	}
	for _, c := range observe.Transcripts(&d.Life.Find, place) {
		if c.Silent {
			continue
		}
		one := Candidate{ID: c.ID, Began: c.Began, Changed: c.Changed}
		i := slices.IndexFunc(found, func(o Candidate) bool { return o.ID == c.ID }) // one that was taken up again can have several files
		switch {
		case i < 0:
			found = append(found, one)
		case found[i].Changed.Before(one.Changed):
			found[i].Changed = one.Changed
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return cmp.Or(b.Changed.Compare(a.Changed), b.Began.Compare(a.Began)) })
	return found, err
}

// askedOf asks the program.
func askedOf(ctx context.Context, d *driver.Driver, dir string) ([]Candidate, error) {
	const limit = 15 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.Program, d.Life.Find.List...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its conversations: %w", d.Program, err)
	}
	var found []Candidate
	for _, c := range d.Life.Find.ReadList(out) {
		if c.Dir == dir {
			found = append(found, Candidate{ID: c.ID, Began: c.Began})
		}
	}
	return found, nil
}

// there tells whether a conversation is kept so that it can be gone on with.
func (m *Manager) there(d *driver.Driver, dir, id string) bool {
	return observe.Keeps(d, m.place(dir), id) == observe.Kept
}

// exists tells whether the conversation of a row has been begun.
func (m *Manager) exists(r *registry.Row) bool {
	d, ok := driver.Kind(r.Kind())
	return ok && d.Life.IsID(r.Conversation()) && m.there(d, r.Pane.Cwd, r.Conversation())
}

// Conversation finds out which conversation the program of a session is in now, "" when that is not known, and by what: by what it says
// of itself, by the file that it has open, then by what its hooks told. It is for callers that keep rows right.
func (m *Manager) Conversation(ctx context.Context, r *registry.Row, first proc.ID) (string, Evidence, error) {
	d, ok := driver.Kind(r.Kind())
	if !ok {
		return "", "", nil
	}
	place := m.place(r.Pane.Cwd)
	if first.Alive() {
		members, _, err := observe.Processes(r, first)
		if err != nil {
			return "", "", err
		}
		for _, p := range members {
			if s, ok := observe.ReadSelfReport(&d.Life, place, p.ID); ok && s.Conversation != "" {
				return s.Conversation, SelfReport, nil
			}
		}
		if id := observe.OpenTranscript(&d.Life.Find, place, members); id != "" {
			return id, OpenFile, nil
		}
	}
	id, err := m.heard(ctx, d, r)
	return id, HookReport, err
}

// heard is the conversation of which the hooks of a program told last, "" for none.
func (m *Manager) heard(ctx context.Context, d *driver.Driver, r *registry.Row) (string, error) {
	first, ok := formerProcess(r)
	if m.o.Bus.Conversation == nil || !ok {
		return "", nil
	}
	id, err := m.o.Bus.Conversation(ctx, d.Name, r.Pane.Cwd, first)
	if err != nil || !d.Life.IsID(id) {
		return "", err
	}
	return id, nil
}

// inUse returns the process that has a conversation open, if there is one: two that write to it would spoil it.
func (m *Manager) inUse(d *driver.Driver, dir, id string) (proc.Process, bool) {
	all, err := proc.List()
	if err != nil {
		return proc.Process{}, false
	}
	for _, p := range all {
		if p.ID == proc.Self() || !observe.Runs(d, p) {
			continue
		}
		if s, ok := observe.ReadSelfReport(&d.Life, m.place(dir), p.ID); ok && s.Conversation != "" {
			if s.Conversation == id {
				return p, true
			}
			continue
		}
		if names(p, id) || opens(p, id) {
			return p, true
		}
	}
	return proc.Process{}, false
}

// names tells whether a process was started with an id among its arguments.
func names(p proc.Process, id string) bool {
	args, err := proc.Cmdline(p.PID)
	return err == nil && slices.ContainsFunc(args, func(arg string) bool { return arg == id || strings.HasSuffix(arg, "="+id) })
}

// opens tells whether a process has a file open for writing that is named after a conversation.
func opens(p proc.Process, id string) bool {
	open, err := proc.Written(p.ID)
	return err == nil && slices.ContainsFunc(open, func(name string) bool { return strings.Contains(path.Base(name), id) })
}
