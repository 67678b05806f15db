package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tutti/internal/attention/approval"
	"tutti/internal/attention/todo"
	"tutti/internal/faces/cli/kit"
)

// The colours are those of the terminal.
const (
	red     = "31"
	green   = "32"
	yellow  = "33"
	bold    = "1"
	reverse = "7"
)

func paint(code, s string) string {
	if code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// The smallest screen, and from where on there is room for two columns, or for an agent on one line.
const (
	minWidth, minHeight = 40, 10
	wideFrom            = 80
	singleFrom          = 60
)

// A layout is how the lines of the screen are divided: one for the heading, then the list and the right side, what waits, and the foot.
type layout struct {
	tiny        bool
	wide        bool // two columns
	double      bool // an agent takes two lines
	left, right int  // columns
	list        int  // lines of the list
	waits       int  // lines of what waits, with its heading
	foot        int
}

func (m *Model) layout() (l layout) {
	l.tiny = m.width < minWidth || m.height < minHeight
	l.wide = m.width >= wideFrom
	l.double = m.width < singleFrom
	l.left = m.width
	if l.wide {
		l.left = max(44, min(100, m.width*45/100))
		l.right = m.width - l.left - 1
	}
	l.foot = 1
	switch {
	case m.ask != nil:
		l.foot = len(m.question())
	case m.message != "" || m.o.ReadOnly != "":
		l.foot = 2
	}
	l.waits = m.waitLines()
	l.list = max(0, m.height-1-l.waits-l.foot)
	return l
}

// waitLines is how many lines what waits takes, with its heading.
func (m *Model) waitLines() int {
	if m.snap == nil || len(m.snap.Waits) == 0 {
		return 0
	}
	return 1 + min(len(m.snap.Waits), max(1, (m.height-6)/3))
}

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.draw(), "\n"))
	v.AltScreen = true
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width > 0 && (m.ask != nil && m.ask.fields[m.ask.at].choices == nil || m.typing) {
		lines := m.draw()
		v.Cursor = tea.NewCursor(min(m.width-1, ansi.StringWidth(lines[len(lines)-1])), len(lines)-1)
	}
	return v
}

// draw returns the lines of the screen.
func (m *Model) draw() []string {
	l := m.layout()
	switch {
	case m.width == 0:
		return nil
	case l.tiny && m.ask == nil:
		text := "q quits; needs " + strconv.Itoa(minWidth) + "x" + strconv.Itoa(minHeight)
		if m.snap != nil {
			text = waitCount(len(m.snap.Waits)) + " · " + text
		}
		return []string{fit(text, m.width)}
	case m.page != nil:
		return m.drawPage()
	}
	lines := []string{m.heading()}
	switch {
	case l.wide:
		left, right := m.list(l), m.side(l.right, l.list)
		for i := range left {
			lines = append(lines, left[i]+join(i)+right[i])
		}
	case m.solo:
		lines = append(lines, m.side(m.width, l.list)...)
	default:
		lines = append(lines, m.list(l)...)
	}
	lines = append(lines, m.waits(l)...)
	return append(lines, m.foot()...)
}

// join is what stands between the two columns.
func join(line int) string {
	if line == 0 {
		return "┬"
	}
	return "│"
}

// heading is the first line: the answer.
func (m *Model) heading() string {
	text := "looking …"
	code := bold
	if m.snap != nil {
		text = m.snap.Headline() + " · no halt"
		if m.snap.Halt != "" {
			text, code = m.snap.halted(), red+";"+reverse
			if m.o.ReadOnly == "" {
				text += ` "tutti resume" in a shell lifts it.`
			}
		}
	}
	state := ""
	switch {
	case m.fault != "":
		state = "cannot look: " + kit.Clean(m.fault)
	case m.running > 0:
		state = "acting …"
	case m.snap != nil:
		state = "as of " + m.snap.At.Local().Format("15:04:05")
	}
	if m.width >= singleFrom {
		text = "tutti  " + text
	} else {
		text = strings.TrimSuffix(text, " · no halt")
	}
	room := m.width - kit.Width(text) - 2
	if room < kit.Width(state) {
		if m.fault != "" {
			return paint(red, fit("tutti  "+state, m.width))
		}
		return paint(code, fit(text, m.width))
	}
	return paint(code, text) + strings.Repeat(" ", m.width-kit.Width(text)-kit.Width(state)) + state
}

