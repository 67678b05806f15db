package session

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
)

// Flags that the verbs about agents in tmux share.
var (
	registryFlag = kit.Flag{Name: "registry", Kind: kit.Text, Value: "file", Default: "AGENT_SESSIONS_YAML, else .hermes/agent-sessions.yaml", Offer: kit.Files, Help: "the file that lists the sessions"}
	sessionFlag  = kit.Flag{Name: "session", Kind: kit.Text, Value: "name", Offer: kit.Sessions, Help: "the session; the name alone is enough"}
)

// kindNames are the programs that can be started, as package driver has them.
var kindNames = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes", "cline", "custom"}

var (
	serverFlag = kit.Flag{Name: "tmux-server", Kind: kit.Text, Value: "name", Default: "TMUX_SERVER_NAME, else tmux's own", Help: "the tmux server (tmux -L); a server that tutti starts reads no settings"}
	onFlag     = kit.Flag{Name: "tmux-server", Kind: kit.Text, Value: "name", Help: "only a session on this tmux server (tmux -L)"}
	firstFlag  = kit.Flag{Name: "prompt", Kind: kit.Text, Value: "text", Help: "type this when the agent is ready; - is standard input, @file a file"}
	readyFlag  = kit.Flag{Name: "ready", Kind: kit.Duration, Value: "time", Default: "1m", Help: "how long --prompt waits until the agent is ready"}
	trustFlag  = kit.Flag{Name: "trust-row", Kind: kit.Switch, Help: "run the command of the row even if you have not started it before"}
	waitFlag   = kit.Flag{Name: "wait", Kind: kit.Switch, Help: "look again after 0.3 and 2 seconds, and read the screen"}
)

