package comms

import (
	"tutti/internal/comms/overview"
	"tutti/internal/comms/watcher"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

const projectsGlob = "~/projects/*/inbox/from-agents/"

var LookVerbs = []kit.Verb{
	{
		Name: "comms status", Under: kit.Tutti | kit.Cross, Group: kit.GroupComms, Halt: kit.Reads, Opts: kit.WithFlags(runCommsStatus), Apart: kit.ExitUsage,
		Result: overview.View{},
		Short:  "show what waits in the mailboxes of all projects",
		Flags: []kit.Flag{
			{Name: "projects-glob", Kind: kit.Text, Value: "glob", Default: projectsGlob, Help: "the mailboxes to look at"},
			{Name: "conversations", Kind: kit.Switch, Help: "also each open conversation, and whom it waits for"},
			{Name: "project", Kind: kit.Text, Value: "name", Offer: kit.Projects, Help: "this project alone"},
			fast.CommsJSON,
		},
		Does: `Shows a row for each mailbox: how many messages of unreleased conversations lie there, and the latest. Those with something
that waits come first. A release that the project wrote itself counts, too. A message whose header cannot be read waits, with one
warning for its project. Below stands how many messages were signed and not delivered.`,
		Wont: "It verifies nothing and changes nothing. A project has a row from its first message on.",
		Examples: `$ tutti comms status
$ cross-agent-status --conversations`,
		Exit:      "0 shown; 1 a mailbox could not be read (the others are shown), or wrong usage",
		CrossExit: "0 shown; 1 a mailbox could not be read (the others are shown); 64 wrong usage",
		See:       "comms recv, comms watch",
	},
	{
		Name: "comms watch", Under: kit.Tutti | kit.Cross, Group: kit.GroupComms, Halt: kit.Stays, Waits: true, Apart: kit.ExitUsage, Opts: kit.WithFlags(runCommsWatch),
		Result: watched{},
		Short:  "tell of each message that comes into a mailbox",
		Flags: []kit.Flag{
			{Name: "projects-glob", Kind: kit.Text, Value: "glob", Default: projectsGlob, Help: "the mailboxes to follow"},
			{Name: "log", Kind: kit.Text, Value: "path", Default: "~/.local/state/cross-agent-comms/watch.log", Help: "where lines are kept; /dev/null: nowhere", Offer: kit.Files},
			{Name: "quiet", Kind: kit.Switch, Under: kit.Cross, Help: "print no lines"},
			{Name: "no-notify", Kind: kit.Switch, Help: "no notices at the desktop"},
			{Name: "once", Kind: kit.Switch, Help: "tell of what is there and end"},
			{Name: "rescan", Kind: kit.Count, Value: "seconds", Default: "60", Help: "time between two looks at everything"},
			fast.CommsJSON,
		},
		Does: `Prints and logs a line for each message that comes (time, project, file, separated by tabs) and shows a desktop notice, at most
one every five seconds for a project. It picks up new projects and mailboxes. It reports once what was there before it started,
and what came while everything was halted. One runs for a user; "tutti service install" lets systemd run it.`,
		Wont: "It opens messages only to see what is released, and acts on none. While the halt switch is on it keeps running, but shows no notices.",
		Examples: `$ tutti comms watch
$ cross-agent-watch --quiet --no-notify --once`,
		Exit:      "0 stopped by a signal, or --once is done; 1 another one runs, nothing to tell with, no project folder, or wrong usage",
		CrossExit: "0 stopped by a signal, or --once is done; 1 another one runs, nothing to tell with, or no project folder; 64 wrong usage",
		See:       "comms status, service install",
	},
}

var ServiceVerbs = []kit.Verb{
	{
		Name: "service install", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Makes, Opts: kit.WithFlags(runServiceInstall),
		Result: watcher.Report{},
		Short:  "let systemd run the watcher of mailboxes",
		Flags:  []kit.Flag{{Name: "no-start", Kind: kit.Switch, Help: "only write the units"}},
		Does: `Writes the user units cross-agent-watch.service and cross-agent-watch.path where they differ from what they should be, and
starts the path unit, which starts the watcher once a mailbox exists. While the halt switch is on nothing is started.`,
		Wont:     "It never replaces a unit that it did not write.",
		Examples: "$ tutti service install",
		Exit:     "0 done; 1 wrong usage; 2 a unit that is not ours is in the way, or the program is not there; 3 a file could not be written",
		See:      "comms watch, install",
	},
	{
		Name: "service remove", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Ends, Run: runServiceRemove,
		Result:   watcher.Report{},
		Short:    "stop the watcher and remove its units",
		Does:     "Stops the path unit and the service, and removes the units that install wrote.",
		Wont:     "Units that are not ours stay. The log stays.",
		Examples: "$ tutti service remove",
		Exit:     "0 done, or there were none; 1 wrong usage; 3 a file could not be removed",
		See:      "service install",
	},
	{
		Name: "service show", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Reads, Run: runServiceShow,
		Result:   watcher.Report{},
		Short:    "show the units of the watcher",
		Does:     "Shows whether the units exist, whether they come from this release, and their state in systemd.",
		Examples: "$ tutti service show",
		Exit:     "0 they are there; 1 wrong usage; 2 one is not",
		See:      "service install, doctor",
	},
}
