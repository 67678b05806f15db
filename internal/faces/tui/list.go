package tui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tutti/internal/faces/cli/kit"
)

// list draws the agents, in exactly as many lines as there is room for.
func (m *Model) list(l layout) (lines []string) {
	if m.snap != nil && len(m.snap.Agents) == 0 {
		lines = append(lines, fit("  "+m.snap.none()+" Press "+cmp.Or(strings.Join(m.keys.named("new").keys, " "), "the key of new")+" to start one,", l.left), fit("  or run an agent CLI in any folder.", l.left))
	}
	rows := m.rows()
	if m.snap != nil && len(m.snap.Agents) > 0 && len(rows) == 0 {
		lines = append(lines, fit("  No agent matches "+strconv.Quote(m.filter)+".", l.left))
	}
	cols := columnsOf(m.snap, m.now, rows, l.left)
	for _, r := range rows[min(m.top, len(rows)):] {
		switch {
		case r.agent == nil:
			lines = append(lines, rule(kit.Clean(m.path(r.head)), l.left))
		case l.double:
			lines = append(lines, m.twoLines(r.agent, l.left)...)
		default:
			lines = append(lines, m.oneLine(r.agent, cols, l.left))
		}
	}
	for len(lines) < l.list {
		lines = append(lines, strings.Repeat(" ", l.left))
	}
	return lines[:l.list]
}

// sign is what stands before an agent: that it is selected or marked.
func (m *Model) sign(a *Agent) string {
	mark := " "
	if m.marked[a.key()] {
		mark = "*"
	}
	if a.key() == m.selected {
		return "›" + mark
	}
	return " " + mark
}

// A column of the list, by priority: the first are shown where there is little room.
type column struct {
	text  func(m *Model, a *Agent) string
	right bool // numbers
	width int
	most  int
}

func allColumns() []column {
	return []column{
		{text: func(_ *Model, a *Agent) string { return kit.Clean(a.Agent) }, most: 24},
		{text: func(_ *Model, a *Agent) string { text, how := a.doing(); return how.sign + " " + text }, most: 22},
		{text: func(m *Model, a *Agent) string { return age(a.Since, m.now) }, right: true, most: 8},
		{text: func(_ *Model, a *Agent) string { return a.unread() }, right: true, most: 5},
		{text: func(_ *Model, a *Agent) string { return kit.Clean(a.CLI) }, most: 10},
		{text: func(_ *Model, a *Agent) string { return a.size() }, right: true, most: 5},
		{text: func(_ *Model, a *Agent) string { return kit.Clean(a.Branch) }, most: 20},
	}
}

// columnsOf chooses the columns that there is room for. One that is empty for all agents takes none.
func columnsOf(s *Snapshot, now time.Time, rows []row, width int) (chosen []column) {
	if s == nil {
		return nil
	}
	m := &Model{now: now} // ages grow between two looks
	left := width - 2
	var full []int // what each would need to be shown whole
	for _, c := range allColumns() {
		for _, r := range rows {
			if r.agent != nil {
				c.width = max(c.width, kit.Width(c.text(m, r.agent)))
			}
		}
		need := c.width
		if c.width = min(need, c.most, width/3); c.width == 0 {
			continue
		}
		if len(chosen) > 0 && c.width+2 > left {
			break
		}
		chosen, full = append(chosen, c), append(full, need)
		left -= c.width + 2
	}
	for i := range chosen { // what is left over goes to those that are cut
		more := max(0, min(full[i]-chosen[i].width, left))
		chosen[i].width += more
		left -= more
	}
	return chosen
}

// oneLine draws an agent on one line.
func (m *Model) oneLine(a *Agent, cols []column, width int) string {
	line := m.sign(a)
	_, how := a.doing()
	code := how.colour
	if a.key() == m.selected {
		code = ""
	}
	used := 2
	for i := range cols {
		c := &cols[i]
		cell := kit.Truncate(c.text(m, a), c.width)
		pad := strings.Repeat(" ", c.width-kit.Width(cell))
		if i == 1 {
			cell = paint(code, cell)
		}
		if c.right {
			line += pad + cell + "  "
		} else {
			line += cell + pad + "  "
		}
		used += c.width + 2
	}
	if used < width {
		line += strings.Repeat(" ", width-used)
	}
	line = ansi.Truncate(line, width, "")
	if a.key() == m.selected {
		return paint(reverse, line)
	}
	return line
}

// twoLines draws an agent where there is little room.
func (m *Model) twoLines(a *Agent, width int) []string {
	text, how := a.doing()
	since := age(a.Since, m.now)
	name := kit.Truncate(kit.Clean(a.Agent), width/2-2)
	first := fit(m.sign(a)+name+strings.Repeat(" ", max(1, width/2-kit.Width(name)-2))+how.sign+" "+text, width-kit.Width(since)-1) + " " + since
	var more []string
	for _, s := range []string{a.CLI, a.unread(), a.size(), a.Branch, a.Asks} {
		if s != "" {
			more = append(more, s)
		}
	}
	second := fit("    "+strings.Join(more, " · "), width)
	if a.key() == m.selected {
		return []string{paint(reverse, first), paint(reverse, second)}
	}
	return []string{strings.Replace(first, how.sign, paint(how.colour, how.sign), 1), second}
}
