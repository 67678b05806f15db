package watchdog

import (
	"encoding/json"
	"slices"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// Cap is how often an agent is asked to go on by default.
const Cap = 3

// A Finding is an agent that could be asked to go on.
type Finding struct {
	*Entry
	Reason string // "stopped", "out-of-tokens"
}

// The reasons of a finding.
const (
	Stopped     = "stopped"
	OutOfTokens = presence.OutOfTokens
)

// Scan is the view that existing programs have of the entries, in their order: who could be asked to go on, and who was asked
// often enough. It knows no time, and spares no agent; [Judge] decides what is done about an entry, and when.
func Scan(all []*Entry, most int, skip ...address.Instance) (findings []Finding, exhausted []*Entry) {
	for _, e := range all {
		switch {
		case slices.Contains(skip, e.Instance), e.WorkStatus == presence.Done, e.Terminal != "":
		case e.RelanceCount >= most:
			exhausted = append(exhausted, e)
		default:
			findings = append(findings, Finding{e, reasonOf(e)})
		}
	}
	return findings, exhausted
}

func reasonOf(e *Entry) string {
	if e.WorkStatus == presence.OutOfTokens {
		return OutOfTokens
	}
	return Stopped
}

// A FindingView is a finding as --json shows it.
type FindingView struct {
	Instance      address.Instance `json:"instance"`
	Reason        string           `json:"reason"`
	WorkStatus    string           `json:"workStatus"`
	LaunchContext json.RawMessage  `json:"launchContext,omitempty"` // how it was started
	RelanceCount  int              `json:"relanceCount"`            // how often it was asked to continue
}

// View returns the finding without what else is stored of the agent.
func (f Finding) View() FindingView {
	launch, _ := canonjson.Get(f.Raw, "launchContext")
	return FindingView{f.Instance, f.Reason, f.WorkStatus, launch, f.RelanceCount}
}
