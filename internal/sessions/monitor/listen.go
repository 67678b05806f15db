package monitor

import (
	"context"

	"tutti/internal/platform/tmux"
)

// A listener hears when something changes on tmux servers.
type listener struct {
	heard   chan struct{} // a look is worth while
	servers map[string]*watched
}

// watched is a tmux server that is watched. gone is closed when it is not any more.
type watched struct {
	w    *tmux.Watcher
	gone chan struct{}
}

func newListener() *listener {
	return &listener{heard: make(chan struct{}, 1), servers: map[string]*watched{}}
}

// listen hears of these servers from now on, and of no others. One that cannot be watched is tried again the next time.
func (e *listener) listen(ctx context.Context, want map[string]tmux.Server) {
	for name, s := range e.servers {
		if _, ok := want[name]; !ok || s.over() {
			s.end()
			delete(e.servers, name)
		}
	}
	for name, server := range want {
		if e.servers[name] == nil {
			e.follow(ctx, name, server)
		}
	}
}

func (e *listener) follow(ctx context.Context, name string, server tmux.Server) {
	w, err := server.Watch(ctx)
	if err != nil {
		return
	}
	s := &watched{w: w, gone: make(chan struct{})}
	e.servers[name] = s
	go func() {
		for range w.C {
			e.poke()
		}
		close(s.gone)
		e.poke()
	}()
}

func (e *listener) poke() {
	select {
	case e.heard <- struct{}{}:
	default: // it was said already
	}
}

// hears tells whether a server is watched.
func (e *listener) hears(name string) bool {
	s := e.servers[name]
	return s != nil && !s.over()
}

func (e *listener) close() {
	for _, s := range e.servers {
		s.end()
	}
}

func (s *watched) end() {
	s.w.Close()
	<-s.gone
}

// over tells that the server is not watched any more.
func (s *watched) over() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}
