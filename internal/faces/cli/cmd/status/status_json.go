package status

import (
	"cmp"
	"encoding/json"

	"tutti/internal/attention/todo"
	"tutti/internal/bus/members"
	"tutti/internal/comms/overview"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// A screen is what the screen shows, for programs.
type screen struct {
	OK           bool             `json:"ok"`
	Halted       bool             `json:"halted"`
	HaltReason   string           `json:"haltReason,omitempty"`
	Root         string           `json:"root"`
	RootSource   string           `json:"rootSource"` // what chose the bus
	Exists       bool             `json:"exists"`     // there is a bus
	Up           *upRow           `json:"up"`         // tutti up; null: it does not run
	You          *youRow          `json:"you"`
	Nobody       string           `json:"nobody,omitempty"`   // why it is unknown who you are
	Agents       []fast.PeerView  `json:"agents"`             // other live agents of this bus
	Sessions     []sessionRow     `json:"sessions,omitempty"` // tmux sessions
	Unread       int              `json:"unread"`             // unread messages
	UnreadMore   bool             `json:"unreadMore,omitempty"`
	Newest       []newestRow      `json:"newest"`           // unread messages
	Unseen       []agentMail      `json:"unseen,omitempty"` // unread mail of your other agents
	Conductor    *conductorRow    `json:"conductor,omitempty"`
	Waiting      []todo.View      `json:"waiting"`                // what waits for you
	WaitingFault string           `json:"waitingFault,omitempty"` // why the list may be incomplete
	Comms        commsRow         `json:"comms"`                  // messages between projects
	Hints        []string         `json:"hints"`
	Machine      []agentRow       `json:"machineAgents"`      // the agents of this machine
	Outgoing     []carriage       `json:"outgoing,omitempty"` // messages to other machines that were not carried yet
	Problems     []kit.BusProblem `json:"problems,omitempty"`
	Pauses       []halt.Pause     `json:"pauses"`
	Lifts        []halt.Lift      `json:"lifts"` // lifts of the halt that you have not seen
}

// An upRow is a running tutti up.
type upRow struct {
	PID   int    `json:"pid"`
	Since string `json:"since"`
}

// A youRow is the agent or person that the caller is.
type youRow struct {
	Instance address.Instance `json:"instance"`
	Role     string           `json:"role,omitempty"`
	How      string           `json:"how"` // what shows it
	fast.Mark
}

// A sessionRow is a tmux session.
type sessionRow struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Found    string `json:"found"` // what tmux says
	Agent    string `json:"agent,omitempty"`
	Instance string `json:"instance,omitempty"`
	Live     bool   `json:"live"` // on a bus
	fast.Mark
	Conversation string `json:"conversation,omitempty"`
	Job          string `json:"job,omitempty"`
	JobState     string `json:"jobState,omitempty"`
	Asks         string `json:"asks,omitempty"` // what it asks the user
	TmuxServer   string `json:"tmuxServer"`
	Cwd          string `json:"cwd,omitempty"`
	Machine      string `json:"machine"`
	Kind         string `json:"kind"`
}

// A newestRow is an unread message.
type newestRow struct {
	ID          string `json:"id"`
	From        string `json:"from"`
	Trust       string `json:"trust"` // the verdict on its signature
	AddressedTo string `json:"addressedTo,omitempty"`
	At          string `json:"at"`
}

// A conductorRow is the conductor of this folder.
type conductorRow struct {
	Instance *address.Instance `json:"instance"`
	Agents   int               `json:"agents"` // live agents here
	Next     int               `json:"next"`   // agents that claimed the role after it
}

// A commsRow is the messages between projects. Where they are unknown it has the error only.
type commsRow struct {
	Error string `json:"error,omitempty"`
	*commsCounts
}

// A commsCounts counts messages between projects.
type commsCounts struct {
	Project     *projectRow `json:"project"`     // of the working folder
	Waiting     int         `json:"waiting"`     // messages that wait
	Holding     int         `json:"holding"`     // mailboxes with such messages
	Mailboxes   int         `json:"mailboxes"`   // all mailboxes
	Unreadable  int         `json:"unreadable"`  // mailboxes that cannot be read
	FailedSends int         `json:"failedSends"` // messages that were not delivered
}

// A projectRow is a project.
type projectRow struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Mailbox bool   `json:"mailbox"` // it has a mailbox that can be read
	*boxRow
}

// A boxRow is a mailbox.
type boxRow struct {
	Waiting int        `json:"waiting"` // messages that wait
	Latest  *latestRow `json:"latest"`
	Open    []openRow  `json:"open"` // open conversations
}

