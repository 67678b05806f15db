//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// windows is one agent CLI in several windows of one folder. All conversations ask the same model, which tells them apart by
// what their user said first.
type windows struct {
	*sitting
	args []string

	mu     sync.Mutex
	orders []order
}

// order is a tool call that the model makes after its user has typed a prompt. The call has been made when the request holds mark.
type order struct {
	prompt, mark, tool string
	args               func(turn) object
}

// windowsOf starts the first window of an agent CLI.
func windowsOf(t *testing.T, a agent, args ...string) *windows {
	t.Helper()
	w := &windows{args: args}
	w.sitting = sitBefore(t, a, func(now turn) move {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, o := range w.orders {
			if !strings.Contains(string(now.raw), o.prompt) || strings.Contains(string(now.raw), o.mark) {
				continue
			}
			if name := a.tool(o.tool); slices.Contains(now.offered, name) {
				return move{tool: name, args: o.args(now)}
			}
			if slices.Contains(now.offered, "ToolSearch") && len(now.done) < 10 {
				return move{tool: "ToolSearch", args: object{"query": "select:" + a.tool(o.tool), "max_results": 1}}
			}
			t.Errorf("%s is not offered: %q", o.tool, now.offered)
		}
		return move{say: "done"}
	}, nil, args...)
	w.keys("rename-window", "first")
	w.keys("new-window", "-d", "-n", "keep", "sleep 1000") // the tmux server outlives the windows of the agents
	return w
}

// opens starts the agent CLI in a further window.
func (w *windows) opens(window string, args ...string) {
	w.t.Helper()
	c := w.d.command(w.t, append(slices.Clone(w.args), args...)...)
	line := append([]string{
		"new-window", "-d", "-n", window, "-c", w.d.work, "--", "sh", "-c",
		`exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`, "sh", "TERM=xterm-256color", "SHELL=/bin/sh",
	}, c.Env...)
	w.keys(append(slices.DeleteFunc(line, func(s string) bool { return s == "TERM=dumb" }), c.Args...)...)
}

func (w *windows) screen(window string) string {
	out, _ := exec.Command("tmux", "-L", w.tmux, "capture-pane", "-p", "-t", ":"+window).Output()
	return string(out)
}

// eventually waits for what is said of a window.
func (w *windows) eventually(window, what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(w.d.home, ".local/state/tutti/hook.log"))
			w.t.Fatalf("%s: in vain\n%s\n%s\nhook.log: %s", what, w.screen(window), tutti(w.t, w.d.home, "discover", "--json"), log)
		}
	}
}

// types types a line into a window and presses Enter until it is seen to have worked.
func (w *windows) types(window, line string, worked func() bool) {
	w.t.Helper()
	w.eventually(window, "the screen is there", func() bool { return strings.ContainsAny(w.screen(window), "❯›") })
	for n := 0; n < 10 && !strings.Contains(w.screen(window), line); n++ { // a screen shows its prompt before it takes keys
		w.keys("send-keys", "-t", ":"+window, "-l", line)
		for end := time.Now().Add(5 * time.Second); !strings.Contains(w.screen(window), line) && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	}
	time.Sleep(time.Second) // Enter within a paste is a line feed
	pressed := time.Time{}
	w.eventually(window, line, func() bool {
		if worked() {
			return true
		}
		if time.Since(pressed) > 3*time.Second {
			_ = exec.Command("tmux", "-L", w.tmux, "send-keys", "-t", ":"+window, "Enter").Run()
			pressed = time.Now()
		}
		return false
	})
}

// says gives the model of a window a prompt.
func (w *windows) says(window, prompt string) {
	w.t.Helper()
	w.types(window, prompt, func() bool { return w.asked(prompt) })
}

// sends has the model of a conversation write to an agent.
func (w *windows) sends(window, prompt, to, text string) {
	w.t.Helper()
	w.mu.Lock()
	w.orders = append(w.orders, order{prompt, text, "tutti_send", with(object{"to": to, "text": text})})
	w.mu.Unlock()
	w.says(window, prompt)
}

// leaves ends the program in a window as its user does.
func (w *windows) leaves(window string) {
	w.t.Helper()
	line := "/exit"
	if w.d.agent.host == "codex" {
		line = "/quit"
	}
	w.types(window, line, func() bool {
		return !slices.Contains(strings.Fields(w.keys("list-windows", "-F", "#{window_name}")), window)
	})
}

// live are the agents of the program that are live.
func (w *windows) live() (all []string) {
	w.t.Helper()
	var live []struct{ Instance string }
	if err := json.Unmarshal(tutti(w.t, w.d.home, "discover", "--json"), &live); err != nil {
		w.t.Fatal(err)
	}
	for _, l := range live {
		if strings.HasPrefix(l.Instance, w.d.agent.host+":") && !slices.Contains(all, l.Instance) {
			all = append(all, l.Instance)
		}
	}
	return all
}

// joins waits until one agent more than these is live.
func (w *windows) joins(window string, known ...string) (id string) {
	w.t.Helper()
	w.eventually(window, "another agent comes", func() bool {
		for _, l := range w.live() {
			if !slices.Contains(known, l) {
				id = l
			}
		}
		return id != ""
	})
	return id
}

// shown waits until the model is shown a message from an agent in the conversation in which its user said something, and fails
// when another conversation is shown it.
func (w *windows) shown(window, said, from, text string) (id string) {
	w.t.Helper()
	w.eventually(window, fmt.Sprintf("%q reaches the conversation with %q", text, said), func() bool {
		for _, now := range w.m.seen() {
			for _, f := range hookMail.FindAllStringSubmatch(now.texts(), -1) {
				if f[4] != text {
					continue
				}
				if id = f[3]; f[1] != from || !strings.Contains(string(now.raw), said) {
					w.t.Fatalf("%q is from %s, want %s; and is in the conversation with %q: %v", text, f[1], from, said, strings.Contains(string(now.raw), said))
				}
			}
		}
		return id != ""
	})
	return id
}

// transcript is the id of the conversation in which its user said something.
func (w *windows) transcript(said string) (id string) {
	w.t.Helper()
	folder := filepath.Join(w.d.home, map[string]string{"claude": ".claude/projects", "codex": ".codex/sessions"}[w.d.agent.host])
	uuids := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl$`)
	w.eventually("keep", fmt.Sprintf("a transcript in %s has %q", folder, said), func() bool {
		_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), said) && uuids.MatchString(path) {
				id = strings.TrimSuffix(uuids.FindString(path), ".jsonl")
			}
			return nil
		})
		return id != ""
	})
	return id
}

// resumes takes a conversation up again in a window of that name.
func (w *windows) resumes(window, conversation string) {
	w.t.Helper()
	if w.d.agent.host == "codex" {
		w.opens(window, "resume", conversation)
		return
	}
	w.opens(window, "--resume", conversation)
}

// gone waits until no agent of the program is live.
func (w *windows) gone() {
	w.t.Helper()
	w.eventually("keep", "all agents are gone", func() bool { return len(w.live()) == 0 })
}
