package driver

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// An Added is an agent CLI that its user describes in the settings. Of the texts each is found as it is; no pattern is.
type Added struct {
	Name    string // the host in addresses
	Title   string // for people; "": the name
	Program string // its command, and the name of its process
	Package string // the folder of its script, which node or python runs: "@qwen-code/qwen-code"; "" for none
	// Prompt has the marks with one of which the line begins where its user types, and Empty is what stands there as long as nothing is typed.
	Prompt []string
	Empty  string
	// Idle, Busy, Asks and Limited are texts near that line, or at the bottom of a screen without it.
	Idle, Busy, Asks, Limited []string
	Exit                      string   // see [Life.Exit]
	Clear                     []string // see [Life.Clear]
}

// maxComm is how many bytes of its name the kernel keeps of a program.
const maxComm = 15

// Driver makes the driver of an added CLI: nothing of it is set up, and its screen is read by the rules of its user.
func (a *Added) Driver() *Driver {
	title := a.Title
	if title == "" {
		title = a.Name
	}
	comms := []string{a.Program[:min(len(a.Program), maxComm)]}
	if a.Package != "" {
		comms = append(comms, "node")
	}
	d := &Driver{
		Name: a.Name, Title: title, Program: a.Program, Version: []string{"--version"}, Added: true,
		Life: Life{IsID: isWord, Grace: 5 * time.Second, Comms: comms, Exit: a.Exit, Clear: a.Clear},
	}
	if a.reads() {
		d.Life.Screen = a.screen
		d.Wake.Nudge = len(a.Prompt) > 0 && len(a.Busy) > 0 && (a.Empty != "" || len(a.Idle) > 0)
	}
	return d
}

// reads tells whether there is any rule for its screen.
func (a *Added) reads() bool {
	return len(a.Prompt)+len(a.Idle)+len(a.Busy)+len(a.Asks)+len(a.Limited) > 0
}

// screen: the texts of its user count within a few lines of the line where that user types, and at the bottom of a screen without it. A
// question outranks everything, so that nothing is typed where a model has only quoted one. Idle is certain with a prompt that is empty
// for certain, and where it is known what it looks like when it works.
func (a *Added) screen(screen, _ string) Seen {
	const near, low = 12, 25
	lines := rows(strings.ReplaceAll(screen, "\u200b", ""))
	at, mark := a.prompt(lines)
	window := tail(lines, low)
	if at >= 0 {
		window = lines[max(0, at-near):]
	}
	for _, r := range a.rules(Asking, a.Asks) {
		if _, ok := match([]rule{r}, window); ok {
			s := r.seen()
			s.Dialog = strconv.Quote(r.has[0])
			return s
		}
	}
	s := Seen{Guess: true}
	if at >= 0 {
		s.Prompt, s.Typed = true, typedAt(lines[at:], mark)
	}
	if r, ok := match(slices.Concat(a.rules(Limited, a.Limited), a.rules(Busy, a.Busy)), window); ok {
		s.Doing, s.Rule, s.Guess = r.doing, r.name(), r.doing == Limited
		s.unpromise(a)
		return s
	}
	r, idle := match(a.rules(Idle, a.Idle), window)
	switch {
	case idle:
		s.Doing, s.Rule = Idle, r.name()
	case at >= 0 && len(a.Idle) == 0:
		s.by(Idle, "prompt "+strconv.Quote(mark))
	default:
		return s
	}
	empty := a.Empty != "" && s.Typed == a.Empty
	if empty {
		s.Typed = ""
		s.Rule += " with " + strconv.Quote(a.Empty)
	}
	// What is typed proves nothing, but it is what this program puts there: see [Seen.Holds].
	s.Guess = len(a.Busy) == 0 || at < 0 || s.Typed == "" && !empty && !idle
	return s
}

// unpromise takes away the text that the program shows in an empty prompt.
func (s *Seen) unpromise(a *Added) {
	if a.Empty != "" && s.Typed == a.Empty {
		s.Typed = ""
	}
}

func (a *Added) rules(doing Doing, texts []string) (all []rule) {
	for _, text := range texts {
		all = append(all, rule{has: []string{text}, doing: doing})
	}
	return all
}

// unboxed is a line without the edge of a box around it.
func unboxed(line string) string {
	for _, edge := range [...]string{"│", "┃", "|"} {
		if rest, ok := strings.CutPrefix(line, edge); ok {
			return strings.TrimSpace(strings.TrimSuffix(rest, edge))
		}
	}
	return line
}

// prompt finds the line where its user types: the last one that begins with one of its marks; -1 for none. One of several answers is none.
func (a *Added) prompt(lines []string) (at int, mark string) {
	at = lastLine(lines, func(l string) bool {
		return slices.ContainsFunc(a.Prompt, func(m string) bool {
			rest, ok := strings.CutPrefix(unboxed(l), m)
			mark = m
			return ok && (rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\u00a0")) && !option(rest)
		})
	})
	return at, mark
}

// typedAt is what stands there, up to the line below it, and without such a line up to an empty one.
func typedAt(lines []string, mark string) string {
	const tall = 30
	lines = lines[:min(len(lines), tall)]
	end := slices.IndexFunc(lines, func(l string) bool {
		l = strings.TrimSpace(l)
		return strings.HasPrefix(l, "──") || strings.HasPrefix(l, "╰") || strings.HasPrefix(l, "▀")
	})
	if end < 0 {
		end = slices.Index(lines, "")
	}
	if end < 0 {
		end = len(lines)
	}
	text := strings.TrimPrefix(unboxed(lines[0]), mark)
	for _, l := range lines[1:end] {
		text += "\n" + strings.Trim(unboxed(l), " \u00a0")
	}
	return strings.Trim(text, " \u00a0\n")
}

// Settings are where agent CLIs come from that are not shipped.
type Settings struct {
	// Programs are the names that identify the processes of each CLI, read without the rest, because a halt and hooks ask for them. They
	// are known even if the settings have a fault.
	Programs func() []Added
	// Drivers are the whole descriptions.
	Drivers func() []*Driver
}

var settings atomic.Pointer[Settings]

// AddFrom sets where added agent CLIs come from. Nothing is read before the first question.
func AddFrom(s Settings) { settings.Store(&s) }

// Programs are the names of the added agent CLIs: of each Name, Program and Package.
func Programs() []Added {
	if s := settings.Load(); s != nil {
		return s.Programs()
	}
	return nil
}

// AddedDrivers are the agent CLIs of the settings.
func AddedDrivers() []*Driver {
	if s := settings.Load(); s != nil {
		return s.Drivers()
	}
	return nil
}
