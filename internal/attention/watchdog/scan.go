package watchdog

import (
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

// JSON is a finding as programs read it.
func (f Finding) JSON() []byte {
	var o canonjson.Object
	o.Str("instance", string(f.Instance))
	o.Str("reason", f.Reason)
	o.Str("workStatus", f.WorkStatus)
	if l, ok := canonjson.Get(f.Raw, "launchContext"); ok {
		o.Raw("launchContext", l)
	}
	o.Int("relanceCount", int64(f.RelanceCount))
	return o.Bytes()
}
