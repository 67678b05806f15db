package fast

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var SendRow = kit.Verb{
	Name: "send", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, MaxArgs: 2, Offer: kit.Agents, Opts: kit.WithFlags(runSend), Bus: true,
	Result: render.OneOf{receiptView{}, []receiptView{}, projectView{}, projectRefusedView{}},
	Short:  "send a message to agents, a scope or a project",
	Args:   "[<peer>[,<peer>...]|<project>] [<text>|-|@<file>]",
	Flags: []kit.Flag{
		kit.ThreadFlag,
		{Name: "reply-to", Kind: kit.Text, Value: "id", Offer: kit.Messages, Help: "the message that this one answers"},
		{Name: "id", Kind: kit.Text, Value: "id", Help: "the id of the message, so that it may be sent again without arriving twice"},
		kit.KindFlag, kit.BodyFlag, kit.AsFlag,
		{Name: "deposit", Kind: kit.Switch, Help: "also to a full id that no registration has"},
		{Name: "scope", Kind: kit.Text, Value: "scope", Help: "to every live agent of this scope but yourself"},
		{Name: "wait", Kind: kit.Duration, Value: "time", Help: "wait so long for the answer, and show it"},
		{Name: "until", Kind: kit.Text, Value: "step", Under: kit.Tutti, Choices: untilSteps, Help: "with --wait: in place of the answer, for this step or a later one"},
		{Name: "batch", Kind: kit.Text, Value: "file|-", Offer: kit.Files, Help: "a message a line, as JSON: {\"to\", \"text\" or \"body\", \"thread\", \"replyTo\", \"id\"}"},
		fromFlag,
		{Name: "type", Kind: kit.Text, Value: "type", Under: kit.Tutti, Choices: kit.MessageTypes, Help: "to a project: what the message is for"},
		{Name: "conversation", Kind: kit.Text, Value: "id", Under: kit.Tutti, Offer: kit.Conversations, Help: "to a project: the conversation (default: the only one that is open with it)"},
		{Name: "title", Kind: kit.Text, Value: "text", Under: kit.Tutti, Help: "to a project: the line in lists (default: that of the conversation, or how the text begins)"},
		{Name: "sequence", Kind: kit.Count, Value: "n", Under: kit.Tutti, Help: "to a project: its number (default: the next of the conversation)"},
		{Name: "release-status", Kind: kit.Text, Value: "status", Under: kit.Tutti, Choices: kit.ReleaseStatuses, Help: "to a project: how a release ends it"},
		{Name: "response", Kind: kit.Text, Value: "word", Under: kit.Tutti, Choices: kit.PushbackResponses, Help: "to a project: how a request answers a pushback"},
		{Name: "restamp", Kind: kit.Switch, Under: kit.Tutti, Help: "to a project: write the time of now into the draft"},
		{Name: "keep-timestamp", Kind: kit.Switch, Under: kit.Tutti, Help: "to a project: send the time of the draft, however old it is"},
		{Name: "artifact", Kind: kit.Text, Value: "file", Under: kit.Tutti, Offer: kit.Files, Help: "to a project: deliver this file beside the message"},
		{Name: "local-fallback", Kind: kit.Switch, Under: kit.Tutti, Help: "to a project: treat an unknown machine as this one"},
		{Name: "retries", Kind: kit.Count, Value: "n", Default: "3", Under: kit.Tutti, Help: "to a project on another machine: tries after the first"},
		{Name: "dry-run", Kind: kit.Switch, Under: kit.Tutti, Help: "to a project: say what would be sent and write nothing"},
	},
	Does: `Signs the message, stores it durably in the mailbox of the recipient, keeps a copy in the outbox, and prints what
happened. The agent is woken if it is idle; or it reads the message at its next prompt, when it starts, or when its
user has let it continue after a halt. If the recipient is refused, it prints the command to type instead.

A recipient is a full id as discover shows it, host:label, or a name that exactly one agent has. If several agents
answer to host:label, it takes the one whose folder contains the current folder; otherwise it refuses and prints the
full ids.

If the recipient is on another machine, the message is queued here, and "tutti up" carries it there; the outcome says so.

It also prints the id, when the message was stored (UTC), and the command that traces it: pushed, shown and
acknowledged. With --json these are id, stored and outcome. --wait 60s --until shown prints each step as it happens,
and ends with the named step; with --json the member trace has all of them.

The text comes from the argument, from standard input (-) or from a file (@file), and has at most 256 KiB. With --id
you may send the same message again: it prints "already delivered". --batch syncs all messages at once; it names a bad
line and sends the others.

An address with a dot and no colon is a project on a machine: laptop.career. It gets a signed message file, as by
"tutti comms send". A file with a header is sent as it is; any other text becomes the next message of the
conversation. If the type or the conversation cannot be determined, it refuses and prints the command to type. The
project of the current folder sends it; outside a project, --from names the one that sends.`,
	Wont: `It never guesses a recipient, and never takes an agent for a project or a project for an agent. An agent that is not
live may still be at work, so do not repeat its work for that reason.`,
	Examples: `$ tutti send codex:api:3f2a9c01b7de 'the schema changed, see db/014.sql'
$ git diff --stat | tutti send codex:api,gemini:docs -
$ tutti send codex:api 'stop the server' --wait 60s --until shown
$ tutti send codex:api @notes.md --thread thr:1780000000000:9f3c
$ tutti send --scope scope:default 'I am going to rebase main'
$ tutti send --batch messages.jsonl
$ tutti send laptop.career @note.org
$ tutti send local.notes 'the field is gone' --type progress`,
	Exit: "0 delivered, deposited, queued for another machine, or already delivered; 1 wrong usage, a recipient was refused, or a message to a project was (its header, its signature); 2 there is no bus, or no answer (with --until: not that step) " +
		"came within --wait; 3 a file could not be read or written, or another machine was not reached; 5 halted; 130 interrupted",
	See: "discover, receive, thread, outbox, comms send",
}

