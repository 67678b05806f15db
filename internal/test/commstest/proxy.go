package commstest

import (
	"net"
	"strconv"
	"sync"
	"testing"
)

// A Proxy is a stretch of network between us and an address. It carries everything, until it is told to fail.
type Proxy struct {
	Port int

	t      testing.TB
	target string
	ended  chan struct{} // closed with the test

	mu    sync.Mutex
	fails failure
	left  int64 // bytes towards the target until it fails
	sent  int64
	bit   chan struct{} // closed when the failure begins

	release chan struct{} // closed when those that have stalled are cut
	over    bool          // it has begun
	conns   map[net.Conn]bool
}

// A failure is what happens to a connection.
type failure uint8

const (
	none  failure = iota
	stall         // nothing gets through any more, and nobody is told
	cut           // it is reset
)

// NewProxy makes a proxy on the loopback to an address there.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		Port: l.Addr().(*net.TCPAddr).Port, t: t, target: target, ended: make(chan struct{}), bit: make(chan struct{}),
		release: make(chan struct{}),
		conns:   map[net.Conn]bool{},
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			busy.Go(func() { p.carry(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(p.ended)
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		busy.Wait()
	})
	return p
}

// BlackHole returns the port of something that takes connections and never says a word.
func BlackHole(t testing.TB) int {
	t.Helper()
	p := NewProxy(t, "")
	p.StallAfter(0)
	return p.Port
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)) }

// StallAfter lets so many more bytes through towards the target. Then nothing moves any more on any connection, in neither direction,
// and they all stay open.
func (p *Proxy) StallAfter(n int64) { p.fail(stall, n) }

// CutAfter lets so many more bytes through towards the target. Then every connection that has something to say is reset.
func (p *Proxy) CutAfter(n int64) { p.fail(cut, n) }

// Cut resets every connection there is, also those that have stalled. It changes nothing for new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
	close(p.release)
	p.release = make(chan struct{})
}

// Mend lets new connections through again. Those that have stalled stay so.
func (p *Proxy) Mend() { p.fail(none, 0) }

func (p *Proxy) fail(how failure, after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails, p.left = how, after
	if p.over {
		p.bit, p.over = make(chan struct{}), false
	}
}

// Failing is closed when the failure that was asked for last has begun.
func (p *Proxy) Failing() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bit
}

// Sent returns how many bytes went towards the target so far.
func (p *Proxy) Sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// take says how many of the next bytes get through, and what happens then.
func (p *Proxy) take(n int, up bool) (int, failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how := p.fails
	if how != none {
		switch {
		case up && int64(n) <= p.left:
			how = none
			p.left -= int64(n)
		case up:
			n = int(p.left)
			p.left = 0
		case p.over:
			n = 0
		default:
			how = none
		}
		if how != none && !p.over {
			p.over = true
			close(p.bit)
		}
	}
	if up {
		p.sent += int64(n)
	}
	return n, how
}

// carry connects both sides until one of them ends or the network fails.
func (p *Proxy) carry(client net.Conn) {
	defer p.forget(client)
	if !p.keep(client) {
		return
	}
	if p.target == "" {
		p.wait()
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // nobody listens there: the client sees the connection end
	}
	defer p.forget(server)
	if !p.keep(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(server, client, true) })
	both.Go(func() { p.pump(client, server, false) })
	both.Wait()
}

// wait waits until a stalled connection is cut, or the test ends.
func (p *Proxy) wait() {
	p.mu.Lock()
	release := p.release
	p.mu.Unlock()
	select {
	case <-release:
	case <-p.ended:
	}
}

// keep remembers a connection, so that it ends with the test.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return false
	default:
		p.conns[c] = true
		return true
	}
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// pump carries one direction. The end of it is handed on as such: the other direction may go on.
func (p *Proxy) pump(to, from net.Conn, up bool) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			through, how := p.take(n, up)
			if through > 0 {
				if _, err := to.Write(buf[:through]); err != nil {
					from.Close()
					return
				}
			}
			switch how {
			case stall:
				p.wait()
				return
			case cut:
				reset(to)
				reset(from)
				return
			}
		}
		if err != nil {
			if c, ok := to.(*net.TCPConn); ok {
				_ = c.CloseWrite() // it may be closed already
			}
			return
		}
	}
}

// reset ends a connection without the courtesies.
func reset(c net.Conn) {
	if c, ok := c.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	c.Close()
}
