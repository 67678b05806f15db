package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tutti/internal/faces/cli/kit"
)

// side draws the selected agent.
func (m *Model) side(width, height int) (lines []string) {
	a := m.current()
	if a == nil {
		lines = append(lines, rule("", width))
		for len(lines) < height {
			lines = append(lines, strings.Repeat(" ", width))
		}
		return lines[:height]
	}
	var title []string
	for _, s := range []string{a.Agent, a.CLI, m.path(a.Folder), a.Branch} {
		if s != "" {
			title = append(title, kit.Clean(s))
		}
	}
	lines = append(lines, rule(strings.Join(title, " · "), width))
	room := max(0, height-2)
	body := m.body(a, width, room)
	for i := range max(0, room) {
		line := ""
		if i < len(body) {
			line = body[i]
		}
		lines = append(lines, line+strings.Repeat(" ", max(0, width-ansi.StringWidth(line))))
	}
	var tabs []string
	for i, name := range viewNames {
		if i == m.view {
			name = "[" + name + "]"
		}
		tabs = append(tabs, name)
	}
	last := " " + strings.Join(tabs, " · ") + "  "
	if k := m.keys.named("view").keys; len(k) > 0 {
		last += k[0]
	}
	return append(lines, fit(last, width))[:height]
}

// body is the view of the selected agent: of a screen the end, because questions are asked there.
func (m *Model) body(a *Agent, width, height int) []string {
	text := func(lines ...string) (all []string) {
		for _, line := range lines {
			all = append(all, " "+kit.Truncate(kit.Clean(line), width-1))
		}
		return all
	}
	p := &m.pane
	switch {
	case m.view == viewFacts:
		return text(m.facts(a)...)
	case m.view == viewScreen && a.Session == "":
		return text(append([]string{"It was not started by tutti, so its screen cannot be shown.", ""}, m.facts(a)...)...)
	case p.agent != a.key() || p.view != m.view || !p.ready:
		return nil
	case p.fault != "":
		return text("cannot be read: " + p.fault)
	case m.view == viewMail:
		if len(p.lines) == 0 {
			return text("no mail")
		}
		var all []string
		for _, line := range p.lines { // a long one goes on below itself
			all = append(all, strings.Split(strings.ReplaceAll(ansi.Wrap(kit.Clean(line), width-3, ""), "\n", "\n  "), "\n")...)
		}
		return text(all...)
	}
	shown := slices.Clone(p.lines)
	for len(shown) > 0 && strings.TrimSpace(ansi.Strip(shown[len(shown)-1])) == "" {
		shown = shown[:len(shown)-1]
	}
	shown = shown[max(0, len(shown)-height):]
	for i, line := range shown {
		shown[i] = " " + ansi.Truncate(coloured(line), width-1, "") + "\x1b[0m"
	}
	return shown
}

// facts are what is known of an agent, a line each.
func (m *Model) facts(a *Agent) (lines []string) {
	doing, _ := a.doing()
	since := ""
	if !a.Since.IsZero() {
		since = "for " + age(a.Since, m.now)
	}
	live := "no connection to a bus"
	if a.Bus != "" {
		live = m.path(a.Bus)
	}
	where := "a terminal or program of its own"
	if a.Mirrored {
		where = "another machine"
	}
	if a.Session != "" {
		where = "tmux session " + a.Session
		if a.Server != "" && a.Server != "default" {
			where += " (tmux -L " + a.Server + ")"
		}
	}
	guess := ""
	if a.Guess {
		guess = "a guess, read from its screen"
	}
	for _, f := range [][2]string{
		{"activity", doing},
		{"since", since},
		{"note", guess},
		{"asks", a.Asks},
		{"until", a.Until},
		{"blocked", a.Blocked},
		{"agent CLI", strings.TrimSpace(a.CLI + " " + a.Version)},
		{"model", a.Model},
		{"folder", m.path(a.Folder)},
		{"branch", a.Branch},
		{"machine", a.Machine},
		{"runs in", where},
		{"bus", live},
		{"address", string(a.Instance)},
		{"unread", a.unread()},
		{"context", strings.TrimPrefix(a.tokens()+" tokens", " tokens")},
		{"reserved", strings.Join(a.Reserved, ", ")},
		{"role", map[bool]string{true: "conducts here"}[a.Conductor]},
	} {
		if f[1] != "" {
			lines = append(lines, f[0]+strings.Repeat(" ", 11-len(f[0]))+f[1])
		}
	}
	return lines
}
