package session

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var (
	drumMaxFlag      = kit.Flag{Name: "max-relances", Kind: kit.Text, Value: "n", Default: "3", Help: "how often an agent is asked before you are (escalation); 0: at once"}
	drumWhoFlag      = kit.Flag{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "the agent"}
	drumWayFlag      = kit.Flag{Name: "relauncher", Kind: kit.Text, Value: "way", Default: "logging", Choices: []string{"logging", "local-tmux", "headless", "auto"}, Help: "how agents are asked to go on"}
	drumWatchFlag    = kit.Flag{Name: "relauncher", Kind: kit.Text, Value: "way", Default: "logging", Choices: []string{"logging", "local-tmux", "remote", "headless", "auto"}, Help: drumWayFlag.Help}
	drumBeatFlag     = kit.Flag{Name: "interval-ms", Kind: kit.Text, Value: "ms", Default: "30000", Help: "milliseconds between two looks, at least 1000"}
	drumAfterFlag    = kit.Flag{Name: "decider-after", Kind: kit.Text, Value: "n", Default: "1", Help: "how often an agent was asked before the decider is; below --max-relances"}
	drumForceFlag    = kit.Flag{Name: "decider-enforce", Kind: kit.TrueSwitch, Help: "what the decider says is done, and not only written down"}
	drumAgeFlag      = kit.Flag{Name: "min-age", Kind: kit.Duration, Value: "time", Under: kit.Tutti, Default: "the interval", Help: "how long an agent has been still before it is asked"}
	drumSpacingFlag  = kit.Flag{Name: "spacing", Kind: kit.Duration, Value: "time", Under: kit.Tutti, Default: "the interval", Help: "how long it is left alone then; it doubles each time"}
	drumGraceFlag    = kit.Flag{Name: "grace", Kind: kit.Duration, Value: "time", Under: kit.Tutti, Default: "5m, or three intervals", Help: "how long it is left to the conductor of its workspace"}
	drumWindowFlag   = kit.Flag{Name: "window", Kind: kit.Duration, Value: "time", Under: kit.Tutti, Default: "30m", Help: "a stop so soon after it was asked is the end of its answer: the count goes on"}
	drumProgressFlag = kit.Flag{Name: "progress", Kind: kit.Duration, Value: "time", Under: kit.Tutti, Default: "2m", Help: "from this long at work after it was asked it has gone on: the count is cleared"}
)

