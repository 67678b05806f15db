package bus

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var StoreVerbs = []kit.Verb{
	{
		Name: "store migrate", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, Bus: true, Opts: kit.WithFlags(runStoreMigrate),
		Result: render.OneOf{migration{}, unmigrated{}},
		Short:  "convert a bus to another version, or its file names",
		Flags: []kit.Flag{
			{Name: "from", Kind: kit.Text, Value: "version", Default: "1", Help: "the version that the bus has"},
			{Name: "to", Kind: kit.Text, Value: "version", Default: "1", Help: "the version that it gets"},
			{Name: "sanitize-paths", Kind: kit.TrueSwitch, Help: "rename folders and files that carry characters of old releases"},
			{Name: "dry-run", Kind: kit.TrueSwitch, Help: "say what would be done and do nothing"},
		},
		Does:     "Only version 1 exists, so without --sanitize-paths nothing changes. A name that is taken is reported and never overwritten.",
		Examples: "$ tutti store migrate --sanitize-paths --dry-run",
		Exit:     "0 done; 1 wrong usage, or a version that does not exist; 2 a name was taken; 3 a file could not be renamed",
	},
	{
		Name: "store kinds", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Reads, Run: runStoreKinds,
		Result:   []storeKind{},
		Short:    "list the kinds of documents in a bus",
		Does:     "Lists each kind with its path below the bus, its class (how it may be written) and its limits.",
		Examples: "$ tutti store kinds",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "store list", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Reads, MinArgs: 1, MaxArgs: 2, Offer: kit.StoreKinds, Run: runStoreList, Bus: true,
		Result: render.OneOf{[]storeEntry{}, []string{}},
		Short:  "list the documents of a kind",
		Args:   "<kind> [<owner>]",
		Does:   "Lists documents by name. For a kind that has owners, without one, the owners are listed.",
		Examples: `$ tutti store list inbox
$ tutti store list inbox codex:api:3f2a9c01b7de`,
		Exit: kit.ExitBus,
		See:  "inbox, outbox",
	},
	{
		Name: "store show", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Reads, MinArgs: 1, MaxArgs: 3, Offer: kit.StoreKinds, Run: runStoreShow, Bus: true,
		Result: storeDoc{},
		Short:  "print one document",
		Args:   "<kind> [<owner>] [<name>]",
		Does:   "Prints a document as it is stored. On a terminal, it leaves out control characters.",
		Examples: `$ tutti store show schema
$ tutti store show inbox codex:api:3f2a9c01b7de env:1780000000000:9f3c`,
		Exit: kit.ExitBus,
	},
	{
		Name: "store log", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Reads, MinArgs: 1, MaxArgs: 2, Offer: kit.StoreKinds, Opts: kit.WithFlags(runStoreLog), Bus: true,
		Result: storeLine{},
		Short:  "print the lines of a log",
		Args:   "<kind> [<name>]",
		Flags:  []kit.Flag{{Name: "from", Kind: kit.Text, Value: "pos", Default: "the beginning", Help: "begin behind this position"}},
		Does:   "Prints the lines of a log. With --json each line comes with its position and the one behind it, for --from.",
		Examples: `$ tutti store log instances
$ tutti store log trail codex:api:3f2a9c01b7de --json`,
		Exit: "0 done; 1 wrong usage; 2 there is no bus, or the log no longer has that position; 3 a file could not be read",
	},
	{
		Name: "store check", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Run: runStoreCheck, Bus: true,
		Result:   checkedStore{},
		Short:    "read the whole bus and name what is damaged",
		Does:     "Reads every document and every line of every log, and names what is a link, too large, a stranger's or no JSON.",
		Wont:     "It mends nothing and leaves everything where it is.",
		Examples: "$ tutti store check",
		Exit:     "0 all is fit; 1 wrong usage; 2 something is unfit, or there is no bus; 3 a file could not be read",
		See:      "doctor",
	},
}
