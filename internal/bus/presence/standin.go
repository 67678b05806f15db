package presence

import "tutti/internal/core/canonjson"

// StandIn is an extra member of a record that somebody made for an agent that he has started: the agent is there, and its own
// server, which will say so from then on, has not come up yet. The process of such a record is that of the agent. Nobody beats
// for it but who sees the agent alive, and its server takes it away when it opens a session of its own.
const StandIn = "standIn"

// StandsIn tells whether the record was made by somebody else for the agent.
func (s *Session) StandsIn() bool {
	v, _ := canonjson.Get(s.Raw, StandIn)
	on, _ := canonjson.Bool(v)
	return on
}
