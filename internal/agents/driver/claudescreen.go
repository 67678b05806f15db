package driver

import (
	"strings"
	"unicode/utf8"
)

// claudeScreen: the user types between two lines that go across the screen. A dialog takes the place of both, and leaves the title
// as it was.
func claudeScreen(screen, title string) Seen {
	lines := rows(screen)
	typed, above, below, ok := claudeBox(lines)
	if !ok {
		return claudeOther(lines, title)
	}
	s := Seen{Doing: Idle, Prompt: true, Typed: typed}
	switch foot := strings.Join(below, "\n"); {
	case anyOf(foot, "enter to open ·", "enter to return ·"): // what is typed there begins another agent
		return Seen{Dialog: showsAgents, Rule: `dialog "enter to open ·" or "enter to return ·"`}
	case strings.Contains(foot, "esc to interrupt"):
		s.by(Busy, `"esc to interrupt"`)
	case isWheel(first(title)):
		s.by(Busy, "title with a turning wheel")
	case claudeWorks(above):
		s.by(Busy, "a turning star above the prompt")
	case strings.Contains(foot, "Usage limit reached"):
		s.by(Limited, `"Usage limit reached"`)
	case claudeLimited(above):
		s.by(Limited, `"You've hit your" or "API Error: Request rejected (429)"`)
		s.Guess = true
	case claudeTitle(title) == Idle:
		s.by(Idle, "prompt ❯ between two lines, and ✳ in the title")
	default:
		s.by(Idle, "prompt ❯ between two lines, without ✳ in the title")
		s.Guess = true
	}
	if anyOf(strings.Join(below, "\n")+"\n"+strings.Join(tail(above, 1), ""), "Not logged in · Run /login", "Not logged in · run /login") {
		s.Note = notSignedIn
	}
	return s
}

// claudeTitle: a star before the title is idle, a wheel of Braille dots is busy. It shows no dialog there, and the newer of the
// tried versions shows the star while it works, too.
func claudeTitle(title string) Doing {
	switch r := first(title); {
	case r == '✳':
		return Idle
	case isWheel(r):
		return Busy
	}
	return Unknown
}

// claudeBox finds the place where its user types: the text in it, and the lines above and below.
func claudeBox(lines []string) (typed string, above, below []string, ok bool) {
	const tall = 30 // lines of a draft
	last := lastRule(lines)
	up := lastRule(lines[:max(last, 0)])
	if up < 0 || last-up < 2 || last-up > tall {
		return "", nil, nil, false
	}
	above, below = lines[:up], lines[last+1:]
	draft := lines[up+1 : last]
	typed, ok = strings.CutPrefix(draft[0], "❯")
	if !ok && strings.HasPrefix(draft[0], "!") { // a command for the shell
		typed, ok = draft[0], true
	}
	typed = strings.Trim(typed, " \u00a0")
	for _, l := range draft[1:] {
		ok = ok && (l == "" || strings.HasPrefix(l, "  ")) // an empty line has lost its blanks
		typed += "\n" + strings.TrimPrefix(l, "  ")
	}
	return typed, above, below, ok && claudeFoot(below, typed)
}

// claudeFoot tells whether below the place are a few lines of help and nothing else: what is suggested for a command that was
// begun, or the list of keys.
func claudeFoot(below []string, typed string) bool {
	const few, many = 4, 12
	for _, l := range below {
		if strings.HasPrefix(strings.TrimSpace(l), "❯") || option(l) {
			return false
		}
	}
	if len(below) <= few {
		return true
	}
	if !strings.HasPrefix(typed, "/") && !strings.HasPrefix(typed, "@") && !anyOf(below[0], "! for shell mode") || len(below) > many {
		return false
	}
	for _, l := range below {
		if l != "" && l[0] != '/' && l[0] != '+' && !strings.HasPrefix(l, "  ") {
			return false
		}
	}
	return true
}

