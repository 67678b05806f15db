package driver

import (
	"slices"
	"strings"
)

// codexScreen: the user types in the last line that begins with its mark, above an empty line and one or two of its foot. Dialogs
// take the place of all that. A wheel turns in the title, and a line tells how to interrupt, while it works.
func codexScreen(screen, title string) Seen {
	lines := rows(screen)
	if strings.HasPrefix(title, "[") && strings.Contains(title, "Action Required") {
		return codexDialog(lines)
	}
	typed, above, ok := codexPrompt(lines)
	switch {
	case !ok && codexAsks(lines):
		return codexDialog(lines)
	case !ok && isWheel(first(title)):
		s := Seen{Guess: true}
		s.by(Busy, "title with a turning wheel")
		return s
	case !ok:
		return Seen{Guess: true}
	}
	s := Seen{Prompt: true, Typed: typed}
	s.by(Idle, "prompt › above its foot")
	if typed == "Ask Codex to do anything" {
		s.Typed = ""
	}
	switch {
	case isWheel(first(title)):
		s.by(Busy, "title with a turning wheel")
	case codexSays(above, "esc to interrupt)", "• ", "◦ "):
		s.by(Busy, `"esc to interrupt)"`)
	case codexSays(above, "hit your usage limit", "■ "):
		s.by(Limited, `"hit your usage limit"`)
	}
	s.BrokenOff = s.Doing == Idle && codexSays(above, "Conversation interrupted", "■ ")
	return s
}

// codexPrompt finds where its user types, and what is above.
func codexPrompt(lines []string) (typed string, above []string, ok bool) {
	at := lastLine(lines, func(l string) bool { return l == "›" || strings.HasPrefix(l, "› ") })
	if at < 0 || option(lines[at], "›") {
		return "", nil, false
	}
	typed, above = codexScrolled(strings.TrimSpace(strings.TrimPrefix(lines[at], "›"))), lines[:at]
	draft, foot, ok := codexFoot(lines[at+1:])
	const least = 5
	if !ok && len(lines)-at > least { // a tall draft has no foot
		draft, foot, ok = lines[at+1:], nil, !slices.ContainsFunc(lines[at+1:], isKeys)
	}
	if !ok {
		return "", nil, false
	}
	for _, l := range draft { // of several lines, empty ones among them
		if l != "" && !strings.HasPrefix(l, "  ") {
			return "", nil, false
		}
		typed += "\n" + codexScrolled(strings.TrimPrefix(l, "  "))
	}
	for _, l := range foot {
		if !strings.HasPrefix(l, "  ") || isKeys(l) {
			return "", nil, false
		}
	}
	return typed, above, true
}

// codexScrolled is a line of a draft without the arrow at its end that says that there is more above or below.
func codexScrolled(l string) string {
	for _, arrow := range [...]string{"  ↑", "  ↓"} {
		if rest, ok := strings.CutSuffix(l, arrow); ok {
			return strings.TrimRight(rest, " ")
		}
	}
	return l
}

// codexFoot splits what stands below the first line of a draft: the rest of the draft, an empty line, and one or two lines of the foot.
func codexFoot(below []string) (draft, foot []string, ok bool) {
	for lines := 1; lines <= 2; lines++ {
		at := len(below) - lines - 1
		if at >= 0 && below[at] == "" && strings.Contains(below[at+1], " · ") {
			return below[:at], below[at+1:], true
		}
	}
	return nil, nil, false
}

// codexSays tells whether a line with one of its marks has a text, since its user said something last.
func codexSays(above []string, text string, marks ...string) bool {
	const near = 20
	lines := tail(above, near)
	for i := len(lines) - 1; i >= 0 && !strings.HasPrefix(lines[i], "› "); i-- {
		for _, m := range marks {
			if strings.HasPrefix(lines[i], m) && strings.Contains(lines[i], text) {
				return true
			}
		}
	}
	return false
}

var codexDialogs = []rule{
	asks(asksSignIn, "Sign in with ChatGPT"),
	asks(asksHooks, "Hooks need review"),
	asks(asksTrust, "Trust this folder?"),
	asks(asksTool, "Would you like to run the following command?"),
	asks(asksTool, "Would you like to make the following edits?"),
	asks(asksTool, "Would you like to grant these permissions?"),
	asks(asksTool, "Would you like to send input to the existing terminal?"),
	asks(asksTool, "MCP server to run tool"),
	asks(asksModel, "Select Model"),
	asks("what to do about a conversation that is open elsewhere", "This conversation is open in another app"),
	{has: []string{"enter open", "n new"}, is: showsAgents},
}

// codexAsks tells whether the last line says how to answer.
func codexAsks(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	return isKeys(last) || anyOf(last, "r retry", "enter open")
}

func codexDialog(lines []string) Seen {
	const tall = 25
	if d, ok := match(codexDialogs, tail(lines, tall)); ok {
		return d.seen()
	}
	return unknownQuestion()
}
