package tui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/test/boundtest"
)

// TestScreens compares whole screens with those that were looked at. Run it with -update to write them anew.
func TestScreens(t *testing.T) {
	for _, c := range []struct {
		name string
		w, h int
		keys []string
	}{
		{"200", 200, 24, []string{"tab"}},
		{"100", 100, 24, []string{"tab"}},
		{"80", 80, 20, nil},
		{"60", 60, 20, nil},
		{"40", 40, 24, []string{"tab"}},
		{"40-page", 40, 16, []string{"tab", "enter"}},
		{"40x10", 40, 10, nil},
		{"tiny", 39, 9, nil},
		{"facts", 100, 24, []string{"tab", "v", "v"}},
		{"stop", 100, 24, []string{"j", "x"}},
		{"actions", 100, 24, []string{"1"}},
		{"help", 100, 30, []string{"?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.w, c.h)
			r.press(c.keys...)
			got := r.text() + "\n"
			path := filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.MkdirAll("testdata", 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestSizes draws every size without a line that does not fit.
func TestSizes(t *testing.T) {
	boundtest.OneGoroutine(t)
	r := newRig(t, 100, 30)
	for w := 1; w < 210; w += 7 {
		for h := 1; h < 60; h += 5 {
			for _, keys := range [][]string{nil, {"x"}, {"esc", "?"}, {"esc", "1"}, {"esc", "H", "'because of a reason that is long", "esc"}, {"/", "'api", "enter", "esc"}} {
				r.press(keys...)
				r.send(tea.WindowSizeMsg{Width: w, Height: h})
				r.lines()
			}
			r.press("esc")
		}
	}
}

func TestSelection(t *testing.T) {
	r := newRig(t, 100, 12)
	if got := r.choice(); got != "docs" {
		t.Fatalf("first: %s", got)
	}
	r.press("j", "down")
	if got := r.choice(); got != "guide" {
		t.Fatalf("two down: %s", got)
	}
	r.press("G")
	if got := r.choice(); got != "tests-2" {
		t.Fatalf("last: %s", got)
	}
	r.sees("› tests-2", "~/src/shop-wt")
	r.press("g", "k")
	if got := r.choice(); got != "docs" {
		t.Fatalf("first again: %s", got)
	}
	r.sees("› docs", "~/src/docs")

	// What is selected stays so when others come and go, and the place is kept when it goes itself.
	r.press("tab")
	if got := r.choice(); got != "api-2" {
		t.Fatalf("what waits: %s", got)
	}
	s := twelve()
	s.Agents = append(s.Agents[:0:0], s.Agents[1:]...) // api has gone
	r.send(snapMsg{snap: s})
	if got := r.choice(); got != "api-2" {
		t.Fatalf("after another has gone: %s", got)
	}
	s = twelve()
	s.Agents = append(s.Agents[:1:1], s.Agents[2:]...)
	r.send(snapMsg{snap: s})
	if got := r.choice(); got == "" || got == "api-2" {
		t.Fatalf("after it has gone: %q", got)
	}
	r.send(snapMsg{err: errors.New("the disk is gone")})
	r.sees("cannot look: the disk is gone", "› ")
}

func TestFilter(t *testing.T) {
	r := newRig(t, 100, 24)
	r.press("/", "'codex")
	r.sees("/codex", "cart", "tests-2")
	r.seesNot("docs-2")
	r.press("enter")
	r.sees("filter: codex")
	r.press("tab") // what waits belongs to an agent that the filter hides
	if r.filter != "" || r.choice() != "api-2" {
		t.Fatalf("filter %q, selected %s", r.filter, r.choice())
	}
	r.press("/", "'zzz")
	r.sees(`No agent matches "zzz"`)
	r.press("esc")
	r.sees("docs-2")
	r.press("/", "'q") // a key of the list is text here
	if r.quit {
		t.Fatal("it ended while a filter was typed")
	}
}

func TestGroups(t *testing.T) {
	r := newRig(t, 100, 24)
	r.snap.Agents[0].Machine = "laptop"
	r.press("o")
	r.sees("─ box ─", "─ laptop ─")
}

func TestHalted(t *testing.T) {
	r := newRig(t, 60, 20)
	s := twelve()
	s.Halt = "by ann at 14:02 (runaway loop)"
	s.Agents[0].Halted = true
	r.send(snapMsg{snap: s})
	r.sees("HALTED: by ann at 14:02 (runaway loop)")
	r.press("G", "g")
	for range 12 {
		r.press("j")
	}
	r.sees("✗ halt not confirmed")
	for state, want := range map[overview.HaltState][]string{
		overview.HaltStops:     {"HALTED: by ann", "■ halted, working"},
		overview.HaltMissed:    {"HALTED: tutti halt --kill for 1 agent · by ann", "✗ not stopped"},
		overview.HaltElsewhere: {"HALTED: 1 agent not reached · by ann", "✗ not reached"},
	} {
		s.Agents[0].HaltState = state
		r.send(snapMsg{snap: s})
		r.sees(want...)
	}
}

// TestKeys gives commands other keys, by which help and foot change as well.
func TestKeys(t *testing.T) {
	if _, err := keysOf(Keys{Up: []string{"x"}, Down: []string{"x"}}); err == nil {
		t.Error("one key for two commands is allowed")
	}
	if _, err := keysOf(Keys{Up: []string{"3"}}); err == nil {
		t.Error("a digit is allowed")
	}
	m, err := keysOf(Keys{Down: []string{"n", "down"}, New: []string{"ctrl+n"}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"n": "down", "down": "down", "ctrl+n": "new", "k": "up"} {
		if c := m.of(key); c == nil || c.name != want {
			t.Errorf("%s: %v", key, c)
		}
	}
	if c := m.of("j"); c != nil {
		t.Errorf("j is still %s", c.name)
	}
	if got := m.helpLines()[1]; !strings.HasPrefix(got, "n down ") {
		t.Errorf("help: %q", got)
	}
	seen := map[string]string{}
	for _, c := range usual(&Keys{}) {
		for _, k := range c.keys {
			if seen[k] != "" {
				t.Errorf("%s and %s have the key %s", seen[k], c.name, k)
			}
			seen[k] = c.name
		}
	}
}

// TestForeignText shows texts of others without what they could do to a terminal.
func TestForeignText(t *testing.T) {
	for _, c := range [][2]string{
		{"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"a\x1b[2Jb\x1b[Hc", "abc"},
		{"a\x1b]0;title\x07b", "ab"},
		{"a\x1b]52;c;Zm9v\x1b\\b", "ab"},
		{"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"a\x1bP1;2|x\x1b\\b", "ab"},
		{"a\x1b[?1049hb\x1b[>4;2mc", "abc"},
		{"a\rb\x08c\x07", "abc"},
	} {
		if got := coloured(c[0]); got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
	r := newRig(t, 100, 24)
	s := twelve()
	const bad = "x\x1b[2J\x1b]52;c;Zm9v\x07\u202ey\nz"
	for i := range s.Agents {
		a := &s.Agents[i]
		a.Agent, a.CLI, a.Blocked, a.Folder, a.Branch, a.Doing, a.Asks, a.Machine, a.Instance, a.Bus = bad, bad, bad, bad+fmt.Sprint(i), bad, bad, bad, bad, bad, bad
	}
	for i := range s.Waits {
		s.Waits[i].Text, s.Waits[i].Command, s.Waits[i].Actions = bad, bad, []todo.Action{{ID: "x", Label: bad, Args: []string{bad}}}
	}
	s.Halt, s.Notes = bad, []string{bad}
	for _, w := range []int{40, 100} {
		for _, keys := range [][]string{{"v"}, {"v"}, {"v"}, {"1"}, {"esc", "x"}, {"esc", "p"}, {"esc", "n"}, {"esc", "tab"}} {
			r.send(tea.WindowSizeMsg{Width: w, Height: 24})
			r.send(snapMsg{snap: s})
			r.press(keys...)
			for _, line := range r.draw() {
				for _, part := range strings.Split(line, "\x1b[")[1:] {
					if code, _, ok := strings.Cut(part, "m"); !ok || strings.Trim(code, "0123456789;") != "" {
						t.Fatalf("%v: %q", keys, line)
					}
				}
				if strings.ContainsAny(line, "\n\u202e\x07") {
					t.Fatalf("%v: %q", keys, line)
				}
			}
		}
		r.press("esc", "esc")
	}
	for _, line := range append(Once(r.o, s, 80), Changes(&Snapshot{}, s)...) {
		if strings.ContainsAny(line, "\n\u202e\x07\x1b") {
			t.Errorf("%q", line)
		}
	}
}

// BenchmarkKey is one key and the screen after it, with 200 agents.
func BenchmarkKey(b *testing.B) {
	s := twelve()
	for i := len(s.Agents); i < 200; i++ {
		a := s.Agents[i%12]
		a.Agent = fmt.Sprintf("%s-%d", a.Agent, i)
		a.Session = a.Agent
		s.Agents = append(s.Agents, a)
	}
	m, err := New(b.Context(), &Options{})
	if err != nil {
		b.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	m.Update(snapMsg{snap: s})
	for i := 0; b.Loop(); i++ {
		m.Update(keyOf([]string{"j", "k"}[i%2]))
		_ = m.View()
	}
}
