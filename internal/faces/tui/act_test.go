package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tutti/internal/attention/todo"

	tea "charm.land/bubbletea/v2"
)

// asked compares what tutti was asked for.
func (r *rig) askedFor(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if got := r.calls(); !slices.Equal(got, want) {
		r.t.Fatalf("tutti was asked:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const shopRegistry = "--registry /src/shop/.hermes/agent-sessions.yaml"

func TestPromptAndSend(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "sent to api-2")
	r.press("tab", "p")
	r.sees("prompt for api-2:")
	r.press("'@file q", "backspace", "enter")
	r.askedFor("session send " + shopRegistry + " api-2 - < @file")
	r.sees("sent to api-2")

	r = newRig(t, 100, 24)
	r.program(0, "delivered")
	r.press("tab", "s", "'read this")
	r.send(tea.PasteMsg{Content: " and\nthat\x1b[2J"})
	r.press("enter")
	r.askedFor("send --root /home/u/bus claude:api-2:0123456789ab - < read thisand that[2J")
}

func TestMarked(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "stopped")
	r.press("/", "'shop", "enter", "space", "space", "x")
	r.sees("Stop api, api-2? This ends the work of api. The conversation stays")
	r.press("n")
	r.askedFor("")
	r.sees("nothing was done")
	r.press("x", "y")
	r.askedFor("session stop "+shopRegistry+" api <", "session stop "+shopRegistry+" api-2 <")
	if len(r.marked) != 0 {
		t.Error("they are still marked")
	}
}

// TestResumeAndFork asks before it resumes or copies a session.
func TestResumeAndFork(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "resumed")
	s := twelve()
	r.press("tab", "r")
	r.sees("api-2 runs already")
	for _, doing := range []string{"gone", "ended"} {
		for i := range s.Agents {
			if s.Agents[i].Agent == "api-2" {
				s.Agents[i].Doing = doing
			}
		}
		r.send(snapMsg{snap: s})
		r.press("r")
		r.sees("Resume api-2?")
		r.press("esc")
	}
	r.press("r")
	r.press("n")
	r.askedFor("")
	r.press("r", "y")
	r.askedFor("session resume " + shopRegistry + " api-2 <")

	r = newRig(t, 100, 24)
	r.program(0, "forked")
	r.press("tab", "f")
	r.sees("Start a copy of api-2 with a copy of its conversation?")
	r.press("y")
	r.askedFor("session fork " + shopRegistry + " api-2 <")

	r = newRig(t, 100, 24)
	r.program(0, "forked")
	r.press("/", "'shop", "enter", "space", "space", "f")
	r.sees("mark nothing to fork: one agent at a time")
	r.askedFor("")
}

// TestLongMail: of the mail of an agent nothing is cut.
func TestLongMail(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, `[{"from": "codex:web:000000000001", "verdict": "verified", "unread": true, "preview": "so many words that they do not fit into the room beside the list"}]`)
	r.press("tab", "v")
	r.sees("codex:web", "beside the list")
}

// TestChoose: one of several answers is not recommended, and its confirmation says what is sent.
func TestChoose(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "answered")
	s := twelve()
	s.Waits = []Wait{{ID: "q", Text: "api asks: go?", Actions: []todo.Action{
		{ID: "option-1", Label: "Answer: no", Args: []string{"answer", "evt-1", "--", "no"}},
		{ID: "option-2", Label: "Answer: yes", Args: []string{"answer", "evt-1", "--", "yes"}},
	}}}
	r.send(snapMsg{snap: s})
	r.sees("1 answer …")
	r.press("1", "1")
	r.sees("Answer: no: api asks: go?", "y send this answer · n do not")
	r.press("y")
	r.askedFor("answer evt-1 -- no <")
}

// TestInput asks for the text of an action that needs one.
func TestInput(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "answered")
	s := twelve()
	s.Waits = []Wait{{ID: "q", Text: "api asks: which one?", Command: "tutti answer evt-1 ANSWER", Actions: []todo.Action{
		{ID: "answer", Label: "Answer", Input: "Your answer", Args: []string{"answer", "evt-1", "--"}},
	}}}
	r.send(snapMsg{snap: s})
	r.press("1")
	r.sees("copy: tutti answer evt-1 ANSWER")
	r.press("1")
	r.sees("Your answer:")
	r.press("'the second", "enter")
	r.askedFor("answer evt-1 -- the second <")
}

