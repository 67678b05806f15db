package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Options are what the screen is given.
type Options struct {
	// Follow calls show with a snapshot at once and after each change, or with the error of a failed look, until the context ends.
	Follow func(ctx context.Context, show func(*Snapshot, error))
	// Look returns a snapshot of this moment.
	Look func(ctx context.Context) (*Snapshot, error)
	// Screen returns the lines that an agent's terminal shows, with their colours.
	Screen func(ctx context.Context, a Agent) ([]string, error)
	// Wrote waits until a program writes to the screen that was read last. With an error, and if Wrote is nil, that is not known: then
	// the screen is read again by the clock.
	Wrote func(ctx context.Context) error

	Shown    func(path string) string // a path as people see it; nil: as it is
	Program  string                   // tutti itself, for actions
	Dir      string                   // where a new agent works if nothing is selected
	CLIs     []string                 // that can be started; they are installed
	Keys     Keys
	ReadOnly string // why this screen may not act; "" when it may
	Log      bool   // tutti has the verb log
}

// The views of the right side.
const (
	viewScreen = iota
	viewMail
	viewFacts
	views
)

var viewNames = [views]string{"screen", "mail", "facts"}

// A Model is the state of the screen.
type Model struct {
	o    *Options
	keys keymap
	ctx  context.Context // of processes; ends with the screen

	width, height int
	now           time.Time
	snap          *Snapshot // nil: none came yet
	fault         string    // why the last look failed

	selected  string // key of an agent
	at        int    // its place, kept when it goes away
	top       int    // the first row that is shown
	marked    map[string]bool
	known     map[string]bool // sessions before one was started from here; nil: none is expected
	started   bool            // the one that is expected has been started: the next snapshot has it
	wait      string          // id of the selected thing that waits
	byMachine bool
	filter    string

	view int
	page []string // a page in place of everything: help, log; nil: none
	from int      // its first line that is shown
	solo bool     // where there is no room for two columns: the right side fills the screen

	ask     *question
	typing  bool   // the filter is being typed
	message string // what the last action said
	wrong   bool   // the message is an error
	running int    // actions that have not ended

	pane  pane
	rest  time.Duration // until a selection counts
	mouse bool
}

// New returns the screen before its first snapshot.
func New(ctx context.Context, o *Options) (*Model, error) {
	keys, err := keysOf(o.Keys)
	if err != nil {
		return nil, err
	}
	return &Model{o: o, keys: keys, ctx: ctx, now: time.Now(), marked: map[string]bool{}, rest: settleTime}, nil
}

// Messages.
type (
	snapMsg struct {
		snap *Snapshot
		err  error
	}
	tickMsg time.Time
	doneMsg struct {
		what, said string
		err        bool
	}
	pageMsg []string
)

// tickEvery is how often the ages on the screen are renewed.
const tickEvery = 5 * time.Second

func tick() tea.Cmd { return tea.Tick(tickEvery, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// Init begins the clock.
func (m *Model) Init() tea.Cmd { return tick() }

// Update takes one event.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.shown()
	cmd := m.update(msg)
	m.settle()
	if now := m.shown(); now != before {
		cmd = tea.Batch(cmd, m.pane.turnTo(now, m.rest))
	}
	return m, cmd
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		m.now = time.Time(msg)
		return tick()
	case snapMsg:
		return m.take(msg)
	case dueMsg:
		return m.look(msg)
	case paneMsg:
		return m.taken(msg)
	case doneMsg:
		m.running--
		if msg.err {
			m.known = nil
		}
		m.started = m.known != nil
		if !m.wrong || msg.err {
			m.say(msg.said, msg.err)
		}
		return m.refresh()
	case pageMsg:
		m.page, m.from = msg, 0
	case treesMsg:
		m.chooseTree(msg)
	case failedMsg:
		m.say(string(msg), true)
	case tea.PasteMsg:
		m.insert(msg.Content)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			m.move(-1)
		} else {
			m.move(1)
		}
	case tea.MouseClickMsg:
		m.click(msg.Y, msg.X)
	}
	return nil
}

// take shows a new snapshot. What was selected stays so.
func (m *Model) take(s snapMsg) tea.Cmd {
	m.now = time.Now()
	if s.err != nil {
		m.fault = s.err.Error()
		return nil
	}
	unread := func() int {
		if a := m.current(); a != nil {
			return a.Unread
		}
		return 0
	}
	before := unread()
	m.snap, m.fault = s.snap, ""
	m.chooseNew()
	if m.wait != "" && m.waiting(m.wait) == nil {
		m.wait = ""
	}
	if m.pane.view == viewMail && m.pane.ready && unread() != before {
		m.pane.gen++ // in place of the look that is due
		return m.pane.after(0)
	}
	return nil
}

// path is a path as people see it.
func (m *Model) path(p string) string {
	if m.o.Shown == nil || p == "" {
		return p
	}
	return m.o.Shown(p)
}

// say shows one line below the list until the next key.
func (m *Model) say(text string, wrong bool) { m.message, m.wrong = text, wrong }

