package lifecycle

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
)

// A transcript belongs to a session only if the session's own process had it. The newest file of a folder, or the only one, proves
// nothing: users start the same agent CLI there by hand.

// An Evidence says how a transcript is known to be the session's own. The zero value is no proof.
type Evidence string

// What counts as a proof.
const (
	StartedWith Evidence = "started with it"
	SelfReport  Evidence = "self-report" // the file in which a running agent CLI names its transcript
	OpenFile    Evidence = "open file"
	HookReport  Evidence = "hook"
)

// Members of a row.
const (
	proofMember   = "conversation_proof"
	proofID       = "id"
	proofEvidence = "by"
)

// proven returns how a transcript is known to be the session's own, "" when nothing shows that.
func (m *Manager) proven(ctx context.Context, d *driver.Driver, r *registry.Row, id string) Evidence {
	if id == "" {
		return ""
	}
	if id == startedID(&d.Life, r) {
		return StartedWith
	}
	recorded := r.Get(proofMember)
	if of, _ := canonjson.Get(recorded, proofID); of != nil {
		if have, _ := canonjson.String(of); have == id {
			by, _ := canonjson.Get(recorded, proofEvidence)
			text, _ := canonjson.String(by)
			if p := Evidence(text); p == SelfReport || p == OpenFile || p == HookReport {
				return p
			}
		}
	}
	if heard, err := m.heard(ctx, d, r); err == nil && heard == id {
		return HookReport
	}
	return ""
}

// startedID returns the transcript with which the session's process was started, "" when its arguments name none.
func startedID(l *driver.Life, r *registry.Row) string {
	if len(r.StartArgv) < 2 || l.IsID == nil {
		return ""
	}
	_, id, _ := l.Unchosen(r.StartArgv[1:])
	return id
}

// setProven records a transcript as the session's own, and how that is known.
func setProven(r *registry.Row, kind, id string, by Evidence) {
	if r.Conversation() != id {
		r.Forget()
		r.SetConversation(kind, id)
	}
	var o canonjson.Object
	o.Str(proofID, id)
	o.Str(proofEvidence, string(by))
	r.Set(proofMember, o.Bytes())
}
