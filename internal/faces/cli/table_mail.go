package cli

var mailVerbs = []Verb{
	sendRow,
	receiveRow,
	replyRow,
	ackRow,
	inboxRow,
	heldRow,
	{
		Name: "inbox put", Under: Tutti | H2A, Group: GroupBus, Halt: Acts, MaxArgs: 1, Offer: Files, Run: runInboxPut, Bus: true,
		Short: "put an envelope into a mailbox",
		Args:  "<json>|@<file>|-",
		Flags: []Flag{{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "whose mailbox; must be given"}, envelopeFlag, asFlag},
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
		Name: "inbox read", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, MaxArgs: 1, Offer: Messages, Run: runInboxRead, Bus: true,
		Short: "print the whole mailbox, or one message in full",
		Args:  "[<id>]",
		Flags: []Flag{{Name: "instance", Alias: "as", Kind: Text, Value: "id", Default: "who speaks here", Offer: OwnAgents, Help: "whose mailbox; under h2a it must be given"}},
		Does: `Prints all messages in the order of their ids, or the one of that id whole, however long it is and wherever it lies:
mailbox, archive or outbox. It marks nothing. Under h2a: the envelopes as a JSON list.`,
		Examples: `$ tutti inbox read
$ tutti inbox read env:1780000000000:9f3c | less`,
		Exit: exitMail,
	},
	{
		Name: "inbox pop", Under: Tutti | H2A, Group: GroupBus, Halt: Acts, MaxArgs: 1, Offer: Messages, Run: runInboxPop, Bus: true,
		Short: "take one message, and print it",
		Args:  "<id>",
		Flags: []Flag{
			{Name: "instance", Alias: "as", Kind: Text, Value: "id", Default: "who speaks here", Offer: OwnAgents, Help: "whose mailbox; under h2a it must be given"},
			{Name: "envelope", Kind: Text, Value: "id", Under: H2A, Offer: Messages, Help: "the id of the message"},
		},
		Does:     "Moves a message to the archive and prints it. If several processes take the same message, one gets it.",
		Wont:     "It sends no answer: tutti reply does, and also acknowledges the message.",
		Examples: "$ tutti inbox pop env:1780000000000:9f3c",
		Exit:     exitTakes,
		See:      "receive, ack",
	},
	outboxRow,
	{
		Name: "outbox put", Under: Tutti | H2A, Group: GroupBus, Halt: Acts, MaxArgs: 1, Offer: Files, Run: runOutboxPut, Bus: true,
		Short:    "store a copy of an envelope that was sent elsewhere",
		Args:     "<json>|@<file>|-",
		Flags:    []Flag{{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "whose outbox; must be given"}, envelopeFlag},
		Does:     "Puts an envelope into an outbox. Missing members are added as for inbox put. It sends nothing.",
		Examples: "$ tutti outbox put --instance claude:api:3f2a9c01b7de @message.json",
		Exit:     "0 stored, or stored already; 1 wrong usage, or no envelope; 2 there is no bus; 3 a file could not be written; 5 halted",
	},
	{
		Name: "outbox read", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runOutboxRead, Bus: true,
		Short:    "print everything that was sent",
		Flags:    []Flag{{Name: "instance", Alias: "as", Kind: Text, Value: "id", Default: "who speaks here", Offer: OwnAgents, Help: "whose outbox; under h2a it must be given"}},
		Does:     "Prints the copies of what was sent in the order of their ids. Under h2a: the envelopes as a JSON list.",
		Examples: "$ tutti outbox read",
		Exit:     exitMail,
	},
	threadRow,
}
