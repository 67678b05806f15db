package bus

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var WatchVerbs = []kit.Verb{
	fast.WatchRow,
}

var TidyVerbs = []kit.Verb{
	{
		Name: "store tidy", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runStoreTidy),
		Result: tidied{},
		Short:  "compress old sent and archived messages, by month",
		Flags: []kit.Flag{
			{Name: "older", Kind: kit.Text, Value: "age", Default: "90d", Help: "those that lie longer than this: 90d, 48h; at least a day"},
			{Name: "dry-run", Kind: kit.Switch, Help: "say what would be done and do nothing"},
		},
		Does: `Packs the messages of archive and outbox that lie there for longer than --older into one file for each mailbox
and month, tidied/KIND/OWNER/MONTH.jsonl.gz in the bus, and removes them. No message is removed before the file was read back
and compared. Each line of a file is a message with its name. What was cut off goes on when it is run again. Nothing does
this by itself.

Of the trail of a mailbox (who was shown what, and when) it takes out the lines that are older than that, and than 30 days,
of messages that lie in no mailbox any more, where the trail has more than 4 MiB.

What was tidied away is no longer shown by thread or outbox; zgrep finds it. A message that is sent again under the id
of one that was tidied away counts as new.`,
		Wont: "It does not touch unread mail. It names a file that is not a message, and leaves it where it is.",
		Examples: `$ tutti store tidy --dry-run
$ tutti store tidy --older 180d
$ zgrep -h 'thr:1781258400000:1f2e' ~/h2a-workspace/.h2a/tidied/*/*/*.gz`,
		Exit: "0 done; 1 wrong usage; 2 something is unfit and stayed, another run is at work, or there is no bus; 3 a file could not be read or written",
		See:  "thread",
	},
}
