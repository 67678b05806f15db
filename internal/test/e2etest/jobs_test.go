//go:build e2e

package e2etest

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/agents/driver"
)

// A shop is a workspace with one agent in a session, as "tutti session create" begins it.
type shop struct {
	*scene
	id string // of its job
}

// openShop sets an agent up and begins it, with a model that follows a script.
func openShop(t *testing.T, a agent, model script, args ...string) *shop {
	t.Helper()
	programs := agentPrograms(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("NOT TRIED: tmux is not installed")
	}
	known, ok := driver.Kind(a.host)
	if !ok {
		t.Fatalf("%s is not known", a.host)
	}
	m, home := newModel(t, model), t.TempDir()
	s := &shop{scene: &scene{sitting: &sitting{t: t, m: m, tmux: "e" + rand.Text()[:8]}, life: &known.Life, name: "worker"}}
	s.d = desk{agent: a, home: home, work: filepath.Join(home, "project"), url: m.http.URL, serve: usually(a)}
	if err := os.MkdirAll(s.d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	a.setUp(t, s.d)
	tutti(t, home, "host", "setup", "--host", a.host)
	t.Cleanup(func() {
		_ = s.command("session", "stop", "worker").Run()
		s.ends()
		nothingLeft(t, home)
	})
	program := filepath.Join(programs, a.program[0])
	s.do(append([]string{"session", "create", "--agent", a.host, "--session", "worker", "--tmux-server", s.tmux, "--program", program, "--"}, args...)...)
	return s
}

// command is tutti in the workspace.
func (s *shop) command(args ...string) *exec.Cmd {
	c := s.d.command(s.t)
	c.Path, c.Args = strings.TrimSuffix(here.full, "-full"), append([]string{"tutti"}, args...)
	return c
}

// do runs a verb and returns what it prints.
func (s *shop) do(args ...string) string {
	s.t.Helper()
	c := s.command(args...)
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		s.t.Fatalf("tutti %q: %v\n%s%s\n%s", args, err, out, problems.String(), s.screen())
	}
	return string(out)
}

func (s *shop) screen() string {
	out, _ := exec.Command("tmux", "-L", s.tmux, "capture-pane", "-p", "-t", "=worker:").Output()
	return string(out)
}

// submit gives it a job.
func (s *shop) submit(prompt string) {
	s.t.Helper()
	var j struct {
		ID string `json:"job_id"`
	}
	if err := json.Unmarshal([]byte(s.do("job", "submit", prompt, "--agent-session", "tmux:worker", "--json")), &j); err != nil || j.ID == "" {
		s.t.Fatal(j, err)
	}
	s.id = j.ID
}

// stands is how the job stands.
func (s *shop) stands() (j struct{ Status, Verdict, Detail string }) {
	s.t.Helper()
	var all struct {
		Status  string `json:"status"`
		Verdict string `json:"verdict"`
		Detail  string `json:"last_detail"`
	}
	if err := json.Unmarshal([]byte(s.do("job", "show", s.id, "--json")), &all); err != nil {
		s.t.Fatal(err)
	}
	j.Status, j.Verdict, j.Detail = all.Status, all.Verdict, all.Detail
	return j
}

// hears waits until the log of the job has these words, in this order.
func (s *shop) hears(words ...string) {
	s.t.Helper()
	s.untilIn("the job hears "+strings.Join(words, ", "), func() bool {
		log := s.do("job", "logs", s.id)
		for _, w := range words {
			_, rest, ok := strings.Cut(log, w)
			if !ok {
				return false
			}
			log = rest
		}
		return true
	})
}

func (s *shop) untilIn(what string, f func() bool) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			log, _ := os.ReadFile(filepath.Join(s.d.home, ".local/state/tutti/hook.log"))
			s.t.Logf("%s\nhook.log: %s\n%s", s.screen(), log, s.do("job", "logs", s.id))
		}
	}()
	s.until(what, f)
}

// TestJobs: a job is typed into the session of an agent program, its hooks tell what becomes of it, its own word completes it, and a
// person makes that true; with the session it ends.
func TestJobs(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			wait := make(chan struct{})
			goOn := sync.OnceFunc(func() { close(wait) })
			s := openShop(t, seated(version), func(now turn) move {
				raw := string(now.raw)
				_, last, _ := strings.Cut(raw, "The job:")
				switch {
				case strings.Contains(raw, "stay at it"):
					<-wait
				case !strings.Contains(last, "clean up"):
				case len(now.done) == 0:
					return move{tool: "Bash", args: object{"command": "rm -rf build/out", "description": "Remove the output"}}
				case len(now.done) == 1:
					at := strings.Index(raw, "tutti job publish ")
					word, _, _ := strings.Cut(raw[at+len("tutti job publish "):], " ")
					return move{tool: "Bash", args: object{"command": "tutti job publish " + word + " completed 'it is clean'", "description": "Report"}}
				}
				return move{say: "done"}
			}, "--permission-mode", "default", "--allowedTools", "Bash(tutti job:*)")
			t.Cleanup(goOn)
			prompt := "clean up\n\n" + strings.Repeat("not the \"sources\", $HOME and `so` on.\n", 200)
			s.submit(prompt)
			s.hears("started", "permission_required") // before it is certain that it was delivered, perhaps
			if row := s.do("session", "list", "--json"); !strings.Contains(row, s.id) {
				t.Errorf("the registry does not have job %s: %s", s.id, row)
			}
			s.shows("it asks", func(now driver.Seen) bool { return now.Doing == driver.Asking && !now.Guess }) // later than its hook
			s.until("the question is answered", func() bool {
				if s.look().Doing == driver.Asking { // it takes no key in its first moments
					s.keys("send-keys", "-t", "=worker:", "Enter")
					time.Sleep(time.Second)
				}
				return s.look().Doing != driver.Asking
			})
			s.hears("started", "permission_required", "completed", "it is clean")
			if all, _ := json.Marshal(strings.TrimRight(prompt, "\n")); !s.asked(strings.Trim(string(all), `"`)) {
				t.Error("the prompt did not arrive as it was given")
			}
			if j := s.stands(); j.Status != "completed" || j.Verdict != "" {
				t.Errorf("%+v", j)
			}
			s.do("job", "accept", s.id)
			if j := s.stands(); j.Verdict != "accepted" {
				t.Errorf("%+v", j)
			}
			s.shows("it rests", driver.Seen.Free)

			s.submit("say something")
			s.hears("started", "completed", "rests and has reported no result")
			s.shows("it rests", driver.Seen.Free)

			s.submit("stay at it")
			s.hears("started")
			s.do("session", "stop", "worker")
			goOn()
			if j := s.stands(); j.Status != "error" || j.Detail != "stopped by operator" {
				t.Errorf("after the stop: %+v", j)
			}
		})
	}
}