// TestRefusal shows why a verb refuses, and keeps it until the next key.
func TestRefusal(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(1, "tutti: session send: halted since 14:02\ntutti: hint: more")
	r.press("tab", "p", "'go on", "enter")
	r.sees("! session send: halted since 14:02")
	r.press("j")
	r.seesNot("halted since")
}

func TestHalt(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "Halted.")
	r.press("H", "'--kill it", "enter", "'hal", "enter")
	r.sees("nothing was done: the word was not halt")
	r.askedFor("")
	r.press("H", "'--kill it", "enter")
	r.send(tea.PasteMsg{Content: "halt"})
	r.press("enter")
	r.askedFor("") // the word has to be typed
	r.press("H", "'--kill it", "enter", "'halt", "enter")
	r.askedFor("halt -- --kill it <")
	r.sees("Halted.")
}

func TestCreate(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "x: claude runs")
	r.press("tab", "n", "ctrl+u", "'codex", "enter", "enter", "'fix", "enter", "'look", "enter")
	r.askedFor("session create --agent codex --workspace /src/shop --worktree fix --prompt - < look")
}

func TestDecide(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "approved")
	r.press("tab", "a")
	r.sees("approve: api-2 asks to run: npm publish --dry-run", "y yes · n no")
	r.press("n")
	r.askedFor("")
	r.press("a", "y")
	r.askedFor("approve p1 <")

	// What was confirmed is what was read: another text under the same id is not approved.
	r = newRig(t, 100, 24)
	r.program(0, "approved")
	r.press("tab", "a")
	s := twelve()
	s.Waits[0].Text = "api-2 asks to run: rm -rf /"
	r.send(snapMsg{snap: s})
	r.press("y")
	r.askedFor("")
	r.sees("nothing was done: this does not wait any more, or has changed")

	// The same when it is gone, and where a source offers no such action.
	r.press("a")
	r.send(snapMsg{snap: &Snapshot{At: moment, Agents: s.Agents}})
	r.press("y")
	r.askedFor("")
	r = newRig(t, 100, 24)
	r.program(0, "approved")
	r.press("tab", "tab", "a")
	r.sees("! approve is not possible from here")
	r.press("2", "1")
	r.askedFor("")
	if !strings.Contains(r.clip, "tutti inbox --as docs") {
		t.Errorf("copied %q", r.clip)
	}
}

// TestCreateSelects: the agent that was started is selected when it appears, and no agent that another started.
func TestCreateSelects(t *testing.T) {
	fresh := func(name string) *Snapshot {
		s := twelve()
		s.Agents[0].Instance = "claude:docs:0123456789ab" // joined a bus meanwhile
		a := s.Agents[0]
		a.Agent, a.Session, a.Instance = name, name, ""
		s.Agents = append(s.Agents, a)
		return s
	}
	r := newRig(t, 100, 24)
	r.program(0, "x: claude runs")
	r.snap = fresh("zz-mine")
	r.press("n", "enter", "enter", "enter", "enter")
	if got := r.current().Agent; got != "zz-mine" {
		t.Errorf("selected is %s", got)
	}

	r = newRig(t, 100, 24)
	r.program(0, "x: claude runs")
	r.press("n", "enter", "enter", "enter", "enter") // it made no session
	r.send(snapMsg{snap: fresh("zz-other")})
	if got := r.current().Agent; got == "zz-other" {
		t.Error("an agent that another started is selected")
	}
}

// TestDecideShowsChange: what an agent asks to write is read before the answer; a long text says how to read the rest.
func TestDecideShowsChange(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "approved")
	s := twelve()
	s.Waits[0].Change = "-return nil\n+return \x1b[2Jerr\n" + strings.Repeat("+more\n", 40)
	r.send(snapMsg{snap: s})
	r.press("tab", "a")
	r.sees("approve: api-2", "-return nil", "+return ", " more lines: tutti approve --full", "y yes · n no")
	s.Waits[0].Change = "+" + strings.Repeat(" ", 150) + "hidden"
	r.send(snapMsg{snap: s})
	r.press("esc", "a")
	r.sees("hidden", "y yes · n no")
	for _, height := range []int{10, 12, 16} { // the answers are always there
		r := newRig(t, 40, height)
		s := twelve()
		s.Waits[0].Change = strings.Repeat("+more\n", 40)
		s.Waits[0].Text = strings.Repeat("a long text ", 40)
		r.send(snapMsg{snap: s})
		r.press("tab", "a")
		r.sees("tutti approve --full", "y yes · n no", " …")
	}
	s = twelve()
	s.Waits[0].Change = "+another text"
	r.send(snapMsg{snap: s})
	r.press("y")
	r.askedFor("")
	r.sees("nothing was done: this does not wait any more, or has changed")
}

