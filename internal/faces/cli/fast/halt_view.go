package fast

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tutti/internal/attention/haltreport"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// A HaltView is what "tutti halt --json" and "tutti resume --json" print.
type HaltView struct {
	OK        bool   `json:"ok"`
	Halted    bool   `json:"halted"`
	Path      string `json:"path"`
	WasHalted *bool  `json:"wasHalted,omitempty"` // of a resume
	Reason    string `json:"reason,omitempty"`
	Since     string `json:"since,omitempty"`
	Watcher   string `json:"watcher"`
	// Report is missing where it is not available; Unavailable says why.
	Report      *haltreport.Report `json:"report,omitempty"`
	Unavailable string             `json:"unavailable,omitempty"`
	Programs    []string           `json:"programs,omitempty"` // sessions of programs of the user's own, which no halt stops
	Ended       []EndedView        `json:"ended,omitempty"`
	Commands    []EndedView        `json:"commands,omitempty"` // of --tools
	Remote      []RemoteEnd        `json:"endedOnMachines,omitempty"`
	Held        []HeldMessage      `json:"held,omitzero"`
	Open        []OpenConversation `json:"open,omitzero"`
	Machines    json.RawMessage    `json:"machines,omitempty"`
	Stopped     []StoppedAgent     `json:"stopped,omitempty"`
	Sessions    []SessionView      `json:"sessions,omitempty"` // that --kill ended, or --restart started again
	Typed       []TypedView        `json:"byHand,omitempty"`   // agents that only the user can start again

	// Agents are for --kill alone. Their command lines can hold prompts and keys.
	Agents []agentproc.Agent `json:"-"`
}

// A HeldMessage is a message between projects that was kept because of a halt.
type HeldMessage struct {
	ID          string `json:"id"`
	Destination string `json:"destination"`
}

// An OpenConversation was open when the halt was cleared.
type OpenConversation struct {
	Project string `json:"project"`
	ID      string `json:"conversation"`
	Partner string `json:"partner"`
	Awaited string `json:"awaited"`
	Waiting int    `json:"waiting"`
	Line    string `json:"-"` // its state, for people
}

// Waiter is the project that waits for the awaited one, "" where that is not known.
func (o *OpenConversation) Waiter() string {
	switch o.Awaited {
	case "":
		return ""
	case o.Project:
		return o.Partner
	case o.Partner:
		return o.Project
	}
	return ""
}

// ViewOfHalt is the view of a halt before anything else is known of it.
func ViewOfHalt(s halt.State, watcher string) *HaltView {
	v := &HaltView{OK: s.Halted, Halted: s.Halted, Path: s.Path, Watcher: watcher}
	v.because(s)
	return v
}

// because adds why and since when everything is, or was, halted.
func (v *HaltView) because(s halt.State) {
	v.Reason = s.Reason
	if !s.Since.IsZero() {
		v.Since = s.Since.UTC().Format(kit.JSONTime)
	}
}

// LiftsIt says to the user how a halt is lifted.
const LiftsIt = "tutti resume lifts it."

// SayHalted prints the report as text.
func SayHalted(c *kit.Call, v *HaltView) {
	if c.JSON {
		return
	}
	if v.Report == nil {
		c.Prose("", 0, "Halted. The report is not available: "+v.Unavailable+".")
		sayPrograms(c, v)
		return
	}
	c.Prose("", 0, v.Report.First())
	lines := v.Report.Lines()
	if len(lines) > 0 {
		c.Line("")
	}
	for _, line := range lines {
		c.Prose("", 4, kit.Clean(line))
	}
	sayPrograms(c, v)
	for _, p := range v.Report.Problems {
		c.Warn("%s", kit.Clean(p))
	}
}

func sayPrograms(c *kit.Call, v *HaltView) {
	for _, name := range v.Programs {
		name = kit.Clean(name)
		c.Prose("  ", 4, name+" runs a program of your own, which a halt does not stop: tutti session stop "+name)
	}
}

// halfHalted is a halt without the program that reports: err says why that could not be started. The switch is set.
func halfHalted(c *kit.Call, opt *HaltOptions, err error, state halt.State, watcher string) error {
	v := ViewOfHalt(state, watcher)
	v.Unavailable = kit.Clean(err.Error())
	if c.JSON {
		c.Result(v)
	} else if SayHalted(c, v); c.UserReads() {
		c.Line(LiftsIt)
	}
	switch {
	case opt.Tailnet:
		return alone(c.Verb.Name, err)
	case opt.Kill, opt.Tools:
		return kit.FailIO(kit.InstallHint, nil, "%s: nothing was ended: %s", opt.EndFlag(), kit.Clean(err.Error()))
	}
	return nil
}

// EndFlag is the flag that asks for something to be ended.
func (opt *HaltOptions) EndFlag() string {
	if opt.Kill {
		return "--kill"
	}
	return "--tools"
}

// unitFolders are where units of a user may be, below the home folder and elsewhere.
func unitFolders() []string {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	return []string{
		filepath.Join(config, "systemd/user"), filepath.Join(home, ".local/share/systemd/user"), "/etc/systemd/user", "/usr/local/lib/systemd/user",
		"/usr/lib/systemd/user", "/run/systemd/user",
	}
}

// watcherInstalled tells whether the units of the mail watcher exist.
func watcherInstalled() bool {
	for _, folder := range unitFolders() {
		for _, unit := range [...]string{watchPath, watchService} {
			if _, err := os.Lstat(filepath.Join(folder, unit)); err == nil {
				return true
			}
		}
	}
	return false
}

// An EndedView is one agent that --kill or --tools was about, as JSON.
type EndedView struct {
	CLI    string `json:"cli"`
	PID    int    `json:"pid"`
	Tools  int    `json:"tools"`  // processes of its tools
	Killed bool   `json:"killed"` // SIGKILL was needed
	Left   []int  `json:"left,omitempty"`
}

// A SessionView is a session that --kill ended or --restart started again.
type SessionView struct {
	Name     string `json:"name"`
	Registry string `json:"registry"`
	OK       bool   `json:"ok"`
	Problem  string `json:"problem,omitempty"`
}

// A TypedView is the line that starts an agent again that was started by hand.
type TypedView struct {
	CLI  string `json:"cli"`
	Dir  string `json:"dir,omitempty"`
	TTY  string `json:"tty,omitempty"`
	Line string `json:"line,omitempty"` // "": its conversation is not known
}

// A RemoteEnd is the result of a kill on another machine.
type RemoteEnd struct {
	Machine string `json:"machine"`
	OK      bool   `json:"ok"`
	Ended   int    `json:"ended"`
	Problem string `json:"problem,omitempty"`
}
