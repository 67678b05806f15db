package comms

import (
	"tutti/internal/comms/draft"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/poll"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var MoreVerbs = []kit.Verb{
	{
		Name: "comms poll", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Asks, Apart: kit.ExitUsage, Opts: kit.WithFlags(runCommsPoll),
		Result: render.OneOf{poll.Result{}, poll.Off{}},
		Short:  "look for messages the way an agent that polls should",
		Flags: []kit.Flag{
			fast.CommsProject,
			{Name: "user-wrote", Kind: kit.Duration, Value: "time", Help: "how long ago your user last wrote to you: below a minute the look is put off"},
			{Name: "work", Kind: kit.Text, Value: "text", Help: "what you and your user are at, for the line that tells them of a message"},
			{Name: "claim", Kind: kit.Text, Value: "session", Help: "have new messages for this session alone, for 10 minutes, and count for it"},
			{Name: "engage", Kind: kit.Switch, Help: "your user lets you go on after a halt was cleared"},
			{Name: "all", Kind: kit.Switch, Help: "also messages and conversations that were shown before"},
			{Name: "no-ledger", Kind: kit.Switch, Help: "do not write decisions down"},
		},
		Does: `Looks at the halt switch first. Then it judges each new message, as "tutti comms recv" does, and prints what to do with it, the
state of its conversation, who has to act next and, if the user should know, the one line to show them. A progress message is
never shown to the user. The open conversations that have changed follow, with "your turn" if your project has to answer, the
reason to escalate if the user has to decide, and one answer each, as you would type it. Last comes when to look again.

With --user-wrote the look waits while your user is writing: until they write again, or for five minutes. Polls that find nothing are
counted; after twelve, about 54 minutes, it says that your user should know.

While everything is halted it prints the remark that ends each of your replies, and exits with 5: plan no next poll. After the switch
was cleared it looks at nothing until your user has said so, which --engage passes on.`,
		Wont: "It never prints a body, and never waits: the next poll is yours to plan.",
		Examples: `$ tutti comms poll
$ tutti comms poll --user-wrote 20s --work 'the login form'
$ tutti comms poll --engage --json`,
		Exit: "0 looked, or put off; 1 a file could not be read, or wrong usage; 2 there is no such project; 5 halted",
		See:  "comms recv, comms status, resume",
	},
	{
		Name: "comms guide", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Reads, Run: runCommsGuide, Apart: kit.ExitUsage,
		Result:   guideJSON{},
		Short:    "print what an agent has to know to work with another project",
		Does:     "Prints one page for a model: the commands, what each type of message is for, and the rules.",
		Wont:     "It looks at no mailbox.",
		Examples: "$ tutti comms guide",
		Exit:     "0 printed; 1 wrong usage",
		See:      "comms poll, send",
	},
	{
		Name: "comms farewell", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Asks, Waits: true, MaxArgs: 1, Opts: kit.WithFlags(runCommsFarewell), Apart: kit.ExitPanic,
		Result: []poll.Farewell{},
		Short:  "tell the other side of each open conversation that you pause",
		Args:   "[<text>]",
		Flags:  []kit.Flag{fast.CommsProject, fast.CommsRetries},
		Does: `Sends one progress message to each open conversation of the project, with the text, or "` + protocol.FarewellBody + `". While everything is
halted the messages are kept, and "tutti comms retry --all" sends them after the halt.`,
		Wont: "It ends no conversation, and writes to none that waits for the user.",
		Examples: `$ tutti comms farewell 'Back on Monday'
$ tutti comms farewell --project notes`,
		Exit: "0 sent to all, or no conversation is open; " + fast.ExitSend,
		See:  "comms poll, comms retry, halt",
	},
	{
		Name: "comms compose", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Makes, Opts: kit.WithFlags(runCommsCompose),
		Result: render.OneOf{draft.Printed{}, draft.Written{}},
		Short:  "write the draft of a message, asking for what is missing",
		Flags: []kit.Flag{
			{Name: "out", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "where the draft goes, a new file (default: standard output)"},
			{Name: "conversation", Kind: kit.Text, Value: "id", Offer: kit.Conversations, Help: "the conversation, new or under way: small letters, digits, hyphens"},
			{Name: "title", Kind: kit.Text, Value: "text", Help: "its first line for people"},
			{Name: "type", Kind: kit.Text, Value: "type", Choices: kit.MessageTypes, Help: "what it is for"},
			{Name: "sequence", Kind: kit.Count, Value: "n", Help: "its number (default: the next of the conversation)"},
			{Name: "release-status", Kind: kit.Text, Value: "status", Choices: kit.ReleaseStatuses, Help: "of a release"},
			{Name: "response", Kind: kit.Text, Value: "word", Choices: kit.PushbackResponses, Help: "of a request that answers a pushback"},
			{Name: "in-reply-to", Kind: kit.Count, Value: "n", Help: "the sequence that it answers"},
			{Name: "tools", Kind: kit.Text, Value: "names", Help: "programs that its receiver needs"},
			{Name: "body", Kind: kit.Text, Value: "text|-|@file", Help: "what it says"},
			{Name: "from", Kind: kit.Text, Value: "name", Help: "the sender, as for send"},
		},
		Does: `Makes a draft that "tutti comms send" takes as it is: the header with the next sequence of the conversation, and the body, if
there is one. The time is set when you send it, so you can work on the draft for as long as you like. On a terminal it asks for
what the flags leave out; elsewhere that is a usage error. It already refuses what the protocol does not allow (a first message
that is not a request, insisting again when an escalation is due).`,
		Wont: "It sends nothing and writes over no file.",
		Examples: `$ tutti comms compose --out q.org
$ tutti comms compose --conversation api --title 'Which?' --type request`,
		Exit: "0 written; 1 wrong usage, or the protocol refuses it; 2 the file is there already; 3 a file could not be read or written",
		See:  "comms send",
	},
	{
		Name: "comms archive", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Asks, MaxArgs: -1, Offer: kit.Conversations, Apart: kit.ExitUsage, Opts: kit.WithFlags(runCommsArchive),
		Result: []exchange.ArchiveView{},
		Short:  "move the messages of released conversations away",
		Args:   "[<conversation>...]",
		Flags: []kit.Flag{
			fast.CommsProject,
			{Name: "dry-run", Kind: kit.Switch, Help: "say what would be moved and move nothing"},
		},
		Does: `Moves messages and signatures of released conversations from the mailbox of the project to .ai/sessions/cross-agent/, under names
that begin with the conversation. Without an argument it takes all that are released. A signature stays valid.`,
		Wont:     "It moves no conversation that is open, writes over no archived file, and deletes nothing.",
		Examples: "$ tutti comms archive --dry-run\n$ tutti comms archive api",
		Exit:     "0 done, or there was nothing; 1 a file could not be moved, or wrong usage; 2 one that was named is open or unknown, or a name is taken; 5 halted",
		See:      "comms status",
	},
	{
		Name: "comms init", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Makes, Waits: true, MaxArgs: 1, Offer: kit.Folders, Opts: kit.WithFlags(runCommsInit),
		Result: initiated{},
		Short:  "make a folder a project that others can write to",
		Args:   "[<name>|<folder>]",
		Flags: []kit.Flag{
			{Name: "service", Kind: kit.Switch, Help: "also let systemd run the watcher of mailboxes, as tutti service install does"},
			{Name: "no-service", Kind: kit.Switch, Help: "install no watcher; this is the default"},
		},
		Does: `Makes the marker .ai and the mailbox, for you alone, reads the list of other machines and asks each
once whether it answers. A name alone means ~/projects/NAME; without one it is this folder. It may be repeated: what is there stays.`,
		Wont:     "It installs no systemd unit without --service, sends nothing, and makes no key: gpg does (gpg --quick-gen-key).",
		Examples: "$ tutti comms init notes\n$ tutti comms init .",
		Exit:     "0 the mailbox is there (other steps may have warned); 1 the folder cannot be a project, or wrong usage; 2 something is in the way; 3 a file could not be made; 130 interrupted",
		See:      "comms send, service install, init",
	},
}
