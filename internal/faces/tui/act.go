package tui

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tutti/internal/attention/todo"
	"tutti/internal/faces/cli/kit"
)

// do runs the command of a key.
func (m *Model) do(c *command) tea.Cmd {
	if c.acts && m.o.ReadOnly != "" {
		m.say(m.o.ReadOnly, true)
		return nil
	}
	switch c.name {
	case "up":
		m.move(-1)
	case "down":
		m.move(1)
	case "first":
		m.move(-len(m.agents()))
	case "last":
		m.move(len(m.agents()))
	case "page_up":
		m.move(-max(1, m.layout().list-2))
	case "page_down":
		m.move(max(1, m.layout().list-2))
	case "next":
		m.nextWait()
	case "view":
		m.view = (m.view + 1) % views
	case "group":
		m.byMachine = !m.byMachine
	case "filter":
		m.typing, m.filter = true, ""
	case "mark":
		if m.selected != "" {
			m.marked[m.selected] = !m.marked[m.selected]
			m.move(1)
		}
	case "mouse":
		m.mouse = !m.mouse
		m.say("mouse "+map[bool]string{true: "on; hold Shift to select text", false: "off"}[m.mouse], false)
	case "help":
		m.page, m.from = m.keys.helpLines(), 0
	case "quit":
		if m.solo {
			m.solo = false
			return nil
		}
		return tea.Quit
	case "copy":
		return m.copy()
	case "log":
		return m.log()
	case "worktrees":
		return m.worktrees()
	case "attach":
		return m.attach()
	case "approve", "deny":
		m.decide(c.name)
	case "prompt", "send":
		m.write(c.name)
	case "stop", "resume", "fork":
		m.change(c.name)
	case "new":
		m.create()
	case "halt":
		m.halt()
	}
	return nil
}

// targets are the marked agents, or the selected one.
func (m *Model) targets() (all []Agent) {
	for _, a := range m.agents() {
		if m.marked[a.key()] {
			all = append(all, *a)
		}
	}
	if a := m.current(); len(all) == 0 && a != nil {
		all = append(all, *a)
	}
	return all
}

// names lists agents for a question.
func names(all []Agent) string {
	var list []string
	for i := range all {
		list = append(list, kit.Clean(all[i].Agent))
	}
	return strings.Join(list, ", ")
}

// nextWait selects the next thing that waits.
func (m *Model) nextWait() {
	if m.snap == nil || len(m.snap.Waits) == 0 {
		m.say("nothing waits for you", false)
		return
	}
	at := slices.IndexFunc(m.snap.Waits, func(w Wait) bool { return w.ID == m.wait })
	m.choose((at + 1) % len(m.snap.Waits))
}

// A call is one run of tutti.
type call struct {
	what string // for the message, where tutti says nothing
	args []string
	dir  string
	in   string // standard input
}

// actLimit bounds one action: a prompt may wait a minute until its agent is idle.
const actLimit = 3 * time.Minute

// run runs tutti beside the screen, for each call one process.
func (m *Model) run(calls ...call) tea.Cmd {
	cmds := make([]tea.Cmd, len(calls))
	for i, c := range calls {
		m.running++
		cmds[i] = func() tea.Msg {
			ctx, stop := context.WithTimeout(m.ctx, actLimit)
			defer stop()
			out, said, err := m.o.tutti(ctx, c)
			said = cmp.Or(firstLine(said), firstLine(out))
			if err != nil {
				return doneMsg{c.what, cmp.Or(said, c.what+": "+err.Error()), true}
			}
			return doneMsg{c.what, cmp.Or(firstLine(out), said, c.what+": done"), false}
		}
	}
	return tea.Batch(cmds...)
}

// tutti runs this program with the arguments of a verb.
func (o *Options) tutti(ctx context.Context, c call) (out, said string, err error) {
	cmd := exec.CommandContext(ctx, o.Program, c.args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(c.in)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TUTTI_FACE=top")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// firstLine is the first line of what a verb said, without the name of the program.
func firstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if strings.HasPrefix(line, kit.BannerHead) && rest != "" {
		line, _, _ = strings.Cut(rest, "\n") // the screen shows the halt already
	}
	return strings.TrimPrefix(strings.TrimPrefix(kit.Clean(line), "tutti: "), "error: ")
}

// refresh looks again after something was done.
func (m *Model) refresh() tea.Cmd {
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(m.ctx, 10*time.Second)
		defer stop()
		s, err := m.o.Look(ctx)
		return snapMsg{s, err}
	}
}

// session are the arguments that name a session in its registry.
func (a *Agent) session(verb ...string) []string {
	if a.Registry != "" {
		verb = append(verb, "--registry", a.Registry)
	}
	return append(verb, a.Session)
}

