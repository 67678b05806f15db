package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/store/filestore"
)

// drummed is how many agents have stopped, each with an entry and a session.
const drummed = 1000

func drumbeatRows() []row {
	return []row{
		{subject: "drumbeat", work: "a look at 1,000 agents whose sessions have all changed, time of the processor", target: within(40e-3), round: drum},
	}
}

// nobody must not be asked: nothing is due.
type nobody struct{}

func (nobody) Try(context.Context, watchdog.Target) (watchdog.Attempt, error) {
	return watchdog.Attempt{}, errors.New("an agent was asked to go on before its time")
}

func drum(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	s, err := filestore.Open(filepath.Join(dir, ".h2a"), filestore.Options{Create: true, CreatedBy: "bench"})
	if err != nil {
		return measured{}, err
	}
	defer s.Close()
	p, book := presence.New(s), &watchdog.Book{Store: s}
	all := make([]*presence.Session, drummed)
	for n := range all {
		i := address.Instance(fmt.Sprintf("claude:agent%d:%012x", n, n))
		var err error
		all[n], err = p.Open(e.ctx, presence.Start{
			SessionID: address.SessionID(fmt.Sprintf("sess:bench%d", n)), Instance: i, Host: "claude", PID: 4711, Launch: &presence.Launch{Cwd: "/w", Command: "claude", Tmux: &presence.Tmux{Session: "m", Pane: "%3"}},
			Workspace: &presence.Workspace{ID: "ws:bench", Path: "/w", Host: "bench", Label: "w"},
		}, time.Now())
		if err == nil {
			_, err = book.Record(e.ctx, watchdog.Stop{Instance: i, Status: presence.Paused}, time.Now())
		}
		if err != nil {
			return measured{}, err
		}
	}
	fault := ""
	d := watchdog.New(watchdog.Options{
		Book: book, Settings: watchdog.Settings{MinAge: time.Hour}, Relaunch: nobody{}, Halted: func(string) error { return nil },
		Tell: func(e watchdog.Event) { fault = e.Text },
	})
	if err := d.Beat(e.ctx); err != nil {
		return measured{}, err
	}
	for _, s := range all {
		if _, err := p.Beat(e.ctx, s, time.Now()); err != nil {
			return measured{}, err
		}
	}
	before := used()
	if err := d.Beat(e.ctx); err != nil {
		return measured{}, err
	}
	value := (used() - before).Seconds()
	if fault != "" {
		return measured{}, errors.New(fault)
	}
	return measured{value: value}, nil
}

// used is the time of the processor that this process has had.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
