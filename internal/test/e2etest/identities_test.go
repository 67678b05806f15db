//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// programs are the agent CLIs whose conversations are tried here, each with the arguments with which it asks nothing.
func programs() map[string]func(t *testing.T) *windows {
	return map[string]func(t *testing.T) *windows{
		"claude": func(t *testing.T) *windows { return windowsOf(t, seated("330"), "--allowedTools", "mcp__tutti") },
		"codex": func(t *testing.T) *windows {
			return windowsOf(t, screenCodex(t), "--no-daemon", "--dangerously-bypass-hook-trust")
		},
	}
}

// two opens a second window, and returns who both are.
func (w *windows) two() (one, two string) {
	w.t.Helper()
	w.says("first", "this is alpha")
	one = w.joins("first")
	w.opens("second")
	w.says("second", "this is beta")
	two = w.joins("second", one)
	host := w.d.agent.host
	if !strings.HasPrefix(one, host+":project:") || !strings.HasPrefix(two, host+":project-2:") {
		w.t.Fatalf("the two are %s and %s", one, two)
	}
	return one, two
}

// TestResumedInReverse: two conversations in one folder write to each other, end, are resumed in reverse order, and are the
// agents that they were. A third that begins beside them is an agent of its own.
func TestResumedInReverse(t *testing.T) {
	for name, start := range programs() {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			one, two := w.two()
			w.sends("first", "alpha writes", two, "from alpha to beta")
			w.shown("second", "this is beta", one, "from alpha to beta")
			w.sends("second", "beta writes", one, "from beta to alpha")
			w.shown("first", "this is alpha", two, "from beta to alpha")

			alpha, beta := w.transcript("this is alpha"), w.transcript("this is beta")
			w.leaves("first")
			w.leaves("second")
			w.gone()
			tutti(t, w.d.home, "send", "--as", w.ben, two, "while beta was away")
			tutti(t, w.d.home, "send", "--as", w.ben, one, "while alpha was away")
			w.resumes("beta", beta)
			w.says("beta", "beta is back")
			w.shown("beta", "this is beta", w.ben, "while beta was away")
			if got := w.joins("beta"); got != two {
				t.Fatalf("beta was %s, and is %s", two, got)
			}
			w.resumes("alpha", alpha)
			w.says("alpha", "alpha is back")
			w.shown("alpha", "this is alpha", w.ben, "while alpha was away")
			if got := w.joins("alpha", two); got != one {
				t.Fatalf("alpha was %s, and is %s", one, got)
			}
			w.sends("beta", "beta writes again", one, "from beta, who is back")
			w.shown("alpha", "this is alpha", two, "from beta, who is back")
			w.sends("alpha", "alpha writes again", two, "from alpha, who is back")
			w.shown("beta", "this is beta", one, "from alpha, who is back")
			w.opens("third")
			w.says("third", "this is epsilon")
			three := w.joins("third", one, two)
			if !strings.HasPrefix(three, w.d.agent.host+":project-3:") {
				t.Errorf("the third is %s", three)
			}
			w.sends("third", "epsilon writes", one, "from the third")
			w.shown("alpha", "this is alpha", three, "from the third")
		})
	}
}

// TestNewConversationIsTheSameAgent: a new conversation in a window beside another one is the agent of its window, and what is
// written to it reaches that conversation and no other.
func TestNewConversationIsTheSameAgent(t *testing.T) {
	for name, start := range programs() {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			one, two := w.two()
			w.renews("first")
			w.says("first", "this is gamma")
			for _, text := range []string{"one for gamma", "another for gamma"} {
				tutti(t, w.d.home, "send", "--as", w.ben, one, text)
				w.shown("first", "this is gamma", w.ben, text)
			}
			tutti(t, w.d.home, "send", "--as", w.ben, two, "one for beta")
			w.shown("second", "this is beta", w.ben, "one for beta")
			if got := w.live(); len(got) != 2 {
				t.Errorf("live are %q, want %s and %s", got, one, two)
			}
		})
	}
}

// TestNewConversationInTheBackground: the same in a Codex whose server runs in the background, with one window open. The
// hidden old conversation takes nothing.
func TestNewConversationInTheBackground(t *testing.T) {
	w := windowsOf(t, screenCodex(t))
	w.stopsServer()
	w.trusts()
	w.says("first", "this is alpha")
	one := w.joins("first")
	if len(w.below(".codex/packages")) == 0 {
		t.Fatal("there is no server in the background, so this tries nothing")
	}
	tutti(t, w.d.home, "send", "--as", w.ben, one, "one for alpha")
	w.shown("first", "this is alpha", w.ben, "one for alpha")
	w.renews("first")
	w.says("first", "this is gamma")
	for _, text := range []string{"one for gamma", "another for gamma", "a third for gamma"} {
		tutti(t, w.d.home, "send", "--as", w.ben, one, text)
		w.shown("first", "this is gamma", w.ben, text)
	}
	if got := w.live(); len(got) != 1 || got[0] != one {
		t.Errorf("live are %q, want %s", got, one)
	}
}