// attach shows the terminal of the selected agent; where there is no room for two columns, first its page.
func (m *Model) attach() tea.Cmd {
	a := m.current()
	if a == nil {
		return nil
	}
	if !m.layout().wide && !m.solo {
		m.solo = true
		return nil
	}
	if a.Session == "" {
		m.say(kit.Clean(a.Agent)+" was not started by tutti, so its terminal cannot be shown here", true)
		return nil
	}
	return m.terminal(a.session("session", "attach"))
}

// terminal gives the terminal to tutti until it ends.
func (m *Model) terminal(args []string) tea.Cmd {
	m.running++
	return tea.ExecProcess(exec.Command(m.o.Program, args...), func(err error) tea.Msg {
		if err != nil {
			return doneMsg{args[0], strings.Join(args[:2], " ") + ": " + err.Error(), true}
		}
		return doneMsg{what: args[0]}
	})
}

// copyID is the action of ours that copies the command of a thing that waits.
const copyID = "copy"

// menu selects a thing that waits, and lists what can be done.
func (m *Model) menu(i int) {
	w := m.choose(i)
	if w == nil {
		m.say("nothing waits under "+strconv.Itoa(i+1), true)
		return
	}
	actions := w.Actions[:min(len(w.Actions), 8)]
	var list []choice
	for n, a := range actions {
		list = append(list, choice{strconv.Itoa(n + 1), kit.Clean(a.Label)})
	}
	if w.Command != "" {
		actions = append(slices.Clone(actions), todo.Action{ID: copyID})
		list = append(list, choice{strconv.Itoa(len(actions)), "copy: " + kit.Clean(w.Command)})
	}
	if len(list) == 0 {
		m.say(w.Text, false)
		return
	}
	m.ask = &question{title: w.Text, change: w.Change, fields: []field{{choices: list}}, then: func(answer []string) tea.Cmd {
		n, _ := strconv.Atoi(answer[0])
		before, action := *w, actions[n-1]
		if action.Terminal || action.Input != "" || action.ID == copyID || m.o.ReadOnly != "" {
			return m.offered(&before, &action)
		}
		yes, no := "yes", "no"
		if action.Chooses() { // the answer itself may be "no"
			yes, no = "send this answer", "do not"
		}
		m.confirmAs(kit.Clean(action.Label)+": "+w.Text, yes, no, func() tea.Cmd { return m.offered(&before, &action) })
		m.ask.change = w.Change
		return nil
	}}
}

// decide approves or denies.
func (m *Model) decide(id string) {
	w := m.chosen()
	if w == nil && m.snap != nil && len(m.snap.Waits) == 1 {
		w = &m.snap.Waits[0] // no other can be meant
	}
	if w == nil {
		m.say("nothing waits for you here; Tab selects the next", false)
		return
	}
	i := slices.IndexFunc(w.Actions, func(a todo.Action) bool { return a.ID == id && len(a.Args) > 0 })
	if i < 0 {
		m.say(id+" is not possible from here: attach to the agent and answer there", true)
		return
	}
	before, action := *w, w.Actions[i]
	m.confirm(id+": "+w.Text, func() tea.Cmd { return m.offered(&before, &action) })
	m.ask.change = w.Change
}

// offered runs an action that a thing offers, if that thing still waits as it was read.
func (m *Model) offered(w *Wait, a *todo.Action) tea.Cmd {
	if now := m.waiting(w.ID); now == nil || now.Text != w.Text || now.Change != w.Change {
		m.say("nothing was done: this does not wait any more, or has changed", true)
		return nil
	}
	switch {
	case a.ID == copyID:
		m.say("copied: "+kit.Clean(w.Command), false)
		return tea.SetClipboard(kit.Clean(w.Command))
	case a.Terminal:
		return m.terminal(a.Args)
	case m.o.ReadOnly != "":
		m.say(m.o.ReadOnly, true)
	case a.Input != "":
		m.ask = &question{title: w.Text, fields: []field{{label: kit.Clean(a.Input) + ": ", must: true}}, then: func(answer []string) tea.Cmd {
			return m.run(call{what: kit.Clean(a.Label), args: append(slices.Clone(a.Args), answer[0])})
		}}
	default:
		return m.run(call{what: kit.Clean(a.Label), args: a.Args})
	}
	return nil
}

