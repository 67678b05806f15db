package overview

import (
	"tutti/internal/attention/todo"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// A Snapshot is the state of all agents of this user at one moment: what "tutti status --json" prints.
type Snapshot struct {
	OK           bool          `json:"ok"`
	Halted       bool          `json:"halted"`
	HaltReason   string        `json:"haltReason,omitempty"`
	Root         string        `json:"root"`
	RootSource   string        `json:"rootSource"` // what chose the bus
	Exists       bool          `json:"exists"`     // there is a bus
	Up           *UpRow        `json:"up"`         // tutti up; null: it does not run
	You          *YouRow       `json:"you"`
	Nobody       string        `json:"nobody,omitempty"`   // why it is unknown who you are
	Agents       []PeerView    `json:"agents"`             // other live agents of this bus
	Sessions     []SessionRow  `json:"sessions,omitempty"` // tmux sessions
	Unread       int           `json:"unread"`             // unread messages
	UnreadMore   bool          `json:"unreadMore,omitempty"`
	Newest       []NewestRow   `json:"newest"`           // unread messages
	Unseen       []UnseenMail  `json:"unseen,omitempty"` // unread mail of your other agents
	Conductor    *ConductorRow `json:"conductor,omitempty"`
	Waiting      []todo.View   `json:"waiting"`                // what waits for you
	WaitingFault string        `json:"waitingFault,omitempty"` // why the list may be incomplete
	Comms        CommsRow      `json:"comms"`                  // messages between projects
	Hints        []string      `json:"hints"`
	Machine      []Row         `json:"machineAgents"`      // the agents of this machine
	Outgoing     []Carriage    `json:"outgoing,omitempty"` // messages to other machines that were not carried yet
	Problems     []BusProblem  `json:"problems,omitempty"`
	Pauses       []halt.Pause  `json:"pauses"`
	Lifts        []halt.Lift   `json:"lifts"` // lifts of the halt that you have not seen
}

// An UpRow is a running tutti up.
type UpRow struct {
	PID   int    `json:"pid"`
	Since string `json:"since"`
}

// A YouRow is the agent or person that the caller is.
type YouRow struct {
	Instance address.Instance `json:"instance"`
	Role     string           `json:"role,omitempty"`
	How      string           `json:"how"` // what shows it
	Mark
}

// A SessionRow is a tmux session.
type SessionRow struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Found    string `json:"found"` // what tmux says
	Agent    string `json:"agent,omitempty"`
	Instance string `json:"instance,omitempty"`
	Live     bool   `json:"live"` // on a bus
	Mark
	Conversation string `json:"conversation,omitempty"`
	Job          string `json:"job,omitempty"`
	JobState     string `json:"jobState,omitempty"`
	Asks         string `json:"asks,omitempty"` // what it asks the user
	TmuxServer   string `json:"tmuxServer"`
	Cwd          string `json:"cwd,omitempty"`
	Machine      string `json:"machine"`
	Kind         string `json:"kind"`
}

// A NewestRow is an unread message.
type NewestRow struct {
	ID          string `json:"id"`
	From        string `json:"from"`
	Trust       string `json:"trust"` // the verdict on its signature
	AddressedTo string `json:"addressedTo,omitempty"`
	At          string `json:"at"`
}

// A ConductorRow is the conductor of this folder.
type ConductorRow struct {
	Instance *address.Instance `json:"instance"`
	Agents   int               `json:"agents"` // live agents here
	Next     int               `json:"next"`   // agents that claimed the role after it
}

// A CommsRow is the messages between projects. Where they are unknown it has the error only.
type CommsRow struct {
	Error string `json:"error,omitempty"`
	*CommsCounts
}

// A CommsCounts counts messages between projects.
type CommsCounts struct {
	Project     *ProjectRow `json:"project"`     // of the working folder
	Waiting     int         `json:"waiting"`     // messages that wait
	Holding     int         `json:"holding"`     // mailboxes with such messages
	Mailboxes   int         `json:"mailboxes"`   // all mailboxes
	Unreadable  int         `json:"unreadable"`  // mailboxes that cannot be read
	FailedSends int         `json:"failedSends"` // messages that were not delivered
}

// A ProjectRow is a project.
type ProjectRow struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Mailbox bool   `json:"mailbox"` // it has a mailbox that can be read
	*BoxRow
}

// A BoxRow is a mailbox.
type BoxRow struct {
	Waiting int        `json:"waiting"` // messages that wait
	Latest  *LatestRow `json:"latest"`
	Open    []OpenRow  `json:"open"` // open conversations
}

// A LatestRow is the latest message.
type LatestRow struct {
	Name         string `json:"name"`
	From         string `json:"from,omitempty"`
	Type         string `json:"type,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Age          int64  `json:"ageSeconds"`
}

// An OpenRow is an open conversation.
type OpenRow struct {
	ID             string `json:"id"`
	With           string `json:"with,omitempty"` // the other project
	Sequence       int    `json:"sequence"`       // of the last message
	Awaited        string `json:"awaited"`        // who is to write next
	AwaitedProject string `json:"awaitedProject,omitempty"`
	Waiting        int    `json:"waiting"` // messages that wait
}

// A BusProblem names a bus, or a mailbox on it, that could not be read.
type BusProblem struct {
	Bus   string           `json:"bus"`
	Agent address.Instance `json:"agent,omitempty"` // whose mailbox it is
	Error string           `json:"error"`
}

// An UnseenMail is unread mail of an agent of this user that nothing wakes.
type UnseenMail struct {
	Instance address.Instance `json:"instance"`
	Unread   int              `json:"unread"`
	More     bool             `json:"unreadMore,omitempty"` // there may be more than that
	Live     bool             `json:"live"`
	Bus      string           `json:"bus"`
}

// A Carriage is a message to an agent on another machine that was not carried there.
type Carriage struct {
	ID      string           `json:"id"`
	From    address.Instance `json:"from"`
	To      address.Instance `json:"to"`
	Machine string           `json:"machine"`
	State   mailbox.Step     `json:"state"` // queued, or returned: the other machine has refused it
	Why     string           `json:"why,omitempty"`
}
