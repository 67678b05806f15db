package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/faces/cli/kit"
)

// A Snapshot is the state of all agents at one moment. Its texts are sanitised before they are shown.
type Snapshot struct {
	At     time.Time
	Agents []Agent
	Known  []string // agents on the buses that are not live, where none is
	Waits  []Wait
	Halt   string   // who halted all agents, when and why: "by ann at 14:02"; "" when nothing is halted
	Notes  []string // what could not be read
}

// An Agent is one agent of the user.
type Agent struct{ overview.Row }

// key tells agents apart from one snapshot to the next.
func (a *Agent) key() string {
	return a.Registry + "\x00" + a.Server + "\x00" + a.Session + "\x00" + a.Bus + "\x00" + string(a.Instance) + "\x00" + a.Machine
}

// A Wait is one thing that waits for the user.
type Wait struct {
	ID      string
	Agent   string // the key of the agent whose it is; "" for none of the list
	Text    string
	Change  string // the lines that an agent asks to write, each after "+", "-" or a space
	Since   time.Time
	Command string        // what to type in a terminal
	Actions []todo.Action // as its source offers them; "approve" and "deny" have keys of their own
}

// Key returns the key by which a Wait names this agent.
func (a *Agent) Key() string { return a.key() }

// A mark of an activity reads without colour; the word stands beside it.
type look struct{ sign, colour string }

var looks = map[string]look{
	"working":  {"●", green},
	"waiting":  {"◆", yellow},
	"limited":  {"▲", yellow},
	"idle":     {"○", ""},
	"starting": {"◌", ""},
	"ended":    {"×", ""},
}

// doing is the activity of an agent in words, and how it looks.
func (a *Agent) doing() (text string, how look) {
	how, known := looks[a.Doing]
	if !known {
		how = look{sign: "·"}
	}
	text = cmp.Or(kit.Clean(a.Doing), a.Unknown())
	if a.Guess && a.Doing != "" {
		text += "?"
	}
	switch words := a.HaltWords(); {
	case words != "" && a.HaltState != overview.HaltStops && !a.NoCLI:
		text, how = words, look{"✗", red}
	case words != "":
		text, how = "halted, "+text, look{"■", red}
	case a.Paused:
		text, how = "paused, "+text, look{"‖", yellow}
	case a.Stopped:
		text, how = "stopped, "+text, look{"■", yellow}
	case a.Blocked != "":
		text, how = "blocked, "+text, look{"◆", yellow}
	}
	return text, how
}

// unread is how much unread mail an agent has: 2✉.
func (a *Agent) unread() string {
	switch {
	case a.Unread == 0:
		return ""
	case a.More:
		return strconv.Itoa(a.Unread) + "+✉"
	}
	return strconv.Itoa(a.Unread) + "✉"
}

// tokens is the size of a context: 61k.
func (a *Agent) tokens() string {
	switch {
	case a.Tokens == 0:
		return ""
	case a.Tokens < 1000:
		return strconv.FormatInt(a.Tokens, 10)
	case a.Tokens < 1000_000:
		return strconv.FormatInt(a.Tokens/1000, 10) + "k"
	}
	return strconv.FormatFloat(float64(a.Tokens)/1e6, 'f', 1, 64) + "M"
}

// size is tokens where it is worth a column: a bare number below a thousand says nothing without its unit.
func (a *Agent) size() string {
	if a.Tokens < 1000 {
		return ""
	}
	return a.tokens()
}

// age is how long something lasts.
func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return strings.TrimSuffix(kit.Ago(max(0, now.Sub(since))), " ago")
}

// Headline says in one line how many agents there are and how many things wait.
func (s *Snapshot) Headline() string {
	working := 0
	for i := range s.Agents {
		if s.Agents[i].Doing == "working" {
			working++
		}
	}
	parts := []string{kit.Plural(len(s.Agents), "agent"), strconv.Itoa(working) + " working", waitCount(len(s.Waits))}
	return strings.Join(parts, " · ")
}

// halted is the first line during a halt. That agents may go on comes first.
func (s *Snapshot) halted() string {
	kill, beyond := 0, 0
	for i := range s.Agents {
		a := &s.Agents[i]
		switch {
		case !a.Halted:
		case a.HaltState == overview.HaltElsewhere:
			beyond++
		case a.HaltState == overview.HaltMissed, a.HaltState == overview.HaltUnconfirmed:
			kill++
		}
	}
	text := "HALTED: "
	if kill > 0 {
		text += "tutti halt --kill for " + kit.Plural(kill, "agent") + " · "
	}
	if beyond > 0 {
		text += kit.Plural(beyond, "agent") + " not reached · "
	}
	return text + kit.Clean(s.Halt)
}

func waitCount(n int) string {
	switch n {
	case 0:
		return "nothing waits for you"
	case 1:
		return "1 waits for you"
	}
	return strconv.Itoa(n) + " wait for you"
}

// matches tells whether an agent has a text in its name, folder, agent CLI, activity or address.
func (a *Agent) matches(filter string) bool {
	if filter == "" {
		return true
	}
	filter = strings.ToLower(filter)
	return slices.ContainsFunc([]string{a.Agent, a.CLI, a.Folder, a.Branch, a.Machine, a.Doing, a.Asks, string(a.Instance)}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), filter)
	})
}
