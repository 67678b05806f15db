package lifecycle

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// How long the steps wait, beside the grace of the program.
const (
	clearLimit = 300 * time.Millisecond // for a question to go after Escape
	drawLimit  = time.Second            // for a program that rests to draw what was typed, and to say of itself that it rests: on a busy machine 300 ms were too few
	enterPause = 40 * time.Millisecond  // between what is typed and Enter: one program took an Enter after 0 ms for a part of the text, and none after 20
	ownAccord  = 300 * time.Millisecond // for what a program has started to end after it
	restGrace  = 2 * time.Second        // for that to end after SIGTERM
	closeGrace = 5 * time.Second        // for the program to end when its terminal goes, or what the user gives it if that is longer
	killLimit  = 3 * time.Second        // for the system to end what was killed
	killRounds = 4                      // looks for what was started while the rest was killed
)

// endProcesses ends everything that belongs to the session: each step is taken only when the one before did not do.
func (s *stopping) endProcesses(ctx context.Context) error {
	leads := s.first.PID > 1 && s.first.Alive()
	if leads && s.leave(ctx) {
		s.m.reached("typed")
		allGone(ctx, s.grace(), s.first)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if leads && s.first.Alive() {
		s.term(ctx)
	}
	s.m.reached("signalled")
	if s.first.PID > 1 && !s.first.Alive() {
		s.tellBus(ctx)
	}
	s.rest(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.m.reached("rested")
	if err := s.close(ctx); err != nil {
		return err
	}
	s.m.reached("closed")
	return s.kill(ctx)
}

func (s *stopping) grace() time.Duration {
	switch {
	case s.q.Grace > 0:
		return s.q.Grace
	case s.life.Grace > 0:
		return s.life.Grace
	}
	return unknownGrace
}

// unknownGrace is how long a program is given of which nothing is known.
const unknownGrace = 3 * time.Second

func (s *stopping) took(step string) {
	if !slices.Contains(s.out.Steps, step) {
		s.out.Steps = append(s.out.Steps, step)
	}
}

// leave types what a user of the program types to leave, if it is certain that the program waits for its user, and presses Enter
// only on that very line. Where a question is open, or might be, Enter would answer it with yes.
func (s *stopping) leave(ctx context.Context) bool {
	p := s.sight.Pane
	if s.q.NoKeys || s.sight.State != observe.Alive || s.life.Exit == "" || s.life.Screen == nil || !slices.Contains(s.life.Comms, p.Command) {
		return false
	}
	if s.m.o.Halted() != nil { // nothing is typed then; ending goes on without
		return false
	}
	ref := p.Ref()
	seen, err := s.doing(ctx, ref)
	if err != nil {
		return false
	}
	s.m.reached("looked")
	if seen.Doing == driver.Asking || seen.Doing == driver.Unknown || seen.Dialog != "" {
		s.took(StepEscape)
		if s.srv.Key(ctx, ref, "Escape") != nil {
			return false
		}
		s.m.reached("escaped")
		free := driver.Seen.Free
		// Twice: between two questions a screen may be free for a moment.
		if !s.shows(ctx, ref, s.m.clear, free) || !pause(ctx, enterPause) || !s.shows(ctx, ref, s.m.clear, free) {
			return false
		}
	} else if !seen.Free() {
		sure := seen
		sure.Guess = false // what it says of itself may be a moment old
		if !sure.Free() || !s.shows(ctx, ref, s.drawn(), driver.Seen.Free) {
			return false
		}
	}
	if s.srv.Paste(ctx, ref, s.life.Exit) != nil {
		return false
	}
	s.m.reached("pasted")
	holds := func(v driver.Seen) bool { return v.Holds(s.life.Exit) }
	if !s.shows(ctx, ref, s.drawn(), holds) || !pause(ctx, enterPause) || !s.shows(ctx, ref, s.drawn(), holds) {
		return false
	}
	if s.srv.Enter(ctx, ref) != nil {
		return false
	}
	s.took(StepKeys)
	// One more, if the line still stands there as it did.
	if !allGone(ctx, clearLimit, s.first) {
		if v, err := s.doing(ctx, ref); err == nil && holds(v) {
			_ = s.srv.Enter(ctx, ref) // if it cannot be pressed, the next step follows
		}
	}
	return true
}

func (s *stopping) drawn() time.Duration { return max(drawLimit, s.m.clear) }

// shows waits until the screen is as wanted, no longer than a limit.
func (s *stopping) shows(ctx context.Context, ref tmux.Ref, limit time.Duration, want func(driver.Seen) bool) bool {
	for end := time.Now().Add(limit); ; {
		if v, err := s.doing(ctx, ref); err != nil {
			return false
		} else if want(v) {
			return true
		}
		if time.Now().After(end) || !pause(ctx, glance) {
			return false
		}
	}
}

// pause waits a moment, and tells whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// doing is what the program does, by its screen. Where it also says so itself, in a file, the two have to agree before anything is
// taken for certain.
func (s *stopping) doing(ctx context.Context, ref tmux.Ref) (driver.Seen, error) {
	screen, err := s.srv.Capture(ctx, ref, tmux.Capture{})
	if err != nil {
		return driver.Seen{}, err
	}
	pane, err := s.srv.Find(ctx, s.sight.Pane.SessionName) // for the title, which changes with what it does
	if err != nil {
		return driver.Seen{}, err
	}
	if pane.ID != ref.ID || pane.PID != ref.PID {
		return driver.Seen{}, tmux.ErrChanged
	}
	v := s.life.Screen(screen, pane.Title)
	if sheet, ok := s.sheet(); ok && sheet.Doing != driver.Unknown && sheet.Doing != v.Doing {
		v.Guess = true
		if sheet.Doing == driver.Asking {
			v.Doing = driver.Asking
		}
	}
	return v, nil
}

// term asks the program and what shares its terminal to end, while the terminal is there: programs that ignore it afterwards do
// not now. One that was stopped has to go on to hear of it.
func (s *stopping) term(ctx context.Context) {
	s.took(StepTerm)
	signal := proc.SignalGroup
	if err := signal(s.first, syscall.SIGTERM); errors.Is(err, proc.ErrNotLeader) {
		signal = proc.Signal
		_ = signal(s.first, syscall.SIGTERM) // who has ended meanwhile needs none
	}
	_ = signal(s.first, syscall.SIGCONT)
	allGone(ctx, s.grace(), s.first)
}

// rest is for what the program has left behind: it ends by itself, or is asked to. What it has started in the background is
// found by the owner that it carries.
func (s *stopping) rest(ctx context.Context) {
	if !s.empty {
		s.gather()
	}
	var rest []proc.ID
	for _, p := range s.alive() {
		if p.ID != s.first {
			rest = append(rest, p.ID)
		}
	}
	if s.first.PID > 1 && s.first.Alive() { // it goes on; its own are not to be taken from it before it is asked again
		return
	}
	if len(rest) == 0 || len(s.out.Steps) > 0 && allGone(ctx, ownAccord, rest...) || ctx.Err() != nil {
		return
	}
	s.took(StepTerm)
	for _, id := range rest {
		if proc.Signal(id, syscall.SIGTERM) == nil {
			_ = proc.Signal(id, syscall.SIGCONT) // ignore processes that have ended meanwhile
		}
	}
	allGone(ctx, min(s.grace(), restGrace), rest...)
}

// close ends the tmux session. A process that still runs in it loses its terminal, and gets a signal.
func (s *stopping) close(ctx context.Context) error {
	if s.sight.State == observe.Absent {
		return nil
	}
	switch err := s.srv.Kill(ctx, s.sight.Pane); {
	case err == nil:
		s.took(StepKill)
	case errors.Is(err, tmux.ErrAbsent):
	case errors.Is(err, tmux.ErrChanged), errors.Is(err, tmux.ErrOwner):
		s.note("tmux has another session of that name now, which was left alone: %v", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return s.fail(Unclear, err, "its processes were asked to end, but tmux did not answer", "tutti session stop "+s.row.Name)
	}
	var all []proc.ID
	for _, p := range s.alive() {
		all = append(all, p.ID)
	}
	allGone(ctx, max(s.m.closes, s.q.Grace), all...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// kill ends what is left by force, until nothing is. The program goes first: what it has started may still end in order.
func (s *stopping) kill(ctx context.Context) error {
	if s.first.PID > 1 && s.first.Alive() && ctx.Err() == nil {
		s.took(StepSIGKILL)
		_ = proc.Signal(s.first, syscall.SIGKILL) // who cannot be signalled is named below
		if allGone(ctx, killLimit, s.first) {
			s.rest(ctx)
		}
	}
	for range killRounds {
		if !s.empty {
			s.gather()
		}
		left := s.alive()
		if len(left) == 0 || ctx.Err() != nil {
			break
		}
		s.took(StepSIGKILL)
		var all []proc.ID
		for _, p := range left {
			_ = proc.Signal(p.ID, syscall.SIGKILL) // as above
			all = append(all, p.ID)
		}
		if !allGone(ctx, killLimit, all...) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.daemons(ctx); err != nil {
		return err
	}
	left := s.alive()
	for _, p := range s.kin {
		if !slices.ContainsFunc(left, func(o proc.Process) bool { return o.ID == p.ID }) {
			s.out.Ended = append(s.out.Ended, p)
		}
	}
	if s.out.Left = left; len(left) > 0 {
		return s.fail(StillUp, nil, stillAlive+listed(left), "end them by hand, and stop it again")
	}
	return nil
}

// stillAlive begins what a row says of a session that could not be ended.
const stillAlive = "still alive after everything was tried: "

// lastScreen is what a row keeps of a screen.
var lastScreen = tmux.Capture{History: 200, Joined: true}

// screen is what the session shows last, as its row keeps it; "" where that cannot be read.
func (s *stopping) screen(ctx context.Context) string {
	if s.sight.State == observe.Absent || s.sight.State == observe.Unknown {
		return ""
	}
	text := s.shown
	if text == "" {
		var err error
		if text, err = s.srv.Capture(ctx, s.sight.Pane.Ref(), lastScreen); err != nil {
			s.note("its screen could not be read: %v", err)
			return ""
		}
	}
	if s.sight.State == observe.Dead {
		text = lastWords(text)
	}
	return registry.Screen(text)
}
