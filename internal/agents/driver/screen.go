package driver

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What is at the bottom of a screen counts. The line where people type, or what stands in its place, is drawn there by the
// program; what a model says, and what a command prints, stands above it and can look like anything.

// rows are the lines of a screen without the spaces at their ends, and without the empty ones at the bottom.
func rows(screen string) []string {
	lines := strings.Split(screen, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r\u00a0")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// tail are the last lines.
func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// anyOf tells whether a text has one of the others in it.
func anyOf(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// A rule says what an agent does whose screen shows certain words of its program.
type rule struct {
	has   []string // all of them
	is    string   // the dialog, for people; "" for none
	doing Doing
}

// match returns the first of the rules whose words stand in the lines.
func match(rules []rule, lines []string) (rule, bool) {
	text := strings.Join(lines, "\n")
	for _, r := range rules {
		if !slices.ContainsFunc(r.has, func(part string) bool { return !strings.Contains(text, part) }) {
			return r, true
		}
	}
	return rule{}, false
}

// asks is a dialog in which Enter answers.
func asks(is string, has ...string) rule { return rule{has: has, is: is, doing: Asking} }

// name is how a rule is shown to people: `asking "Do you want to proceed?"`.
func (r rule) name() string {
	what := r.doing.String()
	if r.doing == Unknown {
		what = "dialog"
	}
	words := make([]string, len(r.has))
	for i, w := range r.has {
		words[i] = strconv.Quote(w)
	}
	return what + " " + strings.Join(words, " and ")
}

// seen is what a rule for a dialog says.
func (r rule) seen() Seen { return Seen{Doing: r.doing, Dialog: r.is, Rule: r.name()} }

// question is a dialog that is not known.
const question = "a question"

// unknownQuestion is what a screen shows that offers answers of which no rule knows.
func unknownQuestion() Seen {
	return Seen{Doing: Asking, Dialog: question, Guess: true, Rule: "asking: answers are offered, and no rule knows the question"}
}

// by sets what the agent does, and which rule says so.
func (s *Seen) by(d Doing, rule string) { s.Doing, s.Rule = d, d.String()+" "+rule }

// isKeys tells whether a line tells which keys answer a question.
func isKeys(line string) bool {
	return anyOf(strings.ToLower(line), "enter to ", "press enter", "use enter", "enter confirm", "enter continue", "enter select", "enter submit", "esc to cancel",
		"esc to close", "esc to reject", "esc back", "esc skip", "esc dismiss")
}

// option tells whether a line is one of several answers: a number and a period, behind a mark of the program or without one.
func option(line string, marks ...string) bool {
	line = strings.TrimSpace(line)
	for _, m := range marks {
		line = strings.TrimSpace(strings.TrimPrefix(line, m))
	}
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && strings.HasPrefix(line[n:], ". ")
}

// first is the first character of a title.
func first(title string) rune {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(title))
	return r
}

// isWheel tells whether a character is one of the Braille dots of which programs make a wheel that turns while they work.
func isWheel(r rune) bool { return r >= 0x2800 && r <= 0x28ff }

// words of what several programs ask.
const (
	asksTool    = "whether a tool may be used"
	asksTrust   = "whether this folder is trusted"
	asksSignIn  = "how to sign in"
	asksServers = "whether the servers of this project may be started"
	asksKey     = "whether the key in the environment is to be used"
	asksModel   = "which model is to be used"
	asksPlan    = "whether its plan is to be carried out"
	asksLimit   = "what to do about the limit of its account"
	asksHooks   = "whether new hooks are trusted"
	notSignedIn = "not signed in"
	showsAgents = "the list of its agents"
)

// AsksApproval tells whether what an agent asks, by its own words or by its screen, is whether it may do something.
func AsksApproval(asks string) bool {
	return asks == "permission prompt" || asks == asksTool || asks == asksPlan
}

// AsksAnswer tells whether it is a question to its user.
func AsksAnswer(asks string) bool { return asks == "input needed" || asks == question }
