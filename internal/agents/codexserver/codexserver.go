// Package codexserver ends what runs in the background server of Codex: the turn of each loaded thread, then the commands that the
// turn left in the background.
//
// It speaks the protocol of that server, version 0.169: JSON messages over WebSocket, at a socket in the folder of Codex. It starts,
// answers and approves nothing. Only processes of the same user may connect there. Text from the server goes into
// errors only, shortened.
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
	c, err := dial(ctx, socket)
	if err != nil {
		return 0, fmt.Errorf("connect to the background server of Codex: %w", err)
	}
	defer c.close()
	var info struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	info.Name, info.Title, info.Version = "tutti", "tutti", "0"
	if err := c.call(ctx, "initialize", map[string]any{"clientInfo": info, "capabilities": map[string]any{"experimentalApi": true}}, nil); err != nil {
		return 0, err
	}
	if err := c.write(map[string]any{"method": "initialized"}); err != nil {
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

// stop ends the turn first: it could start another command. An empty turn id means the turn that runs, if any.
func (c *client) stop(ctx context.Context, thread string) error {
	err := c.call(ctx, "turn/interrupt", map[string]any{"threadId": thread, "turnId": ""}, nil)
	return errors.Join(err, c.call(ctx, "thread/backgroundTerminals/clean", map[string]any{"threadId": thread}, nil))
}

// A client is one connection. Several goroutines may call at once.
type client struct {
	ws   *websocket.Conn
	over chan struct{} // closed when nothing more comes

	mu   sync.Mutex // guards what follows, and writing
	last int
	wait map[int]chan answer
}

type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func dial(ctx context.Context, socket string) (*client, error) {
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
	c := &client{ws: ws, over: make(chan struct{}), wait: map[int]chan answer{}}
	go c.read()
	return c, nil
}

// read hands out answers until the connection ends. Everything else that the server says is passed over.
func (c *client) read() {
	defer close(c.over)
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			ID     *int
			Method string
			answer
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method != "" {
			continue
		}
		c.mu.Lock()
		to := c.wait[*m.ID]
		delete(c.wait, *m.ID)
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
