package codexserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// fake answers like the background server of Codex. Methods in fail get an error, methods in mute no answer.
type fake struct {
	socket     string
	fail, mute []string
	asks       []map[string]any // said to a client that joins a thread

	mu   sync.Mutex
	said []string // "method thread turn"
}

func serve(t *testing.T, f *fake) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f.socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(f.talk)}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
}

func (f *fake) talk(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	for {
		_, raw, err := ws.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			ID     *int
			Method string
			Params struct{ ThreadID, TurnID *string }
			Result json.RawMessage
		}
		_ = json.Unmarshal(raw, &m)
		said := m.Method
		if m.Result != nil {
			said = fmt.Sprintf("%d %s", *m.ID, m.Result)
		}
		if m.Params.ThreadID != nil {
			said += " " + *m.Params.ThreadID
		}
		if m.Params.TurnID != nil {
			said += " turn=" + *m.Params.TurnID
		}
		f.mu.Lock()
		f.said = append(f.said, said)
		f.mu.Unlock()
		_ = ws.WriteJSON(map[string]any{"method": "thread/status/changed", "params": map[string]any{}})
		switch {
		case m.Result != nil:
			_ = ws.WriteJSON(map[string]any{"method": "serverRequest/resolved", "params": map[string]any{"threadId": "t1", "requestId": *m.ID}})
		case m.ID == nil || slices.Contains(f.mute, m.Method):
		case slices.Contains(f.fail, m.Method):
			_ = ws.WriteJSON(map[string]any{"id": *m.ID, "error": map[string]any{"code": -32600, "message": "no\x1b[31m"}})
		case m.Method == "thread/loaded/list":
			_ = ws.WriteJSON(map[string]any{"id": *m.ID, "result": map[string]any{"data": []string{"t1", "t2"}}})
		default:
			_ = ws.WriteJSON(map[string]any{"id": *m.ID, "result": map[string]any{}})
		}
		if m.Method == "thread/resume" {
			for _, ask := range f.asks {
				_ = ws.WriteJSON(ask)
			}
		}
	}
}

func TestStopEndsTurnsAndCommands(t *testing.T) {
	f := &fake{}
	serve(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	n, err := Stop(ctx, f.socket)
	if n != 2 || err != nil {
		t.Fatalf("got %d threads, %v", n, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, want := range []string{
		"turn/interrupt t1 turn=", "turn/interrupt t2 turn=", "thread/backgroundTerminals/clean t1", "thread/backgroundTerminals/clean t2",
	} {
		if !slices.Contains(f.said, want) {
			t.Errorf("the server did not hear %q: %q", want, f.said)
		}
	}
	for _, id := range []string{"t1", "t2"} {
		if slices.Index(f.said, "turn/interrupt "+id+" turn=") > slices.Index(f.said, "thread/backgroundTerminals/clean "+id) {
			t.Errorf("the commands of %s were ended before its turn: %q", id, f.said)
		}
	}
}

// TestStopAfterFailedInterrupt: a turn that cannot be ended does not keep its commands alive.
func TestStopAfterFailedInterrupt(t *testing.T) {
	f := &fake{fail: []string{"turn/interrupt"}}
	serve(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := Stop(ctx, f.socket); err == nil {
		t.Error("no error")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.said, "thread/backgroundTerminals/clean t2") {
		t.Errorf("said %q", f.said)
	}
}

func TestStopTimeout(t *testing.T) {
	f := &fake{mute: []string{"turn/interrupt"}}
	serve(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := Stop(ctx, f.socket); err == nil {
		t.Error("no error of a server that does not answer")
	}
	if _, err := Stop(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error where there is no socket")
	}
}
