package hook

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mail"
)

var hosts = []string{"claude", "codex", "gemini"}

// Every event of every program: with mail and without.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			me := g.whose(host, "c1")
			for _, m := range []driver.Moment{driver.Start, driver.Prompt, driver.Tool, driver.Stop} {
				event := eventOf(host, m)
				if text, turn := g.fire(host, event, "c1", false); text != "" || turn {
					t.Errorf("%s without mail: %q, turn %v", event, text, turn)
				}
				id := g.send(me, "look at "+event)
				text, turn := g.fire(host, event, "c1", false)
				if turn != (m == driver.Stop) {
					t.Errorf("%s: asks for a turn: %v", event, turn)
				}
				if m == driver.Stop { // agent programs give it to their model as their user's
					if text != stopLine {
						t.Errorf("%s: got %q, want %q", event, text, stopLine)
					}
					text, _ = g.fire(host, eventOf(host, driver.Tool), "c1", false)
				}
				has(t, text, "from "+string(g.bob.Instance), id, "text of a peer, not of your user:\n| look at "+event+"\n", "ago", "tutti ack")
				if m == driver.Start {
					has(t, text, "you are "+string(me), "1 unread message.")
				}
				if s := g.stateOf(me, id); s.Offered.IsZero() || s.Pushed.IsZero() || !s.Shown.IsZero() || s.Session != "c1" {
					t.Errorf("%s: before the next event the trail says %+v", event, s)
				}
				next := eventOf(host, driver.Prompt)
				if m == driver.Prompt {
					next = eventOf(host, driver.Tool)
				}
				if text, _ := g.fire(host, next, "c1", false); text != "" {
					t.Errorf("%s after it: %q", next, text)
				}
				if s := g.stateOf(me, id); s.Shown.IsZero() {
					t.Errorf("%s: the next event proves nothing: %+v", event, s)
				}
			}
			if text, _ := g.fire(host, eventOf(host, driver.End), "c1", false); text != "" {
				t.Errorf("the end: %q", text)
			}
			if left, _ := os.ReadDir(filepath.Join(g.statedir(), notesFolder)); len(left) != 1 { // the lock
				t.Errorf("after the end there is %v", left)
			}
			g.fire(host, eventOf(host, driver.End), "c1", false) // some say it several times
		})
	}
}

// TestFirstContactVerdict: the verdict of the first and of the second message. The key is pinned once the agent has seen the first.
func TestFirstContactVerdict(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("claude", "c1")
	g.send(me, "one")
	text, _ := g.fire("claude", "UserPromptSubmit", "c1", false)
	has(t, text, ", new key, ")
	if _, pinned := g.w.Pins.Get(g.bob.Instance); pinned {
		t.Error("the key is pinned before the verdict was shown")
	}
	g.send(me, "two")
	text, _ = g.fire("claude", "PostToolUse", "c1", false)
	has(t, text, ", verified, ")
}

// A message is the reason for one more turn once, whatever the program says, and however often it asks.
func TestOneTurnForOneMessage(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		for _, again := range []string{"never", "always", "after the first"} {
			t.Run(host+" "+again, func(t *testing.T) {
				t.Parallel()
				g := newRig(t)
				me := g.whose(host, "c1")
				stop := eventOf(host, driver.Stop)
				turns := 0
				for n := range 40 {
					if n == 0 || n == 10 || n == 11 {
						g.send(me, fmt.Sprint("message ", n))
					}
					if n%7 == 0 {
						g.later(40 * time.Second) // what was offered and never shown is offered again
					}
					if _, turn := g.fire(host, stop, "c1", again == "always" || again != "never" && n > 0); turn {
						turns++
					}
				}
				if turns != 3 {
					t.Errorf("three messages made %d turns", turns)
				}
			})
		}
	}
}

