package lifecycle

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// A CreateRequest describes the new session.
type CreateRequest struct {
	Agent string // kind of program; "" is that of the row
	Name  string // "": made from the folder and the kind
	// Dir is the folder in which the program works; "" is that of the row, and where there is none that of the options.
	Dir    string
	Server string // tmux server; "" is that of the row, and where there is none that of the options
	// Program is what is run in place of the program of that kind: a path, or a name on PATH. With the kind custom the first of Argv is.
	Program string
	Argv    []string // own arguments for the program; nil in a row that is there: those that it had
	Fork    string   // the conversation of which it gets a copy; "" for none
	Prompt  string   // typed when the program is ready for it
	Ready   time.Duration
	Branch  string // the program works in a new worktree of this branch, beside the repository
	Trust   bool   // run the command of an existing row, no matter who wrote it
	Role    string
	Job     string
	Wait    bool // look again after 0.3 s and 2 s
	Typed   bool // something will be typed into it later, as into one with a prompt
}

// DefaultReady is how long a first prompt waits for its program.
const DefaultReady = time.Minute

// Created is a session that was begun.
type Created struct {
	Row  registry.Row
	Pane tmux.Pane
	// Fresh: the conversation was begun anew. Former is the one that the row had before, which "resume" would have continued.
	Former   string
	Looks    []string
	Dialog   string   // what stands open in place of the line where its user types, in words; "" for nothing that was seen
	Skips    []string // arguments that let the program do things without being asked
	Prompted bool     // the first prompt was taken
	Worktree string   // folder that was made
	Screen   string   // last lines, where the program has ended
}

// Create begins a session. With an error of kind NotUp the program was started and has ended; what was written down is in the
// result. A first prompt that could not be given leaves the session running, and is an error beside the result.
func (m *Manager) Create(ctx context.Context, q CreateRequest) (*Created, error) {
	if err := m.o.Halted(); err != nil {
		return nil, err
	}
	c := &creation{m: m, q: q}
	if err := c.plan(ctx); err != nil {
		return nil, err
	}
	if err := c.claim(ctx); err != nil {
		return nil, err
	}
	m.reached("claimed")
	if err := c.makeTree(ctx); err != nil {
		return nil, errors.Join(err, c.undo(ctx, err))
	}
	m.reached("worktree")
	if err := c.b.start(ctx); err != nil {
		if c.b.adrift(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, c.undo(ctx, err))
	}
	m.reached("made")
	return c.begun(ctx)
}

// A creation is one Create at work.
type creation struct {
	m      *Manager
	q      CreateRequest
	b      *begin
	before *registry.Row // the row of that name before; nil: there was none
	now    registry.Row  // as it is to be
	own    []string      // arguments of its user
	taken  string        // which part of the command is the row's, and not said now: whole or programOnly; "" for none
	former string
	tree   *worktree
}

// claim records the intent. The quicker process wins.
func (c *creation) claim(ctx context.Context) error {
	row, err := c.m.o.Registry.Change(ctx, c.q.Name, func(r *registry.Row, found bool) error {
		if found != (c.before != nil) || found && r.Revision != c.before.Revision {
			return errTaken
		}
		*r = c.now.Clone()
		r.Intent = c.m.intent(VerbCreate, stepClaimed)
		if c.before != nil {
			r.Set(beforeMember, c.before.JSON())
		}
		r.Set(looksMember, nil)
		r.Set(promptMember, nil)
		r.Set(worktreeMember, c.tree.json())
		return nil
	})
	if errors.Is(err, errTaken) {
		return atWork(c.q.Name)
	}
	if err != nil {
		return err
	}
	c.b.row = row
	return nil
}

// undo puts the row back as it was. One that is new says why there is no session.
func (c *creation) undo(ctx context.Context, why error) error {
	ctx = context.WithoutCancel(ctx)
	left := c.tree.remove(ctx)
	_, err := c.m.o.Registry.Change(ctx, c.q.Name, func(r *registry.Row, found bool) error {
		if !found || r.OwnerID != c.b.row.OwnerID {
			return registry.ErrNoChange
		}
		if c.before != nil {
			revision := r.Revision
			*r = c.before.Clone()
			r.Revision = revision
			return nil
		}
		endedRow(r, c.m.o.Now(), "it was not started: "+firstLine(why.Error()), "", false)
		if left == nil {
			r.Set(worktreeMember, nil)
		}
		r.Intent = nil
		return nil
	})
	return errors.Join(left, err)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// makeTree makes the worktree.
func (c *creation) makeTree(ctx context.Context) error {
	if c.tree == nil {
		return nil
	}
	if err := c.tree.make(ctx); err != nil {
		return err
	}
	return c.prepareTree(ctx)
}

// begun does what comes after the start.
func (c *creation) begun(ctx context.Context) (*Created, error) {
	b := c.b
	err := b.announce(ctx)
	if err == nil && c.q.Wait && c.q.Prompt == "" {
		err = b.wait(ctx)
	}
	prompted := false
	if err == nil && c.q.Prompt != "" {
		prompted, err = b.prompt(ctx, c.q.Prompt, c.q.Ready)
		if err == nil && c.q.Wait {
			err = b.wait(ctx)
		}
	}
	done := &Created{
		Row: b.row, Pane: b.pane, Former: c.former, Looks: Looks(&b.row), Dialog: Dialog(b.seen),
		Skips: b.kind.Life.Skipping(c.own), Prompted: prompted,
	}
	if c.tree != nil {
		done.Worktree = c.tree.dir
	}
	if b.ended {
		done.Screen = b.screen
		if !b.marked { // one that was stopped can be taken up again where it was
			err = errors.Join(err, c.clearTree(context.WithoutCancel(ctx), done))
		}
	}
	return done, err
}

// clearTree takes the worktree of a session away whose program did not stay up.
func (c *creation) clearTree(ctx context.Context, done *Created) error {
	if c.tree == nil {
		return nil
	}
	if err := c.tree.remove(ctx); err != nil {
		return err
	}
	done.Worktree = ""
	err := c.b.change(ctx, func(r *registry.Row) { r.Set(worktreeMember, nil) })
	done.Row = c.b.row
	return err
}
