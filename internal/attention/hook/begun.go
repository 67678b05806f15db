package hook

import (
	"tutti/internal/agents/driver"
	"tutti/internal/sessions/job"
)

// A conversation that an agent CLI begins for "/clear" belongs to the session in which "/clear" was typed. Only the hook of its start can tell it
// from an older conversation that the user resumed there. The hook writes a file of its own beside the notes, which outlives the conversation.

// sourceClear is what agent CLIs say of the start of a conversation that "/clear" began.
const sourceClear = "clear"

// begunName is the file of a conversation.
func begunName(state, host, conversation string) *notes {
	return notesFor(state, "begun\x00"+host, conversation)
}

// begins remembers in which session "/clear" has begun a conversation.
func (e *event) begins() error {
	owner := e.o.Env(job.SessionVariable)
	if owner == "" || e.call.Event.Moment != driver.Start || e.call.Source != sourceClear {
		return nil
	}
	return begunName(e.o.State, e.o.Driver.Name, e.call.Conversation).update(func(n *note) { n.Session = owner })
}

// BegunIn returns the session in which "/clear" began a conversation, "" when that is not known. The session is named by the value of
// [job.SessionVariable].
func BegunIn(state, host, conversation string) string {
	var n note
	begunName(state, host, conversation).load(&n)
	return n.Session
}
