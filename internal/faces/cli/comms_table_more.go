package cli

var commsMoreVerbs = []Verb{
	{
		Name: "comms poll", Under: Tutti, Group: GroupBus, Halt: Asks, Apart: exitUsage, Run: runCommsPoll,
		Short: "look for messages the way an agent that polls should",
		Flags: []Flag{
			commsProject,
			{Name: "user-wrote", Kind: Duration, Value: "time", Help: "how long ago your user last wrote to you: below a minute the look is put off"},
			{Name: "work", Kind: Text, Value: "text", Help: "what you and your user are at, for the line that tells them of a message"},
			{Name: "claim", Kind: Text, Value: "session", Help: "have new messages for this session alone, for 10 minutes, and count for it"},
			{Name: "engage", Kind: Switch, Help: "your user lets you go on after a halt was cleared"},
			{Name: "all", Kind: Switch, Help: "also messages that were told before and wait"},
			{Name: "no-ledger", Kind: Switch, Help: "do not write decisions down"},
		},
		Does: `Looks at the halt switch first. Then it judges each message that is new, as "tutti comms recv" does, and says what to do with it,
how its conversation stands and whom it waits for, and, if it is to be told to the user, the one line to tell them. A progress is never
put before the user. The other open conversations follow, and when to look again.

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
		Name: "comms compose", Under: Tutti, Group: GroupBus, Halt: Reads, Run: runCommsCompose,
		Short: "write the draft of a message, asking for what is missing",
		Flags: []Flag{
			{Name: "out", Kind: Text, Value: "file", Offer: Files, Help: "where the draft goes, a new file (default: standard output)"},
			{Name: "conversation", Kind: Text, Value: "id", Offer: Conversations, Help: "the conversation, new or under way: small letters, digits, hyphens"},
			{Name: "title", Kind: Text, Value: "text", Help: "its first line for people"},
			{Name: "type", Kind: Text, Value: "type", Choices: messageTypes, Help: "what it is for"},
			{Name: "sequence", Kind: Count, Value: "n", Help: "its number (default: the next of the conversation)"},
			{Name: "release-status", Kind: Text, Value: "status", Choices: releaseStatuses, Help: "of a release"},
			{Name: "response", Kind: Text, Value: "word", Choices: pushbackResponses, Help: "of a request that answers a pushback"},
			{Name: "in-reply-to", Kind: Count, Value: "n", Help: "the sequence that it answers"},
			{Name: "tools", Kind: Text, Value: "names", Help: "programs that its receiver needs"},
			{Name: "body", Kind: Text, Value: "text|-|@file", Help: "what it says"},
			{Name: "from", Kind: Text, Value: "name", Help: "the sender, as for send"},
		},
		Does: `Makes a draft that "tutti comms send" takes as it is: the header with the next sequence of the conversation and the time of now,
and the body, if there is one. On a terminal it asks for what no flag says; elsewhere that is a usage error. What the protocol does not allow
(a first message that is no request, another insisting where an escalate is due) is refused here already.`,
		Wont: "It sends nothing and writes over no file. A draft that is more than ten minutes old wants send --restamp.",
		Examples: `$ tutti comms compose --out q.org
$ tutti comms compose --conversation api --title 'Which?' --type request`,
		Exit: "0 written; 1 wrong usage, or the protocol refuses it; 2 the file is there already; 3 a file could not be read or written",
		See:  "comms send",
	},
	{
		Name: "comms archive", Under: Tutti, Group: GroupBus, Halt: Asks, MaxArgs: -1, Offer: Conversations, Apart: exitUsage, Run: runCommsArchive,
		Short: "move the messages of released conversations away",
		Args:  "[<conversation>...]",
		Flags: []Flag{
			commsProject,
			{Name: "dry-run", Kind: Switch, Help: "say what would be moved and move nothing"},
		},
		Does: `Moves messages and signatures of released conversations from the mailbox of the project to .ai/sessions/cross-agent/, under names
that begin with the conversation. Without an argument it takes all that are released. A signature stays valid.`,
		Wont:     "It moves no conversation that is open, writes over no archived file, and deletes nothing.",
		Examples: "$ tutti comms archive --dry-run\n$ tutti comms archive api",
		Exit:     "0 done, or there was nothing; 1 a file could not be moved, or wrong usage; 2 one that was named is open or unknown, or a name is taken; 5 halted",
		See:      "comms status",
	},
	{
		Name: "comms init", Under: Tutti, Group: GroupBus, Halt: Reads, Waits: true, MaxArgs: 1, Offer: Folders, Run: runCommsInit,
		Short: "make a folder a project that others can write to",
		Args:  "[<name>|<folder>]",
		Flags: []Flag{
			{Name: "service", Kind: Switch, Help: "also let systemd run the watcher of mailboxes, as tutti service install does"},
			{Name: "no-service", Kind: Switch, Help: "install no watcher; this is the default"},
		},
		Does: `Makes the marker .ai and the mailbox, for you alone, reads the list of other machines and asks each
once whether it answers. A name alone means ~/projects/NAME; without one it is this folder. It may be repeated: what is there stays.`,
		Wont:     "It installs no systemd unit without --service, sends nothing, and makes no key: gpg does (gpg --quick-gen-key).",
		Examples: "$ tutti comms init notes\n$ tutti comms init .",
		Exit:     "0 the mailbox is there (other steps may have warned); 1 the folder cannot be a project, or wrong usage; 2 something is in the way; 3 a file could not be made; 130 interrupted",
		See:      "comms send, service install, init",
	},
}
