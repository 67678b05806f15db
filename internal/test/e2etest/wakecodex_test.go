//go:build e2e

package e2etest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// screenCodex is Codex as it is started by the launcher of its package, in a home where it asks about nothing but hooks.
func screenCodex(t *testing.T) agent {
	a := codex
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"))
	}
	a.env = func(url string) []string {
		return append(codex.env(url), "CODEX_MANAGED_BY_NPM=1", "CODEX_MANAGED_PACKAGE_ROOT="+filepath.Join(agentPrograms(t), "node_modules/codex"))
	}
	return a
}

// begins types a first prompt, and waits until the agent is on the bus. Codex begins a conversation with that.
func (s *sitting) begins() {
	s.t.Helper()
	s.until("the screen is there", func() bool { return strings.Contains(s.keys("capture-pane", "-p"), "scripted") })
	time.Sleep(2 * time.Second) // it shows its prompt before it takes keys
	s.keys("send-keys", "-l", "hello")
	time.Sleep(time.Second)
	s.press("Enter", func() bool { return s.asked("hello") })
	s.comes()
}

// trusts answers the question whether the hooks are to be run.
func (s *sitting) trusts() {
	s.t.Helper()
	shows := func(text string) bool { return strings.Contains(s.keys("capture-pane", "-p"), text) }
	s.until("it asks about the hooks", func() bool { return shows("2. Trust all and continue") })
	s.press("2", func() bool { return !shows("2. Trust all and continue") || shows("› 2. Trust all") })
	s.press("Enter", func() bool { return !shows("2. Trust all and continue") })
}

