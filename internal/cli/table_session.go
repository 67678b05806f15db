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
	{
		Name: "session status", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionStatus,
		Short: "say what became of your agents in tmux, and what they do",
		Args:  "[<name>]",
		Flags: []Flag{sessionFlag, registryFlag},
		Does: `Compares the registry with the world and changes neither. For each session: what its row says, whether tmux has it,
what the agent does (working, idle, asking its user, limited by its provider, dead), the program in front, the folder, the
conversation that can be taken up again, and the job. A word with a question mark is read from the screen, which is a guess.

The last column is "-" when row and world agree. A: the row says running, and the session is gone or its program has ended. B: a
session has no row, or not of its name. C: the program has a conversation that the row does not know. D: the first process is
another one. E: another program is in front than the agent. F: it works in another folder. G: the row says ended, and the session
lives. H: the session of that name belongs to somebody else. ?: tmux did not answer, which means nothing.`,
		Wont: "It mends nothing: tutti session monitor does, and tutti session stop ends what runs on.",
		Examples: `$ tutti session status
$ tutti session status api-creator-claude --json`,
		Exit: "0 done, whatever was found; 1 wrong usage, no such session, or no registry that can be read; 3 a file could not be read",
		See:  "status",
	},
	stopSessionVerb,
	{
		Name: "session capture", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionCapture,
		Short: "print what an agent in tmux shows",
		Args:  "[<name>]",
		Flags: []Flag{
			sessionFlag, registryFlag,
			{Name: "lines", Kind: Count, Value: "n", Default: "the screen", Help: "this many of the last lines, also those that have left the screen"},
		},
		Does: `Prints the screen of a session, without colours and control characters. Without a name it is the one that runs. When the
session is gone it prints what its row has kept of it, and says so.`,
		Wont: "It presses no key, and does not change the size of the window.",
		Examples: `$ tutti session capture api-creator-claude
$ tutti session capture --lines 200`,
		Exit: "0 done; 1 wrong usage, no such session, or nothing is left of it; 3 tmux did not answer; 6 several run and none was named; 8 the session of that name belongs to somebody else",
	},
	{
		Name: "session attach", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionAttach, TextOnly: true,
		Short: "show an agent in this terminal",
		Args:  "[<name>]",
		Flags: []Flag{sessionFlag, registryFlag},
		Does: `Shows a session in this terminal until you leave it: Ctrl-b, then d, unless you gave tmux another key. Leaving ends
nothing: the agent goes on. What you type goes to the agent. Where this terminal shows another session of the same tmux server it
is switched to this one. Without a name it is the one that runs.`,
		Wont:     "It does not look whether the agent waits for an answer: that you see.",
		Examples: `$ tutti session attach api-creator-claude`,
		Exit:     "0 you have left; 1 wrong usage, no terminal, no such session, or it is not there; 3 tmux did not answer; 6 several run and none was named; 8 the session of that name belongs to somebody else",
	},
}
