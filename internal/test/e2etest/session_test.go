//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/test/progfile"
)

// A troupe is agents of one program in one folder, each of which was started by "tutti session create".
type troupe struct {
	*sitting
	bin string
}

// A member is what create says of one.
type member struct {
	OK      bool
	Name    string
	Dialog  string
	Found   string
	Anew    bool
	Session struct {
		Instance string
		Owner    string `json:"owner_id"`
		Pane     struct{ PID int }
		Claude   string `json:"claude_session_id_own"`
		Gemini   string `json:"gemini_session_id_own"`
		Codex    string `json:"codex_session_id_own"`
	}
}

func (m *member) conversation() string { return m.Session.Claude + m.Session.Gemini + m.Session.Codex }

// gather prepares a home and a folder for agents of a program. The program is found through a script, and with wrapped that script
// stays above it, as those of packages do.
func gather(t *testing.T, a agent, wrapped bool) *troupe {
	agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	known := a.steps(t, step{tool: "tutti_status", args: with(object{})})
	m := newModel(t, func(now turn) move {
		if bytes.Contains(now.raw, []byte("who am I")) && !bytes.Contains(now.raw, []byte("carry on after that,")) && len(now.offered) > 0 {
			return known(now)
		}
		return move{say: "done"}
	})
	home := t.TempDir()
	s := &troupe{sitting: &sitting{t: t, m: m, tmux: "e" + rand.Text()[:8]}, bin: filepath.Join(home, "bin")}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "a_b"), url: m.http.URL, serve: usually(a)}
	for _, dir := range []string{s.d.work, s.bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.setUp(t, s.d)
	tutti(t, home, "host", "setup", "--host", a.host)
	script := "#!/bin/sh\nexec"
	if wrapped {
		script = "#!/bin/sh\n"
	}
	for _, arg := range s.d.command(t).Args {
		script += " '" + arg + "'"
	}
	if err := progfile.Write(filepath.Join(s.bin, a.host), []byte(script+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"one", "two"} {
				out, _ := exec.Command("tmux", "-L", s.tmux, "capture-pane", "-p", "-t", "="+name+":").CombinedOutput()
				t.Logf("%s shows\n%s", name, out)
			}
			log, _ := os.ReadFile(filepath.Join(home, ".local/state/tutti/hook.log"))
			t.Logf("hook.log: %s", log)
		}
		if out, err := s.tutti("session", "stop", "--all", "--here"); err != nil && !t.Failed() {
			t.Errorf("stop: %v\n%s", err, out)
		}
		_ = exec.Command("tmux", "-L", s.tmux, "kill-server").Run()
		nothingLeft(t, home)
	})
	return s
}

// tutti runs a command of ours as the user of these agents does: in their folder, with their environment.
func (s *troupe) tutti(args ...string) (string, error) {
	c := exec.Command(filepath.Join(filepath.Dir(here.full), "tutti"), args...)
	c.Dir = s.d.work
	c.Env = append(s.d.command(s.t).Env, "PATH="+s.bin+":"+filepath.Dir(here.full)+":"+os.Getenv("PATH"), "SHELL=/bin/sh")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return string(out) + said.String(), err
	}
	return string(out), nil
}

// begins runs create or resume, and returns what it says.
func (s *troupe) begins(args ...string) (m member) {
	s.t.Helper()
	out, err := s.tutti(append([]string{"session"}, args...)...)
	if err != nil {
		s.t.Fatalf("session %q: %v\n%s", args, err, out)
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil || !m.OK {
		s.t.Fatalf("session %q: %v\n%s", args, err, out)
	}
	return m
}

// turn waits for a request of the model in which all of these texts are, and returns it.
func (s *troupe) turn(texts ...string) (found turn) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		for _, now := range s.m.seen() {
			all := true
			for _, text := range texts {
				all = all && bytes.Contains(now.raw, []byte(text))
			}
			if all {
				return now
			}
		}
		if time.Now().After(end) {
			for _, now := range s.m.seen() {
				s.t.Logf("the model was asked: %s", now.gist())
			}
			s.t.Fatalf("the model was never told %q", texts)
		}
	}
}