// claudeWorks tells whether a star turns above the place, which a word with three dots follows. What a model says is indented.
func claudeWorks(above []string) bool {
	const near = 14
	lines := tail(above, near)
	for i := len(lines) - 1; i >= 0; i-- {
		l := lines[i]
		switch r, n := utf8.DecodeRuneInString(l); {
		case r == '❯' || r == '●':
			return false
		case strings.ContainsRune("·✢✳✶✻✽*", r) && strings.HasPrefix(l[n:], " ") && strings.Contains(l, "…"):
			return true
		}
	}
	return false
}

// claudeLimited tells whether the last that happened was that its provider refused. The output of a command could look like it.
func claudeLimited(above []string) bool {
	const near = 12
	lines := tail(above, near)
	for i := len(lines) - 1; i >= 0 && !strings.HasPrefix(lines[i], "❯"); i-- {
		if strings.HasPrefix(lines[i], "  ⎿  You've hit your ") || strings.HasPrefix(lines[i], "● API Error: Request rejected (429)") {
			return true
		}
	}
	return false
}

var claudeDialogs = []rule{
	asks(asksTrust, "Accessing workspace:", "trust this folder"),
	asks(asksKey, "Detected a custom API key"),
	asks(asksServers, "new MCP server", "found in this project"),
	asks(asksServers, "New MCP server found in this project"),
	asks("whether it may do everything without being asked", "Bypass Permissions mode"),
	asks(asksSignIn, "Select login method"),
	{has: []string{"Stop and wait for limit to reset"}, is: asksLimit, doing: Limited},
	asks(asksPlan, "Exit plan mode?"),
	asks(asksPlan, "Would you like to proceed?"),
	asks(asksTool, "Do you want to proceed?"),
	asks(asksTool, "Do you want to ", "1. Yes"),
	asks(asksModel, "Select model"),
	asks("what its model wants to know", "Enter to select · ↑/↓ to navigate"),
}

// claudeOther reads a screen without a place where its user types.
func claudeOther(lines []string, title string) Seen {
	switch {
	case len(lines) == 0:
		return claudeTitleOnly(title)
	case strings.Contains(lines[len(lines)-1], "Showing detailed transcript"):
		return Seen{Dialog: "the transcript", Rule: `dialog "Showing detailed transcript"`}
	case strings.Contains(strings.Join(tail(lines, 12), "\n"), "Unable to connect to Anthropic services"):
		return Seen{Dialog: "that it cannot reach its provider", Guess: true, Rule: `dialog "Unable to connect to Anthropic services"`}
	}
	const tall = 30
	all := tail(lines, tall)
	if !claudeAsks(all) {
		return claudeTitleOnly(title)
	}
	edge := len(all)
	for range 2 { // one of the dialogs has a line across it
		if edge = lastEdge(all[:max(edge, 0)]); edge < 0 {
			break
		}
		if d, ok := match(claudeDialogs, all[edge:]); ok {
			return d.seen()
		}
	}
	return unknownQuestion()
}

// claudeTitleOnly: without anything else on the screen the star in the title says nothing.
func claudeTitleOnly(title string) Seen {
	s := Seen{Guess: true}
	if claudeTitle(title) == Busy {
		s.by(Busy, "title with a turning wheel")
	}
	return s
}

// claudeAsks tells whether answers can be chosen in these lines.
func claudeAsks(lines []string) bool {
	for _, l := range lines {
		if option(l, "❯") || isKeys(l) {
			return true
		}
	}
	return false
}

func lastRule(lines []string) int { return lastLine(lines, isRule) }

// lastEdge finds where what is at the bottom begins.
func lastEdge(lines []string) int {
	return lastLine(lines, func(l string) bool { return isRule(strings.TrimSpace(l)) || strings.HasPrefix(l, "▔▔▔▔") })
}

func lastLine(lines []string, is func(string) bool) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if is(lines[i]) {
			return i
		}
	}
	return -1
}

// isRule tells whether a line goes across the screen. A word of the program's may stand in it.
func isRule(line string) bool {
	const least = 20
	return strings.HasPrefix(line, "──") && strings.Count(line, "─") >= least
}
