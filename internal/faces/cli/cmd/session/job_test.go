package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/app/full"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
)

// TestStopReportsToJob: stopping a session reports to its job, from any folder.
func TestStopReportsToJob(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	deep := filepath.Join(ws, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	b, _, err := job.At(ws)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ workspace, dir string }{{ws, t.TempDir()}, {t.TempDir(), deep}} {
		j, err := b.Register(t.Context(), job.Order{Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		tell := full.SessionJobs(c.workspace, c.dir)
		if err := errors.Join(tell(t.Context(), j.ID, "progress", "terminating"), tell(t.Context(), j.ID, "error", "stopped by operator")); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if err := tell(t.Context(), j.ID, "completed", "again"); !errors.Is(err, lifecycle.ErrJobOver) {
			t.Errorf("%+v: told of one that is over: %v", c, err)
		}
		if got, err := b.Get(j.ID); err != nil || got.Status != job.StatusError || got.Detail != "stopped by operator" {
			t.Errorf("%+v: %+v %v", c, got, err)
		}
	}
}

// The broker hears at once that a job ended with its session, and one that is away holds nothing up.
func TestStopReportsToBroker(t *testing.T) {
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, ".env"), []byte("MQTT_BROKER=127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, _, err := job.At(ws)
	if err != nil {
		t.Fatal(err)
	}
	a := newAir()
	before := full.DialBroker
	full.DialBroker = func(ctx context.Context, _ job.Broker) (job.Network, error) { return a.dial(ctx) }
	t.Cleanup(func() { full.DialBroker = before })
	for _, away := range []bool{false, true} {
		a.away = away
		a.said = nil
		j, err := b.Register(t.Context(), job.Order{Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		err = full.SessionJobs(ws, ws)(t.Context(), j.ID, "error", "stopped by operator")
		if got := strings.Join(a.said, "\n"); away == (err == nil) || away != (got == "") || !away && !strings.Contains(got, "stopped by operator") {
			t.Errorf("away %v: %v, the broker heard %q", away, err, got)
		}
		if got, err := b.Get(j.ID); err != nil || got.Status != job.StatusError {
			t.Errorf("away %v: %+v %v", away, got, err)
		}
	}
}
