package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
)

//go:embed files/page.css
var pageCSS []byte

//go:embed files/page.js
var pageJS []byte

// A Config is what a Server needs.
type Config struct {
	// Follow calls changed with the present snapshot and then with each new one, until ctx ends.
	Follow func(ctx context.Context, changed func(*Snapshot)) error
	// Buses hands each bus of the user to f, open for reading, and returns those that cannot be read.
	Buses func(f func(*app.World) error) []overview.BusProblem
	// Folder is where the server was started.
	Folder string
	// Screen returns the lines that an agent's terminal shows, with their colours.
	Screen func(ctx context.Context, a Agent) ([]string, error)
	// Shown is a path as people see it.
	Shown func(path string) string
	// Peers is the file that lists other machines.
	Peers string
	// Run runs a verb of tutti as its own process, which decides by itself whether it may.
	Run func(ctx context.Context, c Command) (Answer, error)
	// Tell shows a line where the server was started.
	Tell func(line string)

	docs fs.FS // the documentation, for tests; nil: the one inside the program
}

// A Server shows the page to browsers on this machine.
type Server struct {
	Config
	access Access
	hub    *hub
	port   int
	ended  chan struct{}
	http   *http.Server
	at     net.Listener
}

// Listen opens a port of the loopback; 0 takes any that is free. Nothing can reach the server from another machine.
func Listen(c Config, port int) (*Server, error) {
	at, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on port %d: %w", port, err)
	}
	s := &Server{Config: c, hub: newHub(), port: at.Addr().(*net.TCPAddr).Port, ended: make(chan struct{}), at: at}
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	return s, nil
}

// Port is the port that the server listens on.
func (s *Server) Port() int { return s.port }

// Link makes a link that one browser may use, once. cannot says why its page may only look; "" lets it act for the user.
func (s *Server) Link(cannot string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/login?t=%s", s.port, s.access.grant(cannot, time.Now()))
}

// Serve answers browsers until ctx ends. It leaves no connection open.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan struct{})
	go func() {
		s.followWatched(ctx)
		close(followed)
	}()
	go func() {
		<-ctx.Done()
		close(s.ended)
		_ = s.http.Close()
	}()
	err := s.http.Serve(s.at)
	stop()
	<-followed
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// idleTime is how long agents are followed after the last page was closed.
const idleTime = 10 * time.Second

// followWatched follows the agents while a page is open. It costs nothing when there is none.
func (s *Server) followWatched(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hub.wanted:
		}
		here, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := s.Follow(here, func(snap *Snapshot) {
				s.readThreads(here, snap)
				s.hub.put(snap)
			})
			if err != nil && here.Err() == nil {
				s.tell("what is shown does not change any more: " + err.Error())
			}
		}()
		for watched := true; watched; {
			select {
			case <-ctx.Done():
				watched = false
			case <-time.After(idleTime):
				watched = s.hub.watched(time.Now().Add(-idleTime))
			}
		}
		stop()
		<-done
		s.hub.forget()
	}
}

func (s *Server) tell(line string) {
	if s.Tell != nil {
		s.Tell(line)
	}
}

// routes are all addresses of the server. Only /act and /logout change anything, and they take POST alone.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /login", s.login)
	m.HandleFunc("GET /page.css", file("text/css; charset=utf-8", pageCSS))
	m.HandleFunc("GET /page.js", file("text/javascript; charset=utf-8", pageJS))
	m.HandleFunc("GET /docs/{file...}", documentation(s.docs))
	m.HandleFunc("GET /events", s.known(s.events))
	m.HandleFunc("POST /act", s.known(s.act))
	for _, v := range views {
		m.HandleFunc("GET "+v.path, s.known(s.page(v)))
	}
	return guarded(m)
}

func file(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fromOutside(r) {
			http.Error(w, "another site asked for this", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content)
	}
}
