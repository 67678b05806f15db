package cli

var commsVerbs = []Verb{
	commsSendRow,
	commsRecvRow,
	{
		Name: "comms retry", Under: Tutti, Group: GroupBus, Halt: Asks, Waits: true, MaxArgs: 1, Offer: Bundles, Apart: exitPanic, Run: runCommsRetry,
		Short: "list what was not delivered, or send it again",
		Args:  "[<bundle>]",
		Flags: []Flag{
			{Name: "all", Kind: Switch, Help: "send all that is kept"},
			commsRetries,
		},
		Does: `Without an argument it lists the messages that were signed and not delivered, with the reason. With a name it sends that one, with
--all every one, oldest first: the same bytes, name and signature.`,
		Wont: "Nothing is sent again by itself, also not after a halt was cleared.",
		Examples: `$ tutti comms retry
$ tutti comms retry --all`,
		Exit: "0 listed, or all delivered; " + exitSend,
		See:  "comms send",
	},
}
