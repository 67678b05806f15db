//go:build e2e

package e2etest

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/job"
)

// A scene is a program in a terminal, as package driver starts it and sees it.
type scene struct {
	*sitting
	life *driver.Life
	name string // of the session in tmux
}

// TestAgentCLILifecycle: checks package driver's knowledge of each program with the program: how it starts, what its screen shows when it
// is idle, works and asks, where it stores its conversation, how it exits, and how it resumes the conversation.
func TestAgentCLILifecycle(t *testing.T) {
	withGemini := gemini
	withGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	askingCodex := screenCodex(t)
	askingCodex.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n"))
	}
	askingOpencode := opencode
	askingOpencode.setUp = func(t *testing.T, d desk) {
		d.write(t, ".config/opencode/opencode.json", compact(object{
			"autoupdate": false, "share": "disabled", "model": "offline/scripted", "small_model": "offline/scripted", "permission": object{"bash": "ask"},
			"provider": object{"offline": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": d.url + "/v1", "apiKey": "dummy"}, "models": object{"scripted": object{}},
			}},
		}))
	}
	remove := object{"command": "rm -rf build/out", "description": "Remove the output"}
	for _, c := range []struct {
		agent agent
		ask   move
		args  []string
	}{
		{seated("197"), move{tool: "Bash", args: remove}, []string{"--permission-mode", "default"}},
		{seated("330"), move{tool: "Bash", args: remove}, []string{"--permission-mode", "default"}},
		{askingCodex, move{tool: "exec_command", args: object{"cmd": "rm -rf build/out", "sandbox_permissions": "require_escalated", "justification": "May I?"}}, nil},
		{withGemini, move{tool: "run_shell_command", args: remove}, []string{"-m", "gemini-2.5-flash"}},
		{askingOpencode, move{tool: "bash", args: remove}, nil},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			lives(t, c.agent, c.ask, c.args)
		})
	}
}

func lives(t *testing.T, a agent, ask move, args []string) {
	agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	known, ok := driver.Kind(a.host)
	if !ok {
		t.Fatalf("%s is not known", a.host)
	}
	goOn := make(chan struct{})
	m := newModel(t, func(now turn) move {
		switch text := lastWords(now); {
		case strings.Contains(text, "take long"):
			<-goOn
		case strings.Contains(text, "clean up"):
			return ask
		}
		return move{say: "done"}
	})
	home := t.TempDir()
	s := &scene{sitting: &sitting{t: t, m: m, tmux: "e" + rand.Text()[:8]}, life: &known.Life}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "a_b"), url: m.http.URL}
	if err := os.MkdirAll(s.d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	a.setUp(t, s.d)
	t.Cleanup(func() {
		s.ends()
		nothingLeft(t, home)
	})
	s.keys("new-session", "-d", "-s", "keep", "--", "sleep", "3600")
	chosen := uuid()
	s.begin("first", s.life.Start(driver.Begin{Conversation: chosen, Args: args}))
	s.shows("it rests", driver.Seen.Free)
	if s.life.Sheet != nil {
		s.sheet(chosen, driver.Idle)
	}
	s.tell("take long", "it works", func() bool { return s.look().Doing == driver.Busy })
	close(goOn)
	s.shows("it rests again", driver.Seen.Free)
	s.clears()
	s.tell("clean up", "it asks", func() bool {
		now := s.look()
		return now.Doing == driver.Asking && strings.Contains(now.Dialog, "tool") && !now.Guess
	})
	if s.life.Sheet != nil {
		s.sheet(chosen, driver.Asking)
	}
	s.keys("send-keys", "-t", "=first:", "Escape")
	s.shows("Escape leads out of it", driver.Seen.Free)
	id := s.conversation()
	if known.Life.Choose != "" && id != chosen {
		t.Errorf("the conversation is %s, want %s", id, chosen)
	}
	s.leave()
	s.begin("again", s.life.Resume(id, driver.Begin{Args: args}))
	s.shows("it rests with the old conversation", func(now driver.Seen) bool {
		all := s.keys("capture-pane", "-p", "-S", "-", "-t", "=again:") // Gemini does not show again what its user said
		return now.Free() && (strings.Contains(all, "take long") || strings.Contains(all, "✦ done"))
	})
	s.leave()
}

