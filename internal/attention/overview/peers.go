package overview

import (
	"cmp"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/halt"
)

// A Denial says which agents of this machine may not use tools: all of them while everything is halted, else those that a pause
// covers.
type Denial struct {
	Halted bool
	Pauses []halt.Pause
}

// ReadDenial reads the halt switch and the pauses of this machine.
func ReadDenial() Denial { return Denial{halt.Read().Halted, halt.Pauses()} }

// A Mark says of one agent whether it may not use tools, and why.
type Mark struct {
	Halted bool `json:"halted"` // the halt denies it its tools
	Paused bool `json:"paused"` // a pause denies it its tools
}

// Of returns the mark of an agent that works in dir. Either may be "". Nothing denies tools to a person.
func (d *Denial) Of(who address.Instance, dir string) Mark {
	if who.Canonical().Host() == identity.Human {
		return Mark{}
	}
	_, paused := halt.Covering(d.Pauses, string(who.Canonical()), dir)
	return Mark{d.Halted, paused}
}

// Peer returns the mark of an agent of the bus. The switch and the pauses of this machine reach none on another one, and an agent that
// is not live has nothing to halt.
func (d *Denial) Peer(r *members.Row) Mark {
	s := r.Session
	switch {
	case s == nil:
		m := d.Of(r.Instance, "")
		m.Halted = false
		return m
	case s.MirroredAt != "":
		return Mark{}
	}
	return d.Of(r.Instance, FolderOf(r))
}

// FolderOf returns the folder in which an agent works, "" when it is not known.
func FolderOf(r *members.Row) string {
	dir := ""
	if r.Session != nil && r.Session.Workspace != nil {
		dir = r.Session.Workspace.Path
	}
	if r.Session != nil && r.Session.Launch != nil {
		dir = cmp.Or(dir, r.Session.Launch.Cwd)
	}
	return dir
}

// Words is the mark behind the state of an agent. "paused" alone is what an agent says of its own work.
func (m Mark) Words() string {
	switch {
	case m.Halted:
		return ", halted"
	case m.Paused:
		return ", tools paused"
	}
	return ""
}

// A PeerView is an agent of a bus, for programs.
type PeerView struct {
	Instance address.Instance `json:"instance"`
	Host     string           `json:"host"`
	Name     string           `json:"name,omitempty"`
	Scopes   []string         `json:"scopes"`
	Live     bool             `json:"live"`
	Mark
	*Connection
}

// A Connection is the live connection of an agent.
type Connection struct {
	SessionID   address.SessionID `json:"sessionId"`
	HeartbeatAt string            `json:"heartbeatAt"`
	State       string            `json:"state"`
	WorkStatus  string            `json:"workStatus,omitempty"`
	MirroredAt  string            `json:"mirroredAt,omitempty"` // another machine showed it
}

// ViewPeer returns an agent for programs.
func ViewPeer(r *members.Row, m Mark) PeerView {
	v := PeerView{Instance: r.Instance, Host: r.Host, Name: r.Name, Scopes: render.List(r.Scopes), Live: r.Session != nil, Mark: m}
	if s := r.Session; s != nil {
		v.Connection = &Connection{r.SessionID, s.HeartbeatAt, s.State, s.WorkStatus, s.MirroredAt}
	}
	return v
}
