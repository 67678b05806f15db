package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// plan finds out what is requested, and whether it is possible. Nothing is changed.
func (c *creation) plan(ctx context.Context) error {
	rows, problems, err := c.m.o.Registry.Rows(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.q.Name != "" {
		if err := c.find(ctx, rows, problems); err != nil {
			return err
		}
	}
	if err := c.kind(); err != nil {
		return err
	}
	dir, err := c.dir(ctx)
	if err != nil {
		return err
	}
	if c.q.Name == "" {
		c.q.Name = registry.Name(dir, c.b.kind.Name, c.m.takenFor(ctx, rows, c.server()))
		if err := c.find(ctx, rows, problems); err != nil {
			return err
		}
	}
	if c.before == nil {
		if err := registry.CheckName(c.q.Name); err != nil {
			return &Error{Kind: Refused, Text: "no session can be made", Err: err}
		}
	}
	if c.b.server, err = tmux.Named(c.server()); err != nil {
		return &Error{Kind: Refused, Session: c.q.Name, Text: "no session can be made", Err: err}
	}
	if err := c.free(ctx); err != nil {
		return err
	}
	return c.row(dir)
}

// find finds the row of the name. A row that cannot be used belongs to a session that may well live.
func (c *creation) find(ctx context.Context, rows []registry.Row, problems []registry.Problem) error {
	for _, p := range problems {
		if p.Unusable && p.Name == c.q.Name {
			return &Error{Kind: Refused, Session: c.q.Name, Text: "its row cannot be used: " + p.String(), Next: "edit " + c.m.o.Registry.Path()}
		}
	}
	i := slices.IndexFunc(rows, func(r registry.Row) bool { return r.Name == c.q.Name })
	if i < 0 {
		return nil
	}
	row, err := c.m.settled(ctx, rows[i])
	c.before = &row
	return err
}

// kind finds the kind of program.
func (c *creation) kind() error {
	name := c.q.Agent
	if name == "" && c.before != nil {
		name = c.before.Kind()
	}
	if name == "" && c.q.Program == "" && len(c.q.Argv) > 0 {
		name = "custom"
	}
	d, ok := driver.Kind(name)
	switch {
	case name == "":
		return &Error{Kind: Refused, Session: c.q.Name, Text: "missing agent CLI to start", Next: "--agent " + strings.Join(kindNames(), "|")}
	case !ok:
		return &Error{Kind: Refused, Session: c.q.Name, Text: fmt.Sprintf("%.100q is not a known agent CLI", name), Next: "--agent " + strings.Join(kindNames(), "|")}
	}
	c.b = &begin{m: c.m, verb: VerbCreate, kind: d}
	if (c.q.Prompt != "" || c.q.Typed) && d.Life.Screen == nil {
		return &Error{
			Kind: Refused, Session: c.q.Name, Text: typesOnly,
			Next: "begin it without a prompt, or give that as an argument behind --",
		}
	}
	if len(tmux.Clean(c.q.Prompt)) > tmux.MaxPaste {
		return &Error{Kind: Refused, Session: c.q.Name, Text: fmt.Sprintf("the prompt has %d bytes, and %d are the limit", len(c.q.Prompt), tmux.MaxPaste)}
	}
	return nil
}

func kindNames() (names []string) {
	for _, d := range driver.Kinds() {
		names = append(names, d.Name)
	}
	return names
}

// dir finds the folder in which the program is to work: absolute, without links, and there.
func (c *creation) dir(ctx context.Context) (string, error) {
	dir := c.q.Dir
	switch {
	case dir == "" && c.before != nil && c.before.Pane.Cwd != "" && c.q.Branch == "":
		dir = c.before.Pane.Cwd
	case dir == "":
		dir = c.m.o.Workspace
	case !filepath.IsAbs(dir):
		dir = filepath.Join(c.m.o.Workspace, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: real, Err: errors.New("it is not a folder")}
		}
	}
	if err != nil {
		return "", &Error{Kind: Refused, Session: c.q.Name, Text: "there is no such workspace", Err: err}
	}
	if c.q.Branch == "" {
		return real, nil
	}
	if c.tree, err = planTree(ctx, real, c.q.Branch); err != nil {
		return "", err
	}
	return c.tree.dir, nil
}

// server is the name of the tmux server.
func (c *creation) server() string {
	switch {
	case c.q.Server != "":
		return c.q.Server
	case c.before != nil:
		return c.before.ServerName()
	case c.m.o.Server != "":
		return c.m.o.Server
	}
	return "default"
}

// takenFor tells whether a row or a live session has a name for another folder.
func (m *Manager) takenFor(ctx context.Context, rows []registry.Row, server string) func(name, cwd string) bool {
	s, err := tmux.Named(server)
	return func(name, cwd string) bool {
		for i := range rows {
			if rows[i].Name == name {
				return m.place(rows[i].Pane.Cwd).Dir != cwd // older programs write paths as they are typed
			}
		}
		if err != nil {
			return false
		}
		pane, e := s.Find(ctx, name)
		return e == nil && pane.Path != cwd
	}
}

// free checks whether the name can be used: that nothing of the row runs, and that no other session has it.
func (c *creation) free(ctx context.Context) error {
	if c.before == nil {
		return c.unknown(ctx)
	}
	r := c.before
	if c.server() != r.ServerName() {
		return &Error{Kind: Refused, Session: r.Name, Text: "it is registered on the tmux server " + r.ServerName() + ", and a name stands for one session", Next: "--session takes another name"}
	}
	if err := c.m.unused(ctx, r); err != nil {
		return err
	}
	again, err := c.m.row(ctx, r.Name) // its end may just have been written
	if err != nil {
		return err
	}
	if again.OwnerID == r.OwnerID {
		c.before = &again
	}
	return nil
}

// unknown looks whether tmux has a session of a name without a row. If not tmux, its own answer to the making of the session does.
func (c *creation) unknown(ctx context.Context) error {
	pane, err := c.b.server.Find(ctx, c.q.Name)
	switch {
	case errors.Is(err, tmux.ErrAbsent):
		return nil
	case err != nil:
		return &Error{Kind: Unclear, Session: c.q.Name, Text: "tmux does not say whether there is one", Err: err}
	}
	text := fmt.Sprintf("tmux server %s has a session of that name, which is not ours", c.server())
	next := "--session takes another name"
	if pane.Owner != "" {
		text = fmt.Sprintf("tmux server %s has a session of that name, which the registry of this folder does not have", c.server())
		next += `; "tutti session list --all" shows it`
	}
	return &Error{Kind: NotTheOne, Session: c.q.Name, Text: text, Next: next}
}
