package presence

import "tutti/internal/core/canonjson"

// StandIn is an extra member of a record that was made for an agent by the program that started it: the agent is there, and its
// own server, which will beat from then on, has not come up yet. The process of such a record is that of the agent. Only a
// program that sees the agent alive beats for it, and its server takes it away when it opens a session of its own.
const StandIn = "standIn"

// StandsIn reports whether another program made the record for the agent.
func (s *Session) StandsIn() bool {
	v, _ := canonjson.Get(s.Raw, StandIn)
	on, _ := canonjson.Bool(v)
	return on
}
