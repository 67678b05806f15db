package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The sizes of the rows about hooks.
const (
	hooks  = 200 // timed calls of a round
	unread = 10
)

func hookRows() []row {
	all := []row{
		{work: "a hook with no mail, whole process", target: timesBase(2.5), round: quietHook},
		{work: "the hook before an edit without a lease, whole process", target: timesBase(2.5), round: editHook(false)},
		{work: "the same while another agent has a lease on the file, against a start of `tutti-full`", target: timesBase(2), round: editHook(true)},
		{work: "a hook with ten unread messages, whole process", target: timesBase(4), round: tellingHook},
	}
	for i := range all {
		all[i].subject = "hook"
	}
	return all
}

var agentOfCodex = regexp.MustCompile(`codex:[A-Za-z0-9._-]+:[0-9a-f]+`)

// A listener is a conversation of an agent whose server runs, and what its program says when a tool was used.
type listener struct {
	*town
	server *connection
	input  *os.File
}

func (e *env) listen() (*listener, error) {
	t, err := e.settle("hook", "mcp-serve")
	if err != nil {
		return nil, err
	}
	l := &listener{town: t}
	if l.server, err = t.connect("", "--auto-open", "--host", "codex"); err != nil {
		t.leave()
		return nil, err
	}
	err = errors.Join(l.server.hello(), l.server.ask("tools/call", map[string]any{
		"name": "tutti_status", "arguments": map[string]any{}, "_meta": map[string]any{"threadId": "01997"}, // as Codex names it
	}))
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.to = agentOfCodex.FindString(l.server.answer); l.to == "" { // each conversation is an agent of its own
		return nil, errors.Join(fmt.Errorf("no agent in %s", l.server.answer), l.close())
	}
	l.box = filepath.Join(l.root, "inbox", strings.ReplaceAll(l.to, ":", "__"))
	for _, event := range []string{"SessionStart", "PostToolUse"} {
		path := filepath.Join(t.dir, event+".json")
		text := fmt.Sprintf(`{"session_id":"01997","transcript_path":"/t.jsonl","cwd":%q,"hook_event_name":%q,"tool_name":"Bash"}`, t.dir, event)
		if err = os.WriteFile(path, []byte(text), 0o600); err == nil {
			l.input, err = os.Open(path)
		}
		if err == nil {
			err = l.hook(event)
		}
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

// hook calls the hook as its program would.
func (l *listener) hook(event string) error {
	cmd := l.command("", "hook", "codex", event)
	cmd.Stdin = l.input
	out, err := cmd.CombinedOutput()
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("hook %s without mail printed %q", event, out)
	}
	return err
}

// timedHook is the hook after a tool, to be timed.
func (l *listener) timedHook(null *os.File) part {
	c := l.timed("", "hook", "codex", "PostToolUse")
	return func(int) (time.Duration, error) {
		if _, err := l.input.Seek(0, 0); err != nil {
			return 0, err
		}
		c.in = l.input
		return c.time(null)
	}
}

func (l *listener) close() error {
	err := l.server.end()
	if l.input != nil {
		err = errors.Join(err, l.input.Close())
	}
	l.leave()
	return err
}

func quietHook(e *env) (m measured, err error) {
	l, err := e.listen()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	settleDown()
	null, err := devNull()
	if err != nil {
		return m, err
	}
	defer null.Close()
	return inTurns(e.ctx, hooks, l.timedHook(null), process(l.bare(), null))
}

func (l *listener) bare() command {
	return command{path: l.e.floor, env: l.as(""), dir: l.dir}
}

// tellingHook: what a hook has printed it does not print again, so what is known of it is undone before each.
func tellingHook(e *env) (m measured, err error) {
	l, err := e.listen()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.fill(unread); err != nil {
		return m, err
	}
	settleDown()
	trail := filepath.Join(l.root, "trail", strings.ReplaceAll(l.to, ":", "__")+".jsonl")
	notes, err := filepath.Glob(filepath.Join(l.dir, ".local/state/tutti/hooks/[0-9a-f]*"))
	if err != nil || len(notes) != 1 {
		return m, fmt.Errorf("notes of one conversation: %q, %w", notes, err)
	}
	undo, err := keepFiles(append(notes, trail))
	if err != nil {
		return m, err
	}
	null, err := devNull()
	if err != nil {
		return m, err
	}
	defer null.Close()
	hook := l.timedHook(null)
	work := func(i int) (time.Duration, error) {
		took, err := hook(i)
		if now, e := os.ReadFile(trail); e == nil && !strings.Contains(string(now), `"result":"hook"`) {
			err = errors.Join(err, errors.New("the hook said nothing"))
		}
		return took, errors.Join(err, undo())
	}
	return inTurns(e.ctx, hooks, work, process(l.bare(), null))
}

// keepFiles returns what brings files back to what they are now.
func keepFiles(paths []string) (undo func() error, err error) {
	kept := make([][]byte, len(paths))
	for i, path := range paths {
		if kept[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return func() error {
		for i, path := range paths {
			if err := os.WriteFile(path, kept[i], 0o600); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// editHook is the hook that is called before each change of a file: on a bus where nobody has ever taken a lease, or of one that is leased.
// There tutti-full answers, once tutti has seen that it must be asked.
func editHook(leased bool) func(e *env) (measured, error) {
	return func(e *env) (m measured, err error) {
		t, err := e.settle("hook", "lease take")
		if err != nil {
			return m, err
		}
		defer t.leave()
		inputs, err := t.editInputs()
		for _, f := range inputs {
			defer f.Close()
		}
		if err != nil {
			return m, err
		}
		start := t.command("", "hook", "claude", "SessionStart")
		start.Stdin = inputs["SessionStart"]
		if out, err := start.CombinedOutput(); err != nil {
			return m, fmt.Errorf("hook SessionStart: %w: %s", err, out)
		}
		bare := command{path: e.floor, env: t.as(""), dir: t.dir}
		if leased {
			if _, err := t.run(t.to, "lease", "take", "a.go"); err != nil {
				return m, err
			}
			bare = command{path: e.full(), args: []string{"version"}, env: t.as(""), dir: t.dir}
		}
		null, err := devNull()
		if err != nil {
			return m, err
		}
		defer null.Close()
		c := t.timed("", "hook", "claude", "PreToolUse")
		c.in = inputs["PreToolUse"]
		m, err = inTurns(e.ctx, hooks, func(int) (time.Duration, error) {
			if _, err := c.in.Seek(0, 0); err != nil {
				return 0, err
			}
			return c.time(null)
		}, process(bare, null))
		return m, errors.Join(err, t.warns(c.in, leased))
	}
}

// warns makes sure that what was timed did what it was to do.
func (t *town) warns(input *os.File, leased bool) error {
	if _, err := input.Seek(0, 0); err != nil {
		return err
	}
	cmd := t.command("", "hook", "claude", "PreToolUse")
	cmd.Stdin = input
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), "is reserved by "+t.to) != leased {
		err = fmt.Errorf("the hook before an edit said %q", out)
	}
	return err
}

// editInputs are what Claude Code writes when a conversation begins, and before it changes a file.
func (t *town) editInputs() (map[string]*os.File, error) {
	inputs := map[string]*os.File{}
	for _, event := range []string{"SessionStart", "PreToolUse"} {
		path := filepath.Join(t.dir, event+".json")
		text := fmt.Sprintf(`{"session_id":"01997","cwd":%q,"hook_event_name":%q,"tool_name":"Edit","tool_input":{"file_path":"%s/a.go"}}`, t.dir, event, t.dir)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return inputs, err
		}
		f, err := os.Open(path)
		if err != nil {
			return inputs, err
		}
		inputs[event] = f
	}
	return inputs, nil
}
