package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/progfile"
)

// claudeScript stands in for Claude Code: it keeps a transcript, shows an idle screen, writes each prompt to the file "heard", and ends
// when it is asked to.
const claudeScript = `
while [ $# -gt 0 ]; do
	case $1 in --session-id) own=$2; shift ;; --resume) id=$2; shift ;; esac
	shift
done
id=${own:-$id}
file=$HOME/.claude/projects/$(pwd -P | sed 's/[^a-zA-Z0-9]/-/g')/$id.jsonl
mkdir -p "${file%/*}"
[ -e "$file" ] || printf '{"type":"user","sessionId":"%s","cwd":"%s","timestamp":"%s"}\n' "$id" "$(pwd -P)" "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" >"$file"
line=$(printf '%80s' | sed 's/ /─/g')
screen() { printf '\033[2J\033[H\033]2;✳ idle\007\n\n%s\n❯ \n%s\n  ? for shortcuts\033[4;3H' "$line" "$line"; }
screen
: >"$HOME/ready/$$"
while read -r text; do
	[ "$text" != /exit ] || exit 0
	echo "$text" >>"$HOME/heard"
	screen
done
`

// A troupe is a home in which sessions of one folder are created, changed and ended.
type troupe struct {
	*testing.T
	home, work, sockets string
	usual               map[string]time.Duration // how long a verb takes without a kill
}

