package cli

var stopSessionVerbs = []Verb{{
	Name: "session stop", Under: Tutti, Group: GroupSessions, Halt: Ends, Waits: true, MaxArgs: 1, Offer: Sessions,
	Short: "end an agent in tmux, and keep its conversation",
	Args:  "[<session>]",
	Flags: []Flag{
		sessionFlag,
		{Name: "reason", Kind: Text, Value: "text", Default: "manual_stop", Help: "why, for the registry: a text, or a word such as api_error"},
		{Name: "all", Kind: Switch, Help: "every session that runs, on this machine"},
		hereFlag,
		{Name: "purge-conversation", Kind: Switch, Help: "also delete the conversation for good; it asks first"},
		{Name: "yes", Kind: Switch, Help: "do not ask: before the conversation is deleted, or with --all before sessions of other folders are stopped"},
		{Name: "force", Kind: Switch, Help: "also a session of that name that is not the one of the registry, or that the registry calls ended"},
		{Name: "force-no-yaml", Kind: Switch, Help: "also a session of tmux that the registry does not have; no row is made"},
		{Name: "grace", Kind: Duration, Value: "time", Default: "as long as such a program takes: 3s, codex 8s", Help: "how long it may take to end, before it is made to"},
		{Name: "no-keys", Kind: Switch, Help: "type nothing, not even where it waits for its user"},
		{Name: "with-daemon", Kind: Switch, Help: "also end the server that codex keeps in the background, which others may use"},
		{Name: "job-event", Kind: Text, Value: "event", Default: "error", Choices: []string{"error", "completed"}, Help: "how its job ends, if it has one that has not ended"},
		registryFlag,
		{Name: "tmux-server", Kind: Text, Value: "name", Default: "TMUX_SERVER_NAME, else the default one", Help: "with --force-no-yaml: the tmux server (tmux -L)"},
		{Name: "mode", Kind: Text, Value: "mode", Choices: []string{"hard", "soft"}, Help: "of older programs: hard calls it terminated, soft archived and ends nothing"},
		{Name: "capture-id", Kind: Switch, Help: "of older programs: it is always done"},
		{Name: "graceful", Kind: Switch, Help: "of older programs: it is always so"},
	},
	Does: `Ends the program of a session, all that it has started, and the tmux session. Before that the last screen and the id of the
conversation go into the registry, so that "tutti session resume" can take it up again. Stopping a session that is stopped does
nothing, and one that tmux has lost is only written down.

A name is looked up in this folder and among the running sessions of other folders. Where several match, nothing is stopped and
the lines to choose from are printed. --all stops every session of this machine and asks before it reaches other folders.
Without a terminal it leaves those running unless you add --yes, and --purge-conversation never reaches them. --here restricts
both to this folder. An agent cannot use --all without --here or --registry: the command is refused below an agent CLI.

What loses least comes first. Its own exit command is typed where the program waits for its user for certain; where a question
is open, or may be, Escape is pressed, and no Enter, which would answer it with yes. Then it is told to end by signals while its
terminal is there, then its tmux session goes, then what is left is killed. What has left its parent and its terminal is found
by the variable TUTTI_SESSION that it was started with. What cannot be ended is named, and the exit status is 7.

--purge-conversation deletes what belongs to the conversation in the registry, where its program keeps it, and prints what it
deleted; a stopped session can be purged later. A session can stop itself: what is left to do goes on outside of it.

It works while the halt switch is on, and types nothing then.`,
	Wont: `It is not for leaving: detach (Ctrl-b d) or close the terminal, and the session goes on. To end the agent alone, use its own exit
key. To begin anew, stop it and create it. A tmux server that was started in the session is named and left alone.`,
	Examples: `$ tutti session stop --session api-creator-claude
$ tutti session stop api-creator-claude --reason api_error
$ tutti session stop --session api-creator-claude --purge-conversation --yes
$ tutti session stop --all`,
	Exit: "0 done, or it was stopped already; 1 wrong usage, not in the registry, or refused; 3 a file or tmux could not be reached; 6 sessions of several folders have that name; 7 something of it is still alive; " +
		"8 tmux has a session of that name which is another one; 130 interrupted: do it again",
	See: "session list, job cancel",
}}