// DrumbeatVerbs are about agents that have stopped.
var DrumbeatVerbs = []kit.Verb{
	{
		Name: "drumbeat record", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Makes, Bus: true, Opts: kit.WithFlags(runDrumRecord),
		Result: recordedStatus{},
		Short:  "record that an agent has stalled",
		Flags: []kit.Flag{
			drumWhoFlag,
			{Name: "status", Kind: kit.Text, Value: "word", Choices: []string{"working", "paused", "done", "blocked", "out-of-tokens"}, Help: "what it says of its work; must be given"},
			{Name: "command", Kind: kit.Text, Value: "line", Help: "how it was started; with it the flags below are kept"},
			{Name: "resume-command", Kind: kit.Text, Value: "line", Help: "how its conversation is taken up"},
			{Name: "cwd", Kind: kit.Text, Value: "dir", Default: "here", Offer: kit.Folders, Help: "its folder"},
			{Name: "tty", Kind: kit.Text, Value: "path", Help: "its terminal"},
			{Name: "tmux-session", Kind: kit.Text, Value: "name", Help: "its session of tmux"},
			{Name: "tmux-pane", Kind: kit.Text, Value: "%n", Help: "its pane there"},
			{Name: "tmux-window", Kind: kit.Text, Value: "name", Help: "its window there"},
		},
		Does: `Writes an entry for the agent, which replaces the one before. The hooks of agent CLIs call it when a turn or a session ends. The
count of requests to go on is kept if the last was less than half an hour ago: a turn that only answers is not a new stop. A
line in the log of the bus records the time, for drumbeat simulate.`,
		Wont:     "It asks no agent to go on. It never runs the commands in the entry.",
		Examples: "$ tutti drumbeat record --status paused\n$ tutti drumbeat record --status done --instance claude:api:3f2a9c01b7de",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be written", See: "drumbeat watch",
	},
	{
		Name: "drumbeat scan", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runDrumScan),
		Result: scanned{},
		Short:  "list stalled agents",
		Flags:  []kit.Flag{drumMaxFlag},
		Does: `Lists who has stopped and could be asked to go on, and who was asked often enough. To people it says also what would be due now by the entry
alone; a program that watches sees more, as the screen of the agent.`,
		Wont:     "It changes nothing.",
		Examples: "$ tutti drumbeat scan\n$ tutti drumbeat scan --max-relances 1 --json",
		Exit:     kit.ExitPlain, See: "drumbeat escalations",
	},
	{
		Name: "drumbeat clear", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Ends, Bus: true, MaxArgs: 1, Offer: kit.Agents, Opts: kit.WithFlags(runDrumClear),
		Result:   cleared{},
		Short:    "remove the record of a stalled agent",
		Args:     "[<agent>]",
		Flags:    []kit.Flag{drumWhoFlag},
		Does:     "Removes the agent's entry, and its escalation. It is fine if there was neither.",
		Examples: "$ tutti drumbeat clear claude:api:3f2a9c01b7de\n$ tutti drumbeat clear",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be written",
	},
	{
		Name: "drumbeat escalations", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Reads, Bus: true, Run: runDrumEscalations,
		Result:   []json.RawMessage{},
		Short:    "list stalled agents that need you",
		Does:     "Lists the escalated agents, the oldest first, why, and since when. One that goes on by itself leaves the list.",
		Examples: "$ tutti drumbeat escalations\n$ tutti drumbeat escalations --json",
		Exit:     kit.ExitPlain, See: "drumbeat clear, status",
	},
	{
		Name: "drumbeat relance-inbox", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Acts, Waits: true, Bus: true, Opts: kit.WithFlags(runDrumInbox),
		Result: relanced{},
		Short:  "follow requests by mail to ask an agent to go on",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "all agents that have stopped", Offer: kit.Agents, Help: "only this one"},
			drumWayFlag, registryFlag,
		},
		Does: `Looks into the mailboxes of stopped agents for messages of the kind drumbeat.resume, and follows those that are signed and
verified, by the agent itself, its conductor or principal, or an agent that shares a scope with it. Each obeys all the rules by
which tutti up asks, and makes no agent due early. It removes a message once it has been followed, or never will be.`,
		Wont:     "Nothing that a message says is typed or run.",
		Examples: "$ tutti drumbeat relance-inbox --relauncher auto",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be read or written; 5 halted",
	},
	{
		Name: "drumbeat watch", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Stays, Waits: true, Bus: true, Opts: kit.WithFlags(runDrumWatch),
		Result: render.OneOf{beatStart{}, beatEvent{}},
		Short:  "ask stalled agents to go on, then tell you",
		Flags: []kit.Flag{
			drumBeatFlag, drumMaxFlag, drumWatchFlag, registryFlag,
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "none", Offer: kit.OwnAgents, Help: "who asks, and signs what goes to other machines: agents are then left to the conductors of their workspaces first"},
			{Name: "decider", Kind: kit.Text, Value: "line", Help: "a program, with arguments, that says what is to become of one that was asked; logging: none, and that is written down"},
			drumAfterFlag, drumForceFlag,
			{Name: "once", Kind: kit.Switch, Under: kit.Tutti, Help: "look once and end"},
			{Name: "private-key", Kind: kit.Text, Value: "file", Default: "the one in the keys of the bus", Offer: kit.Files, Help: "the key to sign requests to other machines with; under h2a --relauncher remote needs it"},
			{Name: "role", Kind: kit.Text, Value: "role", Default: "the first one registered", Help: "the role in such requests"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "the first one registered", Help: "the scope in such requests"},
			drumAgeFlag, drumSpacingFlag, drumGraceFlag, drumWindowFlag, drumProgressFlag,
		},
		Does: `Looks at stopped agents every 30 seconds until it is interrupted. It asks an agent to go on one interval after it has stopped,
then after 1, 2, 4 more; after three times it escalates to you (drumbeat escalations). Each event is a line.

With --relauncher logging, the default, it asks no agent and writes nothing: it prints what it would do. local-tmux types one
fixed sentence into the agent's pane, if its own CLI is idle there and no person types; headless resumes a session of "tutti
session create" that was cut off; remote sends a signed request to the endpoint of another machine that the agent is registered
with, and a program there follows it (drumbeat relance-inbox); auto takes the first that works of local-tmux, remote if
--instance names you, and headless.

It leaves alone agents that are working, waiting, or have reported that they are blocked or done; those at their rate limit, for
an hour; those whose session or mail shows that they went on; and after a halt all that you have not let go on (tutti resume
--session). Not being seen on the bus is not enough: the agent must have an entry, or its process must be proven to have ended.

One program does this for a bus; a second one says who. tutti up does it, too, with the table [drumbeat] of the settings. The decider is started without a
shell, with the question as its last argument, has a minute, and prints {"action":"relance|finish|escalate|reroute","reason":"..."}.`,
		Wont:     "While the halt switch is on it looks at nothing. It types nothing that anybody wrote, and runs no command of an entry.",
		Examples: "$ tutti drumbeat watch\n$ tutti drumbeat watch --relauncher auto --max-relances 2\n$ tutti drumbeat watch --relauncher remote --instance claude:api\n$ tutti drumbeat watch --relauncher auto --decider 'claude -p'",
		Exit:     "0 --once, and it has looked; 1 wrong usage; 2 there is no bus, or another program does it; 3 a file could not be read or written; 130 interrupted",
		See:      "up, drumbeat simulate",
	},
	{
		Name: "drumbeat simulate", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runDrumSimulate),
		Result: simulated{},
		Short:  "replay a recorded day with other settings",
		Args:   "<file>",
		Flags: []kit.Flag{
			drumBeatFlag, drumMaxFlag, drumAfterFlag, drumForceFlag, drumAgeFlag, drumSpacingFlag, drumGraceFlag, drumWindowFlag, drumProgressFlag,
		},
		Does: `Replays a file of lines of JSON, as drumbeat record and drumbeat watch write them into drumbeat/decisions.jsonl of the bus, and "tutti store log drumbeat-decisions" shows it; - is standard input. It prints
what would have been done, and when, then how much that is beside what was done.

What agents did stays as it was recorded: how one would have answered at another time is unknown. Verdicts of a decider in the
file count with --decider-enforce. Screens, halts and conductors are not in the file.`,
		Wont:     "It asks no agent, and writes nothing.",
		Examples: "$ tutti drumbeat simulate day.jsonl --spacing 2m --max-relances 5\n$ tutti drumbeat simulate - --json",
		Exit:     "0 done; 1 wrong usage, or nothing in the file is a line of that log; 3 it could not be read",
	},
}
