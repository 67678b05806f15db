package drill

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// further is how many calls the model still makes after the halt. A CLI whose hooks do not fire runs all of them.
const further = 6

// maxRequest bounds a request that is read, in bytes. The system prompts of the CLIs have some hundred kilobytes.
const maxRequest = 16 << 20

// A model is a language model on a port of this machine that calls one tool again and again.
type model struct {
	tool   string
	call   func(n int) any // the arguments of a call: no two are alike, because Gemini CLI ends a turn that repeats itself
	server *http.Server
	url    string

	mu     sync.Mutex // guards what follows
	calls  int
	halted bool
	after  int // calls since the halt
	over   bool
}

func serve(tool string, call func(n int) any) (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{tool: tool, call: call, url: "http://127.0.0.1:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

func (m *model) close() {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if m.server.Shutdown(ctx) != nil {
		_ = m.server.Close()
	}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, ok := ProtocolOf(r)
	if !ok {
		_, _ = io.WriteString(w, `{"input_tokens":1,"totalTokens":1}`) // it counts tokens, or looks whether anybody is there
		return
	}
	next, n := Move{Say: `{"title":"drill"}`}, 0 // without tools it is a question beside the conversation, as for a title
	if bytes.Contains(raw, []byte(`"`+m.tool+`"`)) {
		next, n = m.next()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer(w, next, n)
}

func (m *model) next() (Move, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted && m.after == further || m.calls == maxCalls {
		m.over = true
		return Move{Say: "done"}, m.calls
	}
	if m.calls++; m.halted {
		m.after++
	}
	return Move{Tool: m.tool, Args: m.call(m.calls)}, m.calls
}

// maxCalls ends a loop that was never halted.
const maxCalls = 100

// halt says that the switch is on.
func (m *model) halt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.halted = true
}

// ended tells whether the model has nothing more to say.
func (m *model) ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}
