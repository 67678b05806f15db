//go:build e2e

package e2etest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
)

// TestStops ends each program by "tutti session stop" while it rests, while it works, and while it asks whether a tool may be used:
// nothing of it is left, the tool is not used, and the conversation is known afterwards.
func TestStops(t *testing.T) {
	withGemini := gemini
	withGemini.setUp = func(t *testing.T, d desk) { d.write(t, ".gemini/settings.json", compact(offlineGemini)) }
	askingCodex := screenCodex(t)
	askingCodex.setUp = func(t *testing.T, d desk) {
		d.write(t, ".codex/config.toml", offlineCodex(d, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n"))
	}
	touch := object{"command": "touch approved", "description": "Leave a mark"}
	for _, c := range []struct {
		agent agent
		ask   move
		args  []string
	}{
		{seated("197"), move{tool: "Bash", args: touch}, []string{"--permission-mode", "default"}},
		{seated("330"), move{tool: "Bash", args: touch}, []string{"--permission-mode", "default"}},
		{askingCodex, move{tool: "exec_command", args: object{"cmd": "touch approved", "sandbox_permissions": "require_escalated", "justification": "May I?"}}, nil},
		{withGemini, move{tool: "run_shell_command", args: touch}, []string{"-m", "gemini-2.5-flash"}},
	} {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			stops(t, c.agent, c.ask, c.args)
		})
	}
}