var ReceiveRow = kit.Verb{
	Name: "receive", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, Waits: true, Opts: kit.WithFlags(runReceive), Bus: true,
	Result: takenView{},
	Short:  "show new mail and mark it as shown",
	Flags: []kit.Flag{
		{Name: "wait", Kind: kit.Duration, Value: "time", Help: "if there is no new mail, wait this long for it"},
		{Name: "limit", Kind: kit.Count, Value: "n", Default: "all", Help: "show at most this many, the oldest first"},
		kit.AsFlag,
	},
	Does: `Shows the messages that you were not shown yet, oldest first: sender, signature verdict, thread, id and text. It marks
them as shown. If an agent has several connections, each message is offered to one of them. A message stays in the
mailbox until you acknowledge it.`,
	Wont: `It shows text of peers, not of your user. A long text is cut at 12,000 bytes; the line below it shows how to read the
rest.`,
	Examples: `$ tutti receive
$ tutti receive --wait 60s --limit 1`,
	Exit: "0 done, also when there is nothing; 1 wrong usage, or the reader cannot be determined; 2 there is no bus or no such agent, or nothing came " +
		"within --wait; 3 a file could not be read or written; 5 halted; 130 interrupted",
	See: "reply, ack, inbox, watch",
}

var ReplyRow = kit.Verb{
	Name: "reply", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, Waits: true, MaxArgs: 2, Offer: kit.Messages, Opts: kit.WithFlags(runReply), Bus: true,
	Result: receiptView{},
	Short:  "answer a message in its thread and acknowledge it",
	Args:   "<id> [<text>|-|@<file>]",
	Flags: []kit.Flag{
		kit.KindFlag, kit.BodyFlag, kit.AsFlag,
		{Name: "id", Kind: kit.Text, Value: "id", Help: "the id of the answer, so that it may be sent again without arriving twice"},
		{Name: "deposit", Kind: kit.Switch, Help: "also when its sender has no registration"},
	},
	Does: "Sends the text to the sender of the message, in its thread, and moves the message from the mailbox to the archive.",
	Wont: "It takes nothing from the mailbox when the answer was refused.",
	Examples: `$ tutti reply env:1780000000000:9f3c 'done, see commit 4f0c1d2'
$ make test 2>&1 | tail -5 | tutti reply env:1780000000000:9f3c -`,
	Exit: ExitTakes + "; 130 interrupted",
	See:  "receive, thread",
}

