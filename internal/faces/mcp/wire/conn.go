package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tutti/internal/core/canonjson"
)

// A conn is the connection that the SDK works on. Read and Write are called by the SDK; Read by one goroutine only.
type conn struct {
	server *Server
	out    *output
	calls  *calls

	lines chan inputLine
	fault error         // of the input; nil at its plain end. Set before lines is closed
	ended chan struct{} // closed when everything before the end of the input has been handed on
	stop  chan struct{} // closed when no more lines are to be taken
	quit  chan struct{} // closed when the SDK is to see the end

	halt   func() // closes stop
	finish func() // closes quit

	last *call // the request before; only Read has it
}

type inputLine struct {
	text []byte
	long bool
}

func newConn(s *Server) *conn {
	c := &conn{
		server: s,
		out:    s.out,
		calls:  newCalls(),
		lines:  make(chan inputLine),
		ended:  make(chan struct{}),
		stop:   make(chan struct{}),
		quit:   make(chan struct{}),
	}
	c.halt = sync.OnceFunc(func() { close(c.stop) })
	c.finish = sync.OnceFunc(func() { close(c.quit) })
	return c
}

// Connect implements mcp.Transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *conn) Close() error {
	c.finish()
	return nil
}

// pump reads the input. It is a goroutine of its own because reading cannot be interrupted: after the end of a connection
// it stays until the input gives something or ends.
func (c *conn) pump(in io.Reader) {
	defer close(c.lines)
	r := newLineReader(in, MaxLine)
	for {
		text, long, err := r.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.fault = fmt.Errorf("read input: %w", err)
			}
			return
		}
		select {
		case c.lines <- inputLine{text, long}:
		case <-c.stop:
			return
		case <-c.quit:
			return
		}
	}
}

// Read implements mcp.Connection: it returns the next message for the SDK, and deals with all others itself.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				close(c.ended)
				<-c.quit
				return nil, io.EOF
			}
			if m, err := c.take(line); m != nil || err != nil {
				return m, err
			}
		case <-c.stop:
			<-c.quit
			return nil, io.EOF
		case <-c.quit:
			return nil, io.EOF
		}
	}
}

// take deals with a line: it answers it, or returns what the SDK has to do. An error is one of the output.
func (c *conn) take(line inputLine) (jsonrpc.Message, error) {
	if f := c.server.o.Activity; f != nil {
		f()
	}
	if line.long {
		return nil, c.refuse(nil, codeParse, "Parse error", fmt.Sprintf("the line has more than %d bytes", MaxLine))
	}
	m, k := classify(line.text)
	switch k {
	case kindNote:
		c.note(m)
	case kindRequest:
		return c.request(m, len(line.text))
	case kindParse:
		return nil, c.refuse(nil, codeParse, "Parse error", why(line.text))
	case kindInvalid:
		return nil, c.refuse(m.id, codeInvalid, "Invalid Request", "")
	case kindUnknown:
		return nil, c.refuse(m.id, codeUnknown, unknownMethod(m.method), "")
	}
	return nil, nil
}

// refuse answers a line with an error, when its turn has come.
func (c *conn) refuse(id []byte, code int, text, data string) error {
	c.turn()
	if id == nil {
		id = []byte("null")
	}
	return c.out.reply(failureLine(id, code, text, data))
}

// request takes a request in hand, when its turn has come, and returns what the SDK has to do for it. A call for which there is no room is
// answered at once: if reading waited instead, the client could not cancel one of the others.
func (c *conn) request(m message, size int) (jsonrpc.Message, error) {
	c.turn()
	k := &call{id: m.id, method: m.method, params: m.params, size: size}
	if !c.calls.add(k) {
		result, _ := envelop(k.method, nil, Error(fmt.Sprintf("%d calls are in progress; wait for an answer, or cancel one", maxCalls)))
		return nil, c.out.reply(resultLine(m.id, result))
	}
	c.last = k
	id, err := jsonrpc.MakeID(float64(k.number))
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{ID: id, Method: carrier(k.method), Extra: &k.extra}, nil
}

// carrier is the method that the SDK gets, without params. For those that must have params it would make a decoder of
// 64 KiB to read an empty object; the middleware goes by the method of the call.
func carrier(method string) string {
	if method == methodPing {
		return method
	}
	return methodList
}

// turn waits until the request before has been answered, for a tool call not longer than until it has run for grace, and until it is on
// record what the client has got.
func (c *conn) turn() {
	c.before()
	for _, over := range c.calls.recorded() {
		select {
		case <-over:
		case <-c.stop:
		case <-c.quit:
		}
	}
}

// before waits for the request before.
func (c *conn) before() {
	k := c.last
	c.last = nil
	if k == nil {
		return
	}
	select {
	case <-k.done:
		return
	default:
	}
	var enough <-chan time.Time
	if k.method == methodCall {
		enough = time.After(grace - time.Since(k.begun))
	}
	select {
	case <-k.done:
	case <-enough:
	case <-c.quit:
	}
}

// note deals with a notification.
func (c *conn) note(m message) {
	switch m.method {
	case noteInitialized:
		c.out.ready()
	case noteCancelled:
		if id, ok := canonjson.Get(m.params, "requestId"); ok {
			c.calls.forget(id)
		}
	}
}

// Write implements mcp.Connection: it puts the answer to a request on the wire.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if !ok { // the SDK sends nothing of its own to a client without capabilities
		line, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return fmt.Errorf("encode message: %w", err)
		}
		return c.out.reply(append(line, '\n'))
	}
	n, _ := r.ID.Raw().(int64)
	k := c.calls.numbered(n)
	if k == nil {
		return nil
	}
	defer c.calls.remove(k)
	if !c.calls.wanted(k) {
		return nil
	}
	if k.sent != nil {
		c.calls.sends(k)
	}
	if err := c.out.answer(k, c.answer(k, r)); err != nil {
		return err
	}
	c.sent(k)
	return nil
}

func (c *conn) answer(k *call, r *jsonrpc.Response) []byte {
	switch {
	case r.Error != nil:
		c.server.log("internal error in " + k.method + ": " + r.Error.Error())
		return failureLine(k.id, codeInternal, "Internal error: "+r.Error.Error(), "")
	case k.result != nil:
		return resultLine(k.id, k.result)
	}
	return resultLine(k.id, r.Result)
}