// renews begins a new conversation in a window.
func (w *windows) renews(window string) {
	w.t.Helper()
	line := "/clear"
	if w.d.agent.host == "codex" {
		line = "/new"
	}
	w.types(window, line, func() bool {
		return !strings.Contains(w.screen(window), "this is alpha")
	})
}

// TestFirstConversationAfterAllEnded: when all conversations have ended, the first new one is the unnumbered agent and finds its mail. A run without a
// screen and a look at the server take neither from it.
func TestFirstConversationAfterAllEnded(t *testing.T) {
	for name, start := range programs() {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			one, two := w.two()
			w.leaves("first")
			w.leaves("second")
			w.gone()
			tutti(t, w.d.home, "send", "--as", w.ben, one, "good morning")
			w.opens("morning")
			w.says("morning", "this is delta")
			w.shown("morning", "this is delta", w.ben, "good morning")
			if got := w.joins("morning"); got != one {
				t.Fatalf("it is %s, want %s", got, one)
			}
			if out := string(tutti(t, w.d.home, "host", "status", "--host", w.d.agent.host)); !strings.Contains(out, "answers in ") {
				t.Errorf("status: %s", out)
			}
			w.d.run(t, w.d.agent.hooked("a task without a screen")...)
			if got := w.live(); len(got) != 1 || got[0] != one {
				t.Errorf("live are %q, want %s", got, one)
			}
			tutti(t, w.d.home, "send", "--as", w.ben, one, "after the task")
			w.shown("morning", "this is delta", w.ben, "after the task")
			if strings.Contains(string(tutti(t, w.d.home, "inbox", "--instance", two, "--json")), "after the task") {
				t.Error("it is in the mailbox of the other")
			}
		})
	}
}

// TestResumedIsOneAgent: the tools of a resumed conversation answer the mail that its hook shows, also when another agent of
// that program was named in the folder meanwhile.
func TestResumedIsOneAgent(t *testing.T) {
	for name, start := range programs() {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.answersResumed(func() {
				w.leaves("first")
				w.gone()
			})
		})
	}
	for _, stays := range []bool{true, false} {
		t.Run(fmt.Sprintf("codex with its server in the background, which stays: %v", stays), func(t *testing.T) {
			w := windowsOf(t, screenCodex(t))
			w.stopsServer()
			w.trusts()
			w.answersResumed(func() {
				w.leaves("first")
				if stays {
					return
				}
				w.eventually("keep", "the server ends", func() bool {
					left := w.below(".codex/packages")
					for _, pid := range left {
						_ = syscall.Kill(pid, syscall.SIGTERM)
					}
					return len(left) == 0
				})
				w.gone()
			})
		})
	}
}

// answersResumed begins a conversation, has it end, names another agent, resumes it and has its model answer a message.
func (w *windows) answersResumed(end func()) {
	w.t.Helper()
	w.says("first", "this is alpha")
	one := w.joins("first")
	alpha := w.transcript("this is alpha")
	end()
	c := exec.Command(strings.TrimSuffix(here.full, "-full"), "connect", "--host", w.d.agent.host, "--name", "named")
	c.Dir, c.Env = w.d.work, []string{"HOME=" + w.d.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	w.mu.Lock()
	w.orders = []order{{"alpha is back", "with pleasure", "tutti_reply", func(now turn) object {
		return object{"id": mailID(now, "can you answer this?"), "text": "with pleasure"}
	}}}
	w.mu.Unlock()
	w.resumes("alpha", alpha)
	w.eventually("alpha", "the resumed conversation is on the screen", func() bool { return strings.Contains(w.screen("alpha"), "this is alpha") })
	tutti(w.t, w.d.home, "send", "--as", w.ben, one, "can you answer this?")
	w.says("alpha", "alpha is back")
	w.shown("alpha", "this is alpha", w.ben, "can you answer this?")
	var said string
	w.eventually("alpha", "it answers", func() bool {
		said, _ = w.m.result(w.d.agent.tool("tutti_reply"))
		return said != ""
	})
	if !strings.Contains(said, `"outcome":"de`) {
		w.t.Errorf("the answer came to %s", said)
	}
	if got := w.live(); len(got) != 1 || got[0] != one {
		w.t.Errorf("live are %q, want %s", got, one)
	}
}

// mailID is the id of a message that a hook has shown to the model.
func mailID(now turn, text string) string {
	for _, f := range hookMail.FindAllStringSubmatch(now.texts(), -1) {
		if f[4] == text {
			return f[3]
		}
	}
	return "none"
}