// A row of the list is an agent, or the heading of a group.
type row struct {
	head  string
	agent *Agent
}

// rows are the rows of the list, filtered and in groups. Their order does not depend on what the agents do, so that nothing jumps.
func (m *Model) rows() (all []row) {
	if m.snap == nil {
		return nil
	}
	var agents []*Agent
	for i := range m.snap.Agents {
		if a := &m.snap.Agents[i]; a.matches(m.filter) {
			agents = append(agents, a)
		}
	}
	group := func(a *Agent) string {
		if m.byMachine {
			return a.Machine
		}
		return a.Folder
	}
	slices.SortStableFunc(agents, func(a, b *Agent) int {
		return cmp.Or(strings.Compare(group(a), group(b)), strings.Compare(a.Agent, b.Agent))
	})
	for i, a := range agents {
		if i == 0 || group(a) != group(agents[i-1]) {
			all = append(all, row{head: cmp.Or(group(a), "elsewhere")})
		}
		all = append(all, row{agent: a})
	}
	return all
}

// agents are the agents of the list, in order.
func (m *Model) agents() (all []*Agent) {
	for _, r := range m.rows() {
		if r.agent != nil {
			all = append(all, r.agent)
		}
	}
	return all
}

// current is the selected agent, nil when the list is empty.
func (m *Model) current() *Agent {
	all := m.agents()
	if i := slices.IndexFunc(all, func(a *Agent) bool { return a.key() == m.selected }); i >= 0 {
		return all[i]
	}
	return nil
}

// settle keeps the selection on an agent that exists, and in sight.
func (m *Model) settle() {
	all := m.agents()
	i := slices.IndexFunc(all, func(a *Agent) bool { return a.key() == m.selected })
	if i < 0 {
		i = min(m.at, len(all)-1)
	}
	m.selected, m.at = "", max(0, i)
	if i >= 0 {
		m.selected = all[i].key()
	}
	m.scroll()
}

// scroll moves the list so far that the selected row is in it.
func (m *Model) scroll() {
	l := m.layout()
	rows := m.rows()
	at := slices.IndexFunc(rows, func(r row) bool { return r.agent != nil && r.agent.key() == m.selected })
	if at < 0 || l.list <= 0 {
		m.top = 0
		return
	}
	first := at
	if rows[at-1].agent == nil { // with its heading
		first--
	}
	m.top = min(m.top, first)
	for m.top < first && lines(rows[m.top:at+1], l) > l.list {
		m.top++
	}
	for m.top > 0 && lines(rows[m.top-1:], l) <= l.list { // no empty space at the end
		m.top--
	}
}

// lines is how many lines rows take.
func lines(rows []row, l layout) (n int) {
	for _, r := range rows {
		if r.agent != nil && l.double {
			n++
		}
		n++
	}
	return n
}

// move selects another agent.
func (m *Model) move(by int) {
	all := m.agents()
	if len(all) == 0 {
		return
	}
	m.at = max(0, min(len(all)-1, m.at+by))
	m.selected, m.wait, m.known = all[m.at].key(), "", nil
}

// waiting is the thing of that id that waits, nil when it does not any more.
func (m *Model) waiting(id string) *Wait {
	if m.snap == nil {
		return nil
	}
	i := slices.IndexFunc(m.snap.Waits, func(w Wait) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	return &m.snap.Waits[i]
}

// choose selects the thing that waits at a place, and the agent that it comes from.
func (m *Model) choose(i int) *Wait {
	if m.snap == nil || i < 0 || i >= len(m.snap.Waits) {
		return nil
	}
	w := &m.snap.Waits[i]
	m.wait = w.ID
	if w.Agent != "" {
		if m.filter != "" && !slices.ContainsFunc(m.agents(), func(a *Agent) bool { return a.key() == w.Agent }) {
			m.filter = ""
		}
		m.selected = w.Agent
	}
	m.known = nil
	return w
}

// chosen is what the keys for approving are about: the selected thing, else the first that waits at the selected agent.
func (m *Model) chosen() *Wait {
	if w := m.waiting(m.wait); w != nil {
		return w
	}
	if m.snap == nil || m.selected == "" {
		return nil
	}
	i := slices.IndexFunc(m.snap.Waits, func(w Wait) bool { return w.Agent == m.selected })
	if i < 0 {
		return nil
	}
	return &m.snap.Waits[i]
}

// click selects what was clicked on.
func (m *Model) click(y, x int) {
	l := m.layout()
	if m.page != nil || m.ask != nil || m.solo && !l.wide {
		return
	}
	if y > l.list && y <= l.list+l.waits {
		m.choose(m.firstWait(l) + y - l.list - 2)
		return
	}
	if x >= l.left || y < 1 || y > l.list {
		return
	}
	at := 1
	for _, r := range m.rows()[m.top:] {
		n := lines([]row{r}, l)
		if y < at+n {
			if r.agent != nil {
				m.selected, m.wait, m.known = r.agent.key(), "", nil
				m.at = slices.Index(m.agents(), r.agent)
			}
			return
		}
		at += n
	}
}
