package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tutti/internal/job"
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
		return jobFile(filepath.Join(dir, "broker")), nil
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
	return f.add("to " + session + ": " + text)
}

func (f jobFile) Owner(context.Context, string) (string, error) { return "00112233445566ff", nil }

func (f jobFile) Publish(_ context.Context, m job.Message) error {
	return f.add(m.Topic + " " + string(m.Payload))
}

func (f jobFile) Subscribe(context.Context, string, func([]byte, int64)) error { return nil }

func (f jobFile) Close() error { return nil }
