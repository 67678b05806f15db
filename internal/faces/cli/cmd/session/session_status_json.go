package session

import (
	"cmp"
	"time"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// A sessionReport is what has become of sessions.
type sessionReport struct {
	Schema     int               `json:"schema_version"` // 1
	At         string            `json:"generated_at"`
	Version    *string           `json:"tmux_version"` // null: no tmux server answered
	Registry   string            `json:"registry"`
	Sessions   []sessionView     `json:"sessions"`
	Servers    []serverView      `json:"servers"`               // tmux servers
	Problems   []registryProblem `json:"problems"`              // lines of the registry that cannot be used
	Background []backgroundAgent `json:"background"`            // agent CLIs that run without a terminal
	Monitor    *monitorView      `json:"monitor"`               // null: no monitor runs
	Answer     *string           `json:"last_answer,omitempty"` // of one session
}

// A serverView is a tmux server.
type serverView struct {
	Name     string  `json:"name"`
	Answered bool    `json:"answered"`
	PID      *int    `json:"pid,omitempty"`    // of one that answered
	Absent   *bool   `json:"absent,omitempty"` // of one that did not: it does not run
	Error    *string `json:"error,omitempty"`
}

// A registryProblem is a row that cannot be used.
type registryProblem struct {
	Name     string `json:"name,omitempty"`
	Line     int    `json:"line"`
	Reason   string `json:"reason"`
	Unusable bool   `json:"unusable"`
	Registry string `json:"registry"`
}

// A backgroundAgent is an agent CLI that runs without a terminal.
type backgroundAgent struct {
	Agent string `json:"agent"`
	PID   int    `json:"pid"`
}

// A monitorView is the monitor of a registry.
type monitorView struct {
	PID   int    `json:"pid"`
	Alive bool   `json:"alive"`
	At    string `json:"at"`          // of its last look
	Age   int64  `json:"age_seconds"` // since then
}

// A sessionView is one session.
type sessionView struct {
	Name     string    `json:"name"`
	Machine  string    `json:"machine"`
	Kind     string    `json:"kind"` // tmux
	AsOf     string    `json:"as_of"`
	Registry string    `json:"registry,omitempty"`
	Server   string    `json:"tmux_server"`
	TmuxName string    `json:"tmux_name,omitempty"`
	Status   *string   `json:"status"`     // as registered; null: it is not registered
	Found    string    `json:"found"`      // what it is in tmux
	Alive    bool      `json:"tmux_alive"` // there is a session of that name
	Drift    string    `json:"drift"`      // how the two differ; - where they do not
	Agent    string    `json:"agent,omitempty"`
	Activity string    `json:"state,omitempty"`      // idle, working, waiting, limited, ended
	From     *string   `json:"state_from,omitempty"` // what that was read from
	Guess    *bool     `json:"state_guess,omitempty"`
	Since    string    `json:"state_since,omitempty"`
	Asks     string    `json:"asks,omitempty"` // what it asks
	Note     string    `json:"note,omitempty"`
	Pane     *paneView `json:"pane,omitempty"`
	PID      int       `json:"pid,omitempty"` // of the agent CLI
	*rowView
	Seen    string   `json:"conversation_seen,omitempty"`
	Skips   []string `json:"skips"` // what its agent CLI does without asking
	Remarks []string `json:"remarks"`
	Error   *string  `json:"error,omitempty"`
}

// A paneView is the pane of a session.
type paneView struct {
	ID       string `json:"id"`
	PID      int    `json:"pid"`
	Command  string `json:"cmd"`
	Cwd      string `json:"cwd"`
	Dead     bool   `json:"dead"`
	Status   *int   `json:"status,omitempty"` // exit status of a dead one
	Signal   *int   `json:"signal,omitempty"`
	Attached int    `json:"attached"` // terminals that show it
}

// A rowView is what the registry says of a session.
type rowView struct {
	Cwd          string      `json:"cwd"`
	Conversation string      `json:"conversation,omitempty"`
	OnDisk       *bool       `json:"conversation_on_disk,omitempty"`
	Instance     string      `json:"instance,omitempty"`
	Job          string      `json:"job,omitempty"`
	JobState     string      `json:"job_state,omitempty"`
	Role         string      `json:"role,omitempty"`
	Intent       *intentView `json:"intent,omitempty"`
}

// An intentView is a change of a session that is under way, or was cut off.
type intentView struct {
	Verb     string `json:"verb"`
	Step     string `json:"step,omitempty"`
	UnderWay bool   `json:"under_way"`
}

// report is what has become of sessions, for programs.
func (s *sessions) report(rep *observe.Report, parts []Part, from []*Part) sessionReport {
	v := sessionReport{
		Schema: 1, At: rep.At.UTC().Format(kit.JSONTime), Registry: s.Path, Sessions: []sessionView{}, Servers: []serverView{},
		Problems: []registryProblem{}, Background: []backgroundAgent{},
	}
	version := ""
	for _, served := range rep.View.All() {
		one := serverView{Name: served.Name, Answered: served.Err == nil}
		if served.Err == nil {
			version = cmp.Or(served.Panes.Version, version)
			one.PID = &served.Panes.PID
		} else {
			absent, text := served.Absent(), served.Err.Error()
			one.Absent, one.Error = &absent, &text
		}
		v.Servers = append(v.Servers, one)
	}
	v.Version = render.OrNull(version)
	for i := range rep.Sessions {
		reg := ""
		if i < len(from) {
			reg = from[i].Path
		}
		v.Sessions = append(v.Sessions, sessionOf(&rep.Sessions[i], reg, rep.At))
	}
	for i := range parts {
		for _, p := range parts[i].Problems {
			v.Problems = append(v.Problems, registryProblem{p.Name, p.Line, p.Reason, p.Unusable, parts[i].Path})
		}
	}
	for _, b := range rep.Background {
		v.Background = append(v.Background, backgroundAgent{b.Agent, b.Process.PID})
	}
	if b, ok := monitor.ReadBeat(s.Path); ok {
		v.Monitor = &monitorView{b.Process.PID, b.Process.Alive(), b.At.UTC().Format(kit.JSONTime), int64(max(0, rep.At.Sub(b.At)).Seconds())}
	}
	return v
}

// sessionOf is one session for programs.
func sessionOf(f *observe.Found, reg string, now time.Time) sessionView {
	v := sessionView{
		Name: f.Name, Machine: proc.Hostname(), Kind: observe.InTmux, AsOf: now.UTC().Format(kit.JSONTime), Registry: reg, Server: f.Server,
		TmuxName: f.Now, Found: f.State.String(), Alive: f.State == observe.Alive || f.State == observe.Other && !f.Foreign,
		Drift: cmp.Or(f.Drift, "-"), Agent: f.Kind, Activity: f.Doing.Word, Asks: f.Doing.Asks, Note: f.Doing.Note,
		PID: max(f.Process.PID, 0), Seen: f.Conversation, Skips: render.List(f.Skips), Remarks: render.List(f.Remarks),
	}
	if f.Doing.Word != "" {
		v.From, v.Guess = &f.Doing.From, &f.Doing.Guess
	}
	if !f.Doing.Since.IsZero() {
		v.Since = f.Doing.Since.UTC().Format(kit.JSONTime)
	}
	if p := &f.Pane; p.ID != "" {
		v.Pane = &paneView{ID: p.ID, PID: p.PID, Command: p.Command, Cwd: p.Path, Dead: p.Dead, Attached: p.Attached}
		if p.Dead {
			v.Pane.Status, v.Pane.Signal = &p.Status, &p.Signal
		}
	}
	if r := f.Row; r != nil {
		status := string(r.Status)
		v.Status, v.rowView = &status, rowOf(f)
	}
	if f.Err != nil {
		text := f.Err.Error()
		v.Error = &text
	}
	return v
}

func rowOf(f *observe.Found) *rowView {
	r := f.Row
	v := &rowView{Cwd: r.Pane.Cwd, Conversation: r.Conversation(), Instance: r.Instance, Job: r.Job, JobState: f.Job, Role: r.Role}
	switch f.OnDisk {
	case registry.Yes, registry.No:
		on := f.OnDisk == registry.Yes
		v.OnDisk = &on
	}
	if in := r.Intent; in != nil {
		v.Intent = &intentView{in.Verb, in.Step, f.UnderWay}
	}
	return v
}
