package cli

// verbs is the table. Each family is a list of its own; the order is that of help. All of it is there before the program
// begins: what would have to be put into it then is a twentieth of a start, and each run pays for it. So a list of it is written down where it
// is used or is a slice, not a part of an array or of a larger value.
var verbs = [...]*[]Verb{&stopVerbs, &busVerbs, &mailVerbs, &searchVerbs, &keyVerbs, &watchVerbs, &upVerbs, &commsVerbs, &commsMoreVerbs, &commsLookVerbs, &commsNetVerbs, &sessionVerbs, &stopSessionVerbs, &screenVerbs, &monitorSessionVerbs, &keepaliveVerbs, &jobVerbs, &mcpVerbs, &hookVerbs, &setupVerbs, &serviceVerbs, &storeVerbs, &tidyVerbs, &hostVerbs, &skillVerbs, &identityVerbs, &negotiateVerbs, &declareVerbs, &signalVerbs, &deployVerbs, &conductorVerbs, &leaseVerbs, &orgVerbs, &modelVerbs, &profileVerbs, &sysmlVerbs, &drumbeatVerbs, &remoteVerbs, &driveVerbs, &demoVerbs, &programVerbs, &plumbingVerbs}

// Lines of exit status that several verbs share.
const (
	exitPlain = "0 done; 1 wrong usage; 3 a file could not be read or written"
	exitBus   = "0 done; 1 wrong usage; 2 there is no bus, or no such thing in it; 3 a file could not be read or written"
)

var stopVerbs = []Verb{
	{
		Name: "halt", Under: Tutti | H2A | Cross, Group: GroupStop, Halt: Ends, Lax: true, MaxArgs: -1, Anyway: true, Run: runHalt,
		Short: "stop every agent of yours, now",
		Args:  "[<reason>]",
		Flags: []Flag{
			{Name: "tailnet", Kind: Switch, Help: "also halt your other machines, by ssh: those of ~/.config/cross-agent-comms/peers.toml"},
			{Name: "no-stop-watcher", Kind: Switch, Help: "leave the user unit cross-agent-watch running"},
			{Name: "kill", Kind: Switch, Under: Tutti, Help: "then end the agent CLIs of this machine and what their tools run"},
			{Name: "yes", Kind: Switch, Under: Tutti, Help: "with --kill: do not ask"},
		},
		Does: `Sets the halt switch: nothing is sent, started or typed by any agent of yours until it is cleared. What is
in hand ends within seconds. The reason is shown to everybody who is stopped. Halting again refreshes the reason; without
one the old reason stays.

Then it waits up to one second and prints what it reached: a line for each agent CLI that runs here, also for those that tutti
never met. An agent is counted as stopped when it acknowledged the halt, when its hooks deny its next tool call, or when its
turn was interrupted.

With --kill it then ends these agent CLIs and what their tools run: SIGTERM, and SIGKILL after four seconds. It asks at a
terminal first. An agent may halt, but not use --kill. Agents under another home folder or in a container are left alone.

With --tailnet the other machines follow, side by side and with 10 s each: a line for every one, and the last line begins with
PARTIAL HALT and names those that were not halted, if there are any. The reason is the same there.

A wrong flag does not keep it from halting: it halts first and complains afterwards. It reads no settings and no bus.`,
		Wont: "Without --kill it ends no process. It deletes no message and cuts off no transfer.",
		Examples: `$ tutti halt 'runaway loop'
$ tutti halt --tailnet 'disk check'
$ tutti halt --kill
$ touch ~/.config/cross-agent-comms/HALT    # does as much`,
		Exit: "0 halted; 1 not every machine, or a wrong argument, or --kill was refused (this one is halted all the same); 2 an agent still runs after --kill; " +
			"3 the switch could not be set, or --kill could not look",
		CrossExit: "0 halted; 1 not every machine (this one is halted all the same), or the switch could not be set; " +
			"64 a wrong argument (this machine is halted all the same)",
		See: "resume",
	},
	{
		Name: "resume", Under: Tutti | H2A | Cross, Group: GroupStop, Halt: Ends, Anyway: true, Run: runResume,
		Short: "clear the halt switch",
		Flags: []Flag{
			{Name: "tailnet", Kind: Switch, Help: "also clear it on your other machines, by ssh"},
			{Name: "no-start-watcher", Kind: Switch, Help: "do not start the user unit cross-agent-watch"},
			{
				Name: "session", Kind: Text, Value: "agent", Under: Tutti, Offer: OwnAgents,
				Help: "also let this agent of yours go on, and wake it if it is idle",
			},
			{Name: "wake", Kind: Switch, Under: Tutti, Help: "also let all agents go on that the halt stopped, and wake those that are idle"},
		},
		Does: `Clears the halt switch and starts the watcher. Sending and receiving work again, and what waited is picked up. What the halt
has left lying is shown: messages that were kept because of it, and conversations that are open.

With --tailnet the other machines follow as with halt; the last line begins with PARTIAL RESUME if not all of them did.`,
		Wont: `It is refused below an agent CLI: only you lift a halt. It lets no agent go on by itself: an intentional stop must not be undone in silence. It says how many wait. Tell the agent of
each session, name it with --session, or wake all with --wake, now or later.`,
		Examples: `$ tutti resume
$ rm ~/.config/cross-agent-comms/HALT    # does as much, but for the watcher`,
		Exit:      "0 cleared, or nothing was halted; 1 still halted, here or on another machine, or wrong usage",
		CrossExit: "0 cleared, or nothing was halted; 1 still halted, here or on another machine; 64 wrong usage",
		See:       "halt",
	},
	{
		Name: "pause", Under: Tutti, Group: GroupStop, Halt: Ends, MinArgs: 1, MaxArgs: -1, Offer: OwnAgents, Run: runPause,
		Short: "deny the tools of one agent or folder",
		Args:  "<agent>|<folder> [<reason>]",
		Does: `Denies the tool calls and prompts of one agent, or of all agents that work in a folder, through the hooks of the agent
CLI. Other agents go on. A folder covers everything below its real path, and the git worktrees of repositories there. A pause
survives a restart; a pause that cannot be read counts. What has a slash is a folder, and what has a colon is an agent. An agent
may pause only itself.`,
		Wont: "It does not reach an agent CLI without hooks of tutti, ends no command in hand, and does not keep the agent from sending.",
		Examples: `$ tutti pause claude:api 'over budget'
$ tutti pause ~/src/shop`,
		Exit: "0 paused; 1 wrong usage, or refused below an agent CLI; 2 no such agent; 3 a file could not be written",
		See:  "unpause, halt, status",
	},
	{
		Name: "unpause", Under: Tutti, Group: GroupStop, Halt: Ends, MinArgs: 1, MaxArgs: 1, Offer: OwnAgents, Run: runUnpause,
		Short:    "end the pause of an agent or folder",
		Args:     "<agent>|<folder>",
		Does:     "Ends a pause. It is recorded and announced, as the end of a halt is.",
		Wont:     "It is refused below an agent CLI: only you end a pause. It does not lift a halt.",
		Examples: "$ tutti unpause ~/src/shop",
		Exit:     "0 done; 1 wrong usage, or refused below an agent CLI; 2 it is not paused; 3 a file could not be written",
		See:      "pause, resume",
	},
}

