package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tutti/internal/faces/cli/kit"
)

// A target is what the right side shows: the view of an agent. The zero one is nothing.
type target struct {
	agent string
	view  int
}

// A pane is the content of the right side: the screen or the mail of an agent. It is read a moment after the selection has come to rest,
// and again while it is shown: soon after it has changed, less often while it stays the same.
type pane struct {
	target
	gen   int // of the target; what was asked for an earlier one is thrown away
	lines []string
	fault string
	ready bool
	pause time.Duration // until the next look
}

const (
	settleTime = 150 * time.Millisecond // until a selection counts
	quickest   = 500 * time.Millisecond // between two looks
	slowest    = 4 * time.Second
)

type (
	dueMsg  struct{ gen int }
	paneMsg struct {
		gen   int
		lines []string
		err   error
	}
)

// shown is what the right side shows now.
func (m *Model) shown() target {
	l := m.layout()
	if m.selected == "" || m.page != nil || l.tiny || !l.wide && !m.solo || m.view == viewFacts {
		return target{}
	}
	return target{m.selected, m.view}
}

// turnTo shows something else, after the selection has rested so long.
func (p *pane) turnTo(t target, rest time.Duration) tea.Cmd {
	*p = pane{target: t, gen: p.gen + 1, pause: quickest}
	if t.agent == "" {
		return nil
	}
	return p.after(rest)
}

func (p *pane) after(d time.Duration) tea.Cmd {
	gen := p.gen
	return tea.Tick(d, func(time.Time) tea.Msg { return dueMsg{gen} })
}

// look reads what is shown.
func (m *Model) look(due dueMsg) tea.Cmd {
	a := m.current()
	if due.gen != m.pane.gen || a == nil {
		return nil
	}
	agent, view := *a, m.pane.view
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(m.ctx, 10*time.Second)
		defer stop()
		var lines []string
		var err error
		if view == viewMail {
			lines, err = m.o.mail(ctx, &agent)
		} else {
			lines, err = m.o.Screen(ctx, agent)
		}
		return paneMsg{due.gen, lines, err}
	}
}

// take keeps what was read, and says when to look again.
func (p *pane) take(msg paneMsg) tea.Cmd {
	if msg.gen != p.gen {
		return nil
	}
	changed := !p.ready || !slices.Equal(p.lines, msg.lines)
	p.ready, p.lines, p.fault = true, msg.lines, ""
	if msg.err != nil {
		p.fault = msg.err.Error()
	}
	if changed {
		p.pause = quickest
	} else {
		p.pause = min(slowest, 2*p.pause)
	}
	if p.view == viewMail {
		p.pause = slowest
	}
	return p.after(p.pause)
}

// coloured makes a line of another program's screen harmless: only its colours and attributes stay.
func coloured(line string) string {
	var out, text strings.Builder
	flush := func() {
		out.WriteString(kit.Clean(text.String()))
		text.Reset()
	}
	state := byte(0)
	for len(line) > 0 {
		seq, _, n, next := ansi.DecodeSequence(line, state, nil)
		switch {
		case isColour(seq):
			flush()
			out.WriteString(seq)
		case seq[0] != 0x1b && (seq[0] >= 0x20 || seq[0] == '\t'):
			text.WriteString(seq)
		}
		line, state = line[n:], next
	}
	flush()
	return out.String()
}

// isColour tells whether a sequence only sets colours and attributes.
func isColour(seq string) bool {
	rest, ok := strings.CutPrefix(seq, "\x1b[")
	if !ok || !strings.HasSuffix(rest, "m") {
		return false
	}
	return strings.Trim(rest[:len(rest)-1], "0123456789;:") == ""
}
