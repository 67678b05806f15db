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
		Short: "stop all your agents, now",
		Args:  "[<reason>]",
		Flags: []Flag{
			{Name: "tailnet", Kind: Switch, Help: "also halt your other machines, listed in ~/.config/cross-agent-comms/peers.toml, over ssh"},
			{Name: "no-stop-watcher", Kind: Switch, Help: "do not stop the user unit cross-agent-watch"},
			{Name: "kill", Kind: Switch, Under: Tutti, Help: "also end the agent CLIs on this machine and the tools that they run"},
			{Name: "yes", Kind: Switch, Under: Tutti, Help: "with --kill: do not ask"},
		},
		Does: `Sets the halt switch. Hooks then deny every tool call and prompt of your agents, and tutti sends, starts and types
nothing until you clear the switch. A tool that already runs is not ended. Agents are shown the reason. If the switch
is already set, a new reason replaces the old one; without a reason the old one stays.

Then it waits up to one second and prints a line for each agent CLI that runs on this machine, including those that
tutti never met. An agent counts as stopped when it acknowledged the halt, when its hooks deny its next tool call, or
when its turn was interrupted. --json has the same report.

--kill then ends these agent CLIs and the tools that they run: SIGTERM, and SIGKILL after four seconds. It asks first
at a terminal; elsewhere it needs --yes. An agent may halt, but may not use --kill. Agents under another home folder
or in a container are left alone.

--tailnet then halts your other machines, all at the same time, with 10 s for each. It prints a line for each machine.
If one was not halted, the last line begins with PARTIAL HALT and names it.

A wrong flag does not prevent the halt: it halts first and complains afterwards. It reads no settings and no bus.`,
		Wont: "Without --kill it ends no process. It deletes no message and cuts off no transfer.",
		Examples: `$ tutti halt 'runaway loop'
$ tutti halt --kill
$ tutti halt --tailnet 'disk check'
$ touch ~/.config/cross-agent-comms/HALT    # has the same effect`,
		Exit: "0 halted; 1 wrong usage, another machine was not halted, or --kill was refused (this machine is halted all the same); 2 an agent still runs after --kill; 3 the switch could not be set, or the agents to kill could not be found",
		CrossExit: "0 halted; 1 not every machine (this one is halted all the same), or the switch could not be set; " +
			"64 a wrong argument (this machine is halted all the same)",
		See: "resume",
	},
	{
		Name: "resume", Under: Tutti | H2A | Cross, Group: GroupStop, Halt: Ends, Anyway: true, Run: runResume,
		Short: "lift the halt",
		Flags: []Flag{
			{Name: "tailnet", Kind: Switch, Help: "also clear it on your other machines, over ssh"},
			{Name: "no-start-watcher", Kind: Switch, Help: "do not start the user unit cross-agent-watch"},
			{
				Name: "session", Kind: Text, Value: "agent", Under: Tutti, Offer: OwnAgents,
				Help: "also let this agent continue, and wake it if it is idle",
			},
			{Name: "wake", Kind: Switch, Under: Tutti, Help: "also let all agents continue that the halt stopped, and wake those that are idle"},
		},
		Does: `Clears the halt switch and starts the user unit cross-agent-watch if it is installed. Sending and receiving work
again. It shows what the halt has left: messages that were kept, conversations that are open, and how many agents wait
for you.

No agent continues by itself. To let one continue, type a prompt in its session, or use --session AGENT. --wake lets
all of them continue. Both also wake an agent that is idle. --wake first prints for each agent how many tokens its
model reads again. Both flags also work later, when nothing is halted.

--tailnet also clears the switch on your other machines. If one is still halted, the last line begins with PARTIAL
RESUME.`,
		Wont: `It is refused below an agent CLI: only you can lift a halt. Type it in a terminal outside the agent. It does not end a
pause: tutti unpause does.`,
		Examples: `$ tutti resume
$ tutti resume --wake
$ tutti resume --session claude:api
$ rm ~/.config/cross-agent-comms/HALT    # the same, but not recorded`,
		Exit:      "0 cleared, or nothing was halted; 1 still halted, here or on another machine, or wrong usage",
		CrossExit: "0 cleared, or nothing was halted; 1 still halted, here or on another machine; 64 wrong usage",
		See:       "halt",
	},
	{
		Name: "pause", Under: Tutti, Group: GroupStop, Halt: Ends, MinArgs: 1, MaxArgs: -1, Offer: OwnAgents, Run: runPause,
		Short: "deny the tools of one agent or folder",
		Args:  "<agent>|<folder> [<reason>]",
		Does: `Hooks deny the tool calls and prompts of one agent, or of all agents that work in a folder. Other agents continue. A
folder covers everything below its real path, and the git worktrees of the repositories there. A name with a slash is
a folder; a name with a colon is an agent. An agent may pause only itself.

Pausing again with a reason replaces the reason. A pause survives a restart. A pause that cannot be read still counts.`,
		Wont: `It does not reach an agent CLI without hooks of tutti, does not end a tool that already runs, and does not prevent the
agent from sending with tutti send.`,
		Examples: `$ tutti pause claude:api 'over budget'
$ tutti pause ~/src/shop`,
		Exit: "0 paused; 1 wrong usage, or refused below an agent CLI; 2 no such agent; 3 a file could not be written",
		See:  "unpause, halt, status",
	},
	{
		Name: "unpause", Under: Tutti, Group: GroupStop, Halt: Ends, MinArgs: 1, MaxArgs: 1, Offer: OwnAgents, Run: runUnpause,
		Short:    "end the pause of an agent or folder",
		Args:     "<agent>|<folder>",
		Does:     "Ends a pause. tutti records and announces it, as it does when a halt is lifted.",
		Wont:     "It is refused below an agent CLI: only you can end a pause. It does not lift a halt: tutti resume does.",
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
		Does: `Makes the bus that verbs use here (--root, H2A_ROOT, the nearest accepted .h2a, ~/h2a-workspace/.h2a), or
<folder>/.h2a if you name a folder. tutti accepts a bus that it makes, so verbs below that folder use it. An existing
bus is left as it is. In a git repository the bus gets a .gitignore, so that its private keys are not committed.`,
		Wont: `It does not accept a bus that another program or person made (tutti root accept), and makes none in a folder that git
tracks.`,
		Examples: `$ tutti init
bus ready: ~/h2a-workspace/.h2a
$ tutti init .`,
		Exit: exitPlain,
		See:  "root, connect, doctor",
	},
	{
		Name: "root", Under: Tutti, Group: GroupSetup, Halt: Reads, Rare: true, Run: runRoot,
		Short: "show which bus verbs use here, and why",
		Does: `Shows the bus that verbs use here, why, and which other buses are near. The first of these is used: --root, H2A_ROOT,
the nearest folder .h2a from here upwards that you made or accepted, ~/h2a-workspace/.h2a.`,
		Wont:     "It makes nothing (tutti init does), and does not use a bus that came with a repository before you accept it.",
		Examples: "$ tutti root",
		Exit:     exitPlain,
		See:      "init",
	},
	{
		Name: "root accept", Under: Tutti, Group: GroupSetup, Halt: Reads, MinArgs: 1, MaxArgs: 1, Offer: Folders, Run: runRootAccept,
		Short: "allow verbs to use the bus of a folder",
		Args:  "<path>",
		Flags: []Flag{{Name: "force", Kind: Switch, Help: "also where git keeps the folder under its control"}},
		Does: `Remembers, for you alone, that the bus at <path> may be used by what runs below its parent folder. The
folder is remembered by path, device and inode: another one put in its place is not accepted.`,
		Wont: `It cannot tell who made the bus: accept only one whose maker you trust. Anyone who can write there can write your
agents' mail.`,
		Examples: "$ tutti root accept ./.h2a",
		Exit:     "0 done; 1 wrong usage, or git tracks it; 2 there is no bus; 3 a file could not be written",
	},
	{
		Name: "root drop", Under: Tutti, Group: GroupSetup, Halt: Reads, MinArgs: 1, MaxArgs: 1, Offer: Folders, Run: runRootDrop,
		Short:    "withdraw that permission",
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
		Short: "find what is wrong and show how to repair it",
		Flags: []Flag{
			{Name: "scan", Kind: Text, Value: "dir", Offer: Folders, Help: "look for other buses below this folder"},
			{Name: "prune", Kind: Switch, Help: "list mailboxes that no agent can own"},
			{Name: "apply", Kind: TrueSwitch, Help: "with --prune: move them to quarantine"},
			{Name: "end", Kind: Switch, Under: Tutti, Help: "end agent CLI and MCP server processes whose session has ended"},
			{Name: "yes", Kind: Switch, Under: Tutti, Help: "with --end: do not ask"},
		},
		Does: `Checks the bus, the halt switch, the settings, the programs, the hooks of the agent CLIs, the file watcher and the
cache. Each finding comes with the command that repairs it. Settings that have their default are only counted;
--verbose lists them.

--prune lists mailboxes that no agent can own. --prune --apply moves them to the folder quarantine of the bus, and
names them.

It lists agent CLI and MCP server processes whose session has ended, with their memory, and asks at a terminal whether
to end them. --end ends them; without a terminal it also needs --yes. It is refused below an agent CLI.`,
		Wont: "It deletes nothing: no mail, no mailbox, no bus.",
		Examples: `$ tutti doctor
$ tutti doctor --prune
$ tutti doctor --end --yes`,
		Exit: "0 healthy; 1 wrong usage; 2 a check failed; 3 a file could not be read",
		See:  "status, store check, root",
	},
}

