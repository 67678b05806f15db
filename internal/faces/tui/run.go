package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
)

// framesPerSecond bounds how often the screen is drawn. The library wakes up so often while it runs.
const framesPerSecond = 12

// Run shows the screen on a terminal until the user leaves it or the context ends.
func Run(ctx context.Context, o *Options, in, out *os.File) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m, err := New(ctx, o)
	if err != nil {
		return err
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithFPS(framesPerSecond), tea.WithInput(in), tea.WithOutput(out))
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Follow(ctx, func(s *Snapshot, err error) { p.Send(snapMsg{s, err}) })
	}()
	_, err = p.Run()
	stop()
	<-done
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		return context.Cause(ctx)
	}
	return err
}

// Once returns one frame as text, without colours: the heading, all agents and everything that waits.
func Once(o *Options, s *Snapshot, width int) []string {
	return text(o, s, width)
}

// Lines writes a line for each thing that changes, until the context ends. The first snapshot is written whole.
func Lines(ctx context.Context, o *Options, out io.Writer, width int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var last *Snapshot
	fault := ""
	o.Follow(ctx, func(s *Snapshot, err error) {
		var lines []string
		switch {
		case err != nil && err.Error() == fault:
			return
		case err != nil:
			fault = err.Error()
			lines = []string{clock(time.Now()) + "  cannot look: " + fault}
		case last == nil:
			lines = text(o, s, width)
		default:
			lines = Changes(last, s)
		}
		if s != nil {
			last, fault = s, ""
		}
		for _, line := range lines {
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				stop(err)
				return
			}
		}
	})
	return context.Cause(ctx)
}
