package cli

var discoverRow = Verb{
	Name: "discover", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runDiscover, Bus: true,
	Short: "list the agents that are live",
	Flags: []Flag{
		{Name: "all", Kind: Switch, Under: Tutti, Help: "also list registered agents that are not live"},
		{Name: "scope", Kind: Text, Value: "scope", Help: "only agents of this scope"},
		{Name: "name", Kind: Text, Value: "part", Under: Tutti, Help: "only agents with this in their name, in upper or lower case"},
		{Name: "role", Kind: Text, Value: "role", Help: "only agents registered with this role"},
	},
	Does: `Lists the agents that are live: id, agent CLI, name, scopes, time since the last heartbeat, connection. Your own agent
is left out. "tools paused" marks an agent that a pause covers. While everything is halted, each agent of this machine is
marked "halted". With --json these are the members paused and halted. Under h2a it lists the registrations, live or not.`,
	Wont: `It does not tell whether an agent is idle. An agent that is not live may still be at work, so do not repeat its work
for that reason.`,
	Examples: `$ tutti discover
$ tutti discover --all --name api`,
	Exit: exitBus,
	See:  "send, sessions, status",
}

var whoamiRow = Verb{
	Name: "whoami", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Rare: true, Run: runWhoami, Bus: true,
	Short: "show which agent acts here, and why",
	Flags: []Flag{{Name: "as", Kind: Text, Value: "id", Offer: OwnAgents, Help: "show it as if a verb had this flag"}},
	Does: `Shows the agent that a message from here would come from, how that was decided, the bus, the connections of the agent
and the fingerprint of its key. It makes nothing: an identity that does not exist yet is shown as such.`,
	Examples: `$ tutti whoami
$ tutti whoami --as codex:api`,
	Exit: "0 an agent acts here; 1 wrong usage, or no agent acts here; 3 a file could not be read",
	See:  "connect, keys list",
}
