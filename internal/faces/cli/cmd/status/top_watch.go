package status

import (
	"context"
	"path/filepath"
	"sync"

	"tutti/internal/app"
	"tutti/internal/faces/tui"
	"tutti/internal/platform/fswatch"
	"tutti/internal/store"
)

// A topWatch tells that something has probably changed: a bus, the state that Claude Code writes of itself, the halt switch, or a
// session registry. What changes elsewhere, follow finds when it looks by itself.
type topWatch struct {
	news  chan struct{} // one signal stands for many
	subs  map[string]*fswatch.Sub
	relay sync.WaitGroup
}

func newTopWatch() *topWatch {
	return &topWatch{news: make(chan struct{}, 1), subs: map[string]*fswatch.Sub{}}
}

// folder watches a folder, and with a name only this entry of it.
func (w *topWatch) folder(dir, name string) {
	if w.subs[dir] != nil {
		return
	}
	o := fswatch.Options{Names: fswatch.Visible}
	if name != "" {
		o.Names = func(entry string) bool { return entry == name }
	}
	s := fswatch.Watch(dir, o)
	w.subs[dir] = s
	w.relay.Go(func() {
		for range s.C {
			w.tell()
		}
	})
}

// home watches what concerns all agents.
func (w *topWatch) home(home string) {
	w.folder(filepath.Join(home, ".claude", "sessions"), "")
	w.folder(filepath.Join(home, ".config", "cross-agent-comms"), "HALT")
}

// reports is what changes on a bus when agents write, read, ask, agree or are blocked. Heartbeats are not among it: they come all the
// time.
var reports = []store.Scope{{Kind: store.Inbox}, {Kind: store.Archive}, {Kind: store.Journal}, {Kind: store.Escalation}, {Kind: store.Blockage}}

// bus watches a bus until ctx ends. The watch opens the bus anew: it outlives the look that found it.
func (w *topWatch) bus(ctx context.Context, root string) {
	on, err := app.New(app.Settings{Root: root}).World(app.Reading)
	if err != nil {
		return // the look itself names it
	}
	changes, err := on.Store.Watch(ctx, reports)
	if err != nil {
		on.Close()
		return
	}
	w.relay.Go(func() {
		defer on.Close()
		for range changes {
			w.tell()
		}
	})
}

func (w *topWatch) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// registries watches the registries of the sessions of a snapshot.
func (w *topWatch) registries(s *tui.Snapshot) {
	for i := range s.Agents {
		if path := s.Agents[i].Registry; path != "" {
			w.folder(filepath.Dir(path), filepath.Base(path))
		}
	}
}

func (w *topWatch) close() {
	for _, s := range w.subs {
		s.Close()
	}
	w.relay.Wait()
}