func TestCopy(t *testing.T) {
	r := newRig(t, 100, 24)
	r.press("y")
	if r.clip != "docs" {
		t.Errorf("copied %q", r.clip)
	}
}

// TestReadOnly lets an agent look and do nothing.
func TestReadOnly(t *testing.T) {
	r := newRig(t, 100, 24)
	r.program(0, "done")
	r.o.ReadOnly = "refused below claude (pid 4102)"
	r.sees("read-only: refused below claude (pid 4102)")
	acts := 0
	for _, c := range r.keys {
		if !c.acts {
			continue
		}
		acts++
		r.press("tab", c.keys[0])
		if r.ask != nil {
			t.Errorf("%s asks something", c.name)
		}
		r.sees("! refused below claude (pid 4102)")
	}
	if acts < 9 {
		t.Errorf("only %d keys act", acts)
	}
	r.press("1", "1")
	r.askedFor("")
	r.press("j", "v", "?")
	r.sees("select the agent above")
}

func TestPane(t *testing.T) {
	r := newRig(t, 100, 24)
	r.press("tab")
	r.sees("❯ 1. Yes")
	gen := r.pane.gen
	r.press("j")
	r.Update(paneMsg{gen: gen, lines: []string{"of the agent before"}})
	r.seesNot("of the agent before")
	r.Update(paneMsg{gen: r.pane.gen, err: errors.New("tmux did not answer")})
	r.sees("cannot be read: tmux did not answer")

	// It is read less and less often while it stays the same, and not at all where it is not shown.
	for range 6 {
		r.Update(paneMsg{gen: r.pane.gen, lines: shop})
	}
	if r.pane.pause != slowest {
		t.Errorf("looks every %s", r.pane.pause)
	}
	r.Update(paneMsg{gen: r.pane.gen, lines: shop[:1]})
	if r.pane.pause != quickest {
		t.Errorf("looks every %s after a change", r.pane.pause)
	}
	due := dueMsg{r.pane.gen}
	r.send(tea.WindowSizeMsg{Width: 60, Height: 24})
	if cmd := r.look(due); cmd != nil || r.shown() != (target{}) {
		t.Error("it is read although it is hidden")
	}
	r.press("enter")
	r.sees("❯ 1. Yes")
	r.press("q")
	if r.quit || r.solo {
		t.Error("q did not only leave the page")
	}
	r.press("q")
	if !r.quit {
		t.Error("q did not leave")
	}
}

func TestMouse(t *testing.T) {
	r := newRig(t, 100, 24)
	if v := r.View(); v.MouseMode != tea.MouseModeNone {
		t.Error("the mouse is on")
	}
	r.press("m")
	if v := r.View(); v.MouseMode == tea.MouseModeNone {
		t.Error("the mouse is off")
	}
	r.send(tea.MouseClickMsg{X: 5, Y: 3, Button: tea.MouseLeft})
	if got := r.choice(); got != "docs-2" {
		t.Errorf("clicked on docs-2, selected %s", got)
	}
	r.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if got := r.choice(); got != "guide" {
		t.Errorf("selected %s", got)
	}
	at := slices.IndexFunc(r.lines(), func(s string) bool { return strings.Contains(s, "npm publish") && strings.Contains(s, "asks") })
	r.send(tea.MouseClickMsg{X: 5, Y: at})
	if got := r.choice(); got != "api-2" {
		t.Errorf("clicked on what waits, selected %s", got)
	}
}

func TestChanges(t *testing.T) {
	now := twelve()
	now.Agents[0].Doing = "waiting"
	now.Agents[8].Unread = 3
	now.Agents = append(now.Agents[:2], now.Agents[3:]...)
	now.Agents[2].Agent = "renamed"
	now.Agents[2].Session = "renamed"
	now.Waits = append(now.Waits, Wait{ID: "new", Text: "api asks: which one?", Command: "tutti escalate answer '7 8'"})
	now.Halt = "by ann"
	got := strings.Join(Changes(twelve(), now), "\n")
	want := `14:05:12  halt            HALTED: by ann
14:05:12  api             waiting
14:05:12  renamed         new: codex in /src/shop, idle?
14:05:12  docs            has 3 unread messages
14:05:12  api-3           is gone
14:05:12  cart            is gone
14:05:12  waits for you: 3  api asks: which one?
     tutti escalate answer '7 8'`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if again := Changes(now, now); again != nil {
		t.Errorf("nothing changed: %q", again)
	}
}