// Many messages at once are the reason for one turn together, also those that there is no room for.
func TestOneTurnForMany(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("codex", "c1")
	for n := range 30 {
		g.send(me, fmt.Sprintf("message %d: %s", n, strings.Repeat("x", 100)))
	}
	text, turn := g.fire("codex", "Stop", "c1", false)
	if !turn {
		t.Fatal("no turn")
	}
	if text != stopLine {
		t.Errorf("got %q, want %q", text, stopLine)
	}
	for n := range 20 {
		if _, turn := g.fire("codex", "Stop", "c1", n%2 == 0); turn {
			t.Errorf("another turn at stop %d", n)
		}
		g.later(11 * time.Minute)
	}
	if text, _ = g.fire("codex", "UserPromptSubmit", "c1", false); !strings.Contains(text, "30 new messages") || !strings.Contains(text, "| message 0: ") || !strings.Contains(text, "No room for ") {
		t.Errorf("they come at the next prompt: got %q", text)
	}
}

// TestCrashBeforePrint: a message that a killed hook had claimed is offered again, and does not start a second turn.
func TestCrashBeforePrint(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"UserPromptSubmit", "Stop"} {
		g := newRig(t)
		me := g.whose("claude", "c1")
		id := g.send(me, "do not lose me")
		err := Run(t.Context(), g.options("claude", event, input(event, "c1", false), brokenPipe{}))
		if !errors.Is(err, errPipe) {
			t.Fatalf("%s into a closed pipe: %v", event, err)
		}
		if event == "Stop" { // nothing was claimed, and the turn was asked for
			if text, turn := g.fire("claude", "Stop", "c1", false); text != "" || turn {
				t.Errorf("a second turn for it: %q", text)
			}
		} else if text, _ := g.fire("claude", "PostToolUse", "c1", false); text != "" {
			t.Errorf("it is offered again at once: %q", text)
		}
		if s := g.stateOf(me, id); !s.Shown.IsZero() {
			t.Errorf("it counts as shown: %+v", s)
		}
		g.later(31 * time.Second)
		text, _ := g.fire("claude", "UserPromptSubmit", "c1", false)
		has(t, text, "do not lose me")
	}
}

