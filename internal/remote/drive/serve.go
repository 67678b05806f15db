package drive

import (
	"context"
	"net"
	"net/http"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/remote"
	"tutti/internal/remote/door"
)

// What an endpoint for instructions is.
const (
	Path    = "/h2a/drive"
	Port    = 8788
	MaxBody = 64 << 10

	injectFor  = 30 * time.Second // how long a command may take
	maxWaiting = 8                // instructions that wait for their turn: they are given one after the other
)

// statuses are those of the reasons; what is not among them has the status of package remote.
var statuses = map[remote.Reason]int{
	NotRegistered: http.StatusForbidden, Unauthorized: http.StatusForbidden, WrongTarget: http.StatusForbidden, InjectFailed: http.StatusBadGateway,
	"payload-too-large": http.StatusRequestEntityTooLarge,
}

// Status is the HTTP status that goes with a reason.
func Status(r remote.Reason) int {
	if s, ok := statuses[r]; ok {
		return s
	}
	return r.Status()
}

// A Server takes instructions for one agent.
type Server struct {
	Gate   *Gate
	To     address.Instance
	Inject func(ctx context.Context, l *Line, text string) error
	Halted func(action string) error
	Log    func(line string)

	turn chan struct{} // holds one token
	room chan struct{} // one for each that is being given or waits
}

// Serve answers what comes to a listener until the context ends. Of the options path, TLS and Halted count.
func (s *Server) Serve(ctx context.Context, l net.Listener, o door.Options) error {
	s.turn, s.room = make(chan struct{}, 1), make(chan struct{}, 1+maxWaiting)
	o.MaxBody, o.Handle, o.Log = MaxBody, s.take, s.Log
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go s.Gate.Guard.KeepSwept(working, s.Gate.Now, s.Log)
	return door.New(o).Serve(ctx, l)
}

func (s *Server) take(ctx context.Context, body []byte) door.Answer {
	if canonjson.Check(body) != nil || !canonjson.IsObject(body) {
		return door.Reason(http.StatusBadRequest, string(remote.Malformed))
	}
	raw, _ := canonjson.Get(body, "line")
	text, ok := canonjson.String(raw)
	if !ok || text == "" {
		return door.Reason(Status(MissingLine), string(MissingLine))
	}
	select { // before anything is marked as taken: what is put off can be sent again
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		a := door.Error(http.StatusServiceUnavailable, "busy")
		a.Retry = time.Second
		return a
	}
	return s.give(ctx, text)
}

// give lets an instruction through and injects it, one at a time. It is marked first: one whose command fails in the middle is not given
// twice by whoever sends it again.
func (s *Server) give(ctx context.Context, text string) door.Answer {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return door.Answer{}
	}
	if s.Halted("drive "+string(s.To)) != nil {
		return door.Halted()
	}
	l, reason, err := s.Gate.Pass(ctx, text, s.To)
	switch {
	case err != nil:
		s.log("an instruction was not taken: " + err.Error())
		return door.Error(http.StatusInternalServerError, "apply-failed")
	case reason == TooOften:
		return remote.TooMany(time.Second)
	case reason != "":
		return door.Reason(Status(reason), string(reason))
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectFor)
	defer cancel()
	if err := s.Inject(within, &l, text); err != nil {
		s.log("an instruction of " + l.From + " was not injected: " + err.Error())
		return door.Reason(Status(InjectFailed), string(InjectFailed))
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("from", l.From)
	o.Str("to", l.To)
	o.Str("instruction", l.Instruction)
	return door.Answer{Status: http.StatusAccepted, Body: o.Bytes()}
}

func (s *Server) log(line string) {
	if s.Log != nil {
		s.Log(line)
	}
}
