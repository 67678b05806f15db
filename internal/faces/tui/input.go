package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"tutti/internal/faces/cli/kit"
)

// A question asks for one thing after another before it acts.
type question struct {
	title  string
	change string // what would be written, shown below the title
	fields []field
	at     int // which is asked
	then   func(answers []string) tea.Cmd
}

// A field is one thing that is asked.
type field struct {
	label   string
	value   string // what was typed
	want    string // the word that has to be typed; "" when any text will do
	choices []choice
	must    bool // it may not be empty
}

// A choice is answered by its key alone.
type choice struct{ key, label string }

// confirm asks before something is done. Only y does it.
func (m *Model) confirm(title string, then func() tea.Cmd) { m.confirmAs(title, "yes", "no", then) }

// confirmAs is confirm with words of its own for y and n.
func (m *Model) confirmAs(title, yes, no string, then func() tea.Cmd) {
	m.ask = &question{title: title, fields: []field{{choices: []choice{{"y", yes}, {"n", no}}}}, then: func(answer []string) tea.Cmd {
		if answer[0] != "y" {
			m.say("nothing was done", false)
			return nil
		}
		return then()
	}}
}

// key takes one key.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case m.layout().tiny && m.ask == nil:
		if c := m.keys.of(name); c != nil && c.name == "quit" {
			return tea.Quit
		}
		return nil
	case m.ask != nil:
		return m.answer(k, name)
	case m.typing:
		m.typeFilter(k, name)
		return nil
	}
	m.say("", false)
	if m.page != nil {
		m.turnPage(name)
		return nil
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		m.menu(int(name[0] - '1'))
		return nil
	}
	if c := m.keys.of(name); c != nil {
		return m.do(c)
	}
	if name == "esc" {
		switch {
		case m.solo:
			m.solo = false
		case m.wait != "":
			m.wait = ""
		case m.filter != "":
			m.filter = ""
		default:
			clear(m.marked)
		}
	}
	return nil
}

// turnPage moves within a page, or closes it.
func (m *Model) turnPage(key string) {
	step := max(1, m.height-2)
	last := max(0, len(m.page)-step)
	name := key
	if c := m.keys.of(key); c != nil {
		name = c.name
	}
	switch name {
	case "up":
		m.from--
	case "down":
		m.from++
	case "page_up":
		m.from -= step
	case "page_down", "mark":
		m.from += step
	case "first":
		m.from = 0
	case "last":
		m.from = last
	default:
		m.page = nil
	}
	m.from = max(0, min(m.from, last))
}

// typeFilter takes a key while the filter is typed.
func (m *Model) typeFilter(k tea.KeyPressMsg, name string) {
	switch name {
	case "esc":
		m.filter, m.typing = "", false
	case "enter":
		m.typing = false
	case "up":
		m.move(-1)
	case "down":
		m.move(1)
	default:
		m.filter = edited(m.filter, k, name)
	}
}

// answer takes a key while something is asked.
func (m *Model) answer(k tea.KeyPressMsg, name string) tea.Cmd {
	q := m.ask
	f := &q.fields[q.at]
	if name == "esc" {
		m.ask = nil
		m.say("nothing was done", false)
		return nil
	}
	if f.choices != nil {
		if name == "enter" && f.choices[0].key == "1" {
			name = "1" // of a menu; a yes is never a mere Enter
		}
		for _, c := range f.choices {
			if c.key == name {
				f.value = name
				return m.next()
			}
		}
		return nil
	}
	if name != "enter" {
		f.value = edited(f.value, k, name)
		return nil
	}
	switch {
	case f.want != "" && f.value != f.want:
		m.ask = nil
		m.say("nothing was done: the word was not "+f.want, true)
		return nil
	case f.must && strings.TrimSpace(f.value) == "":
		return nil
	}
	return m.next()
}

// next asks the next thing, or acts.
func (m *Model) next() tea.Cmd {
	q := m.ask
	if q.at++; q.at < len(q.fields) {
		return nil
	}
	m.ask = nil
	answers := make([]string, len(q.fields))
	for i := range q.fields {
		answers[i] = q.fields[i].value
	}
	return q.then(answers)
}

// insert takes pasted text. Pasted text never answers a question that one key answers.
func (m *Model) insert(text string) {
	text = kit.Clean(strings.Join(strings.Fields(text), " "))
	switch {
	case m.ask != nil && m.ask.fields[m.ask.at].choices == nil && m.ask.fields[m.ask.at].want == "":
		m.ask.fields[m.ask.at].value += text
	case m.ask == nil && m.typing:
		m.filter += text
	}
}

// edited is a line of text after a key.
func edited(line string, k tea.KeyPressMsg, name string) string {
	switch name {
	case "backspace", "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(line)
		return line[:len(line)-n]
	case "ctrl+u":
		return ""
	case "ctrl+w":
		line = strings.TrimRight(line, " ")
		return line[:strings.LastIndexByte(line, ' ')+1]
	}
	return line + kit.Clean(k.Text)
}
