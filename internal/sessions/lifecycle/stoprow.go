package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// archive puts a row away and ends nothing.
func (s *stopping) archive(ctx context.Context) error {
	if s.row.Status != registry.Running {
		s.out.Already = true
		return nil
	}
	s.find(ctx)
	s.out.Gone, s.out.Exited, s.out.Lives = s.sight.State == observe.Absent, s.sight.State == observe.Dead, s.sight.State == observe.Alive
	return s.write(ctx, func(r *registry.Row) {
		r.Status, r.VisibleStatus, r.ArchivedAt, r.StopReason = registry.Archived, registry.Archived, registry.Stamp(s.m.o.Now()), s.reason()
	})
}

func (s *stopping) reason() string {
	if reason := strings.TrimSpace(s.q.Reason); reason != "" {
		return reason
	}
	return ManualStop
}

// errMoved reports that a row is about another session by now.
var errMoved = errors.New("its row was changed meanwhile, and is about another session now")

// same tells whether a row is still about the session that was looked at.
func (s *stopping) same(r *registry.Row) bool {
	return r.OwnerID == s.row.OwnerID && r.Pane.PID == s.row.Pane.PID && r.Pane.StartTicks == s.row.Pane.StartTicks && r.BootID == s.row.BootID &&
		r.ServerName() == s.row.ServerName()
}

// recordIntent writes what is about to be done, with what will be gone afterwards: the screen, and which conversation it was.
func (s *stopping) recordIntent(ctx context.Context) error {
	s.m.reached("begin")
	screen := s.screen(ctx)
	s.gather()
	s.place = s.placeOf()
	found, by := s.row.Conversation(), Evidence("")
	if !s.remained {
		found, by = s.conversation(ctx)
	}
	s.m.reached("captured")
	err := s.change(ctx, func(r *registry.Row) error {
		if by := holder(r); by != (proc.ID{}) && by != holder(&s.row) && by.Alive() {
			s.row = r.Clone()
			return errBusy
		}
		r.Set(beforeMember, nil) // of a begin that this takes over
		s.cut = purging(r)
		r.Intent = s.m.intent(VerbStop, "ending")
		if screen != "" {
			r.VisibleScreen = screen
		}
		s.keep(r, found, by)
		return nil
	})
	if err != nil {
		if !s.q.ForceNoYAML || ctx.Err() != nil {
			return err
		}
		s.note("its row could not be written: %v", err)
		s.bare = true
	}
	s.out.Conversation = found
	s.began = time.Now()
	s.m.reached("intent")
	if s.q.Begun != nil {
		s.q.Begun()
	}
	s.tellJob(ctx, "progress", "terminating")
	s.m.reached("told")
	return nil
}

// keep notes the conversation in the row, and how it is proven. A place for one that is not known is kept, too.
func (s *stopping) keep(r *registry.Row, id string, by Evidence) {
	kind := r.Kind()
	switch {
	case kind == "" || id == "" && s.life.ResumeBy == "":
	case by != "":
		setProven(r, kind, id, by)
	case id == "" && r.Conversation() == "":
		r.SetConversation(kind, "")
	}
}

// change changes the row, if it is still about this session.
func (s *stopping) change(ctx context.Context, f func(r *registry.Row) error) error {
	if s.bare {
		return nil
	}
	row, err := s.m.o.Registry.Change(ctx, s.row.Name, func(r *registry.Row, found bool) error {
		if !found || !s.same(r) {
			return errMoved
		}
		return f(r)
	})
	if errors.Is(err, errMoved) {
		return s.fail(Refused, nil, errMoved.Error(), "do it again")
	}
	if err != nil {
		return err
	}
	s.out.Row = row
	return nil
}

// write writes the outcome. Events that have happened are written also when the caller no longer waits.
func (s *stopping) write(ctx context.Context, f func(r *registry.Row)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	return s.change(ctx, func(r *registry.Row) error {
		f(r)
		return nil
	})
}

