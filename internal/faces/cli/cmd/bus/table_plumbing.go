package bus

import (
	"tutti/internal/faces/cli/kit"
)

var PlumbingVerbs = []kit.Verb{
	{
		Name: "plumbing canon", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Run: runCanon, TextOnly: true,
		Short:    "print the canonical form of JSON",
		Args:     "<json>|@<file>|-",
		Does:     "Prints the one text that hashes and signatures are made over, without a line feed behind it.",
		Examples: `$ tutti plumbing canon '{"b":1.0,"a":2}'`,
		Exit:     kit.ExitPlain,
	},
	{
		Name: "plumbing hash", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Run: runHash, TextOnly: true,
		Short:    "print the hash of JSON",
		Args:     "<json>|@<file>|-",
		Does:     `Prints "sha256:" and the digits of the hash of the canonical form.`,
		Examples: `$ tutti plumbing hash '{"b":1.0,"a":2}'`,
		Exit:     kit.ExitPlain,
	},
	{
		Name: "plumbing address", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Run: runAddress, TextOnly: true,
		Short:    "print the canonical form of an address",
		Args:     "<address>",
		Does:     "Prints the form in which addresses are compared.",
		Examples: "$ tutti plumbing address 'Claude:My Api'",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "plumbing segment", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Run: runSegment, TextOnly: true,
		Short:    "print the file name part of an id",
		Args:     "<id>",
		Does:     "Prints the form of an id that file names use. The id is not made canonical first.",
		Examples: "$ tutti plumbing segment claude:api:3f2a9c01b7de",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "plumbing verify", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Opts: kit.WithFlags(runVerify),
		Result: verifiedSignature{},
		Short:  "check a signature over JSON",
		Args:   "<json>|@<file>|-",
		Flags: []kit.Flag{
			{Name: "key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "the public key, as PEM"},
			{Name: "signature", Kind: kit.Text, Value: "base64", Help: "the signature; without it those in the member signatures are tried"},
			{Name: "by", Kind: kit.Text, Value: "id", Help: "only signatures by this one"},
		},
		Does: `Checks an Ed25519 signature over the canonical form. Without --signature the value is an envelope: its
member signatures is left out of what was signed, and one of them has to fit.`,
		Examples: "$ tutti plumbing verify --key api.pub.pem @envelope.json",
		Exit:     "0 the signature is good; 1 wrong usage; 2 it is not; 3 a file could not be read",
		See:      "keys list",
	},
	{
		Name: "plumbing wait-halt", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, Opts: kit.WithFlags(runWaitHalt), Waits: true,
		Result:   waited{},
		Short:    "wait until the halt switch is set, or cleared",
		Flags:    []kit.Flag{{Name: "clear", Kind: kit.Switch, Help: "wait until it is cleared"}},
		Does:     "Waits and then prints what happened, and for a halt how long after the file appeared it was noticed.",
		Examples: "$ tutti plumbing wait-halt --timeout 10s",
		Exit:     "0 it happened; 1 wrong usage; 3 --timeout passed; 130 interrupted",
		See:      "halt",
	},
	{
		Name: "plumbing store-put", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Acts, MinArgs: 2, MaxArgs: 4, Offer: kit.StoreKinds, Run: runStorePut, Bus: true,
		Result:   stored{},
		Short:    "create one document in the bus",
		Args:     "<kind> [<owner>] [<name>] <json>|@<file>|-",
		Does:     "Creates a document and prints its revision. It judges nothing but the size and that it is JSON.",
		Examples: `$ tutti plumbing store-put policy demo '{"kind":"POLICY"}'`,
		Exit:     "0 created; 1 wrong usage; 2 the name is taken, or there is no bus; 3 it could not be written; 5 halted",
	},
	{
		Name: "plumbing store-append", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Acts, MinArgs: 2, MaxArgs: 3, Offer: kit.StoreKinds, Opts: kit.WithFlags(runStoreAppend), Bus: true,
		Result:   stored{},
		Short:    "add one line to a log of the bus",
		Args:     "<kind> [<name>] <json>|@<file>|-",
		Flags:    []kit.Flag{{Name: "after", Kind: kit.Text, Value: "pos", Default: "wherever it ends", Help: "only if the log still ends there"}},
		Does:     "Adds a line to a log and prints the position behind it.",
		Examples: `$ tutti plumbing store-append conductor-claims '{"type":"release"}'`,
		Exit:     "0 added; 1 wrong usage; 2 the log has grown, or there is no bus; 3 it could not be written; 5 halted",
	},
	{
		Name: "plumbing rss", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, Run: runRSS,
		Result:   memoryPeak{},
		Short:    "print the peak memory use of this process",
		Does:     "Prints the high water mark of resident memory in bytes, read inside the process.",
		Examples: "$ tutti plumbing rss",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "plumbing handover", Under: kit.Tutti, Group: kit.GroupPlumbing, Halt: kit.Indifferent, Run: runHandover,
		Result:   handedOver{},
		Short:    "let the full program answer",
		Does:     "Is answered by tutti-full, to which tutti hands over, and prints its build. It shows that the hand-over works and what it costs.",
		Examples: "$ tutti plumbing handover",
		Exit:     "0 done; 1 wrong usage; 3 tutti-full is missing or of another build",
	},
}
