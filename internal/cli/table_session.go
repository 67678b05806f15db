package cli

// Flags that the verbs about agents in tmux share.
var (
	registryFlag = Flag{Name: "registry", Kind: Text, Value: "file", Default: "AGENT_SESSIONS_YAML, else .hermes/agent-sessions.yaml", Offer: Files, Help: "the file that lists the sessions"}
	sessionFlag  = Flag{Name: "session", Kind: Text, Value: "name", Offer: Sessions, Help: "the session; its name alone will do, too"}
)

var sessionVerbs = []Verb{
	{
		Name: "session list", Under: Tutti, Group: GroupSessions, Halt: Reads, Run: runSessionList,
		Short: "list your agents in tmux",
		Flags: []Flag{registryFlag},
		Does: `Lists the sessions of this folder: what the registry says of each, and what tmux says. Each tmux server that the
registry names is asked once. "ended" is a program that has ended while tmux still shows its last screen, "gone" a session that
tmux does not know, "another" one of that name which is not the one of the registry, and "?" means that tmux did not answer.`,
		Wont: "It changes nothing, and does not look what an agent does: tutti session status does.",
		Examples: `$ tutti session list
$ tutti session list --registry ~/api/.hermes/agent-sessions.yaml`,
		Exit: "0 done; 1 wrong usage, or there is no registry; 3 a file could not be read",
		See:  "status",
	},
}
