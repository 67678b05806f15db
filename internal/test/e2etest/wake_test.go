//go:build e2e

package e2etest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/attention/wake"
)

// What is tried here are agents that sit idle in a terminal, set up by "tutti host setup" and by nothing else.

// A sitting is one agent program in a pane of a tmux of its own.
type sitting struct {
	t    *testing.T
	d    desk
	m    *model
	tmux string
	me   string // on the bus
	ben  string // who writes to it
}

// A pace is how soon a message has to be in a request to the model. A machine that is busy with other things is given more: of the
// first the best of several messages is what is measured, and to both comes a multiple of what sending took at that moment, as a
// waking starts some processes, too.
type pace struct{ best, worst time.Duration }

// sit starts a program in a fresh home, and waits until it is on the bus.
func sit(t *testing.T, a agent, setup []string, args ...string) *sitting {
	t.Helper()
	return sitBefore(t, a, func(turn) move { return move{say: "done"} }, setup, args...)
}

// sitBefore is sit with a model that follows a script.
func sitBefore(t *testing.T, a agent, model script, setup []string, args ...string) *sitting {
	t.Helper()
	agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	home := t.TempDir()
	s := &sitting{t: t, m: newModel(t, model), tmux: "e" + rand.Text()[:8]}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "project"), url: s.m.http.URL, serve: usually(a)}
	if err := os.MkdirAll(s.d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	a.setUp(t, s.d)
	s.ben = connect(t, home, filepath.Join(home, "h2a-workspace/.h2a"), "agy", "ben")
	tutti(t, home, append([]string{"host", "setup", "--host", a.host}, setup...)...)
	c := s.d.command(t, args...)
	line := append([]string{
		"new-session", "-d", "-x", "120", "-y", "40", "-c", s.d.work, "--", "sh", "-c",
		`exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh", "TERM=xterm-256color", "SHELL=/bin/sh",
	}, c.Env...)
	line = slices.DeleteFunc(line, func(s string) bool { return s == "TERM=dumb" })
	s.keys(append(line, c.Args...)...)
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-L", s.tmux, "kill-server").Run()
		nothingLeft(t, home)
	})
	return s
}

// nothingLeft waits until no process of a home runs any more: the program ends with its terminal, and what it started with it.
func nothingLeft(t *testing.T, home string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var left []string
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range all {
			if raw, err := os.ReadFile(path); err == nil && strings.Contains("\x00"+string(raw), "\x00HOME="+home+"\x00") {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("what still runs: %q", left)
			return
		}
	}
}

// keys runs a command of tmux.
func (s *sitting) keys(args ...string) string {
	s.t.Helper()
	c := exec.Command("tmux", append([]string{"-f", "/dev/null", "-u", "-L", s.tmux}, args...)...)
	c.Env = append(os.Environ(), "TMUX=")
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *sitting) until(what string, f func() bool) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(s.d.home, ".local/state/tutti/hook.log"))
			s.t.Fatalf("%s: in vain\n%s\n%s\nhook.log: %s", what, s.keys("capture-pane", "-p"), s.keys("list-panes", "-F", "#{pane_title}"), log)
		}
	}
}

// comes waits until the agent is on the bus.
func (s *sitting) comes() {
	s.t.Helper()
	s.until("the agent comes to the bus", func() bool {
		var live []struct{ Instance string }
		if err := json.Unmarshal(tutti(s.t, s.d.home, "discover", "--json"), &live); err != nil {
			s.t.Fatal(err)
		}
		for _, l := range live {
			if strings.HasPrefix(l.Instance, s.d.agent.host+":") {
				s.me = l.Instance
			}
		}
		return s.me != ""
	})
}

// asked tells whether the model was asked with a text in the conversation.
func (s *sitting) asked(text string) bool {
	return slices.ContainsFunc(s.m.seen(), func(t turn) bool { return strings.Contains(string(t.raw), text) })
}

// rests waits until nothing has been asked of the model for a while.
func (s *sitting) rests() {
	s.t.Helper()
	for n := -1; n != len(s.m.seen()); {
		n = len(s.m.seen())
		time.Sleep(2 * time.Second)
	}
}

type traced struct {
	ID    string
	Trace []struct{ Step, At, Result string }
}

// trace is what became of a message, as its sender sees it.
func (s *sitting) trace(id string) traced {
	s.t.Helper()
	var all []traced
	out := tutti(s.t, s.d.home, "thread", "--trace", id, "--instance", s.ben, "--json")
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		s.t.Fatalf("%v\n%s", err, out)
	}
	return all[0]
}

// woken sends messages, one after the other, each to an agent that is idle again, and makes sure that each was in the next
// question to the model, in time, that it was woken by the means that is wanted, and that nobody typed.
func (s *sitting) woken(means string, want pace) {
	s.t.Helper()
	const processes = 5
	best, worst := time.Hour, time.Duration(0)
	quick, slow := time.Hour, time.Duration(0) // to send
	for n := range 3 {
		s.rests()
		text, id := fmt.Sprintf("the schema has changed %d times", n+3), fmt.Sprintf("env:e2e:%d", n)
		began := time.Now()
		tutti(s.t, s.d.home, "send", "--as", s.ben, "--id", id, s.me, text)
		sent := time.Now()
		quick, slow = min(quick, sent.Sub(began)), max(slow, sent.Sub(began))
		s.until("the message reaches the model", func() bool { return s.asked(text) })
		took := time.Since(sent)
		best, worst = min(best, took), max(worst, took)
		got := s.trace(id)
		s.t.Logf("%s after %v: %v", id, took, got.Trace)
		if !slices.ContainsFunc(got.Trace, func(k struct{ Step, At, Result string }) bool { return k.Step == "pushed" && k.Result == means }) {
			s.t.Errorf("it was not woken by %s: %v", means, got.Trace)
		}
		for _, k := range got.Trace {
			if strings.HasPrefix(k.Result, "nudge") {
				s.t.Errorf("somebody typed: %v", got.Trace)
			}
		}
	}
	want = pace{best: want.best + processes*quick, worst: want.worst + processes*slow}
	if best > want.best || worst > want.worst {
		s.t.Errorf("messages took %v to %v to the model, want at most %v and %v", best, worst, want.best, want.worst)
	}
}

// wokenOnce sends ten messages at once: they are one reason to wake up. On a busy machine the last may be stored when the model has been
// given the first ones already; those are another reason.
func (s *sitting) wokenOnce(means string) {
	s.t.Helper()
	s.rests()
	var sends sync.WaitGroup
	for n := range 10 {
		sends.Go(func() {
			tutti(s.t, s.d.home, "send", "--as", s.ben, "--id", fmt.Sprintf("env:ten:%d", n), s.me, fmt.Sprintf("part %d of ten", n))
		})
	}
	sends.Wait()
	s.until("ten messages reach the model", func() bool { return s.asked("of ten") })
	s.rests()
	var all []traced
	given := "9" // when the first ones were
	for n := range 10 {
		all = append(all, s.trace(fmt.Sprintf("env:ten:%d", n)))
		for _, k := range all[n].Trace {
			if k.Result == "hook" {
				given = min(given, k.At)
			}
		}
	}
	knocks, late := map[string]bool{}, 0
	for _, m := range all {
		for _, k := range m.Trace {
			if k.Step == "stored" && k.At > given {
				late++
				break
			}
			if k.Result == means {
				knocks[k.At] = true
			}
		}
	}
	if len(knocks) != 1 {
		s.t.Errorf("ten messages, %d of them too late for the first, made %d wake-ups: %v", late, len(knocks), knocks)
	}
}

// seated is Claude Code in a home in which it asks nothing when it starts.
func seated(version string) agent {
	a := claude(version)
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".claude.json", compact(object{
			"hasCompletedOnboarding": true, "projects": object{d.work: object{"hasTrustDialogAccepted": true}},
			"customApiKeyResponses": object{"approved": []string{"dummy"}},
		}))
	}
	return a
}

// TestClaudeIsNudged: without hooks the fixed sentence is typed, once the screen is seen to be idle.
func TestClaudeIsNudged(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			a := seated(version)
			set := a.setUp
			a.setUp = func(t *testing.T, d desk) {
				set(t, d)
				d.write(t, ".config/tutti/config.toml", "[wake]\nquiet = \"1s\"\nclimb = \"3s\"\n")
			}
			s := sit(t, a, []string{"--no-hooks"})
			s.comes()
			tutti(t, s.d.home, "send", "--as", s.ben, "--id", "env:nudge", s.me, "a text that nobody types")
			s.until("the sentence reaches the model", func() bool { return s.asked(wake.Sentence) })
			if s.asked("nobody types") {
				t.Error("the text of the peer was typed")
			}
			s.until("it is on record", func() bool {
				return slices.ContainsFunc(s.trace("env:nudge").Trace, func(k struct{ Step, At, Result string }) bool {
					return k.Step == "pushed" && strings.HasPrefix(k.Result, "nudge")
				})
			})
		})
	}
}

func TestClaudeIsWoken(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			a := seated(version)
			s := sit(t, a, nil)
			s.comes()
			s.woken("rewake", pace{best: time.Second, worst: 8 * time.Second})
			s.wokenOnce("rewake")
		})
	}
}

// TestClaudeGoesOn: an agent is woken after its user interrupted a turn, which no hook reports, and after its user began a new conversation
// in the same program.
func TestClaudeGoesOn(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			const long = "think about it for long"
			over := make(chan struct{})
			s := sitBefore(t, seated(version), func(now turn) move {
				if raw := string(now.raw); strings.Contains(raw, long) && !strings.Contains(raw, "You have mail") {
					<-over
				}
				return move{say: "done"}
			}, nil)
			t.Cleanup(func() { close(over) }) // before the model is shut down, which waits for its answers
			s.comes()
			s.rests()
			s.keys("send-keys", "-l", long)
			time.Sleep(time.Second)
			s.keys("send-keys", "Enter")
			s.until("the turn begins", func() bool { return s.asked(long) })
			s.keys("send-keys", "Escape")
			me := s.me
			wakes := func(id, text string) {
				t.Helper()
				sent := time.Now()
				tutti(t, s.d.home, "send", "--as", s.ben, "--id", id, s.me, text)
				s.until("the message reaches the model", func() bool { return s.asked(text) })
				if took := time.Since(sent); took > time.Minute {
					t.Errorf("it took %v", took)
				}
				trace := s.trace(id).Trace
				t.Log(trace)
				if !slices.ContainsFunc(trace, func(k struct{ Step, At, Result string }) bool { return k.Result == "rewake" }) {
					t.Errorf("it was not woken by its hook: %v", trace)
				}
			}
			wakes("env:e2e:escape", "after it was broken off")
			s.rests()
			s.keys("send-keys", "-l", "/clear")
			time.Sleep(time.Second)
			s.keys("send-keys", "Enter")
			s.until("the new conversation begins", func() bool {
				all, err := filepath.Glob(filepath.Join(s.d.home, ".claude/sessions/*.json"))
				return err == nil && len(all) == 1 && !strings.Contains(s.keys("capture-pane", "-p"), "broken off")
			})
			time.Sleep(time.Second) // its hooks run
			wakes("env:e2e:clear", "after the conversation was begun anew")
			s.comes()
			if s.me != me {
				t.Errorf("the agent was %s, and is %s", me, s.me)
			}
		})
	}
}

// TestClaudeScriptDoesNotWait: a task without a screen ends when it is done, although a hook would wait for mail.
func TestClaudeScriptDoesNotWait(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			agentPrograms(t)
			home := t.TempDir()
			m := newModel(t, func(turn) move { return move{say: "done"} })
			d := desk{agent: claude(version), home: home, work: filepath.Join(home, "project"), url: m.http.URL}
			if err := os.MkdirAll(d.work, 0o700); err != nil {
				t.Fatal(err)
			}
			d.write(t, ".claude.json", "{}")
			tutti(t, home, "host", "setup", "--host", "claude")
			began := time.Now()
			if out := d.run(t, "-p", "hello"); !strings.Contains(out, "done") || time.Since(began) > time.Minute {
				t.Errorf("after %v: %s", time.Since(began), out)
			}
		})
	}
}

// TestClaudeInterruptedPrompt: a prompt that its user breaks off before the model answers goes back to where it was typed, and the mail that came
// with it is gone from the conversation. The next prompt brings it again.
func TestClaudeInterruptedPrompt(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			const first, second, text = "think about it for long", "go on with something else", "mail that came with a prompt"
			a := seated(version)
			set := a.setUp
			a.setUp = func(t *testing.T, d desk) {
				set(t, d)
				d.write(t, ".config/tutti/config.toml", "[wake]\nenabled = false\n")
			}
			over := make(chan struct{})
			s := sitBefore(t, a, func(now turn) move {
				if raw := string(now.raw); strings.Contains(raw, first) && !strings.Contains(raw, second) {
					<-over
				}
				return move{say: "done"}
			}, nil)
			t.Cleanup(func() { close(over) })
			s.comes()
			s.rests()
			says := func(prompt string) {
				t.Helper()
				s.keys("send-keys", "-l", prompt)
				time.Sleep(time.Second)
				s.keys("send-keys", "Enter")
				s.until("the turn begins", func() bool { return s.asked(prompt) })
			}
			tutti(t, s.d.home, "send", "--as", s.ben, "--id", "env:e2e:back", s.me, text)
			says(first)
			if !s.asked(text) {
				t.Error("the mail did not come with the prompt")
			}
			s.keys("send-keys", "Escape")
			time.Sleep(3 * time.Second) // the prompt stands where it was typed again
			s.keys("send-keys", "C-u")
			time.Sleep(time.Second)
			says(second)
			s.rests()
			turns := s.m.seen()
			last := string(turns[len(turns)-1].raw)
			if n := strings.Count(last, "| "+text); n != 1 {
				t.Errorf("the model was sent the mail %d times with the prompt that followed", n)
			}
			if strings.Contains(last, first) {
				t.Log("the prompt that was broken off is still there: what this test is about does not happen any more")
			}
			if trace := s.trace("env:e2e:back").Trace; trace[len(trace)-1].Step != "shown" {
				t.Errorf("nothing proves that it was shown: %v", trace)
			}
		})
	}
}
