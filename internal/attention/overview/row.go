// Package overview describes an agent of this user as every screen shows it.
//
// It promises:
//
//   - A [Row] is the same for every face: the one screen, the live screen and the page for browsers.
//   - What is not known is left out. Row.Doing is a guess only where Row.Guess says so, and Row.AsOf is when all of it was seen.
//   - Facts come from records that agent CLIs and git write for themselves. Nothing is started for them.
//
// Who finds the agents, and what waits for the user, is decided elsewhere. Texts are those of others; who prints one makes it harmless.
package overview

import (
	"time"

	"tutti/internal/core/address"
)

// A Row is one agent of this user.
type Row struct {
	Agent     string           `json:"agent"` // what people call it
	CLI       string           `json:"cli,omitempty"`
	Folder    string           `json:"folder,omitempty"`
	Doing     string           `json:"doing,omitempty"` // "" when it is not known
	Asks      string           `json:"asks,omitempty"`  // what a waiting agent asks its user
	Until     string           `json:"until,omitempty"` // when a limit ends, as its screen says it: 9:40pm (UTC)
	Guess     bool             `json:"guess,omitempty"` // Doing is what its screen looks like
	Since     time.Time        `json:"since,omitzero"`
	Unread    int              `json:"unread"`
	More      bool             `json:"unreadMore,omitempty"` // there may be more than that
	Live      bool             `json:"live"`
	Halted    bool             `json:"halted"`              // the halt denies it its tools, as far as it reaches it
	HaltState HaltState        `json:"haltState,omitempty"` // what the halt does to it: stops, not_stopped, unconfirmed or elsewhere; "": not known, or nothing is halted
	Paused    bool             `json:"paused"`
	Stopped   bool             `json:"stopped,omitempty"` // an earlier halt stopped it, and its user has not let it go on
	Instance  address.Instance `json:"instance,omitempty"`
	Bus       string           `json:"bus,omitempty"`     // on which it is live
	Session   string           `json:"session,omitempty"` // in tmux
	Server    string           `json:"tmux_server,omitempty"`
	Registry  string           `json:"registry,omitempty"`
	Machine   string           `json:"machine"`
	Kind      string           `json:"kind"` // tmux or headless
	AsOf      time.Time        `json:"as_of"`

	Mirrored bool `json:"mirrored,omitempty"`   // it is on another machine
	NoCLI    bool `json:"noAgentCLI,omitempty"` // no process of an agent CLI is seen: another program connected it

	WaitsFor  string `json:"waitsFor,omitempty"`  // approval, answer, dialog or limit; "" while it does not wait
	Conductor bool   `json:"conductor,omitempty"` // it leads the workspace in its folder
	Version   string `json:"version,omitempty"`   // of its agent CLI
	Model     string `json:"model,omitempty"`     // that answered last

	Branch   string   `json:"branch,omitempty"`   // of git, in Folder
	Tokens   int64    `json:"tokens,omitempty"`   // that its model reads again with its next request
	Blocked  string   `json:"blocked,omitempty"`  // by what it says that it is blocked
	Reserved []string `json:"reserved,omitempty"` // the files and folders that it has reserved
}

// A HaltState says whether a halt stops an agent.
type HaltState string

// The states of an agent during a halt.
const (
	HaltStops       HaltState = "stops"       // it has stopped, or does with its next tool call
	HaltMissed      HaltState = "not_stopped" // no hook stops it
	HaltUnconfirmed HaltState = "unconfirmed" // hooks are installed, and none was seen to stop it
	HaltElsewhere   HaltState = "elsewhere"   // another home or pid namespace
)

// Words is the state in a few words, for a table.
func (h HaltState) Words() string {
	switch h {
	case HaltStops:
		return "halted"
	case HaltMissed:
		return "not stopped: needs halt --kill"
	case HaltUnconfirmed:
		return "halt not confirmed: needs halt --kill"
	case HaltElsewhere:
		return "not reached by the halt"
	}
	return "halt not confirmed"
}

// HaltWords says what the halt does to an agent, "" without a halt.
func (r *Row) HaltWords() string {
	switch {
	case !r.Halted:
		return ""
	case r.HaltState == "" && r.NoCLI:
		return "halted: no agent CLI seen, its sends are refused"
	}
	return r.HaltState.Words()
}

// Unknown is what a screen shows in place of Doing where that is not known.
func (r *Row) Unknown() string {
	if r.NoCLI {
		return "no agent CLI seen"
	}
	return "unknown"
}
