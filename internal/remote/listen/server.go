// Package listen is an HTTP endpoint that strangers can reach: one path, one method, a body of bounded size, an answer in JSON.
//
// It promises to stay up and small whatever comes in. A request that is not valid is answered and forgotten, one that has the
// handler panic is answered with 500, and one that never ends is cut off. The number of connections is bounded, and so is what
// all bodies together take: when the room is full a new client displaces the connection, or the body, that has dawdled longest,
// so that a crowd of silent ones blocks no one.
//
// What a body means, who may say it and how often is the handler's business. Only HTTP/1 is spoken, with or without TLS.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// The limits. A whole request of the largest kind takes a slow line a few seconds; no other client waits for it meanwhile.
const (
	headWithin  = 5 * time.Second  // for the lines before the body
	readWithin  = 15 * time.Second // for all of a request
	writeWithin = 30 * time.Second // for the work on it and the answer; for the answer alone after work that took long
	idleFor     = 30 * time.Second // between two requests of a connection
	endWithin   = 5 * time.Second  // for running requests when the end comes, by default

	maxHead  = 8 << 10  // bytes of the lines before the body
	maxConns = 256      // connections at a time
	maxHeld  = 16 << 20 // bytes of all bodies that are held at a time
	firstPut = 4 << 10  // bytes that a body begins with: most are smaller
)

// An Answer is what a handler says. The zero Answer cuts the connection.
type Answer struct {
	Status int
	Body   []byte        // JSON
	Retry  time.Duration // 0: nothing is said of when to come again
}

// Error is the answer {"ok":false,"error":word}.
func Error(status int, word string) Answer {
	return Answer{Status: status, Body: []byte(`{"ok":false,"error":"` + word + `"}`)}
}

// Reason is the answer {"ok":false,"reason":word}.
func Reason(status int, word string) Answer {
	return Answer{Status: status, Body: []byte(`{"ok":false,"reason":"` + word + `"}`)}
}

// Options say what an endpoint is.
type Options struct {
	Path    string // "/h2a/envelopes"
	MaxBody int64  // bytes
	// Handle is given the whole body, which is its own until it returns. Several are called at a time. The context ends when
	// the client has gone.
	Handle func(ctx context.Context, body []byte) Answer
	// Halted is asked before a body is read; while it returns an error every request is answered with 503. nil: never.
	Halted func() error
	// Log gets what an operator should know, one line each, and one a second at most; nil: none.
	Log func(line string)
	TLS *tls.Config // nil: none
	// Grace is how long what is in hand may take when the end comes; 0: 5 s.
	Grace time.Duration

	conns int           // 0: maxConns
	held  int64         // 0: maxHeld
	late  time.Duration // 0: writeWithin
}

// A Server serves one endpoint.
type Server struct {
	o    Options
	room *room
	in   *bodies
}

// New returns the door of an endpoint.
func New(o Options) *Server {
	if o.conns == 0 {
		o.conns = maxConns
	}
	if o.held == 0 {
		o.held = maxHeld
	}
	if o.Grace == 0 {
		o.Grace = endWithin
	}
	if o.late == 0 {
		o.late = writeWithin
	}
	o.Log = Calm(o.Log)
	return &Server{
		o: o, room: &room{most: o.conns, all: map[net.Conn]*guest{}}, in: &bodies{most: o.held, arriving: map[*holder]struct{}{}},
	}
}

