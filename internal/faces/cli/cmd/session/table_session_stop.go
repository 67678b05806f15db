package session

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var StopVerbs = []kit.Verb{{
	Name: "session stop", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Ends, Waits: true, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(sessionStop),
	Result: render.OneOf{stopped{}, []stopped{}},
	Short:  "stop a session and keep its conversation",
	Args:   "[<session>]",
	Flags: []kit.Flag{
		sessionFlag,
		{Name: "reason", Kind: kit.Text, Value: "text", Default: "manual_stop", Help: "the reason to record: a text, or a code such as api_error"},
		{Name: "all", Kind: kit.Switch, Help: "every running session on this machine"},
		HereFlag,
		{Name: "purge-conversation", Kind: kit.Switch, Help: "also delete the transcript for good; asks first"},
		{Name: "to-trash", Kind: kit.Switch, Help: "keep a copy of the deleted transcript, and print its folder"},
		{Name: "conversation", Kind: kit.Text, Value: "id", Help: "delete this transcript of the session, even if the session did not begin it"},
		{Name: "yes", Kind: kit.Switch, Help: "do not ask before a transcript is deleted, or with --all before sessions of other folders are stopped"},
		{Name: "force", Kind: kit.Switch, Help: "also a session that is not the one in the registry, or that the registry calls ended"},
		{Name: "force-no-yaml", Kind: kit.Switch, Help: "also a tmux session that is in no registry"},
		{Name: "grace", Kind: kit.Duration, Value: "time", Default: "as long as such a program takes: 3s, codex 8s", Help: "how long the agent CLI may take to end"},
		{Name: "no-keys", Kind: kit.Switch, Help: "type nothing into the session"},
		{Name: "with-daemon", Kind: kit.Switch, Help: "also end the background server of Codex, which other sessions may use"},
		{Name: "job-event", Kind: kit.Text, Value: "event", Default: "error", Choices: []string{"error", "completed"}, Help: "how its unfinished job ends"},
		registryFlag,
		{Name: "tmux-server", Kind: kit.Text, Value: "name", Default: "TMUX_SERVER_NAME, else the default one", Help: "with --force-no-yaml: the tmux server (tmux -L)"},
		{Name: "mode", Kind: kit.Text, Value: "mode", Choices: []string{"hard", "soft"}, Help: "for older scripts: hard records it as terminated, soft as archived and ends nothing"},
		{Name: "capture-id", Kind: kit.Switch, Help: "for older scripts; always done"},
		{Name: "graceful", Kind: kit.Switch, Help: "for older scripts; always so"},
	},
	Does: `Ends the agent CLI of a session, everything that it has started, and the tmux session. First it stores the last screen
and the id of the transcript in the registry, so that session resume can continue. For a stopped session it does
nothing.

It looks up a name in this folder, then in all others, where a running session comes first. If several match, it stops
nothing and prints the commands to choose from. --all stops every running session on this machine, and asks before it
stops sessions of other folders. Without a terminal it leaves those running unless you add --yes, and --purge-conversation
never reaches them. --here restricts both to this folder. Below an agent CLI, --all is refused without --here or --registry.

It begins with the step that loses least. If the agent CLI certainly waits for input, it types its exit command. If a
question is open, or may be, it presses Escape and never Enter, which would answer yes. Then it sends SIGTERM, ends
the tmux session, and after 5 s, or --grace if that is longer, kills what is left. It finds processes that left the terminal by the variable TUTTI_SESSION. It
names what cannot be ended; the exit status is then 7.

--purge-conversation deletes the transcript of the session where the agent CLI keeps it, and prints what it deleted.
It deletes only a transcript that the session's own process had (see session resume) and that the session began. One
that you resumed in it may be your own: name it with --conversation, which an agent may not do. --to-trash first copies
the transcript to ~/.local/state/tutti/trash. If it deletes nothing, it says why, and the exit status is 1. It also
works for a stopped session. A session can stop itself: the rest of the work is done outside of it.

It works while the halt switch is set, and then types nothing.`,
	Wont: `It does not detach: for that press Ctrl-b d or close the terminal, and the session continues. It names and leaves
alone a tmux server that was started inside the session.`,
	Examples: `$ tutti session stop --session api-creator-claude
$ tutti session stop api-creator-claude --reason api_error
$ tutti session stop --session api-creator-claude --purge-conversation --yes
$ tutti session stop --all`,
	Exit: "0 done, or already stopped; 1 wrong usage, not in the registry, or refused; 3 a file or tmux could not be reached; 6 sessions of several folders have that name; 7 a process still runs; 8 tmux has another session of that name; 130 interrupted: run it again",
	See:  "session list, job cancel",
}}
