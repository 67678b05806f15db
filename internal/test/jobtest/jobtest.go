// Package jobtest stands in for the terminal into which a job is typed, and for the broker that is told of it.
package jobtest

import (
	"context"
	"errors"
	"os"

	"tutti/internal/sessions/job"
)

// A File is a terminal and a broker: what is typed and published is a line of it each.
type File string

func (f File) Add(text string) error {
	out, err := os.OpenFile(string(f), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteString(text + "\n")
	return errors.Join(err, out.Close())
}

func (f File) Deliver(_ context.Context, session, text string) error {
	if session == "deaf" {
		return errors.New("its program has ended")
	}
	return f.Add("to " + session + ": " + text)
}

func (f File) Owner(_ context.Context, session string) (string, error) {
	return session + "-ff", nil
}

func (f File) Assign(context.Context, string, string) error { return nil }

func (f File) Publish(_ context.Context, m job.Message) error {
	return f.Add(m.Topic + " " + string(m.Payload))
}

func (f File) Subscribe(context.Context, string, func([]byte, int64)) error { return nil }

func (f File) Back(func(error)) {}

func (f File) Close() error { return nil }
