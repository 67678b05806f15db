package conductor

import (
	"encoding/json"

	"tutti/internal/core/address"
	"tutti/internal/core/render"
)

// A View says who conducts a workspace.
type View struct {
	Workspace  string            `json:"workspaceId"`
	Conductor  *address.Instance `json:"conductor"`        // null: no agent conducts
	ClaimedBy  *address.Instance `json:"claimedBy"`        // null where it conducts by its role, or no agent conducts
	Candidates []CandidateView   `json:"candidates"`       // the live sessions in the workspace
	Live       bool              `json:"live"`             // there is a candidate
	Since      string            `json:"since,omitempty"`  // time of the claim of the conductor
	Signed     *bool             `json:"signed,omitempty"` // the claim of the conductor is signed
	Next       []string          `json:"next,omitempty"`   // agents that claim behind the conductor, in the order in which they follow
}

// A CandidateView is one live session.
type CandidateView struct {
	Instance    string   `json:"instance"`
	Host        string   `json:"host,omitempty"`
	Name        string   `json:"name,omitempty"`
	Roles       []string `json:"roles"` // registered roles
	StartedAt   string   `json:"startedAt"`
	HeartbeatAt string   `json:"heartbeatAt"`
}

// View returns the resolution as existing programs read it, with the time of the claim and the agents that follow.
func (r *Resolution) View() View {
	v := View{
		Workspace: r.Workspace, Conductor: render.OrNull(r.Conductor), ClaimedBy: render.OrNull(r.ClaimedBy),
		Candidates: []CandidateView{}, Live: len(r.Candidates) > 0,
	}
	for _, c := range r.Candidates {
		v.Candidates = append(v.Candidates, CandidateView{string(c.Instance), c.Host, c.Name, render.List(c.Roles), c.StartedAt, c.HeartbeatAt})
	}
	if c := r.Claim; c != nil {
		v.Since, v.Signed = c.Since, &c.Signed
	}
	if len(r.Next) > 0 {
		v.Next = address.Texts(r.Next)
	}
	return v
}

// A CheckView is the advice whether a conductor should be started.
type CheckView struct {
	Workspace      string            `json:"workspaceId"`
	Available      bool              `json:"trackAvailable"` // the program that tracks work has answered
	Conductor      *address.Instance `json:"conductor"`      // null: no agent conducts
	Live           bool              `json:"conductorLive"`
	Pending        int64             `json:"pending"` // open work items
	Stalled        []Stalled         `json:"stalled"`
	MoreStalled    int               `json:"moreStalled,omitempty"`    // stalled work items that are not listed
	Latest         string            `json:"latestEventAt,omitempty"`  // time of the latest event
	Recommendation string            `json:"recommendation"`           // none or launch
	Reason         string            `json:"reason"`                   // why, in a sentence
	Hosts          []string          `json:"suggestedHosts,omitempty"` // agent CLIs that could conduct; only with launch
}

// View returns the advice as existing programs read it.
func (c *Check) View() CheckView {
	v := CheckView{
		Workspace: c.Workspace, Available: c.Available, Conductor: render.OrNull(c.Conductor), Live: c.Conductor != "",
		Pending: c.Activity.Pending, Stalled: render.List(c.Activity.Stalled), MoreStalled: c.Activity.More, Latest: c.Activity.Latest,
		Recommendation: c.Recommendation, Reason: c.Reason,
	}
	if c.Recommendation == AdviseLaunch {
		v.Hosts = hosts
	}
	return v
}

// An OutcomeView is what became of a launch. With action none it has the members of the advice, too.
type OutcomeView struct {
	Action string `json:"action"` // none, cooldown, would-emit, no-remote or emitted
	*CheckView
	To      string          `json:"to,omitempty"`          // the agent that was asked
	Request json.RawMessage `json:"request,omitempty"`     // what was or would be asked for
	Reason  string          `json:"reason,omitempty"`      // why no agent was asked
	Last    string          `json:"lastSpawnAt,omitempty"` // time of the latest request
	Note    string          `json:"note,omitempty"`
}

// View returns the outcome as existing programs read it.
func (o *Outcome) View() OutcomeView {
	v := OutcomeView{Action: o.Action}
	switch o.Action {
	case DidNothing:
		check := o.check.View()
		v.CheckView, v.Reason = &check, check.Reason
	case DidCool:
		v.Reason, v.Last = "a conductor was asked for less than 30min ago", o.Last
	case DidPreview:
		v.Request, v.Note = o.Request, noteConfirm
	case DidNotFind:
		v.Reason = reasonRemote
	case DidEmit:
		v.To, v.Request = string(o.To), o.Request
	}
	return v
}