// killed kills the tmux server. A program that does not end with its terminal is not taken up as long as it runs; a stop ends it.
func (s *troupe) killed(all ...*member) {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.keys("display-message", "-p", "#{pid}")))
	if err != nil {
		s.t.Fatal(err)
	}
	var first []proc.ID
	for _, m := range all {
		id, err := proc.Of(m.Session.Pane.PID)
		if err != nil {
			s.t.Fatal(err)
		}
		first = append(first, id)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	for i, m := range all {
		s.until("status says that it is gone", func() bool {
			out, err := s.tutti("session", "status", m.Name)
			return err == nil && strings.Contains(out, " gone ")
		})
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		left := proc.Gone(ctx, first[i:i+1])
		cancel()
		if len(left) == 0 {
			continue
		}
		if out, err := s.tutti("session", "resume", m.Name); err == nil || !strings.Contains(out, "these processes of it run") {
			s.t.Errorf("%s runs on, and is taken up: %v\n%s", m.Name, err, out)
		}
		if out, err := s.tutti("session", "stop", m.Name); err != nil || first[i].Alive() {
			s.t.Errorf("%s runs on, and is not ended: %v\n%s", m.Name, err, out)
		}
	}
}

// TestSessions: two agents of each program in one folder are two agents on the bus, from the start and to their own servers; and when
// everything was killed each gets its own conversation back.
func TestSessions(t *testing.T) {
	inGemini := gemini
	inGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	for _, c := range []struct {
		agent   agent
		wrapped bool
		args    []string
	}{
		{seated("197"), false, []string{"--allowedTools", "mcp__tutti", "--permission-mode", "default"}},
		{seated("330"), true, []string{"--allowedTools", "mcp__tutti", "--permission-mode", "default"}},
		{screenCodex(t), true, []string{"--dangerously-bypass-hook-trust"}},
		{inGemini, false, []string{"-m", "gemini-2.5-flash", "--yolo"}},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			s := gather(t, c.agent, c.wrapped)
			var all []*member
			for _, name := range []string{"one", "two"} {
				m := s.begins(append([]string{
					"create", "--agent", c.agent.host, "--session", name, "--tmux-server", s.tmux, "--prompt", "who am I, " + name + "?",
					"--ready", "2m", "--json", "--",
				}, c.args...)...)
				if m.Session.Instance == "" {
					t.Fatalf("%s is not on the bus", name)
				}
				all = append(all, &m)
			}
			if all[0].Session.Instance == all[1].Session.Instance {
				t.Fatalf("both are %s", all[0].Session.Instance)
			}
			for i, m := range all {
				now := s.turn("who am I, "+m.Name+"?", m.Session.Instance)
				if bytes.Contains(now.raw, []byte(all[1-i].Session.Instance)) {
					t.Errorf("%s is told that it is %s, too", m.Name, all[1-i].Session.Instance)
				}
			}
			s.apart(all)
			s.killed(all...)
			for i, m := range all {
				again := s.begins("resume", m.Name, "--prompt", "carry on after that, "+m.Name+"!", "--ready", "2m", "--json")
				if again.Session.Instance != m.Session.Instance || again.Anew {
					t.Errorf("%s was %s and is %+v", m.Name, m.Session.Instance, again)
				}
				if id := m.conversation(); id != "" && again.conversation() != id {
					t.Errorf("the conversation of %s was %s and is %s", m.Name, id, again.conversation())
				}
				t.Logf("%s: conversation %s, %s", m.Name, again.conversation(), again.Found)
				now := s.turn("carry on after that, "+m.Name+"!", "who am I, "+m.Name+"?")
				if bytes.Contains(now.raw, []byte("who am I, "+all[1-i].Name)) {
					t.Errorf("%s has the conversation of %s", m.Name, all[1-i].Name)
				}
			}
		})
	}
}

