package codexserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// A Request is one approval that a thread waits for.
type Request struct {
	ID      string // of the JSON message, as it was sent: one that the server does not use again while it runs
	Thread  string
	Tool    string // Bash, apply_patch or mcp__SERVER__TOOL, as the hooks of Codex name them
	Command string // of Bash; of an MCP tool its arguments as JSON; "" when the server does not say
	Folder  string // in which the command runs; "" when the server does not say
	Reason  string // the model's, or the question of the MCP server
	Whole   bool   // Command is all that a yes grants

	kind kind
}

// A kind is how a request is answered: the member of the answer, and its two values.
type kind struct{ member, allow, deny string }

var (
	decision = kind{"decision", "accept", "decline"}
	action   = kind{"action", "accept", "decline"}
)

// An Attached is a second client on a thread. The screen of Codex goes on to show its dialog, and the first answer wins. It is for one
// goroutine at a time.
type Attached struct {
	c      *client
	thread string
	open   map[string]Request // by id
}

// backlog is how many messages of the server may wait for Next.
const backlog = 1024

// Attach joins a thread of the server behind socket. ctx bounds joining, not what follows.
func Attach(ctx context.Context, socket, thread string) (*Attached, error) {
	c, err := dial(context.WithoutCancel(ctx), socket, make(chan message, backlog))
	if err != nil {
		return nil, fmt.Errorf("connect to the background server of Codex: %w", err)
	}
	err = c.hello(ctx)
	if err == nil {
		err = c.call(ctx, "thread/resume", map[string]any{"threadId": thread, "excludeTurns": true}, nil)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return &Attached{c: c, thread: thread, open: map[string]Request{}}, nil
}

// Close leaves the thread. Requests stay open for its other clients.
func (a *Attached) Close() { a.c.close() }

// Next waits for a change: a request that has been opened, also before this client joined, or one that has been answered by any client.
func (a *Attached) Next(ctx context.Context) (r Request, answered bool, err error) {
	for {
		var m message
		select {
		case m = <-a.c.said:
		case <-a.c.over:
			return Request{}, false, errOver
		case <-ctx.Done():
			return Request{}, false, ctx.Err()
		}
		if m.Method == "serverRequest/resolved" {
			var p struct{ RequestID json.RawMessage }
			if json.Unmarshal(m.Params, &p) != nil {
				continue
			}
			r, known := a.open[string(p.RequestID)]
			if !known {
				continue
			}
			delete(a.open, r.ID)
			return r, true, nil
		}
		if r, ok := read(m); ok && r.Thread == a.thread {
			a.open[r.ID] = r
			return r, false, nil
		}
	}
}

// read reads the requests that ask for an approval. Others ask for a text or a form.
func read(m message) (r Request, ok bool) {
	var p struct {
		ThreadID, Command, Cwd, Reason, ServerName, Message, Kind, Mode string

		AdditionalPermissions, NetworkApprovalContext *json.RawMessage

		Meta struct {
			Tool   string          `json:"tool_name"`
			Params json.RawMessage `json:"tool_params"`
		} `json:"_meta"`
	}
	if len(m.ID) == 0 || json.Unmarshal(m.Params, &p) != nil {
		return Request{}, false
	}
	r = Request{Thread: p.ThreadID, Command: p.Command, Folder: p.Cwd, Reason: p.Reason, ID: string(m.ID), kind: decision}
	switch m.Method {
	case "item/commandExecution/requestApproval":
		r.Tool = "Bash"
		command := p.Kind == "" || p.Kind == "command" // otherwise it is text for a command that runs already
		r.Whole = command && p.Command != "" && p.AdditionalPermissions == nil && p.NetworkApprovalContext == nil
	case "item/fileChange/requestApproval":
		r.Tool = "apply_patch"
	case "mcpServer/elicitation/request":
		r.Tool, r.Reason, r.kind = "mcp__"+p.ServerName+"__"+p.Meta.Tool, p.Message, action
		r.Command = string(p.Meta.Params)
		r.Whole = p.Mode == "form" && r.Command != ""
		return r, p.Meta.Tool != ""
	default:
		return Request{}, false
	}
	return r, true
}

// ErrAnswered reports a request that another client has answered, or that is over.
var ErrAnswered = errors.New("the request is no longer open")

// Answer allows or denies a request. Codex has taken an answer when Next reports the request as answered; a denial does not end the turn.
func (a *Attached) Answer(r Request, allow bool) error {
	if _, open := a.open[r.ID]; !open {
		return ErrAnswered
	}
	value := r.kind.deny
	if allow {
		value = r.kind.allow
	}
	return a.c.write(map[string]any{"id": json.RawMessage(r.ID), "result": map[string]string{r.kind.member: value}})
}
