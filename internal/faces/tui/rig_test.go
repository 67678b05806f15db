package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
)

var update = flag.Bool("update", false, "write the expected screens anew")

// moment is when all snapshots of the tests were made.
var moment = time.Date(2026, 11, 28, 14, 5, 12, 0, time.Local)

// twelve is a snapshot of twelve agents of four agent CLIs in three folders; two things wait.
func twelve() *Snapshot {
	s := &Snapshot{At: moment}
	add := func(name, cli, folder, doing string, since time.Duration, tokens, unread int) *Agent {
		s.Agents = append(s.Agents, Agent{overview.Row{
			Agent: name, CLI: cli, Folder: folder, Doing: doing, Since: moment.Add(-since), Tokens: int64(tokens), Unread: unread, Live: true,
			Machine: "box", Kind: "tmux", Session: name, Server: "default", Registry: folder + "/.hermes/agent-sessions.yaml",
			Instance: address.Instance(cli + ":" + name + ":0123456789ab"), Bus: "/home/u/bus",
		}})
		return &s.Agents[len(s.Agents)-1]
	}
	add("api", "claude", "/src/shop", "working", 2*time.Minute, 61000, 0).Branch = "main"
	a := add("api-2", "claude", "/src/shop", "waiting", 40*time.Second, 112000, 1)
	a.Asks, a.Branch = "permission", "fix-login"
	add("api-3", "claude", "/src/shop", "working", time.Minute, 9000, 0)
	add("cart", "codex", "/src/shop", "idle", 3*time.Minute, 0, 0).Guess = true
	add("pay", "opencode", "/src/shop", "limited", 8*time.Minute, 170000, 0)
	add("tests", "codex", "/src/shop-wt", "idle", 12*time.Minute, 33000, 0)
	add("tests-2", "codex", "/src/shop-wt", "working", 5*time.Second, 21000, 0)
	add("lint", "opencode", "/src/shop-wt", "", 0, 0, 0)
	s.Agents[7].Since = time.Time{}
	add("docs", "gemini", "/src/docs", "idle", time.Hour, 18000, 2)
	add("docs-2", "gemini", "/src/docs", "starting", time.Second, 0, 0)
	add("guide", "claude", "/src/docs", "ended", time.Hour, 0, 0)
	add("überlang-ein-sehr-langer-name", "claude", "/src/docs", "working", time.Hour, 1200000, 0)
	s.Waits = []Wait{
		{
			ID: "p1", Agent: s.Agents[1].key(), Text: "api-2 asks to run: npm publish --dry-run", Since: moment.Add(-40 * time.Second),
			Actions: []todo.Action{{ID: "approve", Label: "approve", Args: []string{"approve", "p1"}}, {ID: "deny", Label: "deny", Args: []string{"deny", "p1"}}},
		},
		{ID: "m1", Agent: s.Agents[8].key(), Text: "docs has 2 unread messages, cannot be woken", Command: "tutti inbox --as docs"},
	}
	return s
}

// shop is what the terminal of an agent shows.
var shop = []string{
	"\x1b[1m⏺\x1b[0m Bash(npm publish --dry-run)", "", "\x1b[38;5;153m  Do you want to proceed?\x1b[39m", "\x1b[7m  ❯ 1. Yes\x1b[0m", "    2. No, and tell Claude what to do", "", "",
}

// A rig is a screen that a test presses keys on. What it asks to be done is done at once, and what was asked of tutti is kept.
type rig struct {
	*Model
	t     *testing.T
	snap  *Snapshot
	asked string // file to which the program writes its arguments and its input
	quit  bool
	clip  string
}

// newRig makes a screen of a size. Its tutti writes down what it was asked for, and answers "ok".
func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	r := &rig{t: t, snap: twelve(), asked: filepath.Join(t.TempDir(), "asked")}
	o := &Options{
		Follow: func(context.Context, func(*Snapshot, error)) {},
		Look:   func(context.Context) (*Snapshot, error) { return r.snap, nil },
		Screen: func(_ context.Context, a Agent) ([]string, error) { return shop, nil },
		Shown:  func(p string) string { return strings.Replace(p, "/src", "~/src", 1) }, CLIs: []string{"claude", "codex"}, Dir: "/home/u",
	}
	var err error
	if r.Model, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	r.rest = time.Nanosecond
	r.send(tea.WindowSizeMsg{Width: width, Height: height})
	r.send(snapMsg{snap: r.snap})
	return r
}

// send gives a message to the screen, and then those that come of it, except the clock.
func (r *rig) send(msg tea.Msg) {
	r.t.Helper()
	_, cmd := r.Update(msg)
	r.now = moment
	r.perform(cmd)
}

func (r *rig) perform(cmd tea.Cmd) {
	r.t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tickMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			r.perform(c)
		}
	case tea.QuitMsg:
		r.quit = true
	case dueMsg:
		if !r.pane.ready { // once: it would look for ever
			r.send(msg)
		}
	case paneMsg, doneMsg, snapMsg, pageMsg, treesMsg, failedMsg:
		if p, ok := msg.(paneMsg); ok {
			_, _ = r.Update(p)
			return
		}
		r.send(msg)
	default:
		if text := fmt.Sprintf("%T", msg); strings.Contains(text, "lipboard") {
			r.clip = fmt.Sprint(msg)
		}
	}
}

// press presses keys: names of keys, or a text in quotes.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, c := range text {
				r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
			}
			continue
		}
		r.send(keyOf(k))
	}
}

func keyOf(name string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "backspace": tea.KeyBackspace, "space": tea.KeySpace}
	if c, ok := codes[name]; ok {
		k := tea.KeyPressMsg{Code: c}
		if name == "space" {
			k.Text = " "
		}
		return k
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
	}
	c := []rune(name)[0]
	return tea.KeyPressMsg{Code: c, Text: name}
}

// lines are the lines of the screen without colours; each has to fit.
func (r *rig) lines() []string {
	r.t.Helper()
	all := r.draw()
	if len(all) > r.height {
		r.t.Fatalf("%d lines on a screen of %d", len(all), r.height)
	}
	for i, line := range all {
		if n := ansi.StringWidth(line); n > r.width {
			r.t.Fatalf("line %d has %d columns of %d: %q", i, n, r.width, line)
		}
		all[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return all
}

func (r *rig) text() string { r.t.Helper(); return strings.Join(r.lines(), "\n") }

// sees fails without a text on the screen.
func (r *rig) sees(want ...string) {
	r.t.Helper()
	for _, w := range want {
		if got := r.text(); !strings.Contains(got, w) {
			r.t.Fatalf("%q is not shown:\n%s", w, got)
		}
	}
}

func (r *rig) seesNot(what string) {
	r.t.Helper()
	if got := r.text(); strings.Contains(got, what) {
		r.t.Fatalf("%q is shown:\n%s", what, got)
	}
}

// choice is the name of the selected agent.
func (r *rig) choice() string {
	if a := r.current(); a != nil {
		return a.Agent
	}
	return ""
}

// program gives the screen a tutti that writes down its arguments and its input.
func (r *rig) program(status int, says string) {
	r.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	r.o.Program = exe
	r.t.Setenv(playVariable, "tutti")
	r.t.Setenv("TOP_ASKED", r.asked)
	r.t.Setenv("TOP_STATUS", fmt.Sprint(status))
	r.t.Setenv("TOP_SAYS", says)
}

// calls are the runs of tutti, a line each: arguments, and behind "<" the input.
func (r *rig) calls() []string {
	r.t.Helper()
	data, err := os.ReadFile(r.asked)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	slices.Sort(all)
	return all
}