var Verbs = []kit.Verb{
	{
		Name: "session create", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MaxArgs: -1, Opts: onSessions(sessionCreate),
		Result: created{},
		Short:  "start an agent in tmux",
		Args:   "[-- <argument>...]",
		Flags: []kit.Flag{
			{Name: "agent", Kind: kit.Text, Value: "program", Choices: kindNames, Added: true, Help: "the agent CLI, also one of your settings; custom runs any program given behind --"},
			{Name: "session", Kind: kit.Text, Value: "name", Offer: kit.Sessions, Default: "made from the folder and the program", Help: "its name; alone, it starts an ended session of that name again"},
			{Name: "workspace", Kind: kit.Text, Value: "dir", Offer: kit.Folders, Default: "this folder", Help: "the folder in which the agent works"},
			serverFlag, firstFlag, readyFlag, waitFlag,
			{Name: "worktree", Kind: kit.Text, Value: "branch", Help: "work in a new git worktree of this branch, beside the repository; makes the branch if there is none; .worktreeinclude and .worktreesetup of the repository prepare the folder"},
			{Name: "program", Kind: kit.Text, Value: "path", Offer: kit.Files, Help: "run this program instead of the one in PATH"},
			{Name: "role", Kind: kit.Text, Value: "text", Help: "what the session is for; it cannot be changed later"},
			{Name: "job", Kind: kit.Text, Value: "id", Help: "the job that it works on"},
			{Name: "submit-job", Kind: kit.Text, Value: "text", Help: "make a job of this text and give it to the agent, as tutti job submit does; - is standard input, @file a file"},
			trustFlag, registryFlag,
		},
		Does: `Starts an agent CLI in a new tmux session and records it in the session registry of this folder. Arguments behind --
go to the agent CLI unchanged. Claude Code and Gemini CLI start under a transcript id that tutti chooses, so that
session resume finds it. The agent gets your environment, without what belongs to your terminal or to the agent that
you may be.

It is an agent of its own on the bus from the start: its server and its hooks act as the same agent, and two sessions
in one folder are two agents.

It returns after one look at the session. --wait looks again twice, and says whether the agent CLI stayed up and what
it asks. --prompt waits until the screen shows an empty input line, types the text, and presses Enter only when the
text is there alone.`,
		Wont: `It answers no question of the agent CLI, and adds no argument that lets it act without asking. It runs no command from
a registry that you have not started before: a registry may come with a cloned repository.`,
		Examples: `$ tutti session create --agent claude
$ tutti session create --agent codex --prompt 'Look for flaws.'
$ tutti session create --agent claude --worktree fix-login
$ tutti session create --agent custom --session watch -- make watch`,
		Exit: "0 done; 1 wrong usage, or refused: it already runs, there is no such program, or the prompt could not be typed (the session runs); 3 a file or tmux could not be reached; 4 the agent CLI did not stay up; 5 halted; 8 tmux has another session of that name",
		See:  "session resume, host setup",
	},
	{
		Name: "session resume", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionResume),
		Result: render.OneOf{resumed{}, []resumed{}},
		Short:  "continue the conversation of an ended session",
		Args:   "[<name>]",
		Flags: []kit.Flag{
			sessionFlag,
			{Name: "all", Kind: kit.Switch, Help: "every session that was cut off; sessions that you stopped stay stopped"},
			{Name: "conversation", Kind: kit.Text, Value: "id", Help: "use this transcript"},
			{Name: "latest", Kind: kit.Switch, Help: "if its own transcript is not known, use the newest of the folder"},
			{Name: "row-conversation", Kind: kit.Switch, Help: "for older scripts: use the transcript in the registry without proof"},
			{Name: "force", Kind: kit.Switch, Help: "also if the registry says that there is nothing to continue"},
			firstFlag, readyFlag, waitFlag, trustFlag, registryFlag,
		},
		Does: `Starts the agent CLI of a session again, with its transcript, in its folder and with its arguments, except those that
choose a transcript. It takes only a transcript that the session's own process had: the process was started with it, a
hook reported it, or the process had its file open. If that is not known, it lists the transcripts of the folder and
starts nothing: choose one with --conversation. A session that runs is left alone. It looks up the name in this folder,
then in all others.

--all continues what was cut off, for instance by a reboot or the end of tmux. It names and leaves out what cannot be
continued: a program of your own, or a conversation without a message. The exit status is then still 0.`,
		Wont: `It takes no transcript that another program uses, guesses none, and runs no command from a registry that you have not
started before.`,
		Examples: `$ tutti session resume api-creator-claude
$ tutti session resume --all
$ tutti session resume reviewer --latest`,
		Exit: "0 done, or it runs already; 1 wrong usage, not registered, or refused; 3 a file or tmux could not be reached; 4 the program did not stay up; " +
			"5 halted; 6 several conversations could be meant; 8 tmux has a session of that name that is not ours",
		See: "session create",
	},
	{
		Name: "session list", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Opts: onSessions(sessionList),
		Result: []observe.Listed{},
		Short:  "list your sessions on this machine",
		Flags:  []kit.Flag{{Name: "all", Kind: kit.Switch, Help: "also list ended sessions of other folders"}, HereFlag, registryFlag},
		Does: `Lists the sessions of this folder, the running sessions of other folders on this machine, and the agents that you
started by hand and that are live (STATUS "live"). tutti knows a folder after you started a session in it. With --json
each entry has "kind" (tmux or headless), "machine" and "as_of".

STATUS is what the registry says, FOUND is what tmux says: "alive"; "ended", the agent CLI has ended and tmux still
shows its last screen; "gone", tmux has no such session; "another", tmux has a session of that name that is not the
one in the registry; "?", tmux did not answer.`,
		Wont: "It changes nothing, and does not show what an agent does: tutti session status does.",
		Examples: `$ tutti session list
$ tutti session list --here
$ tutti session list --registry ~/api/.hermes/agent-sessions.yaml`,
		Exit: "0 done; 1 wrong usage, or the registry that you named does not exist; 3 a file could not be read",
		See:  "status",
	},
	{
		Name: "session status", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionStatus),
		Result: sessionReport{},
		Short:  "show what your sessions are doing",
		Args:   "[<name>]",
		Flags:  []kit.Flag{sessionFlag, HereFlag, registryFlag},
		Does: `Compares the session registries of this machine with tmux and the running processes: the sessions of this folder, and
the running ones of other folders. For each session it shows what the registry and tmux say, what the agent does
(working, idle, asking its user, limited by its provider, dead), the program in front, the folder, the transcript that
can be resumed, and the job. A word with a question mark is read from the screen, which is a guess; "-" means that
tutti cannot tell. With the name of a session it also prints what the agent said last, if its transcript shows that.

The last column is "-" if registry and machine agree. A: the registry says running, but the session is gone or its
agent CLI has ended. B: a session has no entry of its name. C: the agent uses a transcript that the registry does not
know. D: the first process changed. E: another program than the agent is in front. F: it works in another folder. G:
the registry says ended, but the session lives. H: tmux has another session of that name. ?: tmux did not answer,
which proves nothing.`,
		Wont: "It changes nothing: tutti session monitor updates the registry, and tutti session stop ends what still runs.",
		Examples: `$ tutti session status
$ tutti session status api-creator-claude --json`,
		Exit: "0 done, whatever was found; 1 wrong usage, no such session, or the registry that you named cannot be read; 3 a file could not be read; 6 sessions of several folders have that name",
		See:  "status",
	},
}

