package cli

// Flags that the verbs about agents in tmux share.
var (
	registryFlag = Flag{Name: "registry", Kind: Text, Value: "file", Default: "AGENT_SESSIONS_YAML, else .hermes/agent-sessions.yaml", Offer: Files, Help: "the file that lists the sessions"}
	sessionFlag  = Flag{Name: "session", Kind: Text, Value: "name", Offer: Sessions, Help: "the session; its name alone will do, too"}
)

// kindNames are the programs that can be started, as package driver has them.
var kindNames = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes", "cline", "custom"}

var (
	serverFlag = Flag{Name: "tmux-server", Kind: Text, Value: "name", Default: "TMUX_SERVER_NAME, else tmux's own", Help: "the tmux server (tmux -L); one that has to be started for it reads no settings"}
	firstFlag  = Flag{Name: "prompt", Kind: Text, Value: "text", Help: "type this when the program is ready for it; - is standard input, @file a file"}
	readyFlag  = Flag{Name: "ready", Kind: Duration, Value: "time", Default: "1m", Help: "how long the prompt waits for that"}
	trustFlag  = Flag{Name: "trust-row", Kind: Switch, Help: "run what its row says, also where it may be that others have written it"}
	waitFlag   = Flag{Name: "wait", Kind: Switch, Help: "look again after 0.3 and 2 seconds, and read the screen"}
)

var sessionVerbs = []Verb{
	{
		Name: "session create", Under: Tutti, Group: GroupSessions, Halt: Acts, Waits: true, MaxArgs: -1,
		Short: "start an agent in tmux",
		Args:  "[-- <argument>...]",
		Flags: []Flag{
			{Name: "agent", Kind: Text, Value: "program", Choices: kindNames, Help: "which agent program; custom is any: give it behind --"},
			{Name: "session", Kind: Text, Value: "name", Offer: Sessions, Default: "made from the folder and the program", Help: "its name; alone, that of one that has ended, which is started again as it was"},
			{Name: "workspace", Kind: Text, Value: "dir", Offer: Folders, Default: "where you are", Help: "the folder in which it works"},
			serverFlag, firstFlag, readyFlag, waitFlag,
			{Name: "worktree", Kind: Text, Value: "branch", Help: "let it work in a new git worktree of this branch, beside the repository; a branch that is not there is made"},
			{Name: "program", Kind: Text, Value: "path", Offer: Files, Help: "run this in place of the program of that name"},
			{Name: "role", Kind: Text, Value: "text", Help: "what it is for; it never changes"},
			{Name: "job", Kind: Text, Value: "id", Help: "the job that it works on"},
			{Name: "submit-job", Kind: Text, Value: "text", Help: "make a job of this and give it to the agent, as tutti job submit does; - is standard input, @file a file"},
			trustFlag, registryFlag,
		},
		Does: `Starts an agent program in a tmux session without a window, and writes it into the registry of this folder. What stands
behind -- is handed to the program as it is. Its conversation gets an id that is known from the start where the program allows it
(Claude Code, Gemini), so that it can be taken up again by exactly that. It gets your environment but for what belongs to your
terminal, or tells of an agent that you are.

It is on the bus at once, as an agent of its own: its server and its hooks speak as the same one, and two in one folder are two.

It returns after one look. With --wait it looks twice more and says whether the program stayed up, and what it asks. With --prompt it
waits until the screen shows that a line can be typed, types the text, and presses Enter only when the text stands there alone.`,
		Wont: "It answers no question that the program asks at its start, and never adds an argument that lets it do things without being asked. " +
			"It runs no command of a row that you have not started before: a registry may have come with a repository of somebody else.",
		Examples: `$ tutti session create --agent claude
$ tutti session create --agent codex --prompt 'Look for flaws.'
$ tutti session create --agent claude --worktree fix-login
$ tutti session create --agent custom --session watch -- make watch`,
		Exit: "0 done; 1 wrong usage, or refused: it runs already, no such program, or the prompt could not be given (it runs then); " +
			"3 a file or tmux could not be reached; 4 the program did not stay up; 5 halted; 8 tmux has a session of that name that is not ours",
		See: "session resume, host setup",
	},
	{
		Name: "session resume", Under: Tutti, Group: GroupSessions, Halt: Acts, Waits: true, MaxArgs: 1, Offer: Sessions,
		Short: "go on with the conversation of an agent that has ended",
		Args:  "[<name>]",
		Flags: []Flag{
			sessionFlag,
			{Name: "all", Kind: Switch, Help: "every session that went with the machine, with tmux, or was cut off; those that were stopped stay stopped"},
			{Name: "conversation", Kind: Text, Value: "id", Help: "the conversation, where it is not known or another one is meant"},
			{Name: "latest", Kind: Switch, Help: "of several that it could be, the newest"},
			{Name: "force", Kind: Switch, Help: "also where the registry says that there is nothing to go on with"},
			firstFlag, readyFlag, waitFlag, trustFlag, registryFlag,
		},
		Does: `Starts the program of a session again, with its own conversation, in its folder and with its own arguments, but for those that
say which conversation it is to be. Which conversation that is: the last one of which its hooks told; the one in the registry, if it is
still kept; the only one of that folder that was begun in its time and can be nobody else's. Where several could be meant they are
listed, and nothing is started. One with an id of ours in which nothing was said is begun under that id. A session that runs is left
alone.

After a reboot, or when tmux was killed, --all takes up what was running. What cannot go on, a program of your own or one in which
nothing was said, is left out and named; the exit status is 0 then.`,
		Wont: "It takes no conversation that another program is in, guesses none, and runs no command of a row that you have not started before.",
		Examples: `$ tutti session resume api-creator-claude
$ tutti session resume --all
$ tutti session resume reviewer --latest`,
		Exit: "0 done, or it runs already; 1 wrong usage, not registered, or refused; 3 a file or tmux could not be reached; 4 the program did not stay up; " +
			"5 halted; 6 several conversations could be meant; 8 tmux has a session of that name that is not ours",
		See: "session create",
	},
	{
		Name: "session list", Under: Tutti, Group: GroupSessions, Halt: Reads, Run: runSessionList,
		Short: "list your agents in tmux",
		Flags: []Flag{{Name: "all", Kind: Switch, Help: "also sessions of other folders that have ended"}, hereFlag, registryFlag},
		Does: `Lists the sessions of this folder, those of other folders that run, and the agents that you started by hand and that
are live on a bus of yours (STATUS "live"). --here lists this folder's only. A folder is known after you started a session in it.
With --json each has "kind" (tmux or headless), "machine" and "as_of".

STATUS is what the registry says, FOUND what tmux says. Each tmux server is asked once. "ended" is a program that has ended while tmux still shows its last screen, "gone" a session that
tmux does not know, "another" one of that name which is not the one of the registry, and "?" means that tmux did not answer.`,
		Wont: "It changes nothing, and does not look what an agent does: tutti session status does.",
		Examples: `$ tutti session list
$ tutti session list --here
$ tutti session list --registry ~/api/.hermes/agent-sessions.yaml`,
		Exit: "0 done; 1 wrong usage, or the registry that you named does not exist; 3 a file could not be read",
		See:  "status",
	},
	{
		Name: "session status", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionStatus,
		Short: "say what became of your agents in tmux, and what they do",
		Args:  "[<name>]",
		Flags: []Flag{sessionFlag, hereFlag, registryFlag},
		Does: `Compares the registries of this machine with the world and changes neither: that of this folder, and the running sessions
of others; --here shows this folder's only. For each session: what its row says, whether tmux has it,
what the agent does (working, idle, asking its user, limited by its provider, dead), the program in front, the folder, the
conversation that can be taken up again, and the job. A word with a question mark is read from the screen, which is a guess.

The last column is "-" when row and world agree. A: the row says running, and the session is gone or its program has ended. B: a
session has no row, or not of its name. C: the program has a conversation that the row does not know. D: the first process is
another one. E: another program is in front than the agent. F: it works in another folder. G: the row says ended, and the session
lives. H: the session of that name belongs to somebody else. ?: tmux did not answer, which means nothing.`,
		Wont: "It mends nothing: tutti session monitor does, and tutti session stop ends what runs on.",
		Examples: `$ tutti session status
$ tutti session status api-creator-claude --json`,
		Exit: "0 done, whatever was found; 1 wrong usage, no such session, or the registry that you named cannot be read; 3 a file could not be read; 6 sessions of several folders have that name",
		See:  "status",
	},
}

