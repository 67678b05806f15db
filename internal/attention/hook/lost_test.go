package hook

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mail"
	"tutti/internal/halt"
)

// A turn that was broken off may have taken its mail with it: the next prompt brings it again, once.
func TestMailAfterInterruptedTurn(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		g := newRig(t)
		me := g.whose(host, "c1")
		prompt, tool, stop := eventOf(host, driver.Prompt), eventOf(host, driver.Tool), eventOf(host, driver.Stop)
		id := g.send(me, "do not lose me")
		text, _ := g.fire(host, prompt, "c1", false)
		has(t, text, "| do not lose me")
		g.later(5 * time.Second)
		text, _ = g.fire(host, prompt, "c1", false)
		has(t, text, "| do not lose me")
		if s := g.stateOf(me, id); !s.Shown.IsZero() {
			t.Errorf("%s: it counts as shown: %+v", host, s)
		}
		if text, turn := g.fire(host, tool, "c1", false); text != "" || turn {
			t.Errorf("%s: at work: %q", host, text)
		}
		if text, turn := g.fire(host, stop, "c1", false); text != "" || turn {
			t.Errorf("%s: at the end of the turn: %q", host, text)
		}
		if s := g.stateOf(me, id); s.Shown.IsZero() {
			t.Errorf("%s: nothing proves that it was shown: %+v", host, s)
		}
		// Where nothing but prompts is told, it comes twice and no more.
		id = g.send(me, "only prompts")
		times := 0
		for range 6 {
			if text, _ := g.fire(host, prompt, "c1", false); strings.Contains(text, "| only prompts") {
				times++
			}
			g.later(time.Minute)
		}
		if s := g.stateOf(me, id); times != 2 || s.Shown.IsZero() {
			t.Errorf("%s: shown %d times, want 2: %+v", host, times, s)
		}
	}
}

// TestConcurrentHooks: what a hook prints is recorded even if another hook of the conversation runs at the same time.
func TestConcurrentHooks(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	me := g.whose("claude", "c1")
	g.send(me, "first")
	text, _ := g.fire("claude", "UserPromptSubmit", "c1", false)
	has(t, text, "| first")
	id := g.send(me, "second")
	var out bytes.Buffer
	o := g.options("claude", "PostToolUse", input("PostToolUse", "c1", false), &out)
	open := o.Open
	o.Open = func(ctx context.Context, p BusChoice) (*Bus, error) { // it has read what is remembered
		text, _ := g.fire("claude", "SessionStart", "c1", false)
		has(t, text, "| second")
		return open(ctx, p)
	}
	if err := Run(t.Context(), o); err != nil || out.Len() > 0 {
		t.Errorf("the hook beside it: %v, %s", err, out.Bytes())
	}
	g.later(time.Minute)
	if text, turn := g.fire("claude", "Stop", "c1", false); turn {
		t.Errorf("what was shown is offered again: %q", text)
	}
	if s := g.stateOf(me, id); s.Shown.IsZero() {
		t.Errorf("nothing proves that it was shown: %+v", s)
	}
}

// A conversation that is over before it went on with its mail leaves it to the next one.
func TestEndedConversation(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		g := newRig(t)
		me := g.whose(host, "c0")
		g.send(me, "who begins anew sees this")
		for _, c := range []string{"c1", "c2"} {
			text, _ := g.fire(host, startOf(host), c, false)
			has(t, text, "1 unread message.", "| who begins anew sees this")
			if text, turn := g.fire(host, eventOf(host, driver.End), c, false); text != "" || turn {
				t.Errorf("%s: the end: %q", host, text)
			}
		}
		text, _ := g.fire(host, startOf(host), "c3", false)
		has(t, text, "| who begins anew")
		g.fire(host, eventOf(host, driver.Prompt), "c3", false)
		g.fire(host, eventOf(host, driver.End), "c3", false)
		g.later(11 * time.Minute)
		text, _ = g.fire(host, startOf(host), "c4", false)
		has(t, text, "0 unread messages.", "not acknowledged: 1;")
	}
}

// A halt that comes while a hook is at work is heard before anything is printed, and no message has been the reason for a turn.
func TestHaltDuringHook(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		for _, m := range []driver.Moment{driver.Prompt, driver.Stop} {
			g := newRig(t)
			me := g.whose(host, "c1")
			id := g.send(me, "not now")
			event := eventOf(host, m)
			var out bytes.Buffer
			o := g.options(host, event, input(event, "c1", false), &out)
			open := o.Open
			o.Open = func(ctx context.Context, p BusChoice) (*Bus, error) {
				b, err := open(ctx, p)
				if err == nil {
					look := b.Office.Halted
					b.Office.Halted = func(action string) error { // right after the last look of those who give out mail
						defer g.halt(true)
						return look(action)
					}
				}
				return b, err
			}
			if err := Run(t.Context(), o); err != nil {
				t.Errorf("%s %s: %v", host, event, err)
			}
			text, turn := answer(t, out.Bytes())
			if turn || strings.Contains(text, "not now") || strings.Contains(text, "tutti: halted by") != (m == driver.Prompt) {
				t.Errorf("%s %s: %q, turn %v", host, event, text, turn)
			}
			if s := g.stateOf(me, id); !s.Asked.IsZero() || !s.Shown.IsZero() {
				t.Errorf("%s %s: the trail says %+v", host, event, s)
			}
		}
	}
}

// TestHaltBeforePrinting: a halt that comes right before the answer is printed is heard: the prompt is denied, and the mail is brought again.
func TestHaltBeforePrinting(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		g := newRig(t)
		me := g.whose(host, "c1")
		g.send(me, "not now")
		event := eventOf(host, driver.Prompt)
		var out bytes.Buffer
		o := g.options(host, event, input(event, "c1", false), &out)
		looks := 0
		o.Switch = func() halt.State {
			if looks++; looks == 3 { // at its beginning, before the mail is claimed, before it is printed
				g.halt(true)
			}
			return g.state()
		}
		if err := Run(t.Context(), o); !errors.Is(err, errHalted) {
			t.Errorf("%s: %v", host, err)
		}
		if text, _ := answer(t, out.Bytes()); !strings.HasPrefix(text, "tutti: halted by ana") {
			t.Errorf("%s: %q", host, text)
		}
		g.halt(false)
		g.fire(host, event, "c1", false)
		g.later(time.Minute)
		if err := g.post.Engage(t.Context(), mail.Reader{Instance: me}); err != nil {
			t.Fatal(err)
		}
		text, _ := g.fire(host, event, "c1", false)
		has(t, text, "not now")
	}
}
