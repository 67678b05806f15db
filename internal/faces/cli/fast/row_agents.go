package fast

import (
	"encoding/json"

	"tutti/internal/attention/overview"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var DiscoverRow = kit.Verb{
	Name: "discover", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runDiscover), Bus: true,
	Result: render.OneOf{[]overview.PeerView{}, []json.RawMessage{}},
	Short:  "list the agents that are live",
	Flags: []kit.Flag{
		{Name: "all", Kind: kit.Switch, Under: kit.Tutti, Help: "also list registered agents that are not live"},
		{Name: "scope", Kind: kit.Text, Value: "scope", Help: "only agents of this scope"},
		{Name: "name", Kind: kit.Text, Value: "part", Under: kit.Tutti, Help: "only agents with this in their name, in upper or lower case"},
		{Name: "role", Kind: kit.Text, Value: "role", Help: "only agents registered with this role"},
	},
	Does: `Lists the agents that are live: id, agent CLI, name, scopes, time since the last heartbeat, connection. Your own agent
is left out. "tools paused" marks an agent that a pause covers. While everything is halted, each agent of this machine is
marked "halted". With --json these are the members paused and halted. Under h2a it lists the registrations, live or not.`,
	Wont: `It does not tell whether an agent is idle. An agent that is not live may still be at work, so do not repeat its work
for that reason.`,
	Examples: `$ tutti discover
$ tutti discover --all --name api`,
	Exit: kit.ExitBus,
	See:  "send, sessions, status",
}

var WhoamiRow = kit.Verb{
	Name: "whoami", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runWhoami), Bus: true,
	Result: render.OneOf{whoView{}, nobodyView{}},
	Short:  "show which agent acts here, and why",
	Flags:  []kit.Flag{{Name: "as", Alias: "instance", Kind: kit.Text, Value: "id", Offer: kit.OwnAgents, Help: "show it as if a verb had this flag"}},
	Does: `Shows the agent that a message from here would come from, how that was decided, the bus, the connections of the agent
and the fingerprint of its key. It makes nothing: an identity that does not exist yet is shown as such.`,
	Examples: `$ tutti whoami
$ tutti whoami --as codex:api`,
	Exit: "0 an agent acts here; 1 wrong usage, or no agent acts here; 3 a file could not be read",
	See:  "connect, keys list",
}