// rule is a line with a title in it.
func rule(title string, width int) string {
	if title == "" {
		return strings.Repeat("─", max(0, width))
	}
	s := kit.Truncate("─ "+title+" ", width)
	return s + strings.Repeat("─", max(0, width-kit.Width(s)))
}

// fit makes text without colours exactly so wide.
func fit(s string, width int) string {
	s = kit.Truncate(kit.Clean(s), width)
	return s + strings.Repeat(" ", max(0, width-kit.Width(s)))
}

// firstWait is the first thing that waits that is shown.
func (m *Model) firstWait(l layout) int {
	at := slices.IndexFunc(m.snap.Waits, func(w Wait) bool { return w.ID == m.wait })
	return max(0, at-(l.waits-1)+1)
}

// waits draws what waits for the user, each with its number.
func (m *Model) waits(l layout) (lines []string) {
	if l.waits == 0 {
		return nil
	}
	all := m.snap.Waits
	first := m.firstWait(l)
	title := "waits for you"
	if rest := len(all) - (l.waits - 1); rest > 0 {
		title += " (" + strconv.Itoa(rest) + " more: " + strings.Join(m.keys.named("next").keys, " ") + ")"
	}
	lines = append(lines, paint(yellow, rule(title, m.width)))
	for i := first; i < len(all) && len(lines) < l.waits; i++ {
		w := &all[i]
		keys := ""
		for _, a := range w.Actions {
			if (a.ID == "approve" || a.ID == "deny") && len(a.Args) > 0 {
				keys += "  " + m.keys.short(a.ID, m.width)
			}
		}
		if keys == "" && m.width >= singleFrom && i < 9 {
			if len(w.Actions) > 0 {
				label := w.Actions[0].Label
				if w.Actions[0].Chooses() { // one of several answers is none to recommend
					label = "answer …"
				}
				keys = "  " + strconv.Itoa(i+1) + " " + label
			} else if w.Command != "" {
				keys = "  " + strconv.Itoa(i+1) + " copy"
			}
		}
		text := kit.Clean(w.Text)
		if s := age(w.Since, m.now); s != "" {
			text += " (" + s + ")"
		}
		number := "  "
		if i < 9 {
			number = strconv.Itoa(i+1) + " "
		}
		keys = kit.Truncate(kit.Clean(keys), m.width/2)
		line := fit(" "+number+text, m.width-kit.Width(keys)-1) + keys + " "
		if w.ID == m.wait {
			line = paint(reverse, "›"+line[1:])
		}
		lines = append(lines, line)
	}
	return lines
}

// maxTitle is how many lines what is asked may take.
const maxTitle = 4

// question draws what is asked.
func (m *Model) question() (lines []string) {
	q := m.ask
	f := &q.fields[q.at]
	answers := 1
	if len(f.choices) > 3 {
		answers = len(f.choices) + 1
	}
	room := m.height - 1 - m.waitLines() - answers // for what is asked and what would be written
	if q.title != "" {
		title := strings.Split(strings.TrimRight(kit.Folded(kit.Clean(q.title), 0, m.width), "\n"), "\n")
		if most := max(1, min(maxTitle, room-1)); len(title) > most {
			title = title[:most]
			title[most-1] = kit.Truncate(title[most-1], m.width-2) + " …"
		}
		for _, line := range title {
			lines = append(lines, paint(yellow, fit(line, m.width)))
		}
	}
	lines = append(lines, changed(q.change, m.width, room-len(lines)-2)...)
	if f.choices == nil {
		return append(lines, tail(f.label+f.value, m.width-1))
	}
	var all []string
	for _, c := range f.choices {
		all = append(all, c.key+" "+kit.Clean(c.label))
	}
	if len(f.choices) <= 3 {
		return append(lines, fit(strings.Join(all, " · ")+" · esc cancel", m.width))
	}
	for _, line := range all {
		lines = append(lines, fit(" "+line, m.width))
	}
	return append(lines, fit("esc cancel", m.width))
}

