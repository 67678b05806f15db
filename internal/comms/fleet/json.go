package fleet

import (
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
)

// stamp writes a time for programs, with the zone of this machine.
func stamp(t time.Time) string { return protocol.FormatTime(t.Local()) }

// A ReportView is the report for programs.
type ReportView struct {
	ScannedAt string            `json:"scanned_at"` // when it was made
	Hostname  string            `json:"hostname"`   // of this machine
	Halt      exchange.HaltView `json:"halt"`
	Local     []ProjectView     `json:"local"` // the projects of this machine
	Peers     []PeerView        `json:"peers"` // the other machines
	Cached    bool              `json:"cached"`
	CacheAge  *int64            `json:"cache_age_seconds"` // age of the oldest answer that was kept
	Warnings  []string          `json:"warnings"`          // for people
}

// A ProjectView is a project of this machine.
type ProjectView struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"`
	Mailbox *string `json:"mailbox"` // its path; null: there is none yet
}

// A PeerView is another machine. What is unknown is null.
type PeerView struct {
	Name      string   `json:"name"`
	Host      string   `json:"host"` // its address
	Reachable bool     `json:"reachable"`
	Latency   *int64   `json:"latency_ms"`
	LastSeen  *string  `json:"last_seen"` // when it answered
	Error     *string  `json:"error"`
	Halted    *bool    `json:"halted"`
	Projects  []string `json:"projects"`       // null: not asked for
	More      bool     `json:"more,omitempty"` // it has more projects than are listed
}

// A ResultView is what became of an order on another machine.
type ResultView struct {
	Name         string `json:"name"`
	Host         string `json:"host"` // its address
	OK           bool   `json:"ok"`
	Error        string `json:"error,omitempty"`
	Absent       bool   `json:"absent,omitempty"`        // nothing was halted there
	ReasonError  string `json:"reason_error,omitempty"`  // it is halted for another reason
	WatcherError string `json:"watcher_error,omitempty"` // its watcher was not stopped or started
	Took         int64  `json:"took_ms"`
}

// View returns the report for programs.
func (r *Report) View() ReportView {
	v := ReportView{
		ScannedAt: stamp(r.ScannedAt), Hostname: r.Hostname, Halt: exchange.ViewHalt(r.Halt, time.Local), Cached: r.Cached, Warnings: render.List(r.Warnings),
		Local: render.Each(r.Local, func(p Project) ProjectView { return ProjectView{p.Name, p.Path, render.OrNull(p.Mailbox)} }),
		Peers: render.Each(r.Peers, Peer.View),
	}
	if r.Cached {
		v.CacheAge = new(int64(r.CacheAge / time.Second))
	}
	return v
}

// View returns a machine for programs.
func (p Peer) View() PeerView {
	v := PeerView{Name: p.Host.Name, Host: p.Host.Host, Reachable: p.Reachable, Error: render.OrNull(p.Cause()), More: p.More}
	if p.Reachable {
		v.Latency = new(p.Latency.Milliseconds())
	}
	if !p.LastSeen.IsZero() {
		v.LastSeen = new(stamp(p.LastSeen))
	}
	if p.Reachable && p.Err == nil {
		v.Halted = &p.Halted
	}
	if p.Listed {
		v.Projects = render.List(p.Projects)
	}
	return v
}

// View returns a result for programs.
func (r Result) View() ResultView {
	return ResultView{r.Host.Name, r.Host.Host, r.Err == nil, r.Cause(), r.Absent, causeOf(r.Reason), causeOf(r.Watcher), r.Took.Milliseconds()}
}
