// Package codexserver talks to the background server of Codex. [Stop] ends what runs there: the turn of each loaded thread, then the
// commands that the turn left in the background. [Attach] shows which approvals a thread waits for, and answers them.
//
// It speaks the protocol of that server, version 0.169: JSON messages over WebSocket, at a socket in the folder of Codex. It starts
// nothing, and it approves only what its caller approves. Only processes of the same user may connect there. Text from the server is as
// it came: callers sanitise it before they print it. In errors it is shortened.
package codexserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// Socket returns the path of the socket below the folder of Codex, CODEX_HOME.
func Socket(codexHome string) string {
	return filepath.Join(codexHome, "app-server-control", "app-server-control.sock")
}

// maxMessage bounds a message of the server, in bytes.
const maxMessage = 4 << 20

// maxThreads bounds how many threads are ended.
const maxThreads = 1000

// Stop ends the turn and the background commands of each thread that the server behind socket has loaded, and returns how many
// threads these are. It takes no longer than ctx allows.
func Stop(ctx context.Context, socket string) (threads int, err error) {
	c, err := dial(ctx, socket, nil)
	if err != nil {
		return 0, fmt.Errorf("connect to the background server of Codex: %w", err)
	}
	defer c.close()
	if err := c.hello(ctx); err != nil {
		return 0, err
	}
	var loaded struct {
		Data []string `json:"data"`
	}
	if err := c.call(ctx, "thread/loaded/list", map[string]any{}, &loaded); err != nil {
		return 0, err
	}
	if len(loaded.Data) > maxThreads {
		loaded.Data = loaded.Data[:maxThreads]
	}
	var work sync.WaitGroup
	failed := make([]error, len(loaded.Data))
	for i, id := range loaded.Data {
		work.Go(func() { failed[i] = c.stop(ctx, id) })
	}
	work.Wait()
	return len(loaded.Data), errors.Join(failed...)
}

// hello introduces this client. The server answers nothing before that.
func (c *client) hello(ctx context.Context) error {
	var info struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	info.Name, info.Title, info.Version = "tutti", "tutti", "0"
	if err := c.call(ctx, "initialize", map[string]any{"clientInfo": info, "capabilities": map[string]any{"experimentalApi": true}}, nil); err != nil {
		return err
	}
	return c.write(map[string]any{"method": "initialized"})
}

// stop ends the turn first: it could start another command. An empty turn id means the turn that runs, if any.
func (c *client) stop(ctx context.Context, thread string) error {
	err := c.call(ctx, "turn/interrupt", map[string]any{"threadId": thread, "turnId": ""}, nil)
	return errors.Join(err, c.call(ctx, "thread/backgroundTerminals/clean", map[string]any{"threadId": thread}, nil))
}

// A client is one connection. Several goroutines may call at once.
type client struct {
	ws   *websocket.Conn
	over chan struct{} // closed when nothing more comes
	said chan message  // what the server says of itself; nil: it is not read

	mu   sync.Mutex // guards what follows, and writing
	last int
	wait map[int]chan answer
}

// A message is what the server says without having been asked: a notification, or, with an ID, a request.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func dial(ctx context.Context, socket string, said chan message) (*client, error) {
	info, err := os.Stat(socket)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); info.Mode()&os.ModeSocket == 0 || !ok || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a socket of this user", socket)
	}
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var to net.Dialer
		return to.DialContext(ctx, "unix", socket)
	}}
	ws, reply, err := d.DialContext(ctx, "ws://localhost/", http.Header{})
	if err != nil {
		if reply != nil {
			err = fmt.Errorf("%w (%s)", err, reply.Status)
		}
		return nil, err
	}
	ws.SetReadLimit(maxMessage)
	if end, ok := ctx.Deadline(); ok {
		_ = ws.SetReadDeadline(end)
		_ = ws.SetWriteDeadline(end)
	}
	c := &client{ws: ws, over: make(chan struct{}), said: said, wait: map[int]chan answer{}}
	go c.read()
	return c, nil
}

// read hands out answers and messages until the connection ends. It ends the connection when its messages are not taken.
func (c *client) read() {
	defer close(c.over)
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			message
			answer
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if m.Method != "" {
			if c.said == nil {
				continue
			}
			select {
			case c.said <- m.message:
				continue
			default:
				return
			}
		}
		id, err := strconv.Atoi(string(m.ID))
		if err != nil {
			continue
		}
		c.mu.Lock()
		to := c.wait[id]
		delete(c.wait, id)
		c.mu.Unlock()
		if to != nil {
			to <- m.answer
		}
	}
}

func (c *client) write(message map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ws.WriteJSON(message)
}

var errOver = errors.New("the server has ended the connection")

// call asks and waits for the answer.
func (c *client) call(ctx context.Context, method string, params map[string]any, result any) error {
	to := make(chan answer, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.wait[id] = to
	c.mu.Unlock()
	if err := c.write(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case a := <-to:
		if a.Error != nil {
			return fmt.Errorf("%s: %.200q (code %d)", method, a.Error.Message, a.Error.Code)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(a.Result, result); err != nil {
			return fmt.Errorf("%s: unknown answer: %w", method, err)
		}
		return nil
	case <-c.over:
		return fmt.Errorf("%s: %w", method, errOver)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

func (c *client) close() {
	c.mu.Lock()
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(100*time.Millisecond))
	c.mu.Unlock()
	_ = c.ws.Close()
	<-c.over
}
