package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/app"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/lifecycle"
)

// testJobParts are a terminal and a broker that are files in a folder which the environment names.
func testJobParts() JobParts {
	dir := os.Getenv("TUTTI_TEST_JOBS")
	if dir == "" {
		return JobParts{}
	}
	return JobParts{Deliver: jobFile(filepath.Join(dir, "typed")), Dial: func(context.Context, job.Broker) (job.Network, error) {
		if _, err := os.Stat(filepath.Join(dir, "down")); err == nil {
			return nil, errors.New("broker: connection refused")
		}
		f := jobFile(filepath.Join(dir, "broker"))
		return f, jobFile(filepath.Join(dir, "dialled")).add("once more")
	}}
}

type jobFile string

func (f jobFile) add(text string) error {
	out, err := os.OpenFile(string(f), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteString(text + "\n")
	return errors.Join(err, out.Close())
}

func (f jobFile) Deliver(_ context.Context, session, text string) error {
	if session == "deaf" {
		return errors.New("its program has ended")
	}
	return f.add("to " + session + ": " + text)
}

func (f jobFile) Owner(_ context.Context, session string) (string, error) {
	return session + "-ff", nil
}

func (f jobFile) Publish(_ context.Context, m job.Message) error {
	return f.add(m.Topic + " " + string(m.Payload))
}

func (f jobFile) Subscribe(context.Context, string, func([]byte, int64)) error { return nil }

func (f jobFile) Back(func(error)) {}

func (f jobFile) Close() error { return nil }

// Whoever ends a session tells its job, wherever he stands.
func TestTellJob(t *testing.T) {
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
		tell := app.SessionJobs(c.workspace, c.dir)
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