// changed draws what would be written, on so many lines at most. A line that is too long goes on below.
func changed(text string, width, most int) (lines []string) {
	colours := map[byte]string{'+': green, '-': red}
	for _, line := range approval.ChangeLines(text) {
		for part := range strings.SplitSeq(ansi.Hardwrap(line.Text, width, true), "\n") {
			lines = append(lines, paint(colours[line.Sign], fit(part, width)))
		}
	}
	if len(lines) <= max(0, most) {
		return lines
	}
	shown := lines[:max(0, most-1)]
	return append(shown, fit("… "+kit.Plural(len(lines)-len(shown), "more line")+": tutti approve --full", width))
}

// tail is the end of a line that does not fit.
func tail(s string, width int) string {
	for kit.Width(s) > width {
		_, s = cutFirst(s)
	}
	return s
}

func cutFirst(s string) (string, string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// foot draws the last lines: what the last action said, and the likeliest keys.
func (m *Model) foot() (lines []string) {
	if m.ask != nil {
		return m.question()
	}
	switch {
	case m.message != "" && m.wrong:
		lines = append(lines, paint(red, fit("! "+m.message, m.width)))
	case m.message != "":
		lines = append(lines, fit(m.message, m.width))
	case m.o.ReadOnly != "":
		lines = append(lines, paint(yellow, fit("read-only: "+m.o.ReadOnly, m.width)))
	}
	if m.typing {
		return append(lines, tail("/"+m.filter, m.width-1))
	}
	likely := []string{"attach", "prompt", "send", "halt", "help"}
	switch {
	case m.o.ReadOnly != "":
		likely = []string{"attach", "view", "filter", "help", "quit"}
	case m.snap != nil && len(m.snap.Agents) == 0:
		likely = []string{"new", "halt", "help", "quit"}
	case m.current() != nil && m.current().Session == "" && m.chosen() == nil:
		likely = []string{"send", "view", "halt", "help"} // it has no terminal here
	case m.chosen() != nil && slices.ContainsFunc(m.chosen().Actions, func(a todo.Action) bool { return a.ID == "approve" && len(a.Args) > 0 }):
		likely = []string{"approve", "deny", "attach", "halt", "help"}
	}
	var hints []string
	if m.filter != "" {
		hints = append(hints, "filter: "+kit.Clean(m.filter))
	}
	for _, name := range likely {
		if h := m.keys.hint(name); h != "" {
			hints = append(hints, h)
		}
	}
	help := m.keys.hint("help")
	for len(hints) > 2 && kit.Width(strings.Join(hints, " · ")) > m.width { // help stays
		at := len(hints) - 1
		if hints[at] == help {
			at--
		}
		hints = slices.Delete(hints, at, at+1)
	}
	return append(lines, fit(strings.Join(hints, " · "), m.width))
}

// drawPage draws a page of text in place of everything.
func (m *Model) drawPage() (lines []string) {
	room := m.height - 2
	end := min(len(m.page), m.from+room)
	for _, line := range m.page[m.from:end] {
		lines = append(lines, fit(line, m.width))
	}
	for len(lines) < room {
		lines = append(lines, strings.Repeat(" ", m.width))
	}
	more := ""
	if end < len(m.page) {
		more = strconv.Itoa(len(m.page)-end) + " more lines: j · "
	}
	return append(lines, rule("", m.width), fit(more+"any other key goes back", m.width))
}