// press presses a key until it is seen to have worked: a screen shows what it asks before it takes keys.
func (s *sitting) press(key string, worked func() bool) {
	s.t.Helper()
	for n := 0; !worked(); n++ {
		if n == 30 {
			s.t.Fatalf("%s does nothing:\n%s", key, s.keys("capture-pane", "-p"))
		}
		s.keys("send-keys", key)
		for end := time.Now().Add(3 * time.Second); !worked() && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// looks is how often Codex looks at its queue when it runs in one process, as it does with --no-daemon and with many another
// flag: at every tenth second since its start. There is nothing that would make it look earlier.
const looks = 10 * time.Second

// TestCodexIsWoken: an idle Codex gets a turn by its queue, in the open screen, without typing.
func TestCodexIsWoken(t *testing.T) {
	t.Run("with its server in the background", func(t *testing.T) {
		s := sit(t, screenCodex(t), nil)
		s.stopsServer()
		s.trusts()
		s.begins()
		if len(s.below(".codex/packages")) == 0 {
			t.Fatal("there is no server in the background, so this tries nothing")
		}
		s.woken("queue", pace{best: time.Second, worst: 8 * time.Second})
		s.wokenOnce("queue")
	})
	t.Run("in one process", func(t *testing.T) {
		s := sit(t, screenCodex(t), nil, "--no-daemon", "--dangerously-bypass-hook-trust")
		s.begins()
		s.woken("queue", pace{best: looks, worst: looks + 3*time.Second})
		s.wokenOnce("queue")
	})
}

// TestCodexNamesItsConversation: the call of a tool is enough to know which conversation is to be woken, without any hook.
func TestCodexNamesItsConversation(t *testing.T) {
	s := sit(t, screenCodex(t), []string{"--no-hooks"}, "--no-daemon")
	s.d.write(t, ".config/tutti/config.toml", "[wake]\nquiet = \"1s\"\n")
	s.m.mu.Lock()
	s.m.script = codex.steps(t, step{tool: "tutti_status", args: with(object{})})
	s.m.mu.Unlock()
	s.begins()
	s.until("the model knows its status", func() bool { return s.asked(s.me) })
	tutti(t, s.d.home, "send", "--as", s.ben, "--id", "env:named", s.me, "a text that is not queued")
	s.until("the sentence reaches the model", func() bool { return s.asked("You have mail") })
	if s.asked("is not queued") {
		t.Error("the text of the peer was queued")
	}
	got := s.trace("env:named")
	if !slices.ContainsFunc(got.Trace, func(k struct{ Step, At, Result string }) bool { return k.Step == "pushed" && k.Result == "queue" }) {
		t.Errorf("it was not woken by the queue: %v", got.Trace)
	}
}

// below are the processes whose program lies in a folder of this home.
func (s *sitting) below(folder string) []int {
	s.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		s.t.Fatal(err)
	}
	var pids []int
	for _, link := range all {
		exe, err := os.Readlink(link)
		pid, e := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err == nil && e == nil && strings.HasPrefix(exe, filepath.Join(s.d.home, folder)+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stopsServer has the test end what Codex leaves behind: its server outlives the screen, and who keeps it up to date outlives
// the server.
func (s *sitting) stopsServer() {
	s.t.Cleanup(func() {
		_ = exec.Command("tmux", "-L", s.tmux, "kill-server").Run() // a screen would start them again
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			left := s.below(".codex/packages")
			if len(left) == 0 {
				return
			}
			if time.Now().After(end) {
				s.t.Errorf("processes %v do not end", left)
				return
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
	})
}

// TestCodexIsWokenAfterEscape: Codex starts nothing from its queue once its user has broken off a turn. The sentence is typed then.
func TestCodexIsWokenAfterEscape(t *testing.T) {
	s := sitBefore(t, screenCodex(t), func(now turn) move {
		if strings.Contains(string(now.raw), "take long") && len(now.done) == 0 {
			return move{tool: "exec_command", args: object{"cmd": "sleep 20"}}
		}
		return move{say: "done"}
	}, nil, "--no-daemon", "--dangerously-bypass-hook-trust")
	s.begins()
	s.rests()
	s.keys("send-keys", "-l", "take long")
	time.Sleep(time.Second)
	s.press("Enter", func() bool { return s.asked("take long") })
	s.press("Escape", func() bool {
		return strings.Contains(s.keys("capture-pane", "-p"), "Conversation interrupted")
	})
	tutti(t, s.d.home, "send", "--as", s.ben, "--id", "env:esc", s.me, "after the escape")
	sent := time.Now()
	s.until("the message reaches the model", func() bool { return s.asked("after the escape") })
	got := s.trace("env:esc")
	t.Logf("MEASURED after Escape: woken after %v: %v", time.Since(sent).Round(10*time.Millisecond), got.Trace)
	if !slices.ContainsFunc(got.Trace, func(k struct{ Step, At, Result string }) bool { return strings.HasPrefix(k.Result, "nudge") }) {
		t.Errorf("it was not woken by the keys: %v", got.Trace)
	}
	s.rests()
	n := len(s.m.seen())
	time.Sleep(looks + time.Second)
	if more := len(s.m.seen()) - n; more > 0 {
		t.Errorf("%d requests too many", more)
	}
}

// TestCodexIsWokenAfterResume: a session that was resumed has no prompt yet, and its mail wakes it all the same.
func TestCodexIsWokenAfterResume(t *testing.T) {
	s := gather(t, screenCodex(t), false)
	m := s.begins("create", "--agent", "codex", "--session", "one", "--tmux-server", s.tmux, "--prompt", "hello", "--ready", "2m", "--json", "--", "--dangerously-bypass-hook-trust")
	s.turn("hello")
	s.rests()
	if out, err := s.tutti("session", "stop", "one"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.ben = connect(t, s.d.home, "", "agy", "ben")
	tutti(t, s.d.home, "send", "--as", s.ben, "--id", "env:back", m.Session.Instance, "while you were away")
	s.begins("resume", "one", "--json")
	began := time.Now()
	s.until("the message reaches the model", func() bool { return s.asked("while you were away") })
	t.Logf("MEASURED after a resume: woken after %v: %v", time.Since(began).Round(10*time.Millisecond), s.trace("env:back").Trace)
}

// TestCodexSandbox: in its sandbox Codex hides its process from its shell. tutti there knows all the same who speaks, and where the sandbox
// lets it write nothing it names the tools to call.
func TestCodexSandbox(t *testing.T) {
	agentPrograms(t)
	a := codex
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n")+
			"[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
	}
	home := t.TempDir()
	program := strings.TrimSuffix(here.full, "-full") // a login shell sets its own PATH
	calls := []string{program + " whoami", program + " send agy:ben hello 2>&1", program + " receive 2>&1"}
	m := newModel(t, func(now turn) move {
		if len(now.done) == len(calls) {
			return move{say: "done"}
		}
		return move{tool: "exec_command", args: object{"cmd": calls[len(now.done)]}}
	})
	d := newDesk(t, a, home, m.http.URL)
	connect(t, home, "", "agy", "ben")
	tutti(t, home, "host", "setup", "--host", "codex")
	d.run(t, a.hooked("work")...)
	seen := m.seen()
	done := seen[len(seen)-1].done
	for i, e := range done {
		t.Logf("%s: %s", calls[i], e.text)
	}
	me := agentOf(t, home, "codex")
	if len(done) != len(calls) || !strings.Contains(done[0].text, me) {
		t.Fatalf("whoami does not say %s", me)
	}
	for _, e := range done[1:] {
		if strings.Contains(e.text, "names no agent") || strings.Contains(e.text, "read-only") && !strings.Contains(e.text, "call the tool tutti_send") {
			t.Errorf("got %s", e.text)
		}
	}
}
