package fast

import "tutti/internal/faces/cli/kit"

// StatusRow is the verb status; the hot program does only --short of it.
var StatusRow = kit.Verb{
	Name: "status", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Asks, Opts: kit.WithFlags(runStatusShort), Bus: true,
	Short: "show what your agents do and what waits for you",
	Flags: []kit.Flag{
		{Name: "scope", Kind: kit.Text, Value: "scope", Under: kit.H2A, Help: "only sessions of this scope"},
		{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "count the mail of this agent; under h2a: only sessions of this agent"},
		{Name: "name", Kind: kit.Text, Value: "part", Under: kit.H2A, Help: "only sessions with this in their name"},
		{Name: "here", Kind: kit.Switch, Under: kit.Tutti, Help: "only agents of this folder, and the bus used here"},
		{Name: "long", Kind: kit.Switch, Under: kit.Tutti, Help: "also ids, buses, transcripts, your newest mail and who conducts here"},
		{Name: "short", Kind: kit.Switch, Under: kit.Tutti, Help: "print only counts, from the last look; for prompts"},
	},
	Does: `Shows what all agents on this machine are doing, and what waits for you. The first line is the answer: how many agents
are live, how many things wait for you, what is paused, and who halted, when and why.

The table has a row for each session in tmux and for each agent that is live on a bus you have used on this machine.
DOING is what the program of the agent writes about itself, what its screen shows (with a question mark), or what the
agent says on the bus; "-" means that it is not known. UNREAD counts the mail that the agent was not shown yet.

"Waits for you" lists what an agent asks you, your own mail, and mail of your agents that are not live or cannot be
woken, each with the command to paste. Pauses, buses that could not be read, and halts that were lifted since you last
looked at a terminal have lines of their own.

Without a verb, tutti shows the same if there is a bus, or starts top at a terminal if "start" in the table [screen] of the
settings is "top".

--short prints only how many messages are unread and how many other things wait for you: "2✉ 1❗", in ASCII "2m 1!", and
nothing when nothing waits. It does not look itself. It reads the counts that tutti up, or your last tutti status
without --here and --instance, has left. Counts older than a minute have their age behind them. "tutti?" means that the
counts are damaged, or older than a day.`,
	Wont: `It marks no mail as shown. An agent that is not live may still be at work: live means only that it runs in tmux or that
mail reaches it now. Agent CLIs that run outside tmux and are not connected to a bus are not listed.`,
	Examples: `$ tutti status
$ tutti status --here --long
$ tutti status --short
2✉ 1❗
$ tutti status --instance codex:api:3f2a9c01b7de`,
	Exit: kit.ExitPlain,
	See:  "inbox, discover, doctor, session status, comms status",
}
