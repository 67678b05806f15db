package tui

import (
	"cmp"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// create asks for a new agent.
func (m *Model) create() {
	if len(m.o.CLIs) == 0 {
		m.say("no agent CLI is on your PATH: install one, such as Claude Code or Codex", true)
		return
	}
	dir, cli := m.o.Dir, m.o.CLIs[0]
	if a := m.current(); a != nil {
		dir = cmp.Or(a.Folder, dir)
		if slices.Contains(m.o.CLIs, a.CLI) {
			cli = a.CLI
		}
	}
	m.ask = &question{title: "Start an agent (Esc leaves)", fields: []field{
		{label: "agent CLI (" + strings.Join(m.o.CLIs, " ") + "): ", value: cli, must: true},
		{label: "folder: ", value: dir, must: true},
		{label: "branch for a new worktree (empty: none): "},
		{label: "first prompt (empty: none): "},
	}, then: func(answer []string) tea.Cmd {
		c := call{what: "start " + answer[0], args: []string{"session", "create", "--agent", answer[0], "--workspace", expanded(answer[1])}, in: answer[3]}
		if answer[2] != "" {
			c.args = append(c.args, "--worktree", answer[2])
		}
		if answer[3] != "" {
			c.args = append(c.args, "--prompt", "-")
		}
		m.say("starting "+answer[0]+" …", false)
		m.known = m.sessions()
		return m.run(c)
	}}
}

// expanded is a folder as a shell reads it: this screen shows folders with ~, too.
func expanded(folder string) string {
	if rest, ok := strings.CutPrefix(folder, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return home + rest
		}
	}
	return folder
}

// sessionKey is the key of the session of an agent, "" for none. It stays the same when the agent joins a bus.
func (a *Agent) sessionKey() string {
	if a.Session == "" {
		return ""
	}
	return a.Registry + "\x00" + a.Session
}

// sessions are the sessions of the snapshot.
func (m *Model) sessions() map[string]bool {
	if m.snap == nil {
		return nil
	}
	all := map[string]bool{"": true}
	for i := range m.snap.Agents {
		all[m.snap.Agents[i].sessionKey()] = true
	}
	return all
}

// chooseNew selects the session that was started from here.
func (m *Model) chooseNew() {
	if m.known == nil {
		return
	}
	for _, a := range m.agents() {
		if !m.known[a.sessionKey()] {
			m.selected, m.wait, m.known = a.key(), "", nil
			return
		}
	}
	if m.started {
		m.known = nil
	}
}
