//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"tutti/internal/attention/drill"
)

// A model is a language model that follows a script, on a port of this machine. It speaks the four protocols that the agent
// programs speak, so that each can be brought to call a tool without an account and without a network.
type model struct {
	t      *testing.T
	script script
	http   *httptest.Server

	mu    sync.Mutex
	turns []turn
	other []string // requests that are no turn: path and what was answered
}

// A turn is one request for the next words of a conversation, whatever protocol it came by.
type turn struct {
	offered []string // the tools, by the names under which the model calls them
	done    []exchange
	raw     []byte
}

// gist is the end of what it was asked, for the log of a test that failed.
func (t turn) gist() string {
	last := t.raw[max(0, len(t.raw)-600):]
	return fmt.Sprintf("%d tools offered, calls done %v, and at the end %s", len(t.offered), t.done, last)
}

// An exchange is a call that the model made before, and what the program says came of it.
type exchange struct{ tool, text string }

// A move is what the model answers: a call, or words, with which the conversation ends.
type move struct {
	tool string
	args any
	say  string
}

type script func(turn) move

// A dialect reads the requests of one protocol and writes its answers.
type dialect struct {
	read  func(raw []byte) (turn, error)
	write drill.Protocol
}

func newModel(t *testing.T, s script) *model {
	m := &model{t: t, script: s}
	m.http = httptest.NewServer(m)
	t.Cleanup(m.http.Close)
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d, ok := dialectOf(r)
	if !ok {
		m.note(r.Method + " " + r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "count_tokens") || strings.HasSuffix(r.URL.Path, ":countTokens") {
			_, _ = io.WriteString(w, `{"input_tokens":1,"totalTokens":1}`)
			return
		}
		http.NotFound(w, r)
		return
	}
	t, err := d.read(raw)
	if err != nil {
		m.t.Errorf("model: %s: %v\n%s", r.URL.Path, err, raw)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t.raw = raw
	next := move{say: `{"title":"a talk"}`} // without tools it is a question beside the conversation, as for a title
	if len(t.offered) > 0 {
		m.mu.Lock()
		m.turns = append(m.turns, t)
		m.mu.Unlock()
		next = m.script(t)
	} else {
		m.note(r.URL.Path + " without tools")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	d.write(w, drill.Move{Tool: next.tool, Args: next.args, Say: next.say}, len(t.done))
}

func dialectOf(r *http.Request) (dialect, bool) {
	write, ok := drill.ProtocolOf(r)
	if !ok {
		return dialect{}, false
	}
	read := readGemini
	switch r.URL.Path {
	case "/v1/messages":
		read = readMessages
	case "/v1/responses":
		read = readResponses
	case "/v1/chat/completions":
		read = readChat
	}
	return dialect{read, write}, true
}

func (m *model) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.other = append(m.other, what)
}

// seen is the turns so far.
func (m *model) seen() []turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// result is what the model was told of its last call of a tool.
func (m *model) result(tool string) (string, bool) {
	turns := m.seen()
	if len(turns) == 0 {
		return "", false
	}
	return turns[len(turns)-1].result(tool)
}

func (t turn) result(tool string) (string, bool) {
	for n := len(t.done) - 1; n >= 0; n-- {
		if t.done[n].tool == tool {
			return t.done[n].text, true
		}
	}
	return "", false
}

// words is the text in a member that is a string, or a list of parts with texts.
func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

type object = map[string]any
