package hook

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/hookmark"
	"tutti/internal/bus/mail"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

// denies runs a hook that must be able to deny by its event alone: without a conversation, a bus or a folder of state.
func denies(t *testing.T, host, event, in string, s halt.State) string {
	t.Helper()
	d, _ := driver.Get(host)
	var out bytes.Buffer
	_ = Run(t.Context(), Options{
		Driver: d, Event: event, Input: []byte(in), Env: func(string) string { return "" }, Out: &out, Now: time.Now,
		Open:   func(context.Context, BusChoice) (*Bus, error) { return nil, errors.New("no bus") },
		Switch: func() halt.State { return s }, Memory: func() (halt.Entry, error) { return halt.Entry{}, errors.New("unknown") },
	})
	return denied(out.Bytes())
}

// TestDenied: while halted every event that can stop the agent denies, whatever the input says; of a subagent as well.
func TestDenied(t *testing.T) {
	t.Parallel()
	on := halt.State{Halted: true, Path: "/x", By: "ana", Since: time.Date(2026, 3, 1, 10, 4, 0, 0, time.UTC), Reason: "loop"}
	const want = "tutti: halted by ana since 2026-03-01T10:04:00Z: loop. Your user has stopped all agents: no tool runs and no prompt is answered. Stop here."
	for host, events := range map[string][]string{
		"claude": {"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "PermissionRequest"},
		"codex":  {"UserPromptSubmit", "PreToolUse", "PermissionRequest"},
		"gemini": {"BeforeAgent", "BeforeModel", "BeforeTool"},
	} {
		for _, event := range events {
			for _, in := range []string{
				input(event, "c1", false), "", "not JSON", `{}`, `{"session_id":"c1","agent_id":"a1","tool_name":"Bash","tool_input":{}}`,
			} {
				if got := denies(t, host, event, in, on); got != want {
					t.Errorf("%s %s, input %.30q: %q", host, event, in, got)
				}
				if got := denies(t, host, event, in, halt.State{Path: "/x"}); got != "" {
					t.Errorf("%s %s denies without a halt: %q", host, event, got)
				}
			}
		}
	}
}

// TestUnreadableSwitch: a switch that is there and cannot be read denies, and does not pretend that a user has halted. Where no home
// folder is known, nothing is halted for a hook.
func TestUnreadableSwitch(t *testing.T) {
	t.Parallel()
	got := denies(t, "claude", "PreToolUse", input("PreToolUse", "c1", false), halt.State{Halted: true, Unreadable: true, Problem: "is a directory", Path: "/x"})
	if !strings.HasPrefix(got, "tutti: the halt switch cannot be read (is a directory)") || strings.Contains(got, "user") {
		t.Errorf("got %q", got)
	}
	if got := denies(t, "claude", "PreToolUse", input("PreToolUse", "c1", false), halt.State{Halted: true, Unreadable: true, Problem: "no home folder"}); got != "" {
		t.Errorf("without a home folder: %q", got)
	}
}

// TestHookRecordsItsProcess: hooks put down in which process they were seen, and which halt they made known there.
func TestHookRecordsItsProcess(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	fire := func(event string, denies bool) hookmark.Mark {
		t.Helper()
		var out bytes.Buffer
		o := g.options("claude", event, input(event, "c1", false), &out)
		o.Build, o.Denies, o.Process = "b1", denies, func() (proc.ID, bool) { return proc.Self(), true }
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		all, err := hookmark.All(o.State)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d marks, %v", event, len(all), err)
		}
		return all[0]
	}
	m := fire("SessionStart", false)
	if m.CLI != "claude" || m.Build != "b1" || m.Conversation != "c1" || m.Denies || m.Acked != 0 || !strings.HasPrefix(m.Instance, "claude:") {
		t.Errorf("at the beginning: %+v", m)
	}
	if m = fire("PreToolUse", true); !m.Denies || m.Acked != 0 || m.Instance == "" {
		t.Errorf("at a tool: %+v", m)
	}
	g.halt(true)
	if m = fire("Stop", true); m.Acked != 0 {
		t.Errorf("the end of a turn was not denied: %+v", m)
	}
	if m = fire("PreToolUse", true); m.Acked != 1 {
		t.Errorf("at a denied tool: %+v", m)
	}
}

// TestHaltNoticeIsNotAcknowledgement: an answer that only shows the halt to the model does not acknowledge it, because the agent continues.
func TestHaltNoticeIsNotAcknowledgement(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]uint64{"codex": 0, "gemini": 0, "claude": 1} {
		g := newRig(t)
		g.halt(true)
		event := eventOf(host, driver.Tool)
		var out bytes.Buffer
		o := g.options(host, event, input(event, "c1", false), &out)
		o.Build, o.Process = "b1", func() (proc.ID, bool) { return proc.Self(), true }
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		all, err := hookmark.All(o.State)
		if err != nil || len(all) != 1 || all[0].Acked != want || out.Len() == 0 {
			t.Errorf("%s: %+v, %v, answer %s", host, all, err, out.Bytes())
		}
	}
}

// TestDeniedUntilEngaged: an agent in the middle of a command when a halt comes and goes is denied its next tool, and its turn ends, until
// its user types a prompt or lets it go on. A conversation that begins later is not.
func TestDeniedUntilEngaged(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		for _, byPrompt := range []bool{true, false} {
			g := newRig(t)
			me := g.whose(host, "c1")
			use, next := eventOf(host, driver.Use), eventOf(host, driver.Next)
			g.halt(true)
			g.halt(false)
			for _, event := range []string{use, next} {
				if event == "" { // Codex
					continue
				}
				if text, _ := g.fire(host, event, "c1", false); !strings.HasPrefix(text, "tutti: all agents were halted. ") {
					t.Errorf("%s %s: %q", host, event, text)
				}
			}
			g.whose(host, "c2")
			if byPrompt { // also where the bus cannot be opened
				var out bytes.Buffer
				o := g.options(host, eventOf(host, driver.Prompt), input(eventOf(host, driver.Prompt), "c1", false), &out)
				o.Open = func(context.Context, BusChoice) (*Bus, error) { return nil, errors.New("no bus") }
				_ = Run(t.Context(), o)
			} else if err := g.post.Engage(t.Context(), mail.Reader{Instance: me}); err != nil {
				t.Fatal(err)
			}
			for _, c := range []string{"c1", "c2"} {
				if text, _ := g.fire(host, use, c, false); text != "" {
					t.Errorf("%s, prompt %v, conversation %s: %q", host, byPrompt, c, text)
				}
			}
		}
	}
}

// TestHookBesideDialog: a hook beside an open dialog waits, and denies when a halt comes; it leaves without a word when the dialog was answered.
func TestHookBesideDialog(t *testing.T) {
	t.Parallel()
	for _, halts := range []bool{true, false} {
		g := newRig(t)
		var out bytes.Buffer
		o := g.options("claude", "PermissionRequest", input("PermissionRequest", "c1", false), &out)
		looks := 0
		o.Dialog = func() bool {
			if looks++; looks == 2 && halts {
				g.halt(true)
			}
			return looks < 3
		}
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got := denied(out.Bytes()); halts != strings.HasPrefix(got, "tutti: halted by ana") || !halts && out.Len() > 0 {
			t.Errorf("halt %v: %s", halts, out.Bytes())
		}
	}
}
