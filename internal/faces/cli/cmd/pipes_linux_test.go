package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/scriptprog"
)

// A pipeRig is a home with a bus, an agent that a hook connected, a message, a job and a session registry.
type pipeRig struct {
	t             *testing.T
	home, project string
}

// skipRaced skips a test of hundreds of processes of one goroutine each: the detector takes a second for each and sees no race.
func skipRaced(t *testing.T) {
	t.Helper()
	if boundtest.Race {
		t.Skip("what runs is in other processes, of one goroutine each")
	}
}

const pipePatience = 10 * time.Second // a busy machine; a pipe would hold a run for ever

// run runs a program with a hook's input and returns what it printed. It fails the test when the run does not end.
func (r *pipeRig) run(where string, args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pipePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Args[0], cmd.Dir = "tutti", r.project
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "TMUX_TMPDIR=" + r.home, kit.BuildVariable + "=" + kit.BuildID(), scriptprog.TopVariable + "=" + "1"}
	event := args[len(args)-1]
	input, err := json.Marshal(map[string]any{
		"session_id": "11111111-2222-4333-8444-555555555555", "cwd": r.project, "hook_event_name": event, "transcript_path": filepath.Join(r.home, "t.jsonl"),
		"tool_name": "Edit", "tool_input": map[string]any{"file_path": filepath.Join(r.project, "a.go")}, "source": "startup", "prompt": "go",
	})
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(input)
	out, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		r.t.Errorf("%s: tutti %s does not end\n%s", where, strings.Join(args, " "), out)
	}
	return string(out)
}

// looks are the runs that nothing in a bus may hold up. The hook of a permission request is not among them: it waits for a person.
var looks = [][]string{
	{"status"},
	{"status", "--json"},
	{"status", "--short"},
	{"inbox"},
	{"doctor"},
	{"hook", "claude", "SessionStart"},
	{"hook", "claude", "UserPromptSubmit"},
	{"hook", "claude", "PreToolUse"},
	{"hook", "claude", "PostToolUse"},
	{"hook", "claude", "PostToolBatch"},
	{"hook", "claude", "Stop"},
	{"hook", "claude", "SessionEnd"},
}

// TestPipesDoNotBlock: no verb blocks if a folder or file of a bus, of the jobs, of the session registry or of a project mailbox is a pipe.
func TestPipesDoNotBlock(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	r := &pipeRig{t: t, home: t.TempDir()}
	r.project = filepath.Join(r.home, "src", "api")
	if err := os.MkdirAll(r.project, 0o700); err != nil {
		t.Fatal(err)
	}
	r.run("before", "init")
	r.run("before", "hook", "claude", "SessionStart")
	r.run("before", "send", "claude:api", "hello")
	bus := filepath.Join(r.home, "h2a-workspace", ".h2a")
	for _, path := range pipePlaces(bus, r.project) {
		aside := path + ".aside"
		had := os.Rename(path, aside) == nil
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range looks {
			out := r.run(path, args...)
			if inBus := strings.HasPrefix(path, bus); inBus && args[0] == "doctor" && !strings.Contains(out, filepath.Base(path)) {
				t.Errorf("%s: doctor does not name it\n%s", path, out)
			}
		}
		_ = os.Remove(path)
		if had {
			if err := os.Rename(aside, path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pipePlaces are the folders and files in whose place a pipe is put.
func pipePlaces(bus, project string) (all []string) {
	seen := map[string]bool{}
	for _, k := range store.Kinds() {
		rel, _, _ := strings.Cut(k.Spec().Path, "/{")
		for path := filepath.Join(bus, rel); path != bus; path = filepath.Dir(path) {
			if !seen[path] {
				seen[path] = true
				all = append(all, path)
			}
		}
	}
	all = slices.DeleteFunc(all, func(path string) bool { return path == filepath.Join(bus, ".h2a-schema.json") }) // it tells the bus from a folder
	for _, rel := range []string{".hermes", ".hermes/agent-sessions.yaml", ".hermes/agent-sessions.db", ".hermes/jobs", ".hermes/jobs/job-1.json", ".tutti", "inbox", "inbox/from-agents"} {
		all = append(all, filepath.Join(project, rel))
	}
	return all
}

// TestHugeLogIsRefused: a log that is large on paper only is refused at once, and named.
func TestHugeLogIsRefused(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	r := &pipeRig{t: t, home: t.TempDir()}
	r.project = filepath.Join(r.home, "src", "api")
	if err := os.MkdirAll(r.project, 0o700); err != nil {
		t.Fatal(err)
	}
	r.run("before", "init")
	r.run("before", "hook", "claude", "SessionStart")
	for _, rel := range []string{"identity/bindings.jsonl", "registry/instances.jsonl"} {
		path := filepath.Join(r.home, "h2a-workspace", ".h2a", rel)
		if err := os.Truncate(path, 60<<30); err != nil {
			t.Fatal(err)
		}
		for _, args := range looks {
			if out := r.run(rel, args...); (args[0] == "doctor" || args[0] == "status" && len(args) == 1) && !strings.Contains(out, "too large") {
				t.Errorf("%s: %s does not name it\n%s", rel, args[0], out)
			}
		}
	}
}
