package cli

var doctorVerbs = []Verb{
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
		Does: `Copies tutti and tutti-full into a folder and links the names of the older command lines to them: h2a and
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
		Name: "man", Under: Tutti, Group: GroupSetup, Halt: Indifferent, MaxArgs: 2, Offer: VerbNames, Rare: true, TextOnly: true, Run: runMan,
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
	versionRow,
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
