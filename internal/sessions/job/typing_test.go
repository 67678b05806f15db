package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A waiter is a typist whose agent is busy for a while.
type waiter struct {
	typist
	meanwhile func(ctx context.Context) error // before it types
}

func (w *waiter) Deliver(ctx context.Context, session, text string) error {
	if err := w.meanwhile(ctx); err != nil {
		return err
	}
	return w.typist.Deliver(ctx, session, text)
}

// As long as a text waits for its agent to rest, the agent is not called silent.
func TestIdleWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	now := &clock{time.Now().Truncate(time.Second)}
	b.Now = now.now
	id := b.mustRegister(t, order()).ID
	w := &waiter{meanwhile: func(ctx context.Context) error {
		if j := b.mustGet(t, id); !j.Waits(now.t) || j.Waits(now.t.Add(longestWait)) {
			t.Errorf("it waits: %v, and after long: %v", j.Waits(now.t), j.Waits(now.t.Add(longestWait)))
		}
		late := *b // the clock is that of somebody else who follows
		then := now.t.Add(2 * DefaultIdle)
		late.Now = func() time.Time { return then }
		if _, expired, err := late.Expire(ctx, id); expired || err != nil {
			t.Errorf("it ended before it was typed: %v %v", expired, err)
		}
		return nil
	}}
	if typed, err := b.HandOver(t.Context(), id, w, "ana"); !typed || err != nil {
		t.Fatalf("%v %v", typed, err)
	}
	j := b.mustGet(t, id)
	if j.Waits(now.t) {
		t.Error("it still waits")
	}
	if at, which, ok := j.Due(); !ok || which != "idle" || !at.Equal(now.t.Add(DefaultIdle)) {
		t.Errorf("due %v %s %v", at, which, ok)
	}
	now.t = now.t.Add(DefaultIdle)
	if _, expired, err := b.Expire(t.Context(), id); !expired || err != nil {
		t.Errorf("a silent one: %v %v", expired, err)
	}
	if at, _, _ := (&Job{Status: StatusRunning, Running: now.t, Idle: time.Minute, Handed: handing + "1:work", HandedAt: now.t}).Due(); !at.Equal(now.t.Add(longestWait + time.Minute)) {
		t.Errorf("one whose typist was ended is due at %s", at)
	}
	given := Job{Status: StatusRunning, Running: now.t, Idle: time.Minute, Handed: handed + "1:work", HandedAt: now.t.Add(time.Hour)}
	if at, _, _ := given.Due(); !at.Equal(now.t.Add(time.Hour + time.Minute)) {
		t.Errorf("an agent that has just got it is due at %s", at)
	}
}

// A job that is cancelled while it waits to be typed is not typed.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	w := &waiter{meanwhile: func(ctx context.Context) error {
		b.mustCancel(t, id)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(30 * time.Second):
			return nil
		}
	}}
	typed, err := b.HandOver(t.Context(), id, w, "ana")
	if state, ok := errors.AsType[*StateError](err); typed || len(w.texts) > 0 || !ok || !strings.Contains(state.Why, "cancelled") {
		t.Errorf("%v %v", typed, err)
	}
	if got := b.mustGet(t, id); got.Status != StatusCancelled {
		t.Errorf("it is %s", got.Status)
	}
	id = b.mustRegister(t, order()).ID // an agent that is done before anybody has looked ends the typing with no error
	w.meanwhile = func(context.Context) error {
		b.mustPublish(t, id, Done, "quick")
		return nil
	}
	if typed, err := b.HandOver(t.Context(), id, w, "ana"); !typed || err != nil {
		t.Errorf("a quick one: %v %v", typed, err)
	}
}

// TestHooksWhileWaiting: hooks of the agent, its user and its child processes from before the job is typed are not reported for the job.
func TestHooksWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const owner = "api0123456789abcdef"
	id := b.mustRegister(t, order()).ID
	hook := func(want bool, r Report) {
		t.Helper()
		r.Dir, r.Session = b.Workspace, owner
		if told, err := ByHook(t.Context(), r); told != want || err != nil {
			t.Errorf("%+v: %v %v, want %v", r, told, err, want)
		}
	}
	w := &waiter{meanwhile: func(context.Context) error {
		hook(false, Report{Moment: Works, Conversation: "child"})
		hook(false, Report{Moment: Begins, Conversation: "main", Prompt: "something else"})
		hook(false, Report{Moment: Rests, Conversation: "main"})
		hook(false, Report{Moment: Ends, Conversation: "child"})
		hook(true, Report{Moment: Begins, Conversation: "main", Prompt: "Job " + id + ". Another text"})
		hook(false, Report{Moment: Ends, Conversation: "child"})
		return nil
	}}
	if typed, err := b.HandOver(t.Context(), id, w, "ana"); !typed || err != nil {
		t.Fatalf("%v %v", typed, err)
	}
	hook(false, Report{Moment: Ends, Conversation: "child"})
	hook(true, Report{Moment: Rests, Conversation: "main"})
	if got := b.mustGet(t, id); got.Status != StatusCompleted || got.LastSeq != 2 {
		t.Errorf("%s after %d events", got.Status, got.LastSeq)
	}
}
