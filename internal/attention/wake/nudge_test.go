package wake

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("WAKE_TEST_SCREEN"); how != "" {
		screen(how)
		return
	}
	if home := os.Getenv("WAKE_TEST_MEET"); home != "" {
		looks := sync.OnceFunc(func() { fmt.Println("waiting") })
		place := SocketDir{Home: home, Env: func(string) string { // it is asked at each look
			looks()
			return ""
		}}
		_, _ = Wait(context.Background(), Caller{Place: place, Host: "claude", Conversation: talk, Event: "SessionStart"}, time.Hour)
		fmt.Println("ended")
		return
	}
	if home := os.Getenv("WAKE_TEST_WAIT"); home != "" {
		_, _ = Wait(context.Background(), Caller{Place: SocketDir{Home: home}, Host: "claude", Conversation: talk, Event: "Stop"}, 0)
		return
	}
	dir, err := os.MkdirTemp("/tmp", "tw") // short, because the path of a socket is; and no server of the user is in it
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMUX_TMPDIR", dir)
	os.Unsetenv("TMUX")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// screen is an agent program as far as it can be seen. What its user submits it writes to a file.
func screen(how string) {
	rule := strings.Repeat("─", 60)
	title, prompt, help := "✳ work", "❯\u00a0", "  ? for shortcuts"
	switch how {
	case "busy":
		title = "⠂ work"
	case "busy, by its help":
		help = "  esc to interrupt"
	case "asks":
		prompt, help = "❯ 1. Yes", "  2. No"
	}
	fmt.Printf("\033]2;%s\033\\\033[2J\033[H", title)
	fmt.Printf("● done\n\n%s\n%s\n%s\n%s\033[2A\r\033[%dC", rule, prompt, rule, help, len([]rune(prompt)))
	if how == "turns" {
		go func() {
			for n := 0; ; n++ {
				fmt.Printf("\0337\033[1;1H%d\0338", n)
				time.Sleep(50 * time.Millisecond)
			}
		}()
	}
	os.WriteFile(os.Getenv("WAKE_TEST_PID"), []byte(strconv.Itoa(os.Getpid())), 0o600)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f, _ := os.OpenFile(os.Getenv("WAKE_TEST_GOT"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintln(f, lines.Text())
		f.Close()
	}
	time.Sleep(time.Minute) // it was put into the background
}

// A stage is a pane with an agent in it.
type stage struct {
	t    *testing.T
	name string
	n    Nudger
	got  string // file with what was submitted
}

func (s *stage) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", s.name}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func newStage(t *testing.T, how string) *stage {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: typing into panes is not tested")
	}
	dir := t.TempDir()
	s := &stage{t: t, name: "w" + rand.Text()[:8], got: filepath.Join(dir, "got")}
	pid := filepath.Join(dir, "pid")
	self, _ := os.Executable()
	args := []string{"new-session", "-d", "-x", "100", "-y", "20", "-e", "WAKE_TEST_SCREEN=" + how, "-e", "WAKE_TEST_PID=" + pid, "-e", "WAKE_TEST_GOT=" + s.got, "--"}
	if how == "put aside" {
		args = append(args, "sh", "-c", `"$0" & exec cat > `+s.got, self)
	} else {
		args = append(args, self)
	}
	s.tmux(args...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", s.name, "kill-server").Run() })
	var number int
	for end := time.Now().Add(time.Minute); number == 0; time.Sleep(10 * time.Millisecond) {
		raw, _ := os.ReadFile(pid)
		if number, _ = strconv.Atoi(string(raw)); time.Now().After(end) {
			t.Fatal("no agent comes")
		}
	}
	id, err := proc.Of(number)
	if err != nil {
		t.Fatal(err)
	}
	server, err := tmux.Named(s.name)
	if err != nil {
		t.Fatal(err)
	}
	claude, _ := driver.Get("claude")
	s.n = Nudger{Server: server, Agent: id, Halted: func() error { return nil }, screen: claude.Life.Screen}
	return s
}

func (s *stage) submitted() string {
	raw, _ := os.ReadFile(s.got)
	return string(raw)
}

func TestNudge(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, "idle")
		a := s.n.try(t.Context())
		if !a.Did || !a.Counts || a.Err != nil || a.Detail != "pane %0" {
			t.Fatalf("%+v\n%s", a, s.tmux("capture-pane", "-p"))
		}
		for end := time.Now().Add(time.Minute); s.submitted() != Sentence+"\n"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("submitted: %q", s.submitted())
			}
		}
	})
	for _, how := range []string{"busy", "busy, by its help", "asks", "turns", "put aside"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, how)
			s.untouched(how, s.n.try(t.Context()), true)
		})
	}
	t.Run("a draft", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, "idle")
		s.tmux("send-keys", "-l", "what its user has begun")
		s.untouched("a draft", s.n.try(t.Context()), true)
	})
	t.Run("its user scrolls", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, "idle")
		s.tmux("copy-mode")
		s.untouched("scrolled", s.n.try(t.Context()), true)
	})
	t.Run("halted", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, "idle")
		s.n.Halted = func() error { return errors.New("halted") }
		s.untouched("halted", s.n.try(t.Context()), true)
	})
	t.Run("another process", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, "idle")
		s.n.Agent = proc.Self()
		s.untouched("not in a pane", s.n.try(t.Context()), false)
	})
}

// untouched makes sure that nothing was typed.
func (s *stage) untouched(what string, a Attempt, later bool) {
	s.t.Helper()
	if a.Did || a.Err != nil || a.Later != later {
		s.t.Errorf("%s: %+v", what, a)
	}
	if screen := s.tmux("capture-pane", "-p"); strings.Contains(screen, "mail") || s.submitted() != "" {
		s.t.Errorf("%s: something was typed: %q\n%s", what, s.submitted(), screen)
	}
}

// TestNudgeKeepsDraft: text that the user types at the same moment is not submitted.
func TestNudgeKeepsDraft(t *testing.T) {
	t.Parallel()
	s := newStage(t, "idle")
	asked := 0
	s.n.Halted = func() error {
		if asked++; asked == 1 {
			s.tmux("send-keys", "-l", "rm -r ")
		}
		return nil
	}
	a := s.n.try(t.Context())
	if !a.Did || !a.Later || !errors.Is(a.Err, errDraft) || s.submitted() != "" {
		t.Errorf("%+v, submitted %q\n%s", a, s.submitted(), s.tmux("capture-pane", "-p"))
	}
}

// TestNudgeSubmitsLateText: a sentence that the program has shown too late is submitted the next time, and not typed again.
func TestNudgeSubmitsLateText(t *testing.T) {
	t.Parallel()
	s := newStage(t, "idle")
	s.tmux("send-keys", "-l", Sentence)
	for end := time.Now().Add(time.Minute); !strings.Contains(s.tmux("capture-pane", "-p"), Sentence); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the terminal does not show what was typed")
		}
	}
	if a := s.n.try(t.Context()); !a.Did || a.Err != nil {
		t.Fatalf("%+v\n%s", a, s.tmux("capture-pane", "-p"))
	}
	for end := time.Now().Add(time.Minute); s.submitted() != Sentence+"\n"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("submitted: %q", s.submitted())
		}
	}
}
