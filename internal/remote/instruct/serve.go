package instruct

import (
	"context"
	"net"
	"net/http"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/remote"
	"tutti/internal/remote/listen"
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
	NewKey: http.StatusForbidden, KeyChanged: http.StatusForbidden, NotRegistered: http.StatusForbidden, Unauthorized: http.StatusForbidden, WrongTarget: http.StatusForbidden, InjectFailed: http.StatusBadGateway,
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
	Inject func(ctx context.Context, l *Line) error
	Halted func(action string) error
	Log    func(line string)

	turn   chan struct{}   // holds one token
	room   chan struct{}   // one for each that is being given or waits
	ending context.Context // ends with the endpoint
}

// Serve answers what comes to a listener until the context ends. Of the options path, TLS, Halted and Grace count.
func (s *Server) Serve(ctx context.Context, l net.Listener, o listen.Options) error {
	s.turn, s.room = make(chan struct{}, 1), make(chan struct{}, 1+maxWaiting)
	s.Log = listen.Calm(s.Log) // who can cause one line must not fill a disk with them
	o.MaxBody, o.Handle, o.Log = MaxBody, s.take, s.Log
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.ending = working
	go s.Gate.Guard.KeepSwept(working, s.Gate.Now, s.Log)
	err := listen.New(o).Serve(ctx, l)
	stop()
	s.turn <- struct{}{} // a running command ends first: nothing would end it later
	return err
}

func (s *Server) take(ctx context.Context, body []byte) listen.Answer {
	if canonjson.Check(body) != nil || !canonjson.IsObject(body) {
		return listen.Reason(http.StatusBadRequest, string(remote.Malformed))
	}
	raw, _ := canonjson.Get(body, "line")
	text, ok := canonjson.String(raw)
	if !ok || text == "" {
		return listen.Reason(Status(MissingLine), string(MissingLine))
	}
	return s.wait(ctx, text)
}

func busy() listen.Answer {
	a := listen.Error(http.StatusServiceUnavailable, "busy")
	a.Retry = time.Second
	return a
}

// wait judges a text, and lets it wait for its turn if it is good. The few places are for those who have proven that they may give
// instructions, and one for each line: neither rubbish nor copies of a line that was overheard keep anybody out. Nothing is marked yet:
// what is put off can be sent again.
func (s *Server) wait(ctx context.Context, text string) listen.Answer {
	l, reason, err := s.Gate.proven(ctx, text, s.To)
	if err != nil || reason != "" {
		return s.refused(reason, err)
	}
	claim, seen, free, err := s.Gate.Guard.TryClaim(ctx, l.thing())
	switch {
	case err != nil:
		return s.refused("", err)
	case !free:
		return busy()
	}
	defer claim.End()
	if seen {
		return s.refused(remote.Replayed, nil)
	}
	if reason, err := s.Gate.Authorize(ctx, address.Instance(l.From), address.Instance(l.To)); err != nil || reason != "" {
		return s.refused(reason, err)
	}
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		return busy()
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-s.ending.Done():
		return busy()
	case <-ctx.Done():
		return listen.Answer{}
	}
	return s.give(ctx, &l, claim)
}

// refused is the answer to what is not given. What is at fault here is for the operator alone.
func (s *Server) refused(reason remote.Reason, err error) listen.Answer {
	switch {
	case err != nil:
		s.log("an instruction was not taken: " + err.Error())
		return listen.Error(http.StatusInternalServerError, "apply-failed")
	case reason == TooOften:
		return remote.TooMany(time.Second)
	}
	return listen.Reason(Status(reason), string(reason))
}

// give injects an instruction whose turn it is. It is marked first, so that one whose command fails in the middle does not run
// twice when it is sent again. The command ends with the endpoint.
func (s *Server) give(ctx context.Context, l *Line, claim *remote.Claim) listen.Answer {
	if s.Halted("drive "+string(s.To)) != nil {
		return listen.Halted()
	}
	if reason, err := s.Gate.take(ctx, l, claim); err != nil || reason != "" {
		return s.refused(reason, err)
	}
	within, cancel := context.WithTimeout(s.ending, injectFor)
	defer cancel()
	if err := s.Inject(within, l); err != nil {
		s.log("an instruction of " + l.From + " was not injected: " + err.Error())
		return listen.Reason(Status(InjectFailed), string(InjectFailed))
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("from", l.From)
	o.Str("to", l.To)
	o.Str("instruction", l.Instruction)
	return listen.Answer{Status: http.StatusAccepted, Body: o.Bytes()}
}

func (s *Server) log(line string) {
	if s.Log != nil {
		s.Log(line)
	}
}
