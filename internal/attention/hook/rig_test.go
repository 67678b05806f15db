package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// A rig is a user's home with a bus in it, the clock and the halt switch in hand.
type rig struct {
	t    *testing.T
	home string
	dir  string
	w    *app.World
	post *mail.Service
	bob  *identity.Speaker

	waits func(ctx context.Context, i address.Instance) ([]todo.Item, error)

	mu     sync.Mutex // guards what follows
	clock  time.Time
	halted bool
	memory halt.Entry
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	g := &rig{t: t, home: home, dir: filepath.Join(home, "api"), clock: time.Now()}
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := g.app(g.dir, "").Join(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	g.w, g.post = w, g.office(w)
	g.bob = g.agent("codex", "bob")
	return g
}

func (g *rig) app(dir, root string) *app.App {
	return app.New(app.Settings{Home: g.home, Dir: dir, Root: root, Getenv: func(string) string { return "" }, Maker: "test"})
}

func (g *rig) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

// later lets time pass. The clock of the files goes on meanwhile, and this one is never behind it.
func (g *rig) later(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clock = g.clock.Add(d); g.clock.Before(time.Now().Add(time.Second)) {
		g.clock = time.Now().Add(time.Second)
	}
}

// halt raises or clears the switch.
func (g *rig) halt(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on && !g.halted {
		g.memory.Count++
		g.memory.Seen = g.clock
	}
	g.halted, g.memory.Open = on, on
	g.clock = g.clock.Add(time.Second)
}

func (g *rig) state() halt.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return halt.State{Halted: g.halted, Reason: "disk check", By: "ana", Since: g.memory.Seen, Path: "/x"}
}

func (g *rig) remembered() (halt.Entry, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memory, nil
}

func (g *rig) office(w *app.World) *mail.Service {
	o, err := w.MailService()
	if err != nil {
		g.t.Fatal(err)
	}
	o.Now, o.Memory = g.now, g.remembered
	o.Halted = func(action string) error {
		if s := g.state(); s.Halted {
			return s.Err(action)
		}
		return nil
	}
	return o
}

func (g *rig) agent(host, name string) *identity.Speaker {
	g.t.Helper()
	r, err := g.w.Connect(g.t.Context(), identity.Request{
		Host: host, Name: name, Session: name, Place: identity.Workplace{Path: g.t.TempDir(), Machine: "m"},
	}, g.now())
	if err != nil {
		g.t.Fatal(err)
	}
	return &identity.Speaker{Instance: r.Instance, Role: identity.RoleAgent, Scope: identity.DefaultScope}
}

func (g *rig) send(to address.Instance, text string) string {
	g.t.Helper()
	r, err := g.post.Send(g.t.Context(), mail.Draft{From: g.bob, To: to, Text: text})
	if err != nil {
		g.t.Fatal(err)
	}
	return r.ID
}

// put lays a message into a mailbox as a program of another maker would. What is "" is as usual.
func (g *rig) put(to address.Instance, from, id, kind, via, text string) {
	g.t.Helper()
	var o, actor, body canonjson.Object
	actor.Str("instance", cmp.Or(from, "codex:mallory:000000000000"))
	actor.Str("role", envelope.Roles[3])
	actor.Str("scope", "repo")
	body.Str("kind", cmp.Or(kind, "message"))
	body.Str("text", text)
	body.Opt("via", via)
	o.Str("protocol", envelope.Protocol)
	o.Str("version", envelope.Version)
	o.Str("id", cmp.Or(id, "env:1"))
	o.Str("type", "event")
	o.Raw("actor", actor.Bytes())
	o.Str("createdAt", envelope.Stamp(g.now()))
	o.Raw("body", body.Bytes())
	dir := filepath.Join(g.home, "h2a-workspace/.h2a/inbox", to.Mailbox())
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "foreign.json"), o.Bytes(), 0o600)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) statedir() string { return filepath.Join(g.home, ".local/state/tutti") }

func (g *rig) options(host, event, input string, out io.Writer) Options {
	d, ok := driver.Get(host)
	if !ok {
		g.t.Fatalf("no driver %q", host)
	}
	return Options{
		Driver: d, Event: event, Input: []byte(input), Env: func(string) string { return "" }, State: g.statedir(),
		Out: out, Now: g.now, Switch: g.state, Memory: g.remembered, Warner: WarnHere(),
		Open: func(ctx context.Context, p BusChoice) (*Bus, error) {
			a := g.app(g.dir, p.Root)
			var w *app.World
			var err error
			if p.Root != "" {
				w, err = a.World(app.Writing)
			} else {
				w, err = a.Join(ctx, func(string) {})
			}
			if err != nil {
				return nil, err
			}
			return &Bus{
				Root: w.Root.Path, Office: g.office(w), Close: w.Close, Leases: w.Leases(), Waits: g.waits,
				Bound: func(ctx context.Context, c string) (address.Instance, error) { return w.Identity.Bound(ctx, host, c) },
				Connect: func(ctx context.Context, c string) (address.Instance, string, error) {
					r, err := w.Connect(ctx, identity.Request{Host: host, Session: c, Place: identity.Workplace{Path: g.dir, Machine: "m"}}, g.now())
					if err != nil {
						return "", "", err
					}
					return r.Instance, r.Notice, nil
				},
			}, nil
		},
	}
}

