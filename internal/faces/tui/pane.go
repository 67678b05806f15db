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
// and again while it is shown: after its program has written to it, or else soon after it has changed, and less often while it stays the
// same. Mail is read again when the number of unread messages changes.
type pane struct {
	target
	gen   int // of the target; what was asked for an earlier one is thrown away
	lines []string
	fault string
	ready bool
	pause time.Duration // until the next look
	stop  func()        // ends the wait for the next look; nil: there is none
}

const (
	settleTime = 150 * time.Millisecond // until a selection counts
	quickest   = 500 * time.Millisecond // between two looks
	slowest    = 4 * time.Second
	stale      = 30 * time.Second // until it is read again although nothing is known to have changed
	share      = 200              // a look that takes long is followed by a pause so many times as long, but at most slowest
)

type (
	dueMsg  struct{ gen int }
	paneMsg struct {
		gen   int
		lines []string
		took  time.Duration
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
	if p.stop != nil {
		p.stop()
	}
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
		began := time.Now()
		if view == viewMail {
			lines, err = m.o.mail(ctx, &agent)
		} else {
			lines, err = m.o.Screen(ctx, agent)
		}
		return paneMsg{due.gen, lines, time.Since(began), err}
	}
}

// taken keeps what was read, and says when to look again.
func (m *Model) taken(msg paneMsg) tea.Cmd {
	p := &m.pane
	if msg.gen != p.gen {
		return nil
	}
	changed := !p.ready || !slices.Equal(p.lines, msg.lines)
	p.ready, p.lines, p.fault = true, msg.lines, ""
	if msg.err != nil {
		p.fault = msg.err.Error()
	}
	if changed {
		p.pause = max(quickest, min(slowest, share*msg.took))
	} else {
		p.pause = min(slowest, 2*p.pause)
	}
	switch {
	case p.view == viewMail:
		return p.after(stale)
	case m.o.Wrote == nil || msg.err != nil:
		return p.after(p.pause)
	}
	return m.afterWrite()
}

// afterWrite reads the screen again when its program has written to it.
func (m *Model) afterWrite() tea.Cmd {
	gen, pause, began := m.pane.gen, m.pane.pause, time.Now()
	ctx, stop := context.WithTimeout(m.ctx, stale)
	m.pane.stop = stop
	return func() tea.Msg {
		defer stop()
		if err := m.o.Wrote(ctx); err == nil {
			pause = min(pause, time.Second)
		} else if ctx.Err() != nil {
			pause = 0
		}
		select {
		case <-time.After(time.Until(began.Add(pause))):
		case <-m.ctx.Done():
		}
		return dueMsg{gen}
	}
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
