package observe

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// Drifts says what the letters of [Found.Drift] mean, in their order.
var Drifts = [...]struct{ Letter, Means string }{
	{"A", "the row says running, and the session is gone or its program has ended"},
	{"B", "the session has no row of its name"},
	{"C", "the program has another conversation than the row says"},
	{"D", "the first process is another one than the row says"},
	{"E", "another program is in front than the agent's"},
	{"F", "the program works in another folder"},
	{"G", "the row says ended, and the session, or a program of it, lives"},
	{"H", "the session of that name has another owner"},
	{"?", "tmux did not answer: nothing is known"},
}

// judge compares what was found with the row. An action under way is not a drift.
func (f *Found) judge() {
	var letters []byte
	add := func(letter byte, when bool) {
		if when {
			letters = append(letters, letter)
		}
	}
	live := f.State == Alive || f.State == Other && !f.Foreign
	if f.Row == nil {
		f.Drift = "B"
		return
	}
	running := f.Row.Status == registry.Running
	add('A', running && !f.UnderWay && (f.State == Absent || f.State == Dead))
	add('B', f.Now != "")
	add('C', f.Conversation != "" && f.Conversation != f.Row.Conversation())
	add('D', f.Replaced && !f.UnderWay)
	add('E', live && !f.UnderWay && f.otherInFront())
	add('F', live && otherFolder(f.Row.Pane.Cwd, f.Pane.Path))
	add('G', !running && !f.UnderWay && (live || f.State == Absent && f.Process.PID > 0))
	add('H', running && f.Foreign)
	add('?', f.State == Unknown)
	f.Drift = string(letters)
}

// shells are programs that are in front when an agent has ended in a session that goes on.
var shells = [...]string{"sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "ash", "tcsh", "csh", "nu", "pwsh", "elvish", "xonsh"}

// otherInFront tells whether the program in front is not the agent's. A program of an unknown kind is what it was when it began.
func (f *Found) otherInFront() bool {
	now, then := f.Pane.Command, f.Row.Pane.Cmd
	if now == "" || now == then {
		return false
	}
	d, ok := driver.Kind(f.Kind)
	if !ok || len(d.Life.Comms) == 0 {
		return then != "" && slices.Contains(shells[:], now)
	}
	return !slices.Contains(d.Life.Comms, now)
}

// otherFolder tells whether a program works elsewhere than its row says.
func otherFolder(row, now string) bool {
	if row == "" || now == "" || row == now {
		return false
	}
	if real, err := filepath.EvalSymlinks(row); err == nil {
		return real != now
	}
	return true // it is gone, or was moved
}

// isServer tells whether a process is a server of tmux, which on Linux names itself.
func IsTmuxServer(pid int) bool {
	name, err := proc.Comm(pid)
	return err == nil && strings.HasPrefix(name, "tmux: server")
}

func pid(n int) string { return strconv.Itoa(n) }
