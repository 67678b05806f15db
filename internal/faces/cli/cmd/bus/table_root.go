package bus

import (
	"tutti/internal/faces/cli/kit"
)

var RootVerbs = []kit.Verb{
	{
		Name: "init", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, MaxArgs: 1, Offer: kit.Folders, Opts: kit.WithFlags(runInit), Bus: true,
		Result: initiated{},
		Short:  "make a bus",
		Args:   "[<folder>]",
		Flags:  []kit.Flag{{Name: "force", Kind: kit.TrueSwitch, Help: "also where git keeps the folder under its control"}},
		Does: `Makes the bus that verbs use here (--root, H2A_ROOT, the nearest accepted .h2a, ~/h2a-workspace/.h2a), or
<folder>/.h2a if you name a folder. tutti accepts a bus that it makes, so verbs below that folder use it. An existing
bus is left as it is. In a git repository the bus gets a .gitignore, so that its private keys are not committed.`,
		Wont: `It does not accept a bus that another program or person made (tutti root accept), and makes none in a folder that git
tracks.`,
		Examples: `$ tutti init
bus ready: ~/h2a-workspace/.h2a
$ tutti init .`,
		Exit: kit.ExitPlain,
		See:  "root, connect, doctor",
	},
	{
		Name: "root", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Run: runRoot,
		Result: rootView{},
		Short:  "show which bus verbs use here, and why",
		Does: `Shows the bus that verbs use here, why, and which other buses are near. The first of these is used: --root, H2A_ROOT,
the nearest folder .h2a from here upwards that you made or accepted, ~/h2a-workspace/.h2a.`,
		Wont:     "It makes nothing (tutti init does), and does not use a bus that came with a repository before you accept it.",
		Examples: "$ tutti root",
		Exit:     kit.ExitPlain,
		See:      "init",
	},
	{
		Name: "root accept", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Makes, MinArgs: 1, MaxArgs: 1, Offer: kit.Folders, Opts: kit.WithFlags(runRootAccept),
		Result: rootChange{},
		Short:  "allow verbs to use the bus of a folder",
		Args:   "<path>",
		Flags:  []kit.Flag{{Name: "force", Kind: kit.Switch, Help: "also where git keeps the folder under its control"}},
		Does: `Remembers, for you alone, that the bus at <path> may be used by what runs below its parent folder. The
folder is remembered by path, device and inode: another one put in its place is not accepted.`,
		Wont: `It cannot tell who made the bus: accept only one whose maker you trust. Anyone who can write there can write your
agents' mail.`,
		Examples: "$ tutti root accept ./.h2a",
		Exit:     "0 done; 1 wrong usage, or git tracks it; 2 there is no bus; 3 a file could not be written",
	},
	{
		Name: "root drop", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Folders, Run: runRootDrop,
		Result:   rootChange{},
		Short:    "withdraw that permission",
		Args:     "<path>",
		Does:     "Takes the acceptance of a bus back. The bus itself stays as it is.",
		Examples: "$ tutti root drop ./.h2a",
		Exit:     "0 done; 1 wrong usage; 2 it was not accepted; 3 a file could not be written",
	},
	{
		Name: "root list", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Run: runRootList,
		Result:   []acceptedRoot{},
		Short:    "list the buses that you made or accepted",
		Does:     "Lists the accepted buses, and says of each whether the folder is still the one that was accepted.",
		Examples: "$ tutti root list",
		Exit:     kit.ExitPlain,
	},
}
