package lifecycle

import (
	"context"
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
)

// A transcript belongs to a session only if the session's own process had it. The newest file of a folder, or the only one, proves
// nothing: users start the same agent CLI there by hand.

// An Evidence says how a transcript is known to be the session's own. The zero value is not a proof.
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
	proofMember    = "conversation_proof"
	proofID        = "id"
	proofEvidence  = "by"
	proofTakenOver = "taken_over"
)

// proven returns how a transcript is known to be the session's own, "" when nothing shows that.
func (m *Manager) proven(ctx context.Context, d *driver.Driver, r *registry.Row, id string) Evidence {
	if id == "" {
		return ""
	}
	if id == startedID(&d.Life, r) {
		return StartedWith
	}
	if by, _, _ := recorded(r, id); by != "" {
		return by
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
	if id := chosenID(l, r); id != "" {
		return id
	}
	_, id, _ := l.Unchosen(r.StartArgv[1:])
	return id
}

// chosenID returns the id that was chosen for a new transcript, "" when none was.
func chosenID(l *driver.Life, r *registry.Row) string {
	at := slices.Index(r.StartArgv, l.Choose)
	if l.Choose == "" || at < 1 || at+1 >= len(r.StartArgv) || !l.IsID(r.StartArgv[at+1]) {
		return ""
	}
	return r.StartArgv[at+1]
}

// recorded returns what the row says of a transcript: how it is known to be the session's own, and whether the session took it over.
// known is false when the row does not say the latter.
func recorded(r *registry.Row, id string) (by Evidence, over, known bool) {
	var v [3][]byte
	canonjson.Pick(r.Get(proofMember), []string{proofID, proofEvidence, proofTakenOver}, v[:])
	if of, _ := canonjson.String(v[0]); of != id || id == "" {
		return "", false, false
	}
	text, _ := canonjson.String(v[1])
	switch e := Evidence(text); e {
	case StartedWith, SelfReport, OpenFile, HookReport:
		by = e
	}
	over, known = canonjson.Bool(v[2])
	return by, over, known
}

// tookOver tells whether the session has a transcript that it may not have begun: the user named an older one, or changed to it in the
// agent CLI. The session began the one whose id was chosen for it. An agent CLI that chooses the id itself began the first one that is
// known of it, if that is not older than the session. One that "/clear" began in the session is its own, too, as its hook has reported.
func (m *Manager) tookOver(ctx context.Context, d *driver.Driver, r *registry.Row, id string) bool {
	if id == chosenID(&d.Life, r) || m.o.Bus.Cleared != nil && r.OwnerID != "" && m.o.Bus.Cleared(d.Name, id) == r.OwnerID {
		return false
	}
	if _, over, known := recorded(r, id); known || d.Life.Choose != "" {
		return over || !known
	}
	all, _ := m.candidates(ctx, d, r.Pane.Cwd) // one that is not listed cannot be found by a purge either
	i := slices.IndexFunc(all, func(c Candidate) bool { return c.ID == id })
	return i >= 0 && !all[i].Began.IsZero() && all[i].Began.Before(r.CreatedAt)
}

// setProven records a transcript as the session's own, and how that is known. One in place of another was taken over.
func setProven(r *registry.Row, kind, id string, by Evidence) {
	before := r.Conversation()
	_, over, known := recorded(r, id)
	if before != "" && before != id {
		over, known = true, true
	}
	if before != id {
		r.Forget()
		r.SetConversation(kind, id)
	}
	setProof(r, id, by, over, known)
}

func setProof(r *registry.Row, id string, by Evidence, over, known bool) {
	var o canonjson.Object
	o.Str(proofID, id)
	o.Str(proofEvidence, string(by))
	if known {
		o.Bool(proofTakenOver, over)
	}
	r.Set(proofMember, o.Bytes())
}
