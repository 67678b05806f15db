package session

import (
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
)

// ChangeVerbs come behind ScreenVerbs in help.
var ChangeVerbs = []kit.Verb{
	{
		Name: "session wait", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Waits: true, MaxArgs: -1, Offer: kit.Sessions, Opts: onSessions(sessionWait),
		Result: []observe.Reached{},
		Short:  "wait until sessions are idle, ask, or have ended",
		Args:   "<name>...",
		Flags: []kit.Flag{
			{Name: "any", Kind: kit.Switch, Help: "return when one of them has reached a state"},
			{Name: "until", Kind: kit.Text, Value: "states", Default: "idle,waiting,ended", Help: "of idle, working, waiting, limited, ended"},
			{Name: "for", Kind: kit.Duration, Value: "time", Default: "10m", Help: "how long to wait; 0s has no limit"},
			HereFlag, registryFlag,
		},
		Does: `Waits until all named sessions are in one of the states at the same time, and prints the state of each. waiting is an
open question: an approval, an answer, or a question at the start; "asking" is another word for it, and "dead" one for
ended. limited is the limit of the provider. A state with a question mark is read from the screen; it counts when two
looks in a row show it. Of a program of your own it sees only the end: --until ended.`,
		Wont: "It starts, types and answers nothing. It does not know whether the work is done: an idle agent may have given up.",
		Examples: `$ tutti session wait api-creator-claude
$ tutti session wait worker reviewer --any --until idle --for 1h`,
		Exit: "0 reached; 1 wrong usage, no such session, or a program whose state is not known; 2 not reached in time, or a session has ended and cannot reach it; 3 a file could not be read; 6 sessions of several folders have that name; 130 interrupted",
		See:  "session status",
	},
	{
		Name: "session send", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MinArgs: 1, MaxArgs: 2, Offer: kit.Sessions, Opts: onSessions(sessionSend),
		Result: []changed{},
		Short:  "type a prompt into a session",
		Args:   "[<name>] <text>",
		Flags: []kit.Flag{
			{Name: "all", Kind: kit.Switch, Help: "every running session on this machine"},
			HereFlag,
			{Name: "ready", Kind: kit.Duration, Value: "time", Default: "1m", Help: "how long to wait until the agent is idle"},
			registryFlag,
		},
		Does: `Types a text into the input line of a session and submits it, as you would at its terminal. It waits until the screen
shows an idle agent, no question and an empty input line. It presses Enter only while the text is there alone. - is
standard input, @file a file. The agent gets the text as your prompt, not as a message of a peer. It returns when the
agent has begun its turn, or after 3 s, so that tutti session wait waits for the end of that turn.

--all types it into every running session on this machine whose screen tutti can read; --here only into those of this
folder.`,
		Wont: `It answers no question of the agent CLI, and does not wait for the answer: tutti session wait does. An agent cannot use
it: agents write messages with tutti send.`,
		Examples: `$ tutti session send api-creator-claude 'Run the tests.'
$ tutti session send --all --here 'Commit your work.'`,
		Exit: "0 done; 1 wrong usage, refused, or the agent was not idle in time; 3 a file or tmux could not be reached; 5 halted; 6 sessions of several folders have that name; 8 tmux has another session of that name",
		See:  "send",
	},
	{
		Name: "session restart", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionRestart),
		Result: resumed{},
		Short:  "stop a session and start it again",
		Args:   "[<name>]",
		Flags: []kit.Flag{
			sessionFlag, HereFlag,
			{Name: "grace", Kind: kit.Duration, Value: "time", Default: "as long as such a program takes: 3s, codex 8s", Help: "how long the agent CLI may take to end"},
			firstFlag, readyFlag, waitFlag, trustFlag, registryFlag,
		},
		Does: `Stops a session as tutti session stop does, and starts its agent CLI again with the same transcript and arguments, as
tutti session resume does. A program of your own, and a session in which nothing was said, start anew. A session that
has ended is only started.`,
		Wont:     "It takes no transcript that is not the session's own, and cannot restart the session in which it runs.",
		Examples: `$ tutti session restart api-creator-claude`,
		Exit:     "0 done; 1 wrong usage, not registered, or refused; 3 a file or tmux could not be reached; 4 the program did not stay up; 5 halted; 6 several conversations or sessions could be meant; 7 a process still runs; 8 tmux has another session of that name",
		See:      "session stop, session resume",
	},
	{
		Name: "session fork", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MinArgs: 1, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionFork),
		Result: created{},
		Short:  "start a session with a copy of a conversation",
		Args:   "<name>",
		Flags: []kit.Flag{
			{Name: "session", Kind: kit.Text, Value: "name", Default: "<name>-fork", Help: "the name of the new session"},
			{Name: "conversation", Kind: kit.Text, Value: "id", Help: "copy this transcript"},
			firstFlag, readyFlag, waitFlag, trustFlag, HereFlag, registryFlag,
		},
		Does: `Starts a new session in the same folder, with the same agent CLI and arguments, and a copy of the transcript of a
session. That session may run on: from here on the two conversations differ. The agent CLI makes the copy. It works
for Claude Code, Codex and opencode.`,
		Wont: "It copies no files: both agents work in one folder. For a folder of its own, use tutti session create --worktree.",
		Examples: `$ tutti session fork api-creator-claude
$ tutti session fork reviewer --prompt 'Try the other way.'`,
		Exit: "0 done; 1 wrong usage, not registered, or refused; 3 a file or tmux could not be reached; 4 the program did not stay up; 5 halted; 6 several conversations or sessions could be meant; 8 tmux has another session of that name",
		See:  "session create, session resume",
	},
	{
		Name: "session rename", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Makes, MinArgs: 2, MaxArgs: 2, Offer: kit.Sessions, Opts: onSessions(sessionRename),
		Result: changed{},
		Short:  "give a session another name",
		Args:   "<name> <new name>",
		Flags:  []kit.Flag{HereFlag, registryFlag},
		Does: `Renames a session in tmux and in the session registry. It also repairs a session that was renamed in tmux: name the
old and the new name. A session that works on a job keeps its name until the job is over.`,
		Wont:     "The agent's address on the bus stays.",
		Examples: `$ tutti session rename api-creator-claude api`,
		Exit:     "0 done; 1 wrong usage, no such session, the name is in use, or it works on a job; 3 a file or tmux could not be reached; 5 halted; 6 sessions of several folders have that name",
		See:      "session list",
	},
	{
		Name: "session remove", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Makes, MaxArgs: -1, Offer: kit.Sessions, Opts: onSessions(sessionRemove),
		Result: []changed{},
		Short:  "remove ended sessions from the registry",
		Args:   "[<name>...]",
		Flags: []kit.Flag{
			{Name: "ended", Kind: kit.Switch, Help: "every session of this folder that has ended"},
			{Name: "older", Kind: kit.Duration, Value: "time", Help: "with --ended: only those that ended longer ago"},
			registryFlag,
		},
		Does: `Removes the rows of ended sessions from the session registry of this folder, and prints the ids of their transcripts.
The registry as it was before is in agent-sessions.yaml.bak.`,
		Wont: `It deletes no transcript and no worktree, and removes no session that runs or has left processes: tutti session stop
ends those.`,
		Examples: `$ tutti session remove old-creator-claude
$ tutti session remove --ended --older 720h`,
		Exit: "0 done; 1 wrong usage, no such session, or it has not ended; 3 a file or tmux could not be reached; 5 halted",
		See:  "session stop, session list",
	},
}