var setupVerbs = []Verb{
	{
		Name: "init", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, MaxArgs: 1, Offer: Folders, Run: runInit, Bus: true,
		Short: "make a bus",
		Args:  "[<folder>]",
		Flags: []Flag{{Name: "force", Kind: TrueSwitch, Help: "also where git keeps the folder under its control"}},
		Does: `Makes the bus that is meant (--root, H2A_ROOT, the nearest accepted .h2a, ~/h2a-workspace/.h2a), or
<folder>/.h2a when a folder is named. A bus that it makes is accepted: verbs below that folder use it. One that is there
already is left as it is.`,
		Wont: "It accepts no bus that somebody else made (tutti root accept), and makes none that git tracks: whoever can push would write your agents' mail.",
		Examples: `$ tutti init
bus ready: ~/h2a-workspace/.h2a
$ tutti init .`,
		Exit: exitPlain,
		See:  "root, connect, doctor",
	},
	{
		Name: "root", Under: Tutti, Group: GroupSetup, Halt: Reads, Rare: true, Run: runRoot,
		Short: "show which bus is meant, and why",
		Does: `Shows the bus that verbs use here, where it comes from, and what else lies near. The first of these is meant: --root,
H2A_ROOT, the nearest folder .h2a from here upwards that you made or accepted, ~/h2a-workspace/.h2a.`,
		Wont:     "It makes nothing (tutti init does), and uses no bus that came with somebody's repository before you accept it.",
		Examples: "$ tutti root",
		Exit:     exitPlain,
		See:      "init",
	},
	{
		Name: "root accept", Under: Tutti, Group: GroupSetup, Halt: Reads, MinArgs: 1, MaxArgs: 1, Offer: Folders, Run: runRootAccept,
		Short: "let the bus of a folder be used",
		Args:  "<path>",
		Flags: []Flag{{Name: "force", Kind: Switch, Help: "also where git keeps the folder under its control"}},
		Does: `Remembers, for you alone, that the bus at <path> may be used by what runs below its parent folder. The
folder is remembered by path, device and inode: another one put in its place is not accepted.`,
		Wont:     "It cannot tell who made the bus: accept only one whose maker you trust. Whoever can write there can write your agents' mail.",
		Examples: "$ tutti root accept ./.h2a",
		Exit:     "0 done; 1 wrong usage, or git tracks it; 2 there is no bus; 3 a file could not be written",
	},
	{
		Name: "root drop", Under: Tutti, Group: GroupSetup, Halt: Reads, MinArgs: 1, MaxArgs: 1, Offer: Folders, Run: runRootDrop,
		Short:    "take that back",
		Args:     "<path>",
		Does:     "Takes the acceptance of a bus back. The bus itself stays as it is.",
		Examples: "$ tutti root drop ./.h2a",
		Exit:     "0 done; 1 wrong usage; 2 it was not accepted; 3 a file could not be written",
	},
	{
		Name: "root list", Under: Tutti, Group: GroupSetup, Halt: Reads, Run: runRootList,
		Short:    "list the buses that you made or accepted",
		Does:     "Lists the accepted buses, and says of each whether the folder is still the one that was accepted.",
		Examples: "$ tutti root list",
		Exit:     exitPlain,
	},
	{
		Name: "doctor", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Run: runDoctor, Bus: true,
		Short: "look what is wrong, and say what to type",
		Flags: []Flag{
			{Name: "scan", Kind: Text, Value: "dir", Offer: Folders, Help: "look for stray buses in the folders of this one"},
			{Name: "prune", Kind: Switch, Help: "list mailboxes that nobody can own, and what would be done with them"},
			{Name: "apply", Kind: TrueSwitch, Help: "with --prune: move them to quarantine"},
			{Name: "end", Kind: Switch, Under: Tutti, Help: "end agent CLI and MCP server processes whose session has ended"},
			{Name: "yes", Kind: Switch, Under: Tutti, Help: "with --end: do not ask"},
		},
		Does: `Looks at the bus, the halt switch, the programs, the watcher and the cache, and prints for each finding the
command that mends it. With --prune it lists mailboxes whose name cannot belong to an agent; with --apply as well, these
are moved to the folder quarantine of the bus, whole, and named.

It lists agent CLI and MCP server processes whose session has ended, with their memory. At a terminal it asks whether to end
them; --end does so elsewhere, with --yes.`,
		Wont: "It deletes nothing: no mail, no mailbox, no bus.",
		Examples: `$ tutti doctor
$ tutti doctor --prune`,
		Exit: "0 healthy; 1 wrong usage; 2 a check failed; 3 a file could not be read",
		See:  "status, store check, root",
	},
}