// A latestRow is the latest message.
type latestRow struct {
	Name         string `json:"name"`
	From         string `json:"from,omitempty"`
	Type         string `json:"type,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Age          int64  `json:"ageSeconds"`
}

// An openRow is an open conversation.
type openRow struct {
	ID             string `json:"id"`
	With           string `json:"with,omitempty"` // the other project
	Sequence       int    `json:"sequence"`       // of the last message
	Awaited        string `json:"awaited"`        // who is to write next
	AwaitedProject string `json:"awaitedProject,omitempty"`
	Waiting        int    `json:"waiting"` // messages that wait
}

func (v *statusView) screen() screen {
	s := screen{
		OK: true, Halted: v.halted.Halted, HaltReason: v.halted.Reason, Root: v.root.Path, RootSource: string(v.root.Source), Exists: v.exists,
		Agents:   render.Each(v.agents, func(r members.Row) fast.PeerView { return fast.ViewPeer(&r, v.denied.Peer(&r)) }),
		Sessions: render.Each(v.sessions, func(l sessionLine) sessionRow { return l.view(ofSession(&v.denied, &l)) }),
		Unread:   v.unread, UnreadMore: v.more, Newest: render.Each(v.newest, mailLine.view), Unseen: v.unseen(), Conductor: v.seat.view(),
		Waiting: render.Each(v.waiting, todo.Item.View), Comms: v.letters.view(), Hints: render.List(v.hints), Machine: render.List(v.rows),
		Outgoing: v.away, Problems: v.problems, Pauses: render.List(v.news.Pauses), Lifts: render.List(v.news.Lifts),
	}
	if u := v.up; u != nil {
		s.Up = &upRow{u.ID.PID, u.Since.UTC().Format(kit.JSONTime)}
	}
	if v.you != nil {
		s.You = &youRow{v.you.Instance, v.you.Role, v.you.How, v.denied.Of(v.you.Instance, v.folder)}
	} else if v.nobody != nil {
		s.Nobody = kit.WhyNobody(v.nobody)
	}
	if v.blind != nil {
		s.WaitingFault = v.blind.Error()
	}
	return s
}

func (l *sessionLine) view(m fast.Mark) sessionRow {
	return sessionRow{
		Name: l.row.Name, Status: string(l.row.Status), Found: l.sight.State.String(), Agent: l.row.Kind(), Instance: l.row.Instance, Live: l.live, Mark: m,
		Conversation: l.row.Conversation(), Job: l.row.Job, JobState: l.job, Asks: l.asks(), TmuxServer: cmp.Or(l.row.ServerName(), "default"),
		Cwd: l.row.Pane.Cwd, Machine: proc.Hostname(), Kind: observe.InTmux,
	}
}

func (m mailLine) view() newestRow {
	return newestRow{m.id, m.from, m.verdict.Word.String(), string(m.verdict.AddressedTo), m.at.UTC().Format(kit.JSONTime)}
}

func (s *seatView) view() *conductorRow {
	if s == nil {
		return nil
	}
	return &conductorRow{render.OrNull(s.conductor), s.agents, s.next}
}

func (v *letterView) view() commsRow {
	if v.err != nil {
		return commsRow{Error: v.err.Error()}
	}
	c := &commsCounts{Waiting: v.waiting, Holding: v.holding, Mailboxes: v.boxes, Unreadable: v.trouble, FailedSends: v.failed}
	if v.here != nil {
		c.Project = &projectRow{Name: v.here.Name, Path: v.here.Path}
		if v.box != nil && v.box.Err == nil {
			c.Project.Mailbox, c.Project.boxRow = true, viewBox(v.box)
		}
	}
	return commsRow{commsCounts: c}
}

func viewBox(p *overview.Project) *boxRow {
	b := &boxRow{Waiting: p.Pending, Open: []openRow{}}
	if m := p.Latest; m != nil {
		b.Latest = &latestRow{m.Name, m.Sender, string(m.Type), m.Conversation, int64(m.Age.Seconds())}
	}
	for i := range p.Conversations {
		if t := &p.Conversations[i]; t.Open {
			b.Open = append(b.Open, openRow{t.ID, t.Partner, t.NextSequence - 1, string(t.Awaited), t.AwaitedName, t.Waiting})
		}
	}
	return b
}

// A directory is what h2a prints: the live sessions of the bus, and those that were mirrored from others.
type directory struct {
	OK     bool   `json:"ok"`
	Root   string `json:"root"`
	Counts struct {
		Direct   int `json:"direct"`
		Indirect int `json:"indirect"`
		Total    int `json:"total"`
	} `json:"counts"`
	Direct   json.RawMessage `json:"direct"`   // a list of sessions as they are stored
	Indirect json.RawMessage `json:"indirect"` // the same of mirrored ones
}