// clears pastes the text of a job, and short ones, and takes them away again with the keys that do so.
func (s *scene) clears() {
	s.t.Helper()
	book, _, err := job.At(s.d.work)
	if err != nil {
		s.t.Fatal(err)
	}
	brief := book.Brief(&job.Job{ID: "abcdefgh", Prompt: "Count the files.\n\nThen say so.", Idle: time.Minute})
	server, err := tmux.Named(s.tmux)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, text := range []string{brief, "First.\n\nSecond.", "one line"} {
		pane, err := server.Find(s.t.Context(), s.name)
		if err == nil {
			err = server.Paste(s.t.Context(), pane.Ref(), text)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.shows("the text stands there", func(now driver.Seen) bool { return now.Doing == driver.Idle && now.Prompt && now.Typed != "" })
		for _, key := range s.life.Clear {
			if err := server.Key(s.t.Context(), pane.Ref(), key); err != nil {
				s.t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond) // two at once are another key
		}
		s.shows("the text is gone", driver.Seen.Free)
	}
}

// begin starts the program in a session of its own, which stays when the program has ended.
func (s *scene) begin(name string, args []string) {
	s.t.Helper()
	s.name = name
	c := s.d.command(s.t, args...)
	line := append([]string{
		"new-session", "-d", "-x", "100", "-y", "32", "-s", name, "-c", s.d.work, "--", "sh", "-c",
		`exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh", "TERM=xterm-256color", "SHELL=/bin/sh",
	}, c.Env...)
	line = slices.DeleteFunc(line, func(s string) bool { return s == "TERM=dumb" })
	s.keys(append(append(line, c.Args...), ";", "set-option", "-p", "-t", "="+name+":", "remain-on-exit", "on")...)
}

// ends ends what a test left that went wrong: Gemini survives the end of its terminal.
func (s *scene) ends() {
	out, _ := exec.Command("tmux", "-L", s.tmux, "list-panes", "-a", "-F", "#{?pane_dead,,#{pane_pid}}").Output()
	for word := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGTERM)
		}
	}
	_ = exec.Command("tmux", "-L", s.tmux, "kill-server").Run()
}

// look is what package driver sees.
func (s *scene) look() driver.Seen {
	title := strings.TrimSuffix(s.keys("display-message", "-p", "-t", "="+s.name+":", "#{pane_title}"), "\n")
	return s.life.Screen(s.keys("capture-pane", "-p", "-t", "="+s.name+":"), title)
}

// shows waits for a screen.
func (s *scene) shows(what string, is func(driver.Seen) bool) {
	s.t.Helper()
	var last driver.Seen
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if last = s.look(); is(last) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: in vain: %+v\n%s", what, last, s.keys("capture-pane", "-p", "-t", "="+s.name+":"))
		}
	}
}

// enter pastes a line, presses Enter when the line stands where it should, and once more for as long as it stays there.
func (s *scene) enter(line string) {
	s.t.Helper()
	for n := 0; ; n++ { // a screen shows its prompt before it takes what is typed
		s.keys("set-buffer", "-b", s.tmux, line, ";", "paste-buffer", "-p", "-d", "-b", s.tmux, "-t", "="+s.name+":")
		if s.within(3*time.Second, func() bool { return s.look().Holds(line) }) {
			break
		}
		seen := s.look()
		if seen.Holds(line) { // it came late
			break
		}
		if n == 20 || !seen.Free() {
			s.t.Fatalf("%q is not taken: %+v\n%s", line, s.look(), s.keys("capture-pane", "-p", "-t", "="+s.name+":"))
		}
	}
	stays := func() bool { return s.look().Typed == line }
	for n := 0; ; n++ {
		if n == 20 {
			s.t.Fatalf("Enter does nothing:\n%s", s.keys("capture-pane", "-p", "-t", "="+s.name+":"))
		}
		time.Sleep(200 * time.Millisecond) // a program takes an Enter that follows at once for a part of what was pasted
		s.keys("send-keys", "-t", "="+s.name+":", "Enter")
		if s.within(2*time.Second, func() bool { return !stays() }) {
			return
		}
	}
}

// tell enters a line, and waits until what it brings about is there. A screen that is drawn anew can show an empty prompt for a moment,
// so that a line looks as if it were taken; Enter is pressed again when it stands there later.
func (s *scene) tell(line, what string, done func() bool) {
	s.t.Helper()
	s.enter(line)
	for n := 0; !s.within(5*time.Second, done); n++ {
		if n == 24 {
			s.t.Fatalf("%q, %s: in vain: %+v\n%s", line, what, s.look(), s.keys("capture-pane", "-p", "-t", "="+s.name+":"))
		}
		if s.look().Holds(line) {
			s.keys("send-keys", "-t", "="+s.name+":", "Enter")
		}
	}
}

// say is tell with a line whose answer is "done", the first on this screen.
func (s *scene) say(line string) {
	s.t.Helper()
	s.tell(line, "it answers", func() bool {
		return strings.Contains(s.keys("capture-pane", "-p", "-t", "="+s.name+":"), "done") && s.look().Free()
	})
}

// within looks until something is so, for at most this long.
func (s *scene) within(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		if is() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// leave types the line to leave. What is in front has a name that is known, and it ends in time.
func (s *scene) leave() {
	s.t.Helper()
	ask := func(format string) string {
		return strings.TrimSuffix(s.keys("display-message", "-p", "-t", "="+s.name+":", format), "\n")
	}
	if comm := ask("#{pane_current_command}"); !slices.Contains(s.life.Comms, comm) {
		s.t.Errorf("%q is in front, which is none of %q", comm, s.life.Comms)
	}
	began := time.Now()
	left := func() bool { return ask("#{pane_dead}") == "1" }
	s.enter(s.life.Exit)
	if !s.within(20*time.Second, left) && s.look().Free() { // under load Gemini empties its prompt now and then, and goes on
		s.t.Logf("%s did nothing, and is typed once more", s.life.Exit)
		s.enter(s.life.Exit)
	}
	s.until("it leaves", left)
	s.t.Logf("%s took %v from the paste on", s.life.Exit, time.Since(began))
	if status := ask("#{pane_dead_status}"); status != "0" && status != "" { // tmux forgets some
		s.t.Errorf("it ended with status %s", status)
	}
}

// sheet is what the program says of itself.
func (s *scene) sheet(conversation string, doing driver.Doing) {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.keys("display-message", "-p", "-t", "="+s.name+":", "#{pane_pid}")))
	if err != nil {
		s.t.Fatal(err)
	}
	process, err := proc.Of(pid)
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("its sheet says what it does", func() bool {
		raw, err := os.ReadFile(s.life.Sheet(driver.Site{Home: s.d.home}, pid))
		if err != nil {
			return false
		}
		got, ok := s.life.ReadSheet(raw)
		if ok && (got.PID != pid || got.Start != process.Start || got.Conversation != conversation || got.Dir != s.d.work) {
			s.t.Fatalf("the sheet is %+v, want %+v, %s, %s", got, process, conversation, s.d.work)
		}
		return ok && got.Doing == doing
	})
}

// conversation finds the only one of the folder.
func (s *scene) conversation() string {
	s.t.Helper()
	place := driver.Site{Home: s.d.home, Dir: s.d.work}
	find := s.life.Find
	var all []driver.Conversation
	if find.List != nil {
		out, err := s.d.command(s.t, find.List...).Output()
		if err != nil {
			s.t.Fatal(err)
		}
		all = find.ReadList(out)
	}
	if find.Roots != nil {
		roots := find.Roots(place)
		root := roots[len(roots)-1]
		for _, pattern := range find.Files(place) {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				s.t.Fatal(err)
			}
			for _, name := range files {
				f, err := os.Open(name)
				if err != nil {
					s.t.Fatal(err)
				}
				head, err := io.ReadAll(io.LimitReader(f, driver.MaxHead))
				f.Close()
				if err != nil {
					s.t.Fatal(err)
				}
				if c, ok := find.Read(place, name, head); ok {
					all = append(all, c)
				}
			}
		}
	}
	if len(all) != 1 || all[0].Dir != s.d.work || !s.life.IsID(all[0].ID) || time.Since(all[0].Began) > time.Hour {
		s.t.Fatalf("conversations: %+v, want one of %s", all, s.d.work)
	}
	if find.Artefacts != nil {
		some := 0
		for _, a := range find.Artefacts(place, all[0].ID) {
			files, err := filepath.Glob(filepath.Join(a.Root, a.Path))
			if err != nil {
				s.t.Fatal(err)
			}
			some += len(files)
		}
		if some == 0 {
			s.t.Errorf("nothing of conversation %s is found", all[0].ID)
		}
	}
	return all[0].ID
}

// lastWords is what the user said last, as far as that is the last of what the model is told.
func lastWords(now turn) string {
	raw := string(now.raw)
	at := max(strings.LastIndex(raw, "take long"), strings.LastIndex(raw, "clean up"))
	if at < 0 || len(now.done) > 0 {
		return ""
	}
	return raw[at:min(len(raw), at+len("take long"))]
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
