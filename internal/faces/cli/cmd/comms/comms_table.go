package comms

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{
	fast.CommsSendRow,
	fast.CommsRecvRow,
	{
		Name: "comms retry", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Asks, Waits: true, MaxArgs: 1, Offer: kit.Bundles, Apart: kit.ExitPanic, Opts: kit.WithFlags(fast.RunCommsRetry), Result: fast.RetryResults,
		Short: "list what was not delivered, send it again or give it up",
		Args:  "[<bundle>]",
		Flags: []kit.Flag{
			{Name: "all", Kind: kit.Switch, Help: "send all that is kept"},
			{Name: "drop", Kind: kit.Switch, Help: "give up the message that is named, and remove it"},
			fast.CommsRetries,
		},
		Does: `Without an argument it lists the messages that were signed and not delivered, with the reason. With a name it sends that one, with
--all every one, oldest first: the same bytes, name and signature.`,
		Wont: "Nothing is sent again by itself, also not after a halt was cleared.",
		Examples: `$ tutti comms retry
$ tutti comms retry --all
$ tutti comms retry 20260427T085611Z-from-web-question --drop`,
		Exit: "0 listed, given up, or all delivered; " + fast.ExitSend,
		See:  "comms send",
	},
}
