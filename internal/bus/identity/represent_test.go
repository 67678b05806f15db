package identity

import (
	"errors"
	"strings"
	"testing"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// TestRepresent: an agent speaks for itself and its subagents alone; every other caller for any agent.
func TestRepresent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		bound := process(600, "/usr/bin/node", "node", "/usr/bin/codex")
		zed := connect(t, k, Request{Host: "codex", Name: "zed", Process: bound.ID, Place: srvAPI}, noon).Instance
		bob := connect(t, k, Request{Host: "gemini", Name: "bob", Place: srvAPI}, noon).Instance
		c1 := connect(t, k, claude("c1"), noon).Instance
		ana, err := k.Speak(t.Context(), facts(), Ask{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		shell := process(501, "/bin/bash", "bash", "-c", "tutti send")
		stranger := process(700, "/usr/bin/opencode")
		h2a := facts().below(shell, bound)
		h2a.Reclaims = true
		for _, tt := range []struct {
			name string
			f    *Facts
			who  address.Instance
			want string // of the refusal
		}{
			{"itself", facts().below(shell, bound), zed, ""},
			{"its subagent", facts().below(shell, bound), zed + "~fix", ""},
			{"another agent", facts().below(shell, bound), bob, string(zed) + " runs this and may speak for itself and its subagents alone, not for " + string(bob)},
			{"a subagent of another agent", facts().below(bound), bob + "~fix", "not for " + string(bob) + "~fix"},
			{"a longer name", facts().below(bound), zed + "x", "not for"},
			{"a person", facts().below(bound), ana.Instance, "not for " + string(ana.Instance)},
			{"a person, in capitals", facts().below(bound), "Human:ana:aaaaaaaaaaaa", "not for"},
			{"with a variable of that agent", facts("TUTTI_INSTANCE", string(bob)).below(shell, bound), bob, string(zed) + " runs this"},
			{"with its conversation", facts("CLAUDE_CODE_SESSION_ID", "c1").below(shell, bound), c1, string(zed) + " runs this"},
			{"a conversation without a process", facts("CLAUDE_CODE_SESSION_ID", "c1"), c1, ""},
			{"another agent than the conversation", facts("CLAUDE_CODE_SESSION_ID", "c1"), bob, string(c1) + " runs this"},
			{"below an agent CLI that nothing names", facts().below(stranger), bob, "opencode runs this, has no identity on this bus yet, and may not speak for " + string(bob)},
			{"below an agent CLI that may be the one", facts().below(codexAbove), zed, ""},
			{"below an agent CLI that may be another one", facts().below(codexAbove), bob, "codex runs this and may speak for " + string(zed)},
			{"below an agent CLI that tutti does not connect", facts().below(process(701, "/usr/bin/aider")), bob, "aider runs this"},
			{"a person's shell", facts(), bob, ""},
			{"cron", facts().alone().below(process(502, "/bin/sh", "sh", "-c", "job"), process(503, "/usr/sbin/cron")), bob, ""},
			{"the grammar of existing programs", h2a, bob, ""},
		} {
			err := k.Represent(t.Context(), tt.f, tt.who, noon)
			if tt.want == "" {
				if err != nil {
					t.Errorf("%s: refused: %v", tt.name, err)
				}
				continue
			}
			no, ok := errors.AsType[*NotOwnError](err)
			if !ok || !strings.Contains(no.Error(), tt.want) || no.Hint() == "" {
				t.Errorf("%s: got %v, want a refusal with %q", tt.name, err, tt.want)
			}
			if _, err := k.Speak(t.Context(), tt.f, Ask{As: string(tt.who)}, noon); !errors.As(err, &no) {
				t.Errorf("%s: Speak got %v", tt.name, err)
			}
		}
		if err := k.Holds(bob); err != nil || k.Holds(bob+"~fix") != nil {
			t.Errorf("the key of %s is here: %v, %v", bob, err, k.Holds(bob+"~fix"))
		}
		if no, ok := errors.AsType[*NoKeyError](k.Holds("codex:far:aaaaaaaaaaaa")); !ok || no.Hint() == "" {
			t.Error("a key that is not here is said to be")
		}
	})
}

// TestServeAs: a server or a hook is the agent that its command line names, unless the agent CLI that starts it is another one.
func TestServeAs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		bound := process(600, "/usr/bin/node", "node", "/usr/bin/codex")
		zed := connect(t, k, Request{Host: "codex", Name: "zed", Process: bound.ID, Place: srvAPI}, noon).Instance
		bob := connect(t, k, Request{Host: "gemini", Name: "bob", Place: srvAPI}, noon).Instance
		shell := process(501, "/bin/bash", "bash", "-c", "tutti mcp-serve")
		nested := process(700, "/usr/bin/opencode")
		served := process(701, "/usr/bin/opencode")
		if _, err := k.Presence.Open(t.Context(), presence.Start{Instance: bob, Host: "opencode", Extra: AgentMembers(served.ID)}, noon); err != nil {
			t.Fatal(err)
		}
		h2a := facts().below(shell, bound)
		h2a.Reclaims = true
		for _, tt := range []struct {
			name    string
			f       *Facts
			who     address.Instance
			refused bool
		}{
			{"itself", facts().below(bound), zed, false},
			{"its subagent", facts().below(shell, bound), zed + "~fix", false},
			{"another agent", facts().below(shell, bound), bob, true},
			{"an agent CLI that another agent runs, and that has no identity yet", facts().below(nested, shell, bound), bob, false},
			{"the one that a session names", facts().below(served), bob, false},
			{"another one than a session names", facts().below(shell, served), zed, true},
			{"a person's shell", facts(), bob, false},
			{"the grammar of existing programs", h2a, bob, false},
		} {
			err := k.ServeAs(t.Context(), tt.f, tt.who, noon)
			if no, ok := errors.AsType[*NotOwnError](err); ok != tt.refused || !ok && err != nil || ok && no.Hint() == "" {
				t.Errorf("%s: got %v, refused should be %v", tt.name, err, tt.refused)
			}
		}
	})
}
