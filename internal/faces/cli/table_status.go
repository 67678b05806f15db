package cli

var statusVerbs = []Verb{{
	Name: "status", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runStatus, Bus: true,
	Short: "show the halt switch, your agents and your mail",
	Flags: []Flag{
		{Name: "scope", Kind: Text, Value: "scope", Under: H2A, Help: "only sessions of this scope"},
		{Name: "instance", Alias: "as", Kind: Text, Value: "id", Offer: Agents, Help: "count the mail of this agent; under h2a: only sessions of this agent"},
		{Name: "name", Kind: Text, Value: "part", Under: H2A, Help: "only sessions with this in their name"},
	},
	Does: `Shows on one screen whether work is halted, which agents of yours are live or run in tmux anywhere on this machine,
how much mail waits, and what waits for your decision. Each session in tmux has a row: name, address on the bus, what
tmux says, transcript, job and folder. Unread mail of your agents that are not live or cannot be woken has a line for
each of them, then the mail between projects. Pauses, and halts that were lifted since you last looked at a terminal,
are at the end.

Without a verb, tutti shows the same if there is a bus.`,
	Wont: `It marks no mail as shown. An agent that is not live may still be at work: live means only that mail reaches it now.`,
	Examples: `$ tutti status
$ tutti status --instance codex:api:3f2a9c01b7de`,
	Exit: exitPlain,
	See:  "inbox, discover, doctor, session status, comms status",
}}
