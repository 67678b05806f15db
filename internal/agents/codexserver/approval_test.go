package codexserver

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func request(id int, method string, params map[string]any) map[string]any {
	return map[string]any{"id": id, "method": method, "params": params}
}

// TestAttachShowsAndAnswers: each kind of request is shown and answered in its own form. What is of another thread, or asks for a form, is
// neither shown nor answered.
func TestAttachShowsAndAnswers(t *testing.T) {
	f := &fake{asks: []map[string]any{
		request(3, "item/commandExecution/requestApproval", map[string]any{"threadId": "other", "command": "rm x"}),
		request(4, "mcpServer/elicitation/request", map[string]any{"threadId": "t1", "serverName": "s", "message": "your name?"}),
		request(7, "item/commandExecution/requestApproval", map[string]any{"threadId": "t1", "command": "touch a", "cwd": "/w", "reason": "r", "additionalPermissions": nil}),
		request(8, "item/fileChange/requestApproval", map[string]any{"threadId": "t1", "reason": "p"}),
		request(9, "mcpServer/elicitation/request", map[string]any{"threadId": "t1", "serverName": "s", "message": "m", "mode": "form", "_meta": map[string]any{"tool_name": "echo", "tool_params": map[string]any{"a": 1}}}),
	}}
	serve(t, f)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	a, err := Attach(ctx, f.socket, "t1")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var all []Request
	for range 3 {
		r, answered, err := a.Next(ctx)
		if err != nil || answered {
			t.Fatalf("%+v %v %v", r, answered, err)
		}
		all = append(all, r)
	}
	tools := []string{all[0].Tool, all[1].Tool, all[2].Tool}
	if !slices.Equal(tools, []string{"Bash", "apply_patch", "mcp__s__echo"}) || all[0].Command != "touch a" || all[0].Folder != "/w" || all[2].Reason != "m" ||
		all[2].Command != `{"a":1}` || !all[0].Whole || all[1].Whole || !all[2].Whole {
		t.Errorf("got %+v", all)
	}
	for n, r := range all {
		if err := a.Answer(r, n != 0); err != nil {
			t.Fatal(err)
		}
		if done, answered, err := a.Next(ctx); done.ID != r.ID || !answered || err != nil {
			t.Errorf("%+v %v %v", done, answered, err)
		}
		if err := a.Answer(r, true); !errors.Is(err, ErrAnswered) {
			t.Errorf("a second answer: %v", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, want := range []string{`7 {"decision":"decline"}`, `8 {"decision":"accept"}`, `9 {"action":"accept"}`} {
		if !slices.Contains(f.said, want) {
			t.Errorf("the server did not hear %s: %q", want, f.said)
		}
	}
	if slices.ContainsFunc(f.said, func(s string) bool { return s[0] == '3' || s[0] == '4' }) {
		t.Errorf("another request was answered: %q", f.said)
	}
}

// TestWhole: a request that grants more than its command is told apart.
func TestWhole(t *testing.T) {
	for name, params := range map[string]string{
		"more permissions":   `{"command":"ls","additionalPermissions":{"network":{"enabled":true}}}`,
		"access to a host":   `{"command":"ls","networkApprovalContext":{"host":"x"}}`,
		"text for a command": `{"command":"ls","kind":"writeStdin"}`,
		"no command":         `{"reason":"r"}`,
	} {
		r, ok := read(message{ID: []byte("1"), Method: "item/commandExecution/requestApproval", Params: []byte(params)})
		if !ok || r.Whole {
			t.Errorf("%s: %+v, %v", name, r, ok)
		}
	}
}

// TestAttachEnds: waiting ends with its context, and where the server refuses or goes away.
func TestAttachEnds(t *testing.T) {
	f := &fake{}
	serve(t, f)
	a, err := Attach(t.Context(), f.socket, "t1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := a.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a.Close()
	if _, _, err := a.Next(t.Context()); !errors.Is(err, errOver) {
		t.Error(err)
	}
	f.fail = []string{"thread/resume"}
	if _, err := Attach(t.Context(), f.socket, "t1"); err == nil {
		t.Error("no error of a thread that cannot be joined")
	}
}
