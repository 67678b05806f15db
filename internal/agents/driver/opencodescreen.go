package driver

import (
	"slices"
	"strings"
)

// opencodeScreen: the user types in a box that ends in a thick line, with the model below the text and what it does below the line. A
// question takes the place of the box and has no such line. The title says nothing.
func opencodeScreen(screen, _ string) Seen {
	lines := rows(screen)
	typed, foot, ok := opencodeBox(lines)
	if !ok {
		const tall = 25
		low := tail(lines, tall)
		if d, ok := match(opencodeDialogs, low); ok {
			return d.seen()
		}
		return Seen{Guess: true}
	}
	s := Seen{Prompt: true, Typed: typed}
	if strings.HasPrefix(typed, "Ask anything…") {
		s.Typed = ""
	}
	switch text := strings.Join(foot, "\n"); {
	case strings.Contains(text, "[retrying in "):
		s.by(Limited, `"[retrying in "`)
	case strings.Contains(text, "esc interrupt"), strings.Contains(text, "esc again to interrupt"):
		s.by(Busy, `"esc interrupt" or "esc again to interrupt"`)
	case strings.Contains(text, "ctrl+p commands"):
		s.by(Idle, `prompt ┃, and "ctrl+p commands"`)
	default:
		s.by(Idle, "prompt ┃")
		s.Guess = true
	}
	return s
}

// opencodeBox finds the place where its user types, and the lines below.
func opencodeBox(lines []string) (typed string, foot []string, ok bool) {
	const least, below = 20, 12
	end := lastLine(lines, func(l string) bool {
		return strings.HasPrefix(strings.TrimSpace(l), "╹"+strings.Repeat("▀", least))
	})
	if end < 1 {
		return "", nil, false
	}
	foot = slices.DeleteFunc(slices.Clone(lines[end+1:]), func(l string) bool { return l == "" }) // at its start the box is in the middle of the screen
	if len(foot) >= below {
		return "", nil, false
	}
	var box []string
	for i := end - 1; i >= 0; i-- {
		l := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(l, "┃") || strings.HasSuffix(l, "┃") && len(l) > len("┃") { // a list of commands stands above
			break
		}
		box = append([]string{strings.TrimSpace(strings.TrimPrefix(l, "┃"))}, box...)
	}
	// An empty line, the text, an empty line, and the model.
	if n := len(box); n < 4 || box[0] != "" || box[n-2] != "" || !strings.Contains(box[n-1], " · ") {
		return "", nil, false
	}
	return strings.Trim(strings.Join(box[1:len(box)-2], "\n"), "\n"), foot, true
}

var opencodeDialogs = []rule{
	asks(asksTool, "△ Permission required", "enter confirm"),
	asks("what its model wants to know", "enter submit", "esc dismiss"),
	{has: []string{"Commands", "Search", "Suggested"}, is: "the list of its commands"},
}