// TestSessionWithoutMessages: one in which nothing was said before everything was killed is begun anew, whatever its program has kept of it.
func TestSessionWithoutMessages(t *testing.T) {
	inGemini := gemini
	inGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	for _, a := range []agent{seated("197"), seated("330"), inGemini} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := gather(t, a, false)
			args := []string{"create", "--agent", a.host, "--session", "one", "--tmux-server", s.tmux, "--json"}
			if a.host == "gemini" {
				args = append(args, "--", "-m", "gemini-2.5-flash")
			}
			m := s.begins(args...)
			s.until("it is ready", func() bool {
				out, err := s.tutti("session", "status", "one")
				return err == nil && strings.Contains(out, " idle")
			})
			if a.host == "gemini" {
				s.until("it has begun a file", func() bool {
					files, err := filepath.Glob(filepath.Join(s.d.home, ".gemini/tmp/*/chats/session-*.jsonl"))
					return err == nil && len(files) > 0
				})
			}
			var all []proc.ID
			for _, p := range proc.WithEnv("TUTTI_SESSION", m.Session.Owner) { // Gemini tidies up when it is asked to end
				_ = proc.Signal(p.ID, syscall.SIGKILL)
				all = append(all, p.ID)
			}
			proc.Gone(t.Context(), all)
			again := s.begins("resume", "one", "--prompt", "hello again", "--ready", "2m", "--json")
			if !again.Anew {
				t.Errorf("it goes on: %+v", again)
			}
			if same := again.conversation() == m.conversation(); same == (a.host == "gemini") {
				t.Errorf("conversation %s, and was %s", again.conversation(), m.conversation())
			}
			s.turn("hello again")
		})
	}
}

// apart waits until each agent is on the bus once, by its own server, and nobody stands in for one.
func (s *troupe) apart(all []*member) {
	s.t.Helper()
	var live []struct{ Instance, SessionID string }
	var raw []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		raw = tutti(s.t, s.d.home, "discover", "--json")
		live = nil
		if err := json.Unmarshal(raw, &live); err != nil {
			s.t.Fatal(err)
		}
		right := len(live) == len(all)
		for _, m := range all {
			n := 0
			for _, l := range live {
				if l.Instance == m.Session.Instance && l.SessionID != "sess:"+m.Session.Owner {
					n++
				}
			}
			right = right && n == 1
		}
		if right {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("on the bus are\n%s", raw)
			return
		}
	}
}

// TestSessionAsks: a question of a program at its start is reported, and stays unanswered.
func TestSessionAsks(t *testing.T) {
	for _, c := range []struct {
		agent agent
		asks  string
	}{
		{seated("330"), "it asks whether this folder is trusted"},
		{gemini, "it asks whether this folder is trusted"},
	} {
		a := c.agent
		a.setUp = func(t *testing.T, d desk) {
			if a.host == "gemini" {
				settings := object{}
				for k, v := range offlineGemini {
					settings[k] = v
				}
				settings["security"] = object{"auth": object{"selectedType": "gemini-api-key"}}
				d.write(t, ".gemini/settings.json", compact(settings))
				return
			}
			d.write(t, ".claude.json", compact(object{"hasCompletedOnboarding": true, "customApiKeyResponses": object{"approved": []string{"dummy"}}}))
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := gather(t, a, false)
			out, err := s.tutti("session", "create", "--agent", a.host, "--session", "one", "--tmux-server", s.tmux, "--prompt", "hello", "--ready", "20s", "--json")
			var exit *exec.ExitError
			if !asExit(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, c.asks) {
				t.Fatalf("%v\n%s", err, out)
			}
			if s.asked("hello") {
				t.Error("the prompt reached the model")
			}
			if screen := s.keys("capture-pane", "-p", "-t", "=one:"); !strings.Contains(screen, "rust") {
				t.Errorf("it does not ask any more:\n%s", screen)
			}
		})
	}
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}