// writeLimit is how long the lock of the registry is waited for once there is something to say.
const writeLimit = 10 * time.Second

// Words that rows have for how a session ended.
const (
	modeGraceful = "graceful"
	modeHard     = "hard"
	modePurge    = "purge"
)

// final is what a row says of a session that has ended.
func (s *stopping) final(r *registry.Row) {
	now := registry.Stamp(s.m.o.Now())
	r.Intent = nil
	if strings.HasPrefix(r.VisibleNote, stillAlive) { // of a stop before
		r.VisibleNote = ""
	}
	switch {
	case s.q.Purge:
		r.Status, r.TerminatedAt, r.Mode, r.Resumable = registry.Terminated, now, modePurge, registry.No
		if r.StopReason == "" || s.q.Reason != "" {
			r.StopReason = s.reason()
		}
	case s.remained:
	case s.q.Mode == Hard:
		r.Status, r.TerminatedAt, r.Mode, r.Resumable, r.StopReason = registry.Terminated, now, modeHard, registry.Yes, s.reason()
	default:
		r.Status, r.StoppedAt, r.Mode, r.Resumable, r.StopReason = registry.Stopped, now, modeGraceful, registry.Yes, s.reason()
	}
	r.VisibleStatus = r.Status
}

// finish reports the result: to the job and the bus first, so that a process that is cut off here reports it again the next
// time.
func (s *stopping) finish(ctx context.Context, failed error) error {
	s.out.Took = time.Since(s.began)
	if failed != nil {
		return errors.Join(failed, s.cutOff(ctx, failed))
	}
	var unpurged error
	if s.q.Purge {
		unpurged = s.purge(ctx)
		s.q.Purge = unpurged == nil // else it is a stop, and what it says of itself can be resumed
	}
	s.m.reached("ended")
	if event := s.q.JobEvent; event != "" {
		s.tellJob(ctx, event, "stopped by operator")
	} else {
		s.tellJob(ctx, "error", "stopped by operator")
	}
	s.tellBus(ctx)
	s.m.reached("unwritten")
	if err := s.write(ctx, s.final); err != nil {
		return fmt.Errorf("session %s has ended, but its row could not be written: %w", s.row.Name, err)
	}
	s.m.reached("written")
	return unpurged
}

// tellBus tells the bus of the end, once.
func (s *stopping) tellBus(ctx context.Context) {
	if s.m.o.Bus.Ended == nil || s.bare || s.told {
		return
	}
	s.told = true
	if err := s.m.o.Bus.Ended(context.WithoutCancel(ctx), &s.out.Row); err != nil {
		s.note("the bus could not be told: %v", err)
	}
}

// cutOff leaves the intent behind, held by no process, with what is known.
func (s *stopping) cutOff(ctx context.Context, failed error) error {
	return s.write(ctx, func(r *registry.Row) {
		if by := holder(r); r.Intent == nil || by != proc.Self() {
			return
		}
		if still, ok := errors.AsType[*Error](failed); ok && still.Kind == StillUp {
			r.Intent, r.VisibleNote = nil, still.Text
			return
		}
		r.Intent.Step, r.Intent.PID, r.Intent.Start, r.Intent.Boot = "cut off", 0, 0, ""
	})
}

// ErrJobOver is what [Options.Jobs] returns for a job that has said itself how it ended.
var ErrJobOver = errors.New("the job is over")

// tellJob notifies the job of the session, if it has one. A failure does not prevent the end of the session.
func (s *stopping) tellJob(ctx context.Context, event, detail string) {
	if s.row.Job == "" || s.m.o.Jobs == nil || s.bare {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobLimit)
	defer cancel()
	if err := s.m.o.Jobs(ctx, s.row.Job, event, detail); err != nil && !errors.Is(err, ErrJobOver) {
		s.note("job %s could not be told %q: %v", s.row.Job, detail, err)
	}
}

const jobLimit = 5 * time.Second
