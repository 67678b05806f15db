package cli

var storeVerbs = []Verb{
	{
		Name: "store migrate", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Bus: true, Run: runStoreMigrate,
		Short: "convert a bus to another version, or its file names",
		Flags: []Flag{
			{Name: "from", Kind: Text, Value: "version", Default: "1", Help: "the version that the bus has"},
			{Name: "to", Kind: Text, Value: "version", Default: "1", Help: "the version that it gets"},
			{Name: "sanitize-paths", Kind: TrueSwitch, Help: "rename folders and files that carry characters of old releases"},
			{Name: "dry-run", Kind: TrueSwitch, Help: "say what would be done and do nothing"},
		},
		Does:     "Only version 1 exists, so without --sanitize-paths nothing changes. A name that is taken is reported and never overwritten.",
		Examples: "$ tutti store migrate --sanitize-paths --dry-run",
		Exit:     "0 done; 1 wrong usage, or a version that does not exist; 2 a name was taken; 3 a file could not be renamed",
	},
	{
		Name: "store kinds", Under: Tutti, Group: GroupPlumbing, Halt: Reads, Run: runStoreKinds,
		Short:    "list the kinds of documents in a bus",
		Does:     "Lists each kind with its path below the bus, its class (how it may be written) and its limits.",
		Examples: "$ tutti store kinds",
		Exit:     exitPlain,
	},
	{
		Name: "store list", Under: Tutti, Group: GroupPlumbing, Halt: Reads, MinArgs: 1, MaxArgs: 2, Offer: StoreKinds, Run: runStoreList, Bus: true,
		Short: "list the documents of a kind",
		Args:  "<kind> [<owner>]",
		Does:  "Lists documents by name. For a kind that has owners, without one, the owners are listed.",
		Examples: `$ tutti store list inbox
$ tutti store list inbox codex:api:3f2a9c01b7de`,
		Exit: exitBus,
		See:  "inbox, outbox",
	},
	{
		Name: "store show", Under: Tutti, Group: GroupPlumbing, Halt: Reads, MinArgs: 1, MaxArgs: 3, Offer: StoreKinds, Run: runStoreShow, Bus: true,
		Short: "print one document",
		Args:  "<kind> [<owner>] [<name>]",
		Does:  "Prints a document as it is stored. On a terminal, it leaves out control characters.",
		Examples: `$ tutti store show schema
$ tutti store show inbox codex:api:3f2a9c01b7de env:1780000000000:9f3c`,
		Exit: exitBus,
	},
	{
		Name: "store log", Under: Tutti, Group: GroupPlumbing, Halt: Reads, MinArgs: 1, MaxArgs: 2, Offer: StoreKinds, Run: runStoreLog, Bus: true,
		Short: "print the lines of a log",
		Args:  "<kind> [<name>]",
		Flags: []Flag{{Name: "from", Kind: Text, Value: "pos", Default: "the beginning", Help: "begin behind this position"}},
		Does:  "Prints the lines of a log. With --json each line comes with its position and the one behind it, for --from.",
		Examples: `$ tutti store log instances
$ tutti store log trail codex:api:3f2a9c01b7de --json`,
		Exit: "0 done; 1 wrong usage; 2 there is no bus, or the log no longer has that position; 3 a file could not be read",
	},
	{
		Name: "store check", Under: Tutti, Group: GroupSetup, Halt: Reads, Run: runStoreCheck, Bus: true,
		Short:    "read the whole bus and name what is damaged",
		Does:     "Reads every document and every line of every log, and names what is a link, too large, a stranger's or no JSON.",
		Wont:     "It mends nothing and leaves everything where it is.",
		Examples: "$ tutti store check",
		Exit:     "0 all is fit; 1 wrong usage; 2 something is unfit, or there is no bus; 3 a file could not be read",
		See:      "doctor",
	},
}