var storeVerbs = []Verb{
	{
		Name: "store migrate", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Bus: true,
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

var programVerbs = []Verb{
	{
		Name: "install", Under: Tutti, Group: GroupSetup, Halt: Reads, Anyway: true, Run: runInstall,
		Short: "install tutti and its other names for the shell",
		Flags: []Flag{
			{Name: "dir", Kind: Text, Value: "dir", Default: "~/.local/bin", Offer: Folders, Help: "the folder"},
			{Name: "link", Kind: Switch, Help: "link to the programs instead of copying them"},
			{Name: "force", Kind: Switch, Help: "replace files of other programs; with --uninstall: remove even if an agent CLI still starts tutti"},
			{Name: "dry-run", Kind: Switch, Help: "show what would be done and do nothing"},
			{Name: "no-man", Kind: Switch, Help: "do not install manual pages"},
			{Name: "uninstall", Kind: Switch, Help: "remove what install made"},
		},
		Does: `Copies tutti and tuttid into a folder and links the names of the older command lines to them: h2a and
cross-agent-NAME. Running it again updates them. If the folder is not in PATH, it says so. The manual pages go to
share/man beside a folder named bin, inside any other.

--uninstall removes what install made. It refuses while the settings of an agent CLI still start these programs, and
prints the command that removes the entries (tutti host setup --remove). --uninstall --force removes the programs all
the same.`,
		Wont: "Without --force it replaces no file that tutti did not install. It never removes such a file.",
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
output is not a terminal, it prints the source of the page.

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
		Short: "show the verbs, or the help of one verb",
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