// write asks for a prompt or a message.
func (m *Model) write(verb string) {
	all := m.targets()
	if len(all) == 0 {
		return
	}
	for i := range all {
		switch a := &all[i]; {
		case verb == "prompt" && a.Session == "":
			m.say(kit.Clean(a.Agent)+" was not started by tutti: send it a message instead", true)
			return
		case verb == "prompt" && a.CLI == custom:
			m.say(kit.Clean(a.Agent)+" runs a program of your own: press enter and type there", true)
			return
		case verb == "send" && a.Instance == "":
			m.say(kit.Clean(a.Agent)+" is not connected to a bus, so it has no mail", true)
			return
		}
	}
	label := "prompt for " + names(all) + ": "
	if verb == "send" {
		label = "message to " + names(all) + ": "
	}
	m.ask = &question{fields: []field{{label: label, must: true}}, then: func(answer []string) tea.Cmd {
		clear(m.marked)
		var calls []call
		for i := range all {
			a := &all[i]
			c := call{what: verb + " " + kit.Clean(a.Agent), in: answer[0]}
			if verb == "prompt" {
				c.args = append(a.session("session", "send"), "-")
			} else {
				c.args = append(a.onBus("send"), string(a.Instance), "-")
			}
			calls = append(calls, c)
		}
		return m.run(calls...)
	}}
}

// onBus are the arguments that name the bus of an agent.
func (a *Agent) onBus(verb string) []string {
	if a.Bus == "" {
		return []string{verb}
	}
	return []string{verb, "--root", a.Bus}
}

// custom is the CLI of a session that runs any other program.
const custom = "custom"

// running are the activities of an agent that there is nothing to resume of.
var running = []string{"working", "waiting", "limited", "idle", "starting"}

// change stops, resumes or copies sessions.
func (m *Model) change(verb string) {
	all := m.targets()
	if verb == "fork" && len(all) > 1 {
		all = all[:0]
		m.say("mark nothing to fork: one agent at a time", true)
	}
	if len(all) == 0 {
		return
	}
	var calls []call
	for i := range all {
		a := &all[i]
		if a.Session == "" {
			m.say(kit.Clean(a.Agent)+" was not started by tutti: "+verb+" works on sessions", true)
			return
		}
		if verb == "resume" && slices.Contains(running, a.Doing) {
			m.say(kit.Clean(a.Agent)+" runs already", true)
			return
		}
		calls = append(calls, call{what: verb + " " + kit.Clean(a.Agent), args: a.session("session", verb), dir: existing(a.Folder)})
	}
	title := map[string]string{
		"stop":   "Stop " + names(all) + "? The agent CLI ends; its conversation stays and can be resumed.",
		"resume": "Resume " + names(all) + "?",
		"fork":   "Start a copy of " + names(all) + " with a copy of its conversation?",
	}[verb]
	if verb == "stop" && !slices.ContainsFunc(all, func(a Agent) bool { return a.CLI != custom }) {
		title = "Stop " + names(all) + "?"
	}
	if working := working(all); verb == "stop" && working != "" {
		title = "Stop " + names(all) + "? This ends the work of " + working + ". The conversation stays and can be resumed."
	}
	m.confirm(title, func() tea.Cmd {
		clear(m.marked)
		if verb == "fork" {
			m.known = m.sessions()
		}
		return m.run(calls...)
	})
}

// working names the agents that work.
func working(all []Agent) string {
	return names(slices.DeleteFunc(slices.Clone(all), func(a Agent) bool { return a.Doing != "working" }))
}

// existing is a folder, or "" when it is gone.
func existing(dir string) string {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return ""
	}
	return dir
}

// halt asks for a reason and a typed word.
func (m *Model) halt() {
	m.ask = &question{title: "Halt all your agents on this machine. Only you can let them continue.", fields: []field{
		{label: "reason: ", must: true},
		{label: `type "halt" to do it: `, want: "halt"},
	}, then: func(answer []string) tea.Cmd {
		return m.run(call{what: "halt", args: []string{"halt", "--", answer[0]}})
	}}
}

// copy copies a command, a name or an address by OSC 52.
func (m *Model) copy() tea.Cmd {
	text := ""
	if w := m.waiting(m.wait); w != nil && w.Command != "" {
		text = w.Command
	} else if a := m.current(); a != nil {
		text = cmp.Or(a.Session, string(a.Instance), a.Agent)
	}
	if text = kit.Clean(text); text == "" {
		return nil
	}
	m.say("copied: "+text, false)
	return tea.SetClipboard(text)
}

// log shows what the agents said to each other.
func (m *Model) log() tea.Cmd {
	if !m.o.Log {
		m.say("this version of tutti has no log", true)
		return nil
	}
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(m.ctx, 10*time.Second)
		defer stop()
		out, said, err := m.o.tutti(ctx, call{args: []string{"log"}})
		if err != nil {
			return doneMsg{"log", firstLine(said), true}
		}
		return pageMsg(textLines(out))
	}
}