func newTroupe(t *testing.T) *troupe {
	s := &troupe{T: t, home: t.TempDir(), usual: map[string]time.Duration{}}
	var err error
	if s.sockets, err = os.MkdirTemp("/tmp", "ts"); err != nil { // the path of a socket may have 107 bytes
		t.Fatal(err)
	}
	s.work = filepath.Join(s.home, "work")
	// Its shell has its name, too: tmux calls a pane by the program that runs a script.
	shell, script := filepath.Join(s.home, "lib", "claude"), filepath.Join(s.home, "bin", "claude")
	for _, dir := range []string{filepath.Dir(shell), filepath.Dir(script), filepath.Join(s.home, "ready"), filepath.Join(s.work, ".hermes")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sh, err := os.ReadFile("/bin/sh")
	if err := errors.Join(err, progfile.Write(shell, sh, 0o700), progfile.Write(script, []byte("#!"+shell+claudeScript), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endServers(s.sockets)
		os.RemoveAll(s.sockets)
	})
	return s
}

func (s *troupe) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.work
	cmd.Env = []string{
		"HOME=" + s.home, "PATH=" + filepath.Join(s.home, "bin") + ":" + os.Getenv("PATH"), "TMUX_TMPDIR=" + s.sockets, "TMUX_SERVER_NAME=kill",
		"LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=xterm-256color",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a verb to its end.
func (s *troupe) run(args ...string) (string, error) {
	out, err := s.command("tutti", append([]string{"session"}, args...)...).CombinedOutput()
	return string(out), err
}

// killed runs a verb, and kills it after a time. It tells whether that was before its end.
func (s *troupe) killed(after time.Duration, args ...string) bool {
	s.Helper()
	cmd := s.command("tutti", append([]string{"session"}, args...)...)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	var exit *exec.ExitError
	return errors.As(cmd.Wait(), &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

// A killable is a verb, and which sessions there are when it was done.
type killable struct {
	args []string
	want map[string]string // their state by name
}

// killables are the verbs that change sessions, in an order in which each has something to do.
var killables = []killable{
	{[]string{"create", "--agent", "claude", "--session", "a"}, map[string]string{"a": "running"}},
	{[]string{"stop", "a"}, map[string]string{"a": "stopped"}},
	{[]string{"resume", "a"}, map[string]string{"a": "running"}},
	{[]string{"send", "a", "hello", "--ready", "10s"}, map[string]string{"a": "running"}}, // one that was killed may leave its text unsent, and the next waits for the user to send it
	{[]string{"restart", "a"}, map[string]string{"a": "running"}},
	{[]string{"rename", "a", "b"}, map[string]string{"b": "running"}},
	{[]string{"fork", "b", "--session", "c"}, map[string]string{"b": "running", "c": "running"}},
	{[]string{"stop", "c", "--purge-conversation", "--yes"}, map[string]string{"b": "running", "c": "terminated"}},
	{[]string{"remove", "c"}, map[string]string{"b": "running"}},
	{[]string{"stop", "b"}, map[string]string{"b": "stopped"}},
	{[]string{"resume", "--all"}, map[string]string{"b": "stopped"}},
	{[]string{"remove", "b"}, map[string]string{}},
}

// rows are the states of the sessions as "session status" tells them, and what it finds wrong.
func (s *troupe) rows() (states map[string]string, wrong []string) {
	s.Helper()
	out, err := s.command("tutti", "session", "status", "--here", "--json").Output()
	var said struct {
		Sessions []struct{ Name, Status, Drift string }
	}
	if e := json.Unmarshal(out, &said); err != nil || e != nil {
		s.Fatalf("status: %v, %v\n%s", err, e, out)
	}
	states = map[string]string{}
	for _, r := range said.Sessions {
		if _, twice := states[r.Name]; twice {
			wrong = append(wrong, r.Name+" is there twice")
		}
		states[r.Name] = r.Status
		if r.Drift != "-" {
			wrong = append(wrong, r.Name+": "+r.Drift)
		}
	}
	return states, wrong
}

// sound compares registry, tmux and processes with what they are to be, and checks that the user's own conversation is unchanged.
func (s *troupe) sound(k *killable, private string) {
	s.Helper()
	states, wrong := s.rows()
	if !maps.Equal(states, k.want) || len(wrong) > 0 {
		s.Errorf("after %q the sessions are %v (%q), want %v", k.args, states, wrong, k.want)
	}
	var running []string
	for name, state := range k.want {
		if state == "running" {
			running = append(running, name)
		}
	}
	slices.Sort(running)
	out, _ := s.command("tmux", "-L", "kill", "list-sessions", "-F", "#{session_name}").Output() // without a session there is no server
	live := strings.Fields(string(out))
	if slices.Sort(live); !slices.Equal(live, running) {
		s.Errorf("after %q tmux has %q, want %q", k.args, live, running)
	}
	if left := s.agents(); len(left) != len(running) {
		s.Errorf("after %q these agents run: %v, want %d", k.args, left, len(running))
	}
	if raw, err := os.ReadFile(private); err != nil || string(raw) != "private\n" {
		s.Errorf("after %q the conversation of the user is %q, %v", k.args, raw, err)
	}
}

// agents are the processes of the agents that run, once all of them are ready.
func (s *troupe) agents() (all []int) {
	s.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all = nil
		ready := true
		for _, p := range proc.WithEnv("HOME", s.home) {
			above, err := proc.Parent(p.PID)
			comm, _ := proc.Comm(above)
			if p.Comm != "claude" || err != nil || comm == "claude" { // a part of its script
				continue
			}
			all = append(all, p.PID)
			_, err = os.Stat(filepath.Join(s.home, "ready", fmt.Sprint(p.PID)))
			ready = ready && err == nil
		}
		if ready {
			return all
		}
		if time.Now().After(end) {
			s.Errorf("not all of %v are ready", all)
			return all
		}
	}
}

// TestSessionVerbsKilled kills each verb that changes sessions at any moment, and runs it once more: what it was to do is done then, once,
// and nothing else is touched.
func TestSessionVerbsKilled(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: killed session verbs are not tested")
	}
	t.Parallel()
	lanes, kills := 1, int64(len(killables)/2) // one round of kills: some verbs end before they are killed
	if os.Getenv("TUTTI_SOAK") != "" {
		lanes, kills = 4, 300
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	for range lanes {
		s := newTroupe(t)
		wg.Go(func() { s.kills(&done, kills) })
	}
	wg.Wait()
	t.Logf("%d kills", done.Load())
}

// kills goes through the verbs until so many were killed.
func (s *troupe) kills(done *atomic.Int64, want int64) {
	private := filepath.Join(s.home, ".claude/projects", strings.NewReplacer("/", "-", "_", "-").Replace(s.work), "0b6c4d9e-2f4a-4c53-9a51-3d1f5b7c9e02.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(private), 0o700), os.WriteFile(private, []byte("private\n"), 0o600)); err != nil {
		s.Error(err)
		return
	}
	for round := 0; done.Load() < want && !s.Failed(); round++ {
		for i := range killables {
			k := &killables[i]
			verb := strings.Join(k.args, " ")
			if round > 0 && s.killed(rand.N(s.usual[verb]), k.args...) {
				done.Add(1)
			}
			began := time.Now()
			out, err := s.run(k.args...)
			if round == 0 {
				s.usual[verb] = time.Since(began)
			}
			if states, _ := s.rows(); err != nil && (round == 0 || !maps.Equal(states, k.want)) {
				s.Errorf("%s: %v\n%s", verb, err, out)
			}
			if s.sound(k, private); s.Failed() {
				return
			}
		}
		if round == 0 {
			s.Logf("a verb takes %v", s.usual)
		}
	}
}
