package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tutti/internal/faces/cli/kit"
)

func clock(t time.Time) string { return t.Local().Format("15:04:05") }

// text is a snapshot as plain lines.
func text(o *Options, s *Snapshot, width int) (lines []string) {
	m := &Model{o: o, snap: s, now: s.At, marked: map[string]bool{}, width: max(minWidth, width), height: 1 << 20}
	if s.Halt != "" {
		lines = append(lines, s.halted())
	}
	lines = append(lines, s.Headline())
	rows := m.rows()
	cols := columnsOf(s, m.now, rows, m.width)
	head := ""
	for _, r := range rows {
		if r.agent == nil {
			head = r.head
			lines = append(lines, "", kit.Clean(m.path(head)))
			continue
		}
		all := []string{m.oneLine(r.agent, cols, m.width)}
		if m.width < singleFrom {
			all = m.twoLines(r.agent, m.width)
		}
		for _, line := range all {
			lines = append(lines, strings.TrimRight(ansi.Strip(line), " "))
		}
	}
	if len(s.Agents) == 0 {
		lines = append(lines, "", s.none()+` Start one with "tutti session create --agent claude", or run an agent CLI in any folder.`)
	}
	if len(s.Waits) > 0 {
		lines = append(lines, "", "Waits for you")
	}
	for i := range s.Waits {
		lines = append(lines, s.Waits[i].lines(i+1)...)
	}
	for _, note := range s.Notes {
		lines = append(lines, "", kit.Clean(note))
	}
	return lines
}

// none says that there are no agents, in the words of status.
func (s *Snapshot) none() string {
	if len(s.Known) == 0 {
		return "No agents."
	}
	return "No agents live, " + strconv.Itoa(len(s.Known)) + " known."
}

// lines are a thing that waits, with the command for it.
func (w *Wait) lines(number int) []string {
	all := []string{"  " + strconv.Itoa(number) + "  " + kit.Clean(w.Text)}
	if w.Command != "" {
		all = append(all, "     "+kit.Clean(w.Command))
	}
	return all
}

// Changes are the differences of two snapshots, a line each.
func Changes(last, s *Snapshot) (lines []string) {
	at := clock(s.At)
	say := func(name, format string, args ...any) {
		lines = append(lines, at+"  "+kit.Pad(kit.Clean(name), 14)+"  "+kit.Clean(fmt.Sprintf(format, args...)))
	}
	was := map[string]*Agent{}
	for i := range last.Agents {
		was[last.Agents[i].key()] = &last.Agents[i]
	}
	if s.Halt != last.Halt {
		switch {
		case s.Halt != "":
			say("halt", "HALTED: %s", s.Halt)
		default:
			say("halt", "the halt was lifted")
		}
	}
	for i := range s.Agents {
		a := &s.Agents[i]
		now, _ := a.doing()
		before := was[a.key()]
		delete(was, a.key())
		if before == nil {
			say(a.Agent, "new: %s in %s, %s", a.CLI, a.Folder, now)
			continue
		}
		then, _ := before.doing()
		if then != now {
			say(a.Agent, "%s", now)
		}
		if a.Unread > before.Unread {
			say(a.Agent, "has %s", kit.Plural(a.Unread, "unread message"))
		}
	}
	for i := range last.Agents {
		if a := &last.Agents[i]; was[a.key()] != nil {
			say(a.Agent, "is gone")
		}
	}
	waited := map[string]bool{}
	for i := range last.Waits {
		waited[last.Waits[i].ID+last.Waits[i].Text] = true
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		if waited[w.ID+w.Text] {
			continue
		}
		all := w.lines(i + 1)
		lines = append(lines, at+"  waits for you: "+strings.TrimSpace(all[0]))
		lines = append(lines, all[1:]...)
	}
	return lines
}
