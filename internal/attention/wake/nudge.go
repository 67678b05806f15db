package wake

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
)

// A Nudger types into the pane in which an agent lives, if the agent is proven to be idle there: its process lives in the
// pane and is in front, its title says so, its screen shows an empty prompt and no question, and stands still. Whatever
// of that is not known is reason to type nothing. Before Enter is pressed it has to be the sentence alone that stands there.
type Nudger struct {
	Server tmux.Server
	Agent  proc.ID
	// Halted is asked right before anything is typed.
	Halted func() error
	// Say is the line that is typed, without text from anyone else; "" is [Sentence].
	Say string
	// Typing: nothing is typed as long as a person has used a terminal that shows the pane within this time; 0: not checked.
	Typing time.Duration

	screen func(screen, title string) driver.Seen // nil: nothing is typed
}

// steadyFor is how long a screen has to stand still: a program that works turns its wheel several times a second.
const steadyFor = time.Second

// drawWithin is how long a program may take to show what was pasted: the slowest that was seen on a busy machine took a second.
const drawWithin = 3 * time.Second

var (
	errDraft = errors.New("something else stands where the agent's user types; what was pasted was not submitted")
	// errAway reports a pane that cannot be typed into now.
	errAway = errors.New("the agent is not seen to be idle")
)

// Try types once into the pane, whose screen a driver reads; nil: it cannot, and nothing is typed. A pane that is not there is an attempt
// of which nothing is left to hope for: Did and Later are false.
func (n Nudger) Try(ctx context.Context, screen func(screen, title string) driver.Seen) Attempt {
	n.screen = screen
	return n.try(ctx)
}

// BrokenOff tells whether the screen shows that the agent starts nothing by itself until the user types, see [driver.Seen].
func (n Nudger) BrokenOff(ctx context.Context, screen func(screen, title string) driver.Seen) bool {
	n.screen = screen
	pane, err := n.find(ctx)
	if err != nil {
		return false
	}
	text, err := n.Server.Capture(ctx, pane.Ref(), tmux.Capture{})
	return err == nil && screen(text, pane.Title).BrokenOff
}

// sentence is what is typed.
func (n Nudger) sentence() string { return cmp.Or(n.Say, Sentence) }

func (n Nudger) try(ctx context.Context) Attempt {
	if n.screen == nil {
		return Attempt{}
	}
	pane, err := n.idle(ctx)
	switch {
	case errors.Is(err, tmux.ErrAbsent), errors.Is(err, tmux.ErrMissing):
		return Attempt{}
	case err != nil: // also what is not known
		return Attempt{Later: true}
	}
	typed, err := n.typeInto(ctx, pane)
	// A program that was too slow to show what was pasted may have it there the next time, when it is submitted.
	return Attempt{Did: typed, Counts: true, Later: !typed || errors.Is(err, errDraft), Err: err, Detail: "pane " + pane.ID}
}

// idle returns the pane if the agent is idle there.
func (n Nudger) idle(ctx context.Context) (tmux.Pane, error) {
	pane, screen, err := n.look(ctx)
	if err != nil {
		return tmux.Pane{}, err
	}
	if err := sleep(ctx, steadyFor); err != nil {
		return tmux.Pane{}, err
	}
	again, later, err := n.look(ctx)
	if err == nil && (again.Ref() != pane.Ref() || again.Title != pane.Title || later != screen) {
		err = errAway
	}
	return again, err
}

// look returns the pane and its screen, if nothing there speaks against typing.
func (n Nudger) look(ctx context.Context) (pane tmux.Pane, screen string, err error) {
	pane, err = n.find(ctx)
	if err != nil {
		return pane, "", err
	}
	if pane.InMode || pane.InputOff || pane.Synchronized || n.typing(ctx, pane) {
		return pane, "", errAway
	}
	screen, err = n.Server.Capture(ctx, pane.Ref(), tmux.Capture{})
	if err != nil {
		return pane, "", err
	}
	if seen := n.screen(screen, pane.Title); !seen.Free() && !seen.Holds(n.sentence()) {
		return pane, "", errAway
	}
	return pane, screen, nil
}

// find returns the pane in which the agent lives and is in front.
func (n Nudger) find(ctx context.Context) (tmux.Pane, error) {
	all, err := n.Server.Panes(ctx)
	if err != nil {
		return tmux.Pane{}, err
	}
	for _, p := range all.Panes {
		if p.Runs(n.lineage) && n.Agent.Alive() {
			if !n.inFront(p) {
				return p, errAway
			}
			return p, nil
		}
	}
	return tmux.Pane{}, tmux.ErrAbsent
}

func (n Nudger) lineage(yield func(int) bool) {
	if !yield(n.Agent.PID) {
		return
	}
	for id := range proc.Ancestors(n.Agent.PID) {
		if !yield(id.PID) {
			return
		}
	}
}

// inFront tells whether the keys of a pane go to the agent, by its name, and not to the shell that has put it aside.
func (n Nudger) inFront(p tmux.Pane) bool {
	if comm, err := proc.Comm(n.Agent.PID); err == nil && comm == p.Command {
		return true
	}
	args, err := proc.Cmdline(n.Agent.PID)
	return err == nil && len(args) > 0 && filepath.Base(args[0]) == p.Command
}

// typeInto pastes the sentence, unless it is already there from an earlier time, makes sure that it is alone there, and presses
// Enter.
func (n Nudger) typeInto(ctx context.Context, pane tmux.Pane) (typed bool, err error) {
	if err := n.Halted(); err != nil {
		return false, nil
	}
	if !n.holds(ctx, pane) {
		if err := n.Server.Paste(ctx, pane.Ref(), n.sentence()); err != nil {
			return false, err
		}
	}
	for end := time.Now().Add(drawWithin); ; {
		if err := sleep(ctx, tmux.Pause); err != nil {
			return true, err
		}
		screen, err := n.Server.Capture(ctx, pane.Ref(), tmux.Capture{})
		if err != nil {
			return true, err
		}
		if n.screen(screen, pane.Title).Holds(n.sentence()) {
			break
		}
		if time.Now().After(end) {
			return true, errDraft
		}
	}
	if err := n.Halted(); err != nil {
		return true, err
	}
	return true, n.Server.Enter(ctx, pane.Ref())
}

// holds tells whether the sentence stands where the agent's user types.
func (n Nudger) holds(ctx context.Context, pane tmux.Pane) bool {
	screen, err := n.Server.Capture(ctx, pane.Ref(), tmux.Capture{})
	return err == nil && n.screen(screen, pane.Title).Holds(n.sentence())
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
