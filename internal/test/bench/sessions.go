package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/platform/proc"
)

// The sizes of the rows about agents in tmux.
const (
	someSessions = 10
	manySessions = 50
	looks        = 60 // timed calls of a round
	begun        = 12 // sessions that are begun and ended in a round
)

func sessionRows() []row {
	all := []row{
		{work: "`session list` of 10, against `tmux list-panes`", target: timesBase(2), round: listedSessions},
		{work: "`session status` of 50, half of them with their screens", target: within(10e-3), round: statusOfMany},
		{work: "`status` in a folder with 50 sessions, against `tmux list-panes`", round: screenOfMany},
		{work: "`session create`, against `tmux new-session` and a third of a start of tutti-full", target: timesBase(4), round: createSessions},
		{work: "`session stop`, against `tmux kill-session` and a third of a start of tutti-full", target: timesBase(4), round: stopSessions},
		{work: "from the end of a program to the word of `session monitor`", target: within(100e-3), round: deathKnown},
	}
	for i := range all {
		all[i].subject = "sessions"
	}
	return all
}

// A stage is a folder with a registry, and a tmux server of its own.
type stage struct {
	*town
	tmux    string // the program
	server  string // a name that nobody else has
	sockets string // folder of its socket; it says which process has made it
	pids    []int
}

// The folders of the sockets of a process, before and behind its pid.
const (
	socketsFirst = "/tmp/tutti-bench-tmux-" // the path of a socket may have 107 bytes
	socketsLast  = "-"
)

// ownFolder makes a folder whose name says which process has made it. First is a path.
func ownFolder(first string) (string, error) {
	return os.MkdirTemp(filepath.Dir(first), filepath.Base(first)+strconv.Itoa(os.Getpid())+socketsLast)
}

// leftBy returns the folders of ownFolder that a run has left that was killed.
func leftBy(first string) (left []string) {
	all, _ := filepath.Glob(first + "*" + socketsLast + "*") // the pattern is a good one
	for _, dir := range all {
		owner, _, _ := strings.Cut(strings.TrimPrefix(dir, first), socketsLast)
		pid, err := strconv.Atoi(owner)
		var info syscall.Stat_t
		if err != nil || syscall.Lstat(dir, &info) != nil || info.Mode&syscall.S_IFMT != syscall.S_IFDIR || int(info.Uid) != os.Getuid() {
			continue
		}
		if _, err := proc.Of(pid); !errors.Is(err, proc.ErrGone) {
			continue // it measures, or another program has its number: then the next run does it
		}
		left = append(left, dir)
	}
	return left
}

// sweep ends the servers that a run has left that was killed.
func sweep() {
	for _, dir := range leftBy(socketsFirst) {
		servers, _ := filepath.Glob(filepath.Join(dir, "tmux-*", "*")) // none: it was killed before
		for _, socket := range servers {
			_ = exec.Command("tmux", "-S", socket, "kill-server").Run() // it may have ended with its last session
		}
		_ = os.RemoveAll(dir) // what stays is tried again by the next run
	}
}

func (e *env) stage(verbs ...string) (*stage, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return nil, &noVerbError{"session, for there is no tmux"}
	}
	t, err := e.settle(verbs...)
	if err != nil {
		return nil, err
	}
	sweep()
	sockets, err := ownFolder(socketsFirst)
	if err != nil {
		return nil, err
	}
	t.more = append(t.more, "TMUX_TMPDIR="+sockets)
	return &stage{town: t, tmux: path, server: "bench" + rand.Text()[:8], sockets: sockets}, nil
}

// leave ends the server, also when the run was interrupted.
func (s *stage) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.rawIn(ctx, "kill-server").Run() // it may have ended with its last session
	_ = os.RemoveAll(s.sockets)
	s.town.leave()
}

func (s *stage) raw(args ...string) *exec.Cmd { return s.rawIn(s.e.ctx, args...) }

func (s *stage) rawIn(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.tmux, append([]string{"-L", s.server, "-f", os.DevNull}, args...)...)
	cmd.Env, cmd.Dir = s.as(""), s.dir
	return cmd
}

// timedRaw is tmux itself, to be timed.
func (s *stage) timedRaw(args ...string) command {
	return command{path: s.tmux, args: append([]string{"-L", s.server, "-f", os.DevNull}, args...), env: s.as(""), dir: s.dir}
}

