package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tutti/internal/core/canonjson"
)

// Options say what a server is. In and Out are required.
type Options struct {
	Name         string // serverInfo
	Version      string
	Instructions string // for the model; left out when empty
	Tools        []Tool // in the order in which they are listed; of two with one name the first counts

	In  io.Reader
	Out io.Writer

	Log      func(line string) // diagnostics, one line each, from any goroutine; nil drops them
	Activity func()            // is called for each line that came in, also for a bad one

	Experimental map[string]any // capabilities.experimental; left out when empty
}

// versions are those that an initialize may ask for. Newer ones work without initialize, and several clients drop a
// server that names one there; they go on when it names the one below.
var versions = []string{"2024-11-05", "2025-03-26", fallback, "2025-11-25"}

const fallback = "2025-06-18"

// A Server serves one client, once.
type Server struct {
	o     Options
	tools map[string]*Tool
	list  []byte    // the result of tools/list
	hello [2][]byte // the result of initialize, before and behind the version
	out   *output
	began atomic.Bool
}

// New makes a server. It reads and writes nothing yet.
func New(o Options) *Server {
	s := &Server{o: o, tools: make(map[string]*Tool, len(o.Tools)), out: newOutput(o.Out)}
	s.introduce()
	s.describe()
	return s
}

// introduce makes the result of initialize. Of the capabilities only tools are named: the SDK would add logging, which
// we do not have.
func (s *Server) introduce() {
	var able, info, all canonjson.Object
	able.Raw("tools", []byte("{}"))
	if len(s.o.Experimental) > 0 {
		raw, err := json.Marshal(s.o.Experimental)
		if err != nil {
			s.log("experimental capabilities: " + err.Error())
		}
		able.Raw("experimental", raw)
	}
	info.Str("name", s.o.Name)
	info.Str("version", s.o.Version)
	all.Raw("serverInfo", info.Bytes())
	all.Raw("capabilities", able.Bytes())
	all.Opt("instructions", s.o.Instructions)
	s.hello = [2][]byte{[]byte(`{"protocolVersion":`), append([]byte{','}, all.Bytes()[1:]...)}
}

// describe makes the result of tools/list.
func (s *Server) describe() {
	list := []byte(`{"tools":[`)
	for i := range s.o.Tools {
		t := &s.o.Tools[i]
		if s.tools[t.Name] != nil {
			s.log(fmt.Sprintf("two tools are called %q", t.Name))
			continue
		}
		s.tools[t.Name] = t
		if t.Unlisted {
			continue
		}
		if list[len(list)-1] != '[' {
			list = append(list, ',')
		}
		list = s.appendTool(list, t)
	}
	s.list = append(list, "]}"...)
}

func (s *Server) appendTool(dst []byte, t *Tool) []byte {
	schema := t.Schema
	if !canonjson.Valid(schema) || !canonjson.IsObject(schema) {
		s.log(fmt.Sprintf("the schema of tool %q is not a JSON object", t.Name))
		schema = []byte(`{"type":"object"}`)
	}
	var hints, o canonjson.Object
	hints.Bool("readOnlyHint", t.ReadOnly)
	hints.Bool("destructiveHint", t.Destructive)
	hints.Bool("idempotentHint", t.Idempotent)
	hints.Bool("openWorldHint", false)
	o.Str("name", t.Name)
	o.Str("description", t.Description)
	o.Raw("inputSchema", schema)
	o.Raw("annotations", hints.Bytes())
	return append(dst, o.Bytes()...)
}

// Spoken is closed when the client can be expected to read what it did not ask for: it has got its first answer, other than
// to a ping, or has said that it is initialized.
func (s *Server) Spoken() <-chan struct{} { return s.out.spoken }

// Notify writes a notification of ours in one line. params is a JSON object, or nil for none. Before Spoken it is
// ErrNotReady, after the end ErrEnded. It may be called from any goroutine, and waits while the client does not read.
func (s *Server) Notify(method string, params []byte) error {
	if params != nil {
		if !canonjson.Valid(params) {
			return fmt.Errorf("notify %s: the params are not valid JSON", method)
		}
		params = canonjson.Compact(params)
	}
	if err := s.out.notify(noteLine(method, params)); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// Run serves until the end of the input or of ctx, which do not count as errors, or a fault of In or Out, which is returned. It may
// be called once. What ended it is followed by the answers that are still to be had; see the package comment for how long.
// The goroutine that reads In, and tools that do not heed the end of their context, may outlive it.
func (s *Server) Run(ctx context.Context) error {
	if s.began.Swap(true) {
		return errors.New("serve: a server runs once")
	}
	c := newConn(s)
	session, err := s.sdk(c).Connect(context.WithoutCancel(ctx), c, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		// A session that has begun: so the SDK lets through what comes before initialize, and a second one.
		InitializeParams: &mcp.InitializeParams{
			ProtocolVersion: fallback,
			Capabilities:    &mcp.ClientCapabilities{},
			ClientInfo:      &mcp.Implementation{},
		},
		NegotiatedProtocolVersion: fallback,
	}})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	go c.pump(s.o.In)
	err = c.serve(ctx)
	s.out.over.Store(true)
	c.finish()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = session.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(50 * time.Millisecond):
	}
	return err
}

// sdk makes the SDK's server. It has no tools: what answers stands before its handlers.
func (s *Server) sdk(c *conn) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: s.o.Name, Version: s.o.Version},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	srv.AddReceivingMiddleware(c.middleware)
	return srv
}

// serve waits for what ends the connection, and for the answers after it.
func (c *conn) serve(ctx context.Context) error {
	select {
	case <-c.out.broken:
	case <-ctx.Done():
		c.leave()
	case <-c.ended:
		c.drain(ctx)
	}
	c.calls.stop()
	if err := c.out.fault(); err != nil {
		return err
	}
	select {
	case <-c.ended:
		return c.fault
	default:
		return nil
	}
}

// drain waits for what is in hand at the end of the input.
func (c *conn) drain(ctx context.Context) {
	idle := c.calls.idle()
	if c.wait(ctx, idle, settle) {
		return
	}
	c.calls.stop()
	if ctx.Err() == nil && c.wait(ctx, idle, patience-settle) {
		return
	}
	if ctx.Err() != nil {
		c.leave()
	}
}

// leave waits for what is in hand at the end of the caller's context.
func (c *conn) leave() {
	c.halt()
	c.calls.stop()
	c.wait(context.Background(), c.calls.idle(), farewell)
}

// wait reports whether the channel was closed, or nothing can be written any more, in time.
func (c *conn) wait(ctx context.Context, idle <-chan struct{}, most time.Duration) bool {
	select {
	case <-idle:
		return true
	case <-c.out.broken:
		return true
	case <-ctx.Done():
	case <-time.After(most):
	}
	return false
}

func (s *Server) log(line string) {
	if s.o.Log != nil {
		s.o.Log(line)
	}
}

// greet is the result of initialize.
func (s *Server) greet(params []byte) []byte {
	v, _ := canonjson.Get(params, "protocolVersion")
	version, _ := canonjson.String(v)
	if !slices.Contains(versions, version) {
		version = fallback
	}
	b := append([]byte(nil), s.hello[0]...)
	b = canonjson.AppendString(b, version)
	return append(b, s.hello[1]...)
}
