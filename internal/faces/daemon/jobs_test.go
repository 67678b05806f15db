package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"tutti/internal/sessions/job"
)

// TestJobs: a job without another follower ends at its deadline, and a person is notified of what to review.
func TestJobs(t *testing.T) {
	t.Chdir(t.TempDir())
	b, _, err := job.At(".")
	if err != nil {
		t.Fatal(err)
	}
	register := func(limit time.Duration) string {
		t.Helper()
		j, err := b.Register(t.Context(), job.Order{Prompt: "count", Agent: "claude", Timeout: limit})
		if err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	publish := func(id string, k job.Kind, detail string) {
		t.Helper()
		if _, _, err := b.Publish(t.Context(), id, job.Draft{Kind: k, Detail: detail}, job.ByAgent); err != nil {
			t.Fatal(err)
		}
	}
	b.Halted = func(string) error { return nil }
	late, done := register(time.Second), register(time.Hour)
	publish(late, job.Started, "")
	s, out := service(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, s, []Part{{"jobs", jobs}}) }()
	out.shows(t, " jobs: "+late+" has ended with an error: timeout\n")
	if j, err := b.Get(late); err != nil || j.Status != job.StatusError {
		t.Errorf("got %+v, %v; want an error", j, err)
	}
	publish(done, job.Permission, "may I")
	publish(done, job.Progress, "not for the terminal")
	publish(done, job.Done, "all \x1b[2Jcounted")
	out.shows(t, " jobs: "+done+" asks for a permission: may I\n")
	out.shows(t, " jobs: "+done+" says that it is done, and is to be accepted: all [2Jcounted\n")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
