package fast

import (
	"tutti/internal/faces/cli/kit"
)

var WatchRow = kit.Verb{
	Name: "watch", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Stays, Waits: true, Opts: kit.WithFlags(runWatch), Bus: true,
	Result: eventViews,
	Short:  "follow mail and agents as they arrive",
	Flags: []kit.Flag{
		{Name: "all", Kind: kit.Switch, Help: "watch the mailboxes of all agents"},
		{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent whose mailbox to use"},
		{Name: "once", Kind: kit.Switch, Help: "end after the first message, or the first agent that came or went"},
	},
	Does: `Prints a line for each message that arrives and for each session of an agent that joins or leaves, until it is
interrupted. What was there before is not printed. With --json each line is an object, and the first one, "watching", says
that from now on nothing is missed. A session that ended without notice is reported after 90 seconds, at the latest a minute
later.

During a halt it prints nothing. After the halt it prints how many messages came meanwhile.`,
	Wont: "It marks nothing as read and takes nothing: tutti receive does.",
	Examples: `$ tutti watch
$ tutti watch --all --json
$ tutti watch --once --timeout 10m`,
	Exit: "0 --once and something came; 1 wrong usage, or the reader cannot be determined; 2 there is no bus, no such agent, or no mailbox; 3 a file could not be read, or --timeout passed; 130 interrupted",
	See:  "receive, status",
}