// people starts programs that do nothing and are called claude, writes what Claude Code would write of itself, and a row for each.
func (s *stage) people(n int) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	claude := filepath.Join(s.dir, "claude")
	if err := install(sleep, claude); err != nil {
		return err
	}
	sheets := filepath.Join(s.dir, ".claude", "sessions")
	registry := filepath.Join(s.dir, ".hermes")
	if err := errors.Join(os.MkdirAll(sheets, 0o700), os.MkdirAll(registry, 0o700)); err != nil {
		return err
	}
	text := "tmux_sessions:\n"
	for i := range n {
		name := fmt.Sprintf("s%d-creator-claude", i)
		out, err := s.raw("new-session", "-d", "-P", "-F", "#{pane_pid} #{pane_id}", "-s", name, "-c", s.dir, "--", claude, "100000",
			";", "set-option", "@owner_id", fmt.Sprintf("%016x", i), ";", "set-option", "-p", "remain-on-exit", "on").Output()
		if err != nil {
			return err
		}
		var pid int
		var pane string
		if _, err := fmt.Sscan(string(out), &pid, &pane); err != nil {
			return err
		}
		id, err := proc.Of(pid)
		if err != nil {
			return err
		}
		s.pids = append(s.pids, pid)
		talk := fmt.Sprintf("7c9e6679-7425-40de-944b-%012x", i)
		text += fmt.Sprintf("  - name: %s\n    status: running\n    tmux_server: %s\n    agent: claude\n    owner_id: \"%016x\"\n    boot_id: %s\n    claude_session_id_own: %s\n"+
			"    pane:\n      pid: %d\n      cmd: claude\n      cwd: %s\n      id: \"%s\"\n      start_ticks: %d\n", name, s.server, i, id.Boot, talk, pid, s.dir, pane, id.Start)
		state := "idle"
		if i%2 > 0 {
			state = "busy"
		}
		sheet := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":1781258400000,"sessionId":%q,"cwd":%q}`, pid, id.Start, state, talk, s.dir)
		if err := os.WriteFile(filepath.Join(sheets, fmt.Sprint(pid)+".json"), []byte(sheet), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(registry, "agent-sessions.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	for range 2 { // into the database, then into the cache
		if _, err := s.run("", "session", "list"); err != nil {
			return err
		}
	}
	time.Sleep(3 * time.Second) // until the times of the file cannot hide another write
	return nil
}

// against times a verb of a full stage and a command of tmux in turns.
func (e *env) against(n int, raw []string, args ...string) (m measured, err error) {
	s, err := e.stage("session list")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if err := s.people(n); err != nil {
		return m, err
	}
	null, err := devNull()
	if err != nil {
		return m, err
	}
	defer null.Close()
	return inTurns(e.ctx, looks, process(s.timed("", args...), null), process(s.timedRaw(raw...), null))
}

var listPanes = []string{"list-panes", "-a", "-F", "#{session_name}"}

func listedSessions(e *env) (measured, error) {
	return e.against(someSessions, listPanes, "session", "list")
}

func statusOfMany(e *env) (measured, error) {
	return e.against(manySessions, listPanes, "session", "status", "--json")
}

func screenOfMany(e *env) (measured, error) {
	return e.against(manySessions, listPanes, "status")
}

// inLives times what begins or ends sessions: made and ended are how, done beside are what is not timed.
func (e *env) inLives(verb string, ours, raw func(s *stage, name string) (timed command, beside []string)) (m measured, err error) {
	s, err := e.stage("session create", "session stop")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if out, err := s.raw("new-session", "-d", "-s", "first", "--", "sleep", "100000").CombinedOutput(); err != nil {
		return m, fmt.Errorf("%w: %s", err, out)
	}
	null, err := devNull()
	if err != nil {
		return m, err
	}
	defer null.Close()
	handover := s.timed("", "plumbing", "handover")
	return inTurns(e.ctx, begun, func(i int) (time.Duration, error) {
		c, beside := ours(s, fmt.Sprintf("ours%d", i))
		if verb == "stop" {
			if _, err := s.run("", beside...); err != nil {
				return 0, err
			}
			return c.time(null)
		}
		took, err := c.time(null)
		if err == nil {
			_, err = s.run("", beside...)
		}
		return took, err
	}, func(i int) (time.Duration, error) {
		c, beside := raw(s, fmt.Sprintf("raw%d", i))
		if verb == "stop" {
			if err := s.raw(beside...).Run(); err != nil {
				return 0, err
			}
		}
		took, err := c.time(null)
		if verb != "stop" && err == nil {
			err = s.raw(beside...).Run()
		}
		start, e := handover.time(null)
		return took + start/3, errors.Join(err, e)
	})
}

func (s *stage) beginArgs(name string) []string {
	return []string{"session", "create", "--agent", "custom", "--session", name, "--tmux-server", s.server, "--", "sleep", "100000"}
}

func beginRaw(name string) []string {
	return []string{"new-session", "-d", "-s", name, "--", "sleep", "100000"}
}

func createSessions(e *env) (measured, error) {
	return e.inLives("create", func(s *stage, name string) (command, []string) {
		return s.timed("", s.beginArgs(name)...), []string{"session", "stop", name}
	}, func(s *stage, name string) (command, []string) {
		return s.timedRaw(beginRaw(name)...), []string{"kill-session", "-t", "=" + name}
	})
}

func stopSessions(e *env) (measured, error) {
	return e.inLives("stop", func(s *stage, name string) (command, []string) {
		return s.timed("", "session", "stop", name), s.beginArgs(name)
	}, func(s *stage, name string) (command, []string) {
		return s.timedRaw("kill-session", "-t", "="+name), beginRaw(name)
	})
}

// deathKnown kills programs, and waits until the monitor says so.
func deathKnown(e *env) (m measured, err error) {
	s, err := e.stage("session monitor")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if err := s.people(someSessions); err != nil {
		return m, err
	}
	cmd := s.command("", "session", "monitor", "--emit-diff")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return m, err
	}
	if err := cmd.Start(); err != nil {
		return m, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait() // it ends with 130
	}()
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil { // that it watches
		return m, err
	}
	lines := bufio.NewScanner(out)
	var took []time.Duration
	for i, pid := range s.pids {
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return m, err
		}
		name := fmt.Sprintf("s%d-creator-claude", i)
		for lines.Scan() {
			var d struct{ Class, Name, Action string }
			if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
				return m, err
			}
			if d.Class == "A" && d.Name == name && strings.HasPrefix(d.Action, "look") {
				took = append(took, time.Since(began))
				break
			}
		}
	}
	if len(took) != len(s.pids) {
		return m, fmt.Errorf("%d of %d ends were reported", len(took), len(s.pids))
	}
	return measured{value: median(took)}, nil
}