var AckRow = kit.Verb{
	Name: "ack", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, MaxArgs: -1, Offer: kit.Messages, Opts: kit.WithFlags(runAck), Bus: true,
	Result: ackReport{},
	Short:  "move messages from the mailbox to the archive",
	Args:   "[<id>...]",
	Flags:  []kit.Flag{{Name: "all", Kind: kit.Switch, Help: "everything that was shown"}, kit.AsFlag},
	Does:   "Moves messages to the archive. --all moves every message that was shown; new mail stays.",
	Wont:   "It destroys nothing: tutti thread still shows them.",
	Examples: `$ tutti ack env:1780000000000:9f3c
$ tutti ack --all`,
	Exit: ExitTakes,
	See:  "receive, thread",
}

var InboxRow = kit.Verb{
	Name: "inbox", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runInbox), Bus: true,
	Result: []listedView{},
	Short:  "list mail without marking it",
	Flags: []kit.Flag{
		{Name: "all", Kind: kit.Switch, Help: "list all of it, not only the newest 20"},
		{Name: "unread", Kind: kit.Switch, Help: "list only what was not shown yet"},
		kit.NewestFlag, kit.MailboxFlag,
	},
	Does: `Lists the mailbox, newest first: id, age, sender, signature verdict, thread, kind and first line. A star marks a
message that was not shown yet.`,
	Wont: "It shows no complete texts and marks nothing: tutti receive does.",
	Examples: `$ tutti inbox
$ tutti inbox --unread`,
	Exit: ExitMail,
	See:  "receive, thread",
}

var HeldRow = kit.Verb{
	Name: "inbox held", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runInboxHeld), Bus: true,
	Result: []heldView{},
	Short:  "list mail that your settings held back",
	Flags:  []kit.Flag{kit.MailboxFlag},
	Does: `Lists the mail in quarantine, each with the reason: mail of blocked senders, and unsigned mail if signatures are
required.`,
	Wont:     "It gives no mail back. tutti doctor --verbose prints the settings and where they come from.",
	Examples: "$ tutti inbox held",
	Exit:     ExitMail,
	See:      "doctor",
}

var OutboxRow = kit.Verb{
	Name: "outbox", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runOutbox), Bus: true,
	Result:   []sentView{},
	Short:    "list what you sent",
	Flags:    []kit.Flag{kit.NewestFlag, kit.MailboxFlag},
	Does:     "Lists the copies of what was sent, newest first: id, age, recipient, thread, kind and first line. Of a message to another machine also: queued, carried or refused there.",
	Wont:     "It does not say what became of a message: tutti store log trail MAILBOX does.",
	Examples: "$ tutti outbox --newest 5",
	Exit:     ExitMail,
	See:      "send, thread, outbox unanswered",
}

var ThreadRow = kit.Verb{
	Name: "thread", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Threads, Opts: kit.WithFlags(runThread), Bus: true,
	Result: render.OneOf{[]json.RawMessage{}, []traceView{}},
	Short:  "show the messages of a thread",
	Args:   "<id>",
	Flags: []kit.Flag{
		{Name: "id", Kind: kit.Text, Value: "id", Under: kit.H2A, Offer: kit.Threads, Help: "the thread"},
		{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "as whom; under h2a it must be given"},
		{Name: "trace", Kind: kit.Switch, Under: kit.Tutti, Help: "what became of the messages, in place of the messages"},
	},
	Does: "Shows all messages of a thread that you received, took or sent, by time. The id of any message stands for its " +
		"thread. If you are the user and name no agent, it looks through the mailboxes of all agents whose keys are here, " +
		"shows senders and recipients, and looks on the other buses that you have used if it is not on this one.\n\n--trace shows what is on record for each message, or for the one whose id is given, " +
		"with times (UTC): stored in the mailbox; pushed, which is each attempt to have its reader look, and by what " +
		"(notification, rewake, queue, channel, nudge, desktop, stop, hook); failed, with why; offered, which is claimed by " +
		"a reader; shown, which is proven; taken, which is acknowledged. With --json a list of {id, from, to, trace: [{step, " +
		"at, by, session, result}]}.",
	Wont:     "It marks nothing. A push proves nothing: only shown does.",
	Examples: "$ tutti thread thr:1780000000000:9f3c\n$ tutti thread --trace env:1780000000000:4b1e",
	Exit:     ExitMail,
	See:      "reply, inbox read",
}

// Lines of exit status that verbs on mail share.
const (
	ExitMail = "0 done; 1 wrong usage, refused, or the reader cannot be determined; 2 there is no bus, no such agent, or no such message; " +
		"3 a file could not be read or written"
	ExitTakes = ExitMail + "; 5 halted"
)