func stops(t *testing.T, a agent, ask move, args []string) {
	agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	known, ok := driver.Kind(a.host)
	if !ok {
		t.Fatalf("%s is not known", a.host)
	}
	over := make(chan struct{})
	m := newModel(t, func(now turn) move {
		switch text := lastWords(now); {
		case strings.Contains(text, "take long"):
			<-over
		case strings.Contains(text, "clean up"):
			return ask
		}
		return move{say: "done"}
	})
	home, owner := t.TempDir(), strings.ToLower(rand.Text()[:16])
	env := a.env
	a.env = func(url string) []string { return append(env(url), observe.Variable+"="+owner) }
	s := &scene{sitting: &sitting{t: t, m: m, tmux: "e" + rand.Text()[:8]}, life: &known.Life}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "a_b"), url: m.http.URL}
	if err := os.MkdirAll(filepath.Join(s.d.work, ".hermes"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.setUp(t, s.d)
	t.Cleanup(func() {
		close(over)
		s.ends()
		nothingLeft(t, home)
	})
	s.keys("new-session", "-d", "-s", "keep", "--", "sleep", "3600")
	var ids []string
	for _, state := range []string{"idle", "working", "asking"} {
		chosen := uuid()
		argv := s.life.Start(driver.Begin{Conversation: chosen, Args: args})
		s.begin(state, argv)
		s.register(state, owner, append([]string{s.life.Comms[0]}, argv...))
		s.shows("it rests", driver.Seen.Free)
		s.say("hello")
		switch state {
		case "working":
			s.tell("take long", "it works", func() bool { return s.look().Doing == driver.Busy })
		case "asking":
			s.tell("clean up", "it asks", func() bool { return s.look().Doing == driver.Asking })
		}
		id := s.stop(state)
		if known.Life.Choose != "" && id != chosen || !s.life.IsID(id) || slices.Contains(ids, id) {
			t.Errorf("%s: the conversation is %q, chosen was %s, those before %q", state, id, chosen, ids)
		}
		ids = append(ids, id)
	}
	s.purge("asking", ids[2], ids[:2])
}

// register writes the row that create would have written.
func (s *scene) register(name, owner string, argv []string) {
	s.t.Helper()
	s.keys("set-option", "-t", "="+name+":", "@owner_id", owner)
	var pid int
	if _, err := fmt.Sscan(s.keys("display-message", "-p", "-t", "="+name+":", "#{pane_pid}"), &pid); err != nil {
		s.t.Fatal(err)
	}
	id, err := proc.Of(pid)
	if err != nil {
		s.t.Fatal(err)
	}
	words, err := json.Marshal(argv)
	if err != nil {
		s.t.Fatal(err)
	}
	own := "null"
	if _, chosen, _ := s.life.Unchosen(argv[1:]); chosen != "" {
		own = chosen
	}
	path := filepath.Join(s.d.work, ".hermes/agent-sessions.yaml")
	old, _ := os.ReadFile(path)
	if len(old) == 0 {
		old = []byte("tmux_sessions:\n")
	}
	row := fmt.Sprintf(`  - name: %s
    status: running
    tmux_server: %s
    agent: %s
    owner_id: %s
    boot_id: %s
    created_at: "%s"
    pane:
      pid: %d
      start_ticks: %d
      cmd: %s
      cwd: %s
    start_argv: %s
    %s_session_id_own: %s
`, name, s.tmux, s.d.agent.host, owner, id.Boot, time.Now().UTC().Format(time.RFC3339), pid, id.Start, s.life.Comms[0], s.d.work, words, s.d.agent.host, own)
	// A row that a program has written has its members behind those of ours; the next one follows it.
	if err := os.WriteFile(path, append(old, row...), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// A stopping is what session stop says with --json.
type stopping struct {
	OK           bool
	Status       string
	Conversation string
	Steps        []string
	Took         int `json:"took_ms"`
	Deleted      []string
	Notes        []string
	LivesOn      []struct{ Is string } `json:"lives_on"`
}

// command runs session stop in the folder of the agent.
func (s *scene) command(args ...string) (got stopping) {
	s.t.Helper()
	c := exec.Command(strings.TrimSuffix(here.full, "-full"), append([]string{"session", "stop", "--json", "--session"}, args...)...)
	c.Dir = s.d.work
	c.Env = []string{"HOME=" + s.d.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, v := range s.d.agent.env(s.d.url) {
		if name, _, _ := strings.Cut(v, "="); name == "CODEX_HOME" || name == "CLAUDE_CONFIG_DIR" {
			c.Env = append(c.Env, v)
		}
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if e := json.Unmarshal(out, &got); err != nil || e != nil || !got.OK {
		s.t.Fatalf("session stop %q: %v, %v\n%s\n%s", args, err, e, out, errs.Bytes())
	}
	return got
}

// stop stops a session and looks at once whether anything is left.
func (s *scene) stop(name string) (conversation string) {
	s.t.Helper()
	began := time.Now()
	got := s.command(name, "--reason", "e2e")
	took := time.Since(began)
	if left := processesOf(s.d.home); len(left) > 0 {
		s.t.Errorf("%s: what still runs: %q", name, left)
	}
	s.t.Logf("%s: %v, the ladder %d ms: %q, conversation %q, notes %q", name, took, got.Took, got.Steps, got.Conversation, got.Notes)
	if has := exec.Command("tmux", "-L", s.tmux, "has-session", "-t", "="+name).Run(); has == nil {
		s.t.Errorf("%s: tmux still has it", name)
	}
	if _, err := os.Stat(filepath.Join(s.d.work, "approved")); err == nil {
		s.t.Errorf("%s: the tool was used", name)
	}
	if got.Status != "stopped" || len(got.LivesOn) > 0 || slices.Contains(got.Steps, lifecycle.StepSIGKILL) {
		s.t.Errorf("%s: %+v", name, got)
	}
	if keys := slices.Contains(got.Steps, lifecycle.StepKeys); name == "idle" && !keys || name == "working" && keys {
		s.t.Errorf("%s: steps %q", name, got.Steps)
	}
	return got.Conversation
}

// processesOf are those of a home.
func processesOf(home string) (left []string) {
	for _, p := range proc.WithEnv("HOME", home) {
		left = append(left, fmt.Sprintf("%d (%s)", p.PID, p.Comm))
	}
	return left
}

// purge deletes the conversation of a stopped session, and no other.
func (s *scene) purge(name, id string, others []string) {
	s.t.Helper()
	files := func(id string) (all []string) {
		place := driver.Site{Home: s.d.home, Dir: s.d.work}
		for _, a := range s.life.Find.Artefacts(place, id) {
			found, err := filepath.Glob(filepath.Join(a.Root, a.Path))
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, found...)
		}
		return all
	}
	if len(files(id)) == 0 {
		s.t.Fatalf("nothing of conversation %s is there", id)
	}
	kept := map[string][]string{}
	for _, other := range others {
		kept[other] = files(other)
	}
	got := s.command(name, "--purge-conversation", "--yes")
	if got.Status != "terminated" || len(got.Deleted) == 0 || len(files(id)) > 0 {
		s.t.Errorf("purge: %+v; left: %q", got, files(id))
	}
	for other, want := range kept {
		if now := files(other); !slices.Equal(now, want) || len(now) == 0 {
			s.t.Errorf("of conversation %s there is %q, there was %q", other, now, want)
		}
	}
	s.t.Logf("purged: %q", got.Deleted)
}
