package comms

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{
	fast.CommsSendRow,
	fast.CommsRecvRow,
	{
		Name: "comms retry", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Asks, Waits: true, MaxArgs: 1, Offer: kit.Bundles, Apart: kit.ExitPanic, Run: fast.RunCommsRetry,
		Short: "list what was not delivered, or send it again",
		Args:  "[<bundle>]",
		Flags: []kit.Flag{
			{Name: "all", Kind: kit.Switch, Help: "send all that is kept"},
			fast.CommsRetries,
		},
		Does: `Without an argument it lists the messages that were signed and not delivered, with the reason. With a name it sends that one, with
--all every one, oldest first: the same bytes, name and signature.`,
		Wont: "Nothing is sent again by itself, also not after a halt was cleared.",
		Examples: `$ tutti comms retry
$ tutti comms retry --all`,
		Exit: "0 listed, or all delivered; " + fast.ExitSend,
		See:  "comms send",
	},
}
