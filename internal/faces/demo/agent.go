package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is how long one answer or push may take. All of it is a matter of milliseconds; a server that answers nothing
// must be noticed before its user gives up.
const patience = 4 * time.Second

// maxSaid bounds what is kept of the words of a server on standard error.
const maxSaid = 4 << 10

// An agent is one connection to one server process.
type agent struct {
	name    string
	id      string // instance, as the server says
	at      string // its session, likewise
	session *mcp.ClientSession
	pushes  chan push
	said    *tail
	calls   map[string]int // by tool
}

// A push is a notification of the bus.
type push struct {
	Topic string `json:"topic"`
	Data  struct {
		Backlog    bool   `json:"backlog"`
		EnvelopeID string `json:"envelopeId"`
		Peer       struct {
			Instance  string `json:"instance"`
			SessionID string `json:"sessionId"`
		} `json:"peer"`
	} `json:"data"`
	at time.Time
}

// join starts a server for an agent and says hello to it.
func (p *play) join(ctx context.Context, host, name string) *agent {
	return p.start(ctx, name, "--auto-open", "--host", host, "--name", name)
}

// start starts a server with these flags. It is safe for concurrent use.
func (p *play) start(ctx context.Context, name string, flags ...string) *agent {
	cmd := exec.Command(p.Server, append([]string{"mcp-serve", "--root", p.root}, flags...)...)
	cmd.Env, cmd.Dir = p.env, p.home
	a := &agent{name: name, pushes: make(chan push, 64), said: &tail{}, calls: map[string]int{}}
	cmd.Stderr = a.said
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "tutti-demo", Version: p.Version}, nil)
	transport := &tap{Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, to: a.pushes}
	// The version is that of the common clients: newer ones ask the server what it is before they say hello.
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		transport.close()
		check(a.fault(err))
	}
	a.session = session
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents = append(p.agents, a)
	return a
}

// leave ends the connection, and with it the server.
func (a *agent) leave() error {
	if a.session == nil {
		return nil
	}
	err := a.session.Close()
	a.session = nil
	return err
}

// call asks for a tool. The answer is the object that the server gave as text; failed says that the server calls it an
// error.
func (a *agent) call(ctx context.Context, tool string, args map[string]any) (answer map[string]any, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.calls[tool]++
	if args == nil {
		args = map[string]any{}
	}
	r, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		check(a.fault(err))
	}
	if len(r.Content) != 1 {
		check(fmt.Errorf("%s answered with %d pieces of content instead of 1", tool, len(r.Content)))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		check(fmt.Errorf("%s answered with no text", tool))
	}
	if err := json.Unmarshal([]byte(text.Text), &answer); err != nil {
		check(fmt.Errorf("%s: the answer is not a JSON object: %w", tool, err))
	}
	return answer, r.IsError
}

// ask is a call that has to come out well.
func (a *agent) ask(ctx context.Context, tool string, args map[string]any) map[string]any {
	answer, failed := a.call(ctx, tool, args)
	if failed {
		check(fmt.Errorf("%s answered: %s", tool, text(answer, "error")))
	}
	return answer
}

// told waits for a push that a function accepts, and drops those before it.
func (a *agent) told(ctx context.Context, what string, wanted func(*push) bool) *push {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case n := <-a.pushes:
			if wanted(&n) {
				return &n
			}
		case <-ctx.Done():
			check(a.fault(fmt.Errorf("%s was not told that %s", a.name, what)))
		}
	}
}

// silent drops the pushes that have come and reports how many.
func (a *agent) silent() (n int) {
	for {
		select {
		case <-a.pushes:
			n++
		default:
			return n
		}
	}
}

// fault adds the last words of the server to an error.
func (a *agent) fault(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", patience)
	}
	if said := strings.TrimSpace(a.said.String()); said != "" {
		return fmt.Errorf("%w (its server said: %s)", err, said)
	}
	return err
}

// A tap is a transport that takes the pushes of the bus out of what comes in: the client knows no such notification.
type tap struct {
	mcp.Transport
	to   chan<- push
	open mcp.Connection
}

func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.open = c
	return &tapped{Connection: c, to: t.to}, nil
}

// close ends the server of a connection that the client did not come to have.
func (t *tap) close() {
	if t.open != nil {
		_ = t.open.Close() // that it failed is known already
	}
}

type tapped struct {
	mcp.Connection
	to chan<- push
}

func (c *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		r, ok := m.(*jsonrpc.Request)
		if err != nil || !ok || r.Method != "notifications/h2a" {
			return m, err
		}
		n := push{at: time.Now()}
		if err := json.Unmarshal(r.Params, &n); err != nil {
			return nil, fmt.Errorf("a push that is not valid JSON: %w", err)
		}
		select {
		case c.to <- n:
		default: // the play waits for none of these
		}
	}
}

// A tail keeps the first words that are written to it. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxSaid - t.buf.Len(); room > 0 {
		t.buf.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
