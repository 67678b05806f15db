package web

import (
	"context"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
)

// A Snapshot is what the pages show.
type Snapshot struct {
	At       time.Time
	threads  []thread
	problems []kit.BusProblem
}

// readThreads adds the conversations on the buses.
func (s *Server) readThreads(ctx context.Context, snap *Snapshot) {
	snap.problems = s.Buses(func(w *app.World) error {
		some, err := threadsOn(ctx, w)
		snap.threads = append(snap.threads, some...)
		return err
	})
	slices.SortFunc(snap.threads, newestFirst)
	snap.threads = snap.threads[:min(len(snap.threads), maxThreads)]
}

// now is the overview: what waits for the user, the agents, the threads.
func (s *Server) now(_ context.Context, snap *Snapshot, _ params) []node {
	return []node{threadsList(snap)}
}

func (s *Server) machines(context.Context, *Snapshot, params) []node { return nil }
func (s *Server) screen(context.Context, *Snapshot, params) []node   { return nil }

func (s *Server) itemCommand(context.Context, func(string) string) (Command, error) {
	return Command{}, errUnknown
}

func (s *Server) promptCommand(context.Context, func(string) string) (Command, error) {
	return Command{}, errUnknown
}