// fire runs a hook and returns the text for the model, and whether one more turn was asked for.
func (g *rig) fire(host, event, conversation string, again bool) (text string, turn bool) {
	g.t.Helper()
	var out bytes.Buffer
	if err := Run(g.t.Context(), g.options(host, event, input(event, conversation, again), &out)); err != nil {
		g.t.Fatalf("%s %s: %v", host, event, err)
	}
	return answer(g.t, out.Bytes())
}

func answer(t *testing.T, raw []byte) (text string, turn bool) {
	t.Helper()
	if len(raw) == 0 {
		return "", false
	}
	if len(raw) > MaxAnswer {
		t.Errorf("the answer has %d bytes, want at most %d", len(raw), MaxAnswer)
	}
	if err := canonjson.Check(raw); err != nil {
		t.Fatalf("the answer is not valid JSON: %v\n%s", err, raw)
	}
	if text = denied(raw); text != "" {
		return text, false
	}
	if d, ok := canonjson.Get(raw, "decision"); ok {
		if !canonjson.Is(d, "block") {
			t.Errorf("decision: %s", d)
		}
		v, _ := canonjson.Get(raw, "reason")
		text, _ = canonjson.String(v)
		return text, true
	}
	v, _ := canonjson.Get(raw, "hookSpecificOutput")
	v, _ = canonjson.Get(v, "additionalContext")
	if text, _ = canonjson.String(v); text == "" {
		t.Errorf("an answer without a text: %s", raw)
	}
	return text, false
}

// denied is the reason in an answer that stops the agent, "" in others.
func denied(raw []byte) string {
	begins := func(text string) bool {
		for _, with := range []string{"tutti: halted", "tutti: the halt switch", "tutti: all agents were halted. ", endedLine + ". Your"} {
			if strings.HasPrefix(text, with) {
				return true
			}
		}
		return false
	}
	for _, path := range [][]string{
		{"stopReason"}, {"reason"}, {"hookSpecificOutput", "permissionDecisionReason"}, {"hookSpecificOutput", "decision", "message"},
	} {
		v, ok := raw, true
		for _, name := range path {
			if ok {
				v, ok = canonjson.Get(v, name)
			}
		}
		if text, _ := canonjson.String(v); ok && begins(text) {
			return text
		}
	}
	return ""
}

// input is what a program writes, with the members that were seen on the real ones.
func input(event, conversation string, again bool) string {
	var o canonjson.Object
	o.Str("session_id", conversation)
	o.Str("transcript_path", "/home/ana/.x/"+conversation+".jsonl")
	o.Str("cwd", "/nowhere")
	o.Str("hook_event_name", event)
	switch event {
	case "SessionStart":
		o.Str("source", "startup")
	case "UserPromptSubmit", "BeforeAgent":
		o.Str("prompt", "go on")
	case "PostToolUse", "AfterTool":
		o.Str("tool_name", "Bash")
		o.Raw("tool_input", []byte(`{"command":"ls"}`))
	case "Stop", "AfterAgent":
		o.Bool("stop_hook_active", again)
		o.Str("last_assistant_message", "done")
	case "Notification":
		o.Str("notification_type", "ToolPermission")
	case "SessionEnd":
		o.Str("reason", "other")
	}
	return string(o.Bytes())
}

// whose is the agent of a conversation, which is begun for that.
func (g *rig) whose(host, conversation string) address.Instance {
	g.t.Helper()
	if text, _ := g.fire(host, startOf(host), conversation, false); text != "" {
		g.t.Fatalf("a conversation without mail begins with %q", text)
	}
	i, err := g.w.Identity.Bound(g.t.Context(), host, conversation)
	if err != nil || i == "" {
		g.t.Fatalf("the conversation is bound to %q, %v", i, err)
	}
	return i
}

func startOf(host string) string { return eventOf(host, driver.Start) }

func eventOf(host string, m driver.Moment) string {
	d, _ := driver.Get(host)
	for _, e := range d.Hooks.Events {
		if e.Moment == m {
			return e.Name
		}
	}
	return ""
}

func (g *rig) stateOf(i address.Instance, id string) mailbox.State {
	g.t.Helper()
	all, err := g.post.Mail.State(g.t.Context(), i, []string{id})
	if err != nil {
		g.t.Fatal(err)
	}
	return all[id]
}

var errPipe = errors.New("the reader is gone")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("got  %q\nwant a %q in it", text, w)
		}
	}
}