// Serve answers what comes to a listener, which it closes, until the context ends.
func (d *Server) Serve(ctx context.Context, l net.Listener) error {
	var plain http.Protocols
	plain.SetHTTP1(true)
	s := &http.Server{
		Handler: d, ReadHeaderTimeout: headWithin, ReadTimeout: readWithin, WriteTimeout: d.o.late, IdleTimeout: idleFor,
		MaxHeaderBytes: maxHead, Protocols: &plain, ErrorLog: log.New(io.Discard, "", 0), // what strangers do wrong is their own affair
		ConnState: d.room.state, ConnContext: d.room.welcome, DisableGeneralOptionsHandler: true,
	}
	if d.o.TLS != nil {
		l = tls.NewListener(l, d.o.TLS)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.Grace)
		defer cancel()
		if s.Shutdown(within) != nil {
			_ = s.Close() // who has not come to an end by then is cut off
		}
	})
	err := s.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP answers one request.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		switch err, _ := p.(error); {
		case p == nil:
		case errors.Is(err, http.ErrAbortHandler):
			panic(p)
		default:
			d.log("a request had the handler fail: " + short(p) + "\n" + string(debug.Stack()))
			d.say(w, Error(http.StatusInternalServerError, "apply-failed"), true)
		}
	}()
	switch {
	case r.URL.EscapedPath() != d.o.Path:
		d.say(w, Error(http.StatusNotFound, "not-found"), true)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		d.say(w, Error(http.StatusMethodNotAllowed, "method-not-allowed"), true)
	case d.o.Halted != nil && d.o.Halted() != nil:
		d.say(w, Halted(), true)
	default:
		d.post(w, r)
	}
}

// Halted is the answer while the halt switch is on.
func Halted() Answer {
	a := Error(http.StatusServiceUnavailable, "halted")
	a.Retry = time.Minute
	return a
}

// busy is the answer when there is no room for another body.
func busy() Answer {
	a := Error(http.StatusServiceUnavailable, "busy")
	a.Retry = time.Second
	return a
}

var (
	errTooLarge = errors.New("the body is too large")
	errNoRoom   = errors.New("there is no room for the body")
)

func (d *Server) post(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	h := d.in.begin(func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	defer d.in.drop(h)
	body, err := d.read(w, r, h)
	if !d.in.arrived(h) { // also when its end came just then: no more is to be read of this connection
		err = errNoRoom
	}
	switch {
	case errors.Is(err, errTooLarge):
		d.say(w, Error(http.StatusRequestEntityTooLarge, "payload-too-large"), true)
		return
	case errors.Is(err, errNoRoom):
		d.say(w, busy(), true)
		return
	case err != nil: // it ended before its end, or never did
		d.say(w, Reason(http.StatusBadRequest, "malformed"), true)
		return
	}
	began := time.Now()
	a := d.work(r, body)
	if time.Since(began) > d.o.late/2 { // a client that has waited that long gets its answer
		_ = control.SetWriteDeadline(time.Now().Add(d.o.late))
	}
	if a.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	// A request may name a length beside its chunks, which a proxy in front of us may have gone by: nothing more is read of its connection.
	d.say(w, a, len(r.TransferEncoding) > 0)
}

// work has the handler at a request. Meanwhile its connection blocks no other; while it takes its answer, which can be as long
// as it likes, it is as any other.
func (d *Server) work(r *http.Request, body []byte) Answer {
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		defer d.room.works(g)()
	}
	return d.o.Handle(r.Context(), body)
}

// say writes an answer. The connection of one whose body was not read to its end, or was not looked at, ends with it.
func (d *Server) say(w http.ResponseWriter, a Answer, last bool) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	if a.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((a.Retry+time.Second-1)/time.Second)))
	}
	if last {
		h.Set("Connection", "close")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // who has gone needs no answer
}

// read reads a body. Room is taken as bytes arrive, and never for what a request only claims.
func (d *Server) read(w http.ResponseWriter, r *http.Request, h *holder) ([]byte, error) {
	if r.ContentLength > d.o.MaxBody {
		return nil, errTooLarge
	}
	in := http.MaxBytesReader(w, r.Body, d.o.MaxBody)
	size := int64(firstPut)
	if n := r.ContentLength; n >= 0 && n < size {
		size = n + 1
	}
	if !d.in.grow(h, size) {
		return nil, errNoRoom
	}
	body := make([]byte, 0, size)
	for {
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case errors.As(err, new(*http.MaxBytesError)):
			return nil, errTooLarge
		case err != nil:
			return nil, err
		}
		if len(body) < cap(body) {
			continue
		}
		size = min(2*size, d.o.MaxBody+1)
		if !d.in.grow(h, size) {
			return nil, errNoRoom
		}
		body = append(make([]byte, 0, size), body...)
	}
}