// screenVerbs come behind stopSessionVerbs in help.
var screenVerbs = []Verb{
	{
		Name: "session capture", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionCapture,
		Short: "print what an agent in tmux shows",
		Args:  "[<name>]",
		Flags: []Flag{
			sessionFlag, hereFlag, registryFlag,
			{Name: "lines", Kind: Count, Value: "n", Default: "the screen", Help: "this many of the last lines, also those that have left the screen"},
		},
		Does: `Prints the screen of a session, without colours and control characters. Without a name it is the one that runs. A name is
looked up in this folder, then in the other folders of this machine. When the session is gone it prints what its row has kept of it, and says so.`,
		Wont: "It presses no key, and does not change the size of the window.",
		Examples: `$ tutti session capture api-creator-claude
$ tutti session capture --lines 200`,
		Exit: "0 done; 1 wrong usage, no such session, or nothing is left of it; 3 tmux did not answer; 6 several run and none was named; 8 the session of that name belongs to somebody else",
	},
	{
		Name: "session attach", Under: Tutti, Group: GroupSessions, Halt: Reads, MaxArgs: 1, Offer: Sessions, Run: runSessionAttach, TextOnly: true,
		Short: "show an agent in this terminal",
		Args:  "[<name>]",
		Flags: []Flag{sessionFlag, hereFlag, registryFlag},
		Does: `Shows a session in this terminal until you leave it: Ctrl-b, then d, unless you gave tmux another key. Leaving ends
nothing: the agent goes on. What you type goes to the agent. Where this terminal shows another session of the same tmux server it
is switched to this one. Without a name it is the one that runs. A name is looked up in all folders of this machine.`,
		Wont:     "It does not look whether the agent waits for an answer: that you see.",
		Examples: `$ tutti session attach api-creator-claude`,
		Exit:     "0 you have left; 1 wrong usage, no terminal, no such session, or it is not there; 3 tmux did not answer; 6 several run and none was named; 8 the session of that name belongs to somebody else",
	},
}