var storeVerbs = []Verb{
	{
		Name: "store migrate", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Bus: true,
		Short: "bring a bus to another version, or old file names up to date",
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
		Short:    "list the kinds of things that a bus keeps",
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
		Does:  "Prints a document as it lies there. On a terminal, characters that could steer it are left out.",
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
		Short:    "read everything and name what is unfit",
		Does:     "Reads every document and every line of every log, and names what is a link, too large, a stranger's or no JSON.",
		Wont:     "It mends nothing and leaves everything where it is.",
		Examples: "$ tutti store check",
		Exit:     "0 all is fit; 1 wrong usage; 2 something is unfit, or there is no bus; 3 a file could not be read",
		See:      "doctor",
	},
}

var programVerbs = []Verb{
	{
		Name: "install", Under: Tutti, Group: GroupSetup, Halt: Reads, Anyway: true, Run: runInstall,
		Short: "put tutti, tuttid and the other names where the shell finds them",
		Flags: []Flag{
			{Name: "dir", Kind: Text, Value: "dir", Default: "~/.local/bin", Offer: Folders, Help: "where to"},
			{Name: "link", Kind: Switch, Help: "link to the programs where they are instead of copying them"},
			{Name: "force", Kind: Switch, Help: "replace files that are not ours, too"},
			{Name: "dry-run", Kind: Switch, Help: "say what would be done and do nothing"},
			{Name: "no-man", Kind: Switch, Help: "leave the manual pages out"},
			{Name: "uninstall", Kind: Switch, Help: "remove what install made"},
		},
		Does: `Copies tutti and tuttid and links the names under which they speak the older command lines: h2a and
cross-agent-NAME. Running it again updates them. It says so when the folder is not where the shell looks.

The manual pages go where man looks for those of programs in that folder: share/man beside a folder bin, inside any other.`,
		Wont: "It replaces no file that is not ours without --force, and removes none. --uninstall removes no program that the settings of an agent CLI still start.",
		Examples: `$ tutti install --dry-run
$ tutti install --dir ~/bin
$ tutti install --uninstall`,
		Exit: "0 done; 1 wrong usage; 2 a file that is not ours is in the way; 3 a file could not be written",
		See:  "completion, man",
	},
	{
		Name: "completion", Under: Tutti, Group: GroupSetup, Halt: Indifferent, MinArgs: 1, MaxArgs: 1, Rare: true, Run: runCompletion, TextOnly: true,
		Short: "print the completion script of a shell",
		Args:  "bash|zsh|fish",
		Does:  "Prints a script that completes verbs, flags and values of tutti and of the names it answers to.",
		Examples: `$ tutti completion bash >~/.local/share/bash-completion/completions/tutti
$ source <(tutti completion zsh)    # in ~/.zshrc
$ tutti completion fish >~/.config/fish/completions/tutti.fish`,
		Exit: exitPlain,
		See:  "install",
	},
	{
		Name: "man", Under: Tutti, Group: GroupSetup, Halt: Indifferent, MaxArgs: 2, Offer: VerbNames, Rare: true, TextOnly: true,
		Short: "show the manual page of a verb, or write all pages",
		Args:  "[<verb>]",
		Flags: []Flag{
			{Name: "roff", Kind: Switch, Help: "print the source of the page, also on a terminal"},
			{Name: "dir", Kind: Text, Value: "dir", Offer: Folders, Help: "write all pages into this folder"},
		},
		Does: `Shows a page by man and the user's pager; where man is missing, the text of help. A verb of two words is given as
two; h2a and the cross-agent commands have pages, too, and without a verb it is that of tutti. When standard
output is no terminal it prints the source of the page.

With --dir it writes all pages: tutti.1, tutti-send.1 and so on. tutti install does that by itself.`,
		Wont: "It replaces no file in --dir that it did not write.",
		Examples: `$ tutti man send
$ tutti man inbox read
$ tutti man --roff >tutti.1
$ tutti man --dir ./man1`,
		Exit: "0 done; 1 there is no such page; 2 a file that is not ours is in the way; 3 a file could not be written",
		See:  "help, install",
	},
	{
		Name: "help", Under: Tutti, Group: GroupSetup, Halt: Indifferent, MaxArgs: 2, Offer: VerbNames, Rare: true, Run: runHelp, TextOnly: true,
		Short: "show the verbs, or all about one",
		Args:  "[<verb>]",
		Flags: []Flag{{Name: "all", Kind: Switch, Help: "all verbs, a line each, and the flags that every verb has"}},
		Does:  "Shows the overview, or the help of one verb, which is also what --help shows behind that verb.",
		Examples: `$ tutti help send
$ tutti help store list
$ tutti help --all`,
		Exit: "0 done; 1 there is no such verb",
		See:  "man",
	},
	{
		Name: "version", Under: Tutti, Group: GroupSetup, Halt: Indifferent, Rare: true, Run: runVersion,
		Short: "print version and build",
		Does:  "Prints the version and the build. Both programs of one build carry the same one.",
		Examples: `$ tutti version
$ tutti version --json`,
		Exit: "0 done; 1 wrong usage",
		See:  "install",
	},
	{
		Name: "__complete", Under: Tutti | H2A | Cross, Group: GroupSetup, Halt: Indifferent, MaxArgs: -1, Run: runComplete,
		Hidden: true, TextOnly: true,
		Short: "what may stand next on a command line, for the scripts of completion",
		Args:  "<program> <word>...",
		Does: `Prints what may stand in the place of the last word, one a line, with a tab and a remark behind it. A line
that begins with ":" asks the shell for files or folders.`,
		Examples: "$ tutti __complete tutti st",
		Exit:     "0 always",
	},
}