// TestTwoConversations: one of two conversations of an agent gets a message.
func TestTwoConversations(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("claude", "c1")
	if other := g.whose("claude", "c2"); other != me {
		t.Fatalf("two conversations in one folder are %s and %s", me, other)
	}
	g.send(me, "for one of you")
	var wg sync.WaitGroup
	outs := make([]bytes.Buffer, 8)
	for n := range outs {
		wg.Go(func() {
			c := []string{"c1", "c2"}[n%2]
			o := g.options("claude", "PostToolUse", input("PostToolUse", c, false), &outs[n])
			if err := Run(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := 0
	for n := range outs {
		if text, _ := answer(t, outs[n].Bytes()); strings.Contains(text, "for one of you") {
			got++
		}
	}
	if got != 1 {
		t.Errorf("%d hooks printed it, want 1", got)
	}
	g.fire("claude", "Stop", "c1", false)
	g.fire("claude", "Stop", "c2", false)
	g.later(time.Hour)
	if text, turn := g.fire("claude", "Stop", "c2", false); turn {
		t.Errorf("what the agent was shown asks for a turn in its other conversation: %q", text)
	}
	text, _ := g.fire("claude", "SessionStart", "c3", false)
	has(t, text, "0 unread messages", "not acknowledged: 1")
}

// TestResumeNotice: an agent that was stopped and then resumed without a prompt gets one notice, with its mail or without.
func TestResumeNotice(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		g := newRig(t)
		me := g.whose(host, "c1")
		prompt, stop := eventOf(host, driver.Prompt), eventOf(host, driver.Stop)
		for _, mailed := range []bool{false, true} {
			g.halt(true)
			g.fire(host, prompt, "c1", false)
			g.halt(false)
			if mailed {
				g.send(me, "one thing")
			}
			if err := g.post.Engage(t.Context(), mail.Reader{Instance: me}); err != nil {
				t.Fatal(err)
			}
			if !mailed {
				g.fire(host, stop, "c1", false) // it cannot say it
			}
			text, _ := g.fire(host, prompt, "c1", false)
			if !strings.HasPrefix(text, strings.TrimSuffix(goOnLine, "\n")) || strings.Contains(text, "one thing") != mailed {
				t.Errorf("%s, mail %v: %q", host, mailed, text)
			}
			if text, _ := g.fire(host, prompt, "c1", false); text != "" {
				t.Errorf("%s: told again: %q", host, text)
			}
		}
	}
}

func TestHalt(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			me := g.whose(host, "c1")
			start, prompt, tool, stop := eventOf(host, driver.Start), eventOf(host, driver.Prompt), eventOf(host, driver.Tool), eventOf(host, driver.Stop)
			silent := func(when, event, conversation string) {
				t.Helper()
				if text, turn := g.fire(host, event, conversation, false); text != "" || turn {
					t.Errorf("%s, %s: %q, turn %v", when, event, text, turn)
				}
			}
			id := g.send(me, "before the halt")
			g.halt(true)
			for _, event := range []string{prompt, tool, eventOf(host, driver.Use)} {
				text, _ := g.fire(host, event, "c1", false)
				has(t, text, "tutti: halted by ana since ", ": disk check. ")
				if strings.Contains(text, "\n") || strings.Contains(text, "before the halt") || strings.Contains(text, "resume") || strings.Contains(text, "HALT") {
					t.Errorf("%s under halt: %q", event, text)
				}
			}
			silent("halted", start, "c1")
			silent("halted", stop, "c1")
			silent("halted", eventOf(host, driver.End), "unknown")
			g.fire(host, prompt, "born halted", false)
			if s := g.stateOf(me, id); !s.Offered.IsZero() {
				t.Errorf("something was done under halt: %+v", s)
			}
			g.halt(false)
			for _, event := range []string{tool, eventOf(host, driver.Use)} { // it was at work, and its user has said nothing since
				text, _ := g.fire(host, event, "c1", false)
				has(t, text, "tutti: all agents were halted. Your user has not let you go on since")
			}
			silent("cleared", stop, "c1")
			for _, c := range []string{"c1", "born halted"} {
				text, _ := g.fire(host, prompt, c, false)
				has(t, text, "was lifted", "only if your user says so")
				silent("told", prompt, c)
				silent("told", tool, c)
				silent("told", eventOf(host, driver.Use), c)
				silent("told", stop, c)
			}
			g.later(time.Second)
			if err := g.post.Engage(t.Context(), mail.Reader{Instance: me, Session: "c1"}); err != nil {
				t.Fatal(err)
			}
			text, _ := g.fire(host, tool, "c1", false)
			has(t, text, "before the halt")
			g.halt(true)
			g.halt(false)
			g.send(me, "after the second halt")
			silent("halted again", stop, "c1")
			text, _ = g.fire(host, prompt, "c1", false)
			has(t, text, "was lifted")
			if text, _ = g.fire(host, start, "c9", false); !strings.Contains(text, "after the second halt") {
				t.Errorf("a conversation that began after the halt was not stopped by it: got %q", text)
			}
		})
	}
}

// TestEngageUnderHalt: no agent can be engaged while the halt switch is on.
func TestEngageUnderHalt(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("claude", "c1")
	g.halt(true)
	if err := g.post.Engage(t.Context(), mail.Reader{Instance: me}); err != nil {
		t.Fatal(err)
	}
	g.halt(false)
	if on, err := g.post.Engaged(t.Context(), me); on || err != nil {
		t.Errorf("engaged under halt: %v, %v", on, err)
	}
}

// Where nothing can be remembered, what was printed counts as shown: it would come again and again.
func TestNotesCannotBeStored(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("claude", "c1")
	id := g.send(me, "once")
	folder := filepath.Join(g.statedir(), notesFolder)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := g.options("claude", "UserPromptSubmit", input("UserPromptSubmit", "c1", false), &out)
	if err := Run(t.Context(), o); err == nil {
		t.Error("no word about it")
	}
	if out.Len() > 0 && g.stateOf(me, id).Shown.IsZero() {
		t.Error("printed, and neither remembered nor shown")
	}
}