// ScreenVerbs come behind stopSessionVerbs in help.
var ScreenVerbs = []kit.Verb{
	{
		Name: "session capture", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionCapture),
		Result: captured{},
		Short:  "print the screen of a session",
		Args:   "[<name>]",
		Flags: []kit.Flag{
			sessionFlag, onFlag, HereFlag, registryFlag,
			{Name: "lines", Kind: kit.Count, Value: "n", Default: "the screen", Help: "this many of the last lines, including those that have left the screen"},
		},
		Does: `Prints the screen of a session, without colours and control characters. Without a name it takes the session that runs.
It looks up a name in this folder, then in the other folders of this machine. For a session that is gone it prints
what the registry kept, and says so.`,
		Wont: "It presses no key, and does not change the size of the window.",
		Examples: `$ tutti session capture api-creator-claude
$ tutti session capture --lines 200`,
		Exit: "0 done; 1 wrong usage, no such session, or nothing is left of it; 3 tmux did not answer; 6 several run and none was named; 8 tmux has another session of that name",
	},
	{
		Name: "session explain", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionExplain),
		Result: explanation{},
		Short:  "show why a state of a session is reported",
		Args:   "[<name>]",
		Flags:  []kit.Flag{sessionFlag, onFlag, HereFlag, registryFlag},
		Does: `Shows what the agent CLI of a session does, who says so, and how sure that is: the agent CLI itself, its screen, tmux or
the system. It prints which rule for its screen matched, what else the rules find there (the line where its user types, a
dialog, a note), the lines of the screen that they read, and at which events a hook of tutti was seen in this process.
Without a name it takes the session that runs.`,
		Wont: "It changes nothing, and presses no key.",
		Examples: `$ tutti session explain api-creator-claude
$ tutti session explain --json`,
		Exit: "0 done, whatever was found; 1 wrong usage, or no such session; 3 tmux did not answer; 6 several run and none was named",
		See:  "session status, session capture",
	},
	{
		Name: "session attach", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionAttach), TextOnly: true,
		Short: "show a session in this terminal",
		Args:  "[<name>]",
		Flags: []kit.Flag{sessionFlag, onFlag, HereFlag, registryFlag},
		Does: `Shows a session in this terminal until you detach: Ctrl-b, then d, unless you gave tmux another key. The agent then
continues. What you type goes to the agent. If this terminal already shows a session of the same tmux server, it
switches to this one. Without a name it takes the session that runs. It looks up a name in all folders of this
machine.`,
		Wont:     "It does not check whether the agent waits for an answer.",
		Examples: `$ tutti session attach api-creator-claude`,
		Exit:     "0 you have detached; 1 wrong usage, no terminal, no such session, or it is gone; 3 tmux did not answer; 6 several run and none was named; 8 tmux has another session of that name",
	},
}
