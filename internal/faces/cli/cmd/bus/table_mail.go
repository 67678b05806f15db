package bus

import (
	"encoding/json"

	"tutti/internal/bus/mail"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var MailVerbs = []kit.Verb{
	fast.SendRow,
	fast.ReceiveRow,
	fast.ReplyRow,
	fast.AckRow,
	fast.InboxRow,
	fast.HeldRow,
	{
		Name: "inbox put", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runInboxPut), Bus: true,
		Result: deposited{},
		Short:  "put an envelope into a mailbox",
		Args:   "<json>|@<file>|-",
		Flags:  []kit.Flag{{Name: "instance", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "agent whose mailbox to use; must be given"}, kit.EnvelopeFlag, kit.AsFlag},
		Does: `Puts an envelope into the mailbox of exactly that address: an alias gets its own mailbox, and an unregistered full id
is accepted with a warning. A signed envelope is stored as it is. Otherwise tutti adds what is missing (protocol,
version, id, type, actor, time), and signs it if the key of its actor is here. The key of a person signs only at a
terminal.`,
		Wont:     "It does not resolve the address to an agent: tutti send does.",
		Examples: "$ tutti inbox put --instance codex:api:3f2a9c01b7de @message.json",
		Exit:     "0 stored, or stored already; 1 wrong usage, no envelope, or the address is refused; 2 there is no bus; 3 a file could not be written; 5 halted",
		See:      "send",
	},
	{
		Name: "inbox read", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Messages, Opts: kit.WithFlags(runInboxRead), Bus: true,
		Result: render.OneOf{fast.ItemView{}, []json.RawMessage{}},
		Short:  "print the whole mailbox, or one message in full",
		Args:   "[<id>]",
		Flags:  []kit.Flag{{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent whose mailbox to use; under h2a it must be given"}},
		Does: `Prints all messages in the order of their ids, or the one of that id whole, however long it is and wherever it lies:
mailbox, archive or outbox. It marks nothing. Under h2a: the envelopes as a JSON list.`,
		Examples: `$ tutti inbox read
$ tutti inbox read env:1780000000000:9f3c | less`,
		Exit: fast.ExitMail,
	},
	{
		Name: "inbox pop", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Messages, Opts: kit.WithFlags(runInboxPop), Bus: true,
		Result: json.RawMessage{},
		Short:  "take one message, and print it",
		Args:   "<id>",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent whose mailbox to use; under h2a it must be given"},
			{Name: "envelope", Kind: kit.Text, Value: "id", Under: kit.H2A, Offer: kit.Messages, Help: "the id of the message"},
		},
		Does:     "Moves a message to the archive and prints it. If several processes take the same message, one gets it.",
		Wont:     "It sends no answer: tutti reply does, and also acknowledges the message.",
		Examples: "$ tutti inbox pop env:1780000000000:9f3c",
		Exit:     fast.ExitTakes,
		See:      "receive, ack",
	},
	fast.OutboxRow,
	{
		Name: "outbox unanswered", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runUnanswered), Bus: true,
		Result: []mail.Question{},
		Short:  "list what you sent that has no answer yet",
		Flags:  []kit.Flag{kit.MailboxFlag},
		Does: `Lists the messages that have no answer yet, oldest first: id, age, sender, recipient and first line. A message is answered
when its recipient replies to it, or writes later in its thread. Replies and notices are not listed. If you are the user and name no agent,
it lists those of all agents whose keys are here, also on the other buses that you have used.`,
		Wont:     "It does not know whether a message asked for an answer.",
		Examples: "$ tutti outbox unanswered\n$ tutti outbox unanswered --as claude:api --json",
		Exit:     fast.ExitMail,
		See:      "outbox, thread, receive",
	},
	{
		Name: "outbox put", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runOutboxPut), Bus: true,
		Result:   copied{},
		Short:    "store a copy of an envelope that was sent elsewhere",
		Args:     "<json>|@<file>|-",
		Flags:    []kit.Flag{{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "agent whose outbox to use; must be given"}, kit.EnvelopeFlag},
		Does:     "Puts an envelope into an outbox. Missing members are added as for inbox put. It sends nothing.",
		Examples: "$ tutti outbox put --instance claude:api:3f2a9c01b7de @message.json",
		Exit:     "0 stored, or stored already; 1 wrong usage, or no envelope; 2 there is no bus; 3 a file could not be written; 5 halted",
	},
	{
		Name: "outbox read", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runOutboxRead), Bus: true,
		Result:   []json.RawMessage{},
		Short:    "print everything that was sent",
		Flags:    []kit.Flag{{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent whose outbox to use; under h2a it must be given"}},
		Does:     "Prints the copies of what was sent in the order of their ids. Under h2a: the envelopes as a JSON list.",
		Examples: "$ tutti outbox read",
		Exit:     fast.ExitMail,
	},
	fast.ThreadRow,
}
