package observe

import (
	"time"

	"tutti/internal/sessions/registry"
)

// The kinds of a [Listed].
const (
	InTmux   = "tmux"     // a session of a registry
	Headless = "headless" // an agent that was started by hand: live on a bus, and in no session of ours
)

// A Listed is one agent of this machine as lists show it to programs.
type Listed struct {
	Name         string    `json:"name"` // of the session; of a headless one, its address
	Status       string    `json:"status"`
	Found        string    `json:"found"`
	Agent        string    `json:"agent,omitempty"`
	TmuxServer   string    `json:"tmux_server,omitempty"`
	Cwd          string    `json:"cwd,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Instance     string    `json:"instance,omitempty"`
	Job          string    `json:"job,omitempty"`
	Error        string    `json:"error,omitempty"`
	Machine      string    `json:"machine"`
	Kind         string    `json:"kind"`
	AsOf         time.Time `json:"as_of"`
	Registry     string    `json:"registry,omitempty"` // of the session
	Bus          string    `json:"bus,omitempty"`      // of a headless one
	PID          int       `json:"pid,omitempty"`      // of a headless one
}

// ListedRow is a row of a registry as lists show it.
func ListedRow(r *registry.Row, s Observation, reg, machine string, now time.Time) Listed {
	l := Listed{
		Name: r.Name, Status: string(r.Status), Found: s.State.String(), Agent: r.Kind(), TmuxServer: r.ServerName(), Cwd: r.Pane.Cwd,
		Conversation: r.Conversation(), Instance: r.Instance, Job: r.Job, Machine: machine, Kind: InTmux, AsOf: stamp(now), Registry: reg,
	}
	if s.Err != nil {
		l.Error = s.Err.Error()
	}
	return l
}

// stamp is a time as programs get it: UTC, in milliseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// FoundWord says what was found of a session. Where nothing is to be found, there is nothing to say.
func FoundWord(r *registry.Row, s Observation) string {
	switch s.State {
	case Alive:
		return "alive"
	case Dead:
		return "ended"
	case Other:
		return "another"
	case Absent:
		if r != nil && r.Status == registry.Running {
			return "gone"
		}
		return "-"
	}
	return "?"
}
