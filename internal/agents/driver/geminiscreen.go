package driver

import (
	"slices"
	"strings"
)

// geminiScreen: the user types in a box below a line that goes across the screen; what was said before stands in boxes without one.
// A dialog takes the place of both. The title says what it does, but at the start it says that it is ready while a dialog is open.
func geminiScreen(screen, title string) Seen {
	lines := rows(screen)
	typed, above, ok := geminiBox(lines)
	if !ok {
		return geminiDialog(lines, title)
	}
	s := Seen{Prompt: true, Typed: typed}
	s.by(geminiTitle(title), "title with "+string(first(title)))
	if typed == "Type your message or @path/to/file" {
		s.Typed = ""
	}
	switch {
	case s.Doing == Asking: // where, cannot be seen
		return Seen{Doing: Asking, Dialog: question, Guess: true, Rule: s.Rule}
	case geminiWorks(tail(above, 3)):
		s.by(Busy, `"(esc to cancel, " or "Executing Hook"`)
	case s.Doing == Unknown:
		s.by(Idle, "prompt > in its box, and a title that says nothing")
		s.Guess = true
	case len(above) == 0: // that it works would stand there
		s.Guess = true
	}
	return s
}

// geminiWorks: it says how to interrupt it, or that it waits for a hook. While those of its start run, it loses some of what is typed.
func geminiWorks(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, "(esc to cancel, ") || strings.HasPrefix(strings.TrimSpace(l), "Executing Hook")
	})
}

// geminiTitle: it writes what it does before its title.
func geminiTitle(title string) Doing {
	switch first(title) {
	case '◇':
		return Idle
	case '✦':
		return Busy
	case '✋':
		return Asking
	}
	return Unknown
}

// geminiBox finds the place where its user types.
func geminiBox(lines []string) (typed string, above []string, ok bool) {
	const foot, head, tall = 20, 3, 30 // below there can be a list of ten commands
	top := lastLine(lines, isEdge('▄'))
	bottom := top + slices.IndexFunc(lines[max(top, 0):], isEdge('▀')) // a window that became smaller can show another one further down
	if bottom <= top {
		top = -1
	}
	if top < 0 {
		top, bottom = geminiPlain(lines)
	}
	if top < 0 || bottom-top < 2 || bottom-top > tall || len(lines)-bottom > foot {
		return "", nil, false
	}
	for _, l := range lines[bottom+1:] {
		if strings.ContainsAny(l, "╭│╰✦") {
			return "", nil, false
		}
	}
	rule := lastRule(lines[max(0, top-head):top])
	if rule < 0 {
		return "", nil, false
	}
	for _, l := range lines[top+1 : bottom] {
		l = strings.TrimSpace(l)
		if !ok { // the mark: of a prompt, of one where nothing is asked any more, of a command for the shell
			if typed, ok = strings.CutPrefix(l, ">"); !ok {
				typed, ok = strings.CutPrefix(l, "*")
			}
			if !ok && strings.HasPrefix(l, "!") {
				typed, ok = l, true
			}
			if !ok {
				return "", nil, false
			}
			typed = strings.TrimSpace(typed)
			continue
		}
		typed += "\n" + l
	}
	return typed, lines[:max(0, top-head)+rule], true
}

// geminiPlain finds the empty lines above and below the box, which it has in place of edges on a terminal without true colour: below the
// rule and the line of its mode, and above the line that names its columns.
func geminiPlain(lines []string) (top, bottom int) {
	bottom = lastLine(lines, func(l string) bool { return strings.HasPrefix(l, " workspace (/directory) ") }) - 1
	rule := lastRule(lines[:max(bottom, 0)])
	top = rule + 2
	if rule < 0 || bottom <= top || lines[top] != "" || lines[bottom] != "" {
		return -1, -1
	}
	return top, bottom
}

// isEdge finds the edges of boxes.
func isEdge(r rune) func(string) bool {
	const least = 20
	edge := strings.Repeat(string(r), least)
	return func(l string) bool { return strings.HasPrefix(l, edge) }
}

var geminiDialogs = []rule{
	{has: []string{"Usage limit reached for "}, is: asksLimit, doing: Limited},
	asks(asksTrust, "Do you trust the files in this folder?"),
	asks("for a key", "Enter Gemini API Key"),
	asks(asksSignIn, "How would you like to authenticate"),
	asks(asksTool, "Allow execution of"),
	asks(asksTool, "Apply this change?"),
	asks(asksModel, "Select Model"),
	asks("what its model wants to know", "Answer Questions"),
}

// geminiDialog reads a screen without a place where its user types.
func geminiDialog(lines []string, title string) Seen {
	const tall = 30
	low := tail(lines, tall)
	if at := lastLine(low, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "╭") }); at >= 0 && len(low) > 0 &&
		strings.HasPrefix(strings.TrimSpace(low[len(low)-1]), "╰") {
		for ; at > 0 && strings.HasPrefix(low[at], "│"); at-- { // a box within the box
		}
		if d, ok := match(geminiDialogs, low[at:]); ok {
			return d.seen()
		}
		return unknownQuestion()
	}
	s := Seen{Guess: true}
	if doing := geminiTitle(title); doing != Idle && doing != Unknown {
		s.by(doing, "title with "+string(first(title)))
	}
	return s
}
