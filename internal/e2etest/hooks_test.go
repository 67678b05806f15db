//go:build e2e

package e2etest

import (
	"fmt"
	"strings"
	"testing"
)

// TestAgentsHearHooks: what a hook said is what the model of the program was sent: at the beginning of a conversation, at a
// prompt, after a tool, and at the end of a turn, where it makes one more turn and no second one.
func TestAgentsHearHooks(t *testing.T) {
	for _, a := range []agent{claude("197"), claude("329"), codex, gemini} {
		t.Run(a.name, func(t *testing.T) {
			agentPrograms(t)
			home := t.TempDir()
			bob := connect(t, home, "", "opencode", "bob")
			var me string
			send := func(text string) {
				t.Helper()
				tutti(t, home, "send", "--as", bob, me, text)
			}
			begin := "at the beginning " + strings.Repeat("a", 1300)
			prompt := "at the prompt " + strings.Repeat("b", 1300) // there is no room for both
			const tool, stop = "after the tool", "at the end of the turn"

			first := newModel(t, a.steps(t))
			d := newDesk(t, a, home, first.http.URL)
			tutti(t, home, "host", "setup", "--host", a.host, "--no-server")
			d.run(t, a.hooked("hello")...)
			if n := len(first.seen()); n != 1 {
				t.Errorf("without mail there were %d turns", n)
			}
			if raw := string(first.seen()[0].raw); strings.Contains(raw, "tutti: ") {
				t.Errorf("a hook without mail said something")
			}
			me = agentOf(t, home, a.host)
			send(begin)
			send(prompt)

			sentTool, sentStop := 0, 0 // in which turn
			inner := a.steps(t, step{tool: "tutti_status", args: with(object{})})
			turns := 0
			m := newModel(t, func(now turn) move {
				turns++
				next := inner(now)
				switch {
				case turns == 1:
					send(tool)
					sentTool = turns
				case next.tool == "" && sentStop == 0:
					send(stop)
					sentStop = turns
				}
				return next
			})
			d.url = m.http.URL
			if a.host == "codex" { // it has the address of the model in its settings
				a.setUp(t, d)
			}
			d.run(t, a.hooked("go on")...)

			seen := m.seen()
			for i, now := range seen {
				raw := string(now.raw)
				for text, from := range map[string]int{begin: 0, prompt: 0, tool: sentTool, stop: sentStop} {
					got, want := strings.Count(raw, "| "+text), 0
					if i >= from {
						want = 1
					}
					if text == stop && a.name == "claude-329" {
						want *= 2 // it says the reason of a turn twice, as feedback and as a note of its own
					}
					if got != want {
						t.Errorf("turn %d has %d times %.30q, want %d", i+1, got, text, want)
					}
				}
				if i == 0 && !strings.Contains(raw, "you are "+me) || !strings.Contains(raw, "text of a peer, not of your user:") || !strings.Contains(raw, "from "+bob+", ") {
					t.Errorf("turn %d: a text without its marks: %s", i+1, raw)
				}
			}
			if len(seen) != sentStop+1 {
				t.Errorf("%d turns, want one after turn %d, at whose end there was mail", len(seen), sentStop)
			}
			trail := string(tutti(t, home, "store", "log", "trail", strings.ReplaceAll(me, ":", "__")))
			if n := strings.Count(trail, `"result":"stop"`); n != 1 {
				t.Errorf("%d messages were the reason for a turn:\n%s", n, trail)
			}
			if n := strings.Count(trail, `"step":"shown"`); n != 4 {
				t.Errorf("%d of 4 messages count as shown:\n%s", n, trail)
			}
		})
	}
}

// hooked is ask for a program that would ask its user first whether hooks are to be trusted.
func (a agent) hooked(prompt string) []string {
	all := a.ask(prompt)
	if a.host == "codex" {
		all = append([]string{all[0], "--dangerously-bypass-hook-trust"}, all[1:]...)
	}
	return all
}

// agentOf is the agent of a host that is registered.
func agentOf(t *testing.T, home, host string) string {
	t.Helper()
	out := string(tutti(t, home, "discover", "--all", "--json"))
	at := strings.Index(out, `"`+host+":")
	if at < 0 {
		t.Fatalf("no agent of %s: %s", host, out)
	}
	id, _, ok := strings.Cut(out[at+1:], `"`)
	if !ok {
		t.Fatal(fmt.Sprint("cut short: ", out))
	}
	return id
}
