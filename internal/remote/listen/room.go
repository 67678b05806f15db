package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A guest is one connection.
type guest struct {
	conn  net.Conn
	since time.Time // when it came, or when its last request was answered
	works bool      // its request is being worked on, which takes it out of the way of newcomers
}

// guestKey finds the guest in the context of a request.
type guestKey struct{}

// A room holds the connections of a door.
type room struct {
	most int

	mu  sync.Mutex
	all map[net.Conn]*guest
}

// welcome puts a connection on record. It is called before anything is read of it.
func (r *room) welcome(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, r.enter(c))
}

// state follows a connection.
func (r *room) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateIdle:
		r.mu.Lock()
		if g := r.all[c]; g != nil {
			g.since = time.Now()
		}
		r.mu.Unlock()
	case http.StateClosed, http.StateHijacked:
		r.mu.Lock()
		delete(r.all, c)
		r.mu.Unlock()
	}
}

// enter makes room for one more: the one goes that has been there longest without a request of its own in work. When all are at
// work the newcomer goes.
func (r *room) enter(c net.Conn) *guest {
	me, out := &guest{conn: c, since: time.Now()}, (*guest)(nil)
	r.mu.Lock()
	if len(r.all) >= r.most {
		for _, g := range r.all {
			if !g.works && (out == nil || g.since.Before(out.since)) {
				out = g
			}
		}
		if out != nil {
			delete(r.all, out.conn)
		}
	}
	if len(r.all) < r.most {
		r.all[c] = me
	} else {
		out = me
	}
	r.mu.Unlock()
	if out != nil {
		cut(out.conn)
	}
	return me
}

// works marks a connection as one whose request is worked on, until done.
func (r *room) works(g *guest) (done func()) {
	if g == nil {
		return func() {}
	}
	r.mu.Lock()
	g.works = true
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		g.works, g.since = false, time.Now()
		r.mu.Unlock()
	}
}

// cut ends a connection without a farewell, which could take as long as the other side likes.
func cut(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.Close()
}

// logEvery is how often a line is said at most: a stranger who can cause one must not fill a disk with them.
const logEvery = time.Second

// Calm returns what says one line a second at most, and how many there were in between. nil stays nil.
func Calm(say func(line string)) func(line string) {
	if say == nil {
		return nil
	}
	var mu sync.Mutex
	var said time.Time
	quiet := 0
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(said) < logEvery {
			quiet++
			return
		} else if said = now; quiet > 0 {
			line += fmt.Sprintf(" (and %d more since the last time)", quiet)
			quiet = 0
		}
		say(line)
	}
}

func (d *Server) log(line string) {
	if d.o.Log != nil {
		d.o.Log(line)
	}
}

// short is a value that a handler failed with, for a line.
func short(p any) string {
	const most = 200
	s := fmt.Sprint(p)
	return s[:min(len(s), most)]
}
