package comms

import (
	"tutti/internal/app/search"
	"tutti/internal/faces/cli/kit"
)

var SearchVerbs = []kit.Verb{
	{
		Name: "search", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Waits: true, MinArgs: 1, MaxArgs: -1, Bus: true, Opts: kit.WithFlags(runSearch),
		Result: search.Result{},
		Short:  "find text in your mail and project messages",
		Args:   "<text>...",
		Flags: []kit.Flag{
			{Name: "only", Kind: kit.Text, Value: "kind", Choices: []string{"bus", "projects"}, Help: "only mail of the bus, or only that between projects"},
			{Name: "from", Kind: kit.Text, Value: "part", Help: "only from senders with this in their name, in any case"},
			{Name: "since", Kind: kit.Text, Value: "age", Help: "only what is younger than this: 7d, 48h"},
			{Name: "project", Kind: kit.Text, Value: "name", Offer: kit.Projects, Help: "between projects: only what this one got"},
			kit.MailboxFlag,
			kit.NewestFlag,
		},
		Does: `Looks for the words, as they stand one after the other and in any case, in what you got: the texts in your mailbox and your
archive on the bus, and the titles and texts in the mailboxes and archives of all projects. The newest come first, each with its sender,
what its signature is worth, where it lies, and the words around what was found. If you are the user and name no agent, it looks
through the mail of all agents whose keys are here, also on the other buses that you have used.

Signatures between projects are judged by gpg: verified (signers.toml binds the key to the sender), signed (nothing binds it), unsigned, or
why it does not hold. With --json: {found, hits: [{kind, id, from, to, bus, at, verdict, where, path, thread, type, title, snippet}]}.`,
		Wont: `It keeps no index of texts: each search reads what it looks into. It does not look into what you sent, what "store tidy" has packed,
and what your settings hold back, and it marks nothing as read.`,
		Examples: `$ tutti search schema
$ tutti search 'rate limit' --from codex --since 7d
$ tutti search login --only projects --json`,
		Exit: "0 found; 1 wrong usage; 2 nothing was found; 3 a file could not be read; 130 interrupted",
		See:  "inbox, thread, comms status",
	},
}
