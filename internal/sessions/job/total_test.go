package job

import (
	"context"
	"testing"
	"time"
)

// TestTotalUnclaimed: a caller that waits for a job with a total time waits no longer than that, also if no agent claims it.
func TestTotalUnclaimed(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	o := order()
	o.Session, o.Timeout = "", time.Second
	j := b.mustRegister(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var last *Job
	err := b.Follow(ctx, Follower{ID: j.ID, All: true, Total: true, Line: func(*Line, *Job) error { return nil }, State: func(j *Job) error {
		if last = j; j.Status.Over() {
			return ErrEnough
		}
		return nil
	}})
	if err != nil || last == nil || last.Status == StatusCompleted || last.Detail != timeout {
		t.Errorf("%+v, %v", last, err)
	}
}
