package setup

import (
	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var DoctorVerbs = []kit.Verb{
	{
		Name: "doctor", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Reads, Opts: kit.WithFlags(runDoctor), Bus: true,
		Result: report{},
		Short:  "find what is wrong and show how to repair it",
		Flags: []kit.Flag{
			{Name: "scan", Kind: kit.Text, Value: "dir", Offer: kit.Folders, Help: "look for other buses below this folder"},
			{Name: "prune", Kind: kit.Switch, Help: "list mailboxes that no agent can own"},
			{Name: "apply", Kind: kit.TrueSwitch, Help: "with --prune: move them to quarantine"},
			{Name: "end", Kind: kit.Switch, Under: kit.Tutti, Help: "end agent CLI and MCP server processes whose session has ended"},
			{Name: "yes", Kind: kit.Switch, Under: kit.Tutti, Help: "with --end: do not ask"},
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

var ProgramVerbs = []kit.Verb{
	{
		Name: "setup", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Makes, Opts: kit.WithFlags(runSetup),
		Result: setupReport{},
		Short:  "set up everything, or remove it again",
		Flags: []kit.Flag{
			{Name: "diff", Kind: kit.Switch, Help: "show each line of settings that would change, and write nothing"},
			{Name: "yes", Kind: kit.Switch, Help: "do not ask"},
			{Name: "remove", Kind: kit.Switch, Help: "take out of your settings and folders what setup has put there"},
			{Name: "dir", Kind: kit.Text, Value: "dir", Default: "~/.local/bin", Offer: kit.Folders, Help: "the folder for the programs"},
			{Name: "trust-hooks", Kind: kit.Switch, Help: "record in Codex's settings that you trust the hooks, without asking; refused below an agent CLI"},
			{Name: "no-trust", Kind: kit.Switch, Help: "have Claude Code and Gemini CLI ask before each call of our tools"},
			{Name: "no-install", Kind: kit.Switch, Help: "leave the programs where they are"},
			{Name: "no-skills", Kind: kit.Switch, Help: "leave out the skill, which tells the models how to use tutti"},
			{Name: "no-complete", Kind: kit.Switch, Help: "leave out completion in the shell"},
		},
		Does: `Says what it is going to do, asks once, and then: installs the programs, unless a package has done that; connects every
agent CLI that it finds; installs the skill and, for bash and fish, completion; and looks at the result as "tutti
doctor" does. Running it again changes only what is out of date.

Each part is a verb of its own: install, host setup, install-skills, completion, doctor.

--remove undoes all of it. Messages, keys and the copies of earlier settings stay.`,
		Wont:     "It starts no agent CLI and no service, and sends nothing anywhere.",
		Examples: "$ tutti setup\n$ tutti setup --diff\n$ tutti setup --yes\n$ tutti setup --remove",
		Exit:     "0 done, or already up to date; 1 wrong usage, or you said no; 2 settings are damaged, or a file that is not ours is in the way; 3 a file could not be read or written",
		See:      "host setup, install, install-skills, doctor",
	},
	{
		Name: "install", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Makes, Anyway: true, Opts: kit.WithFlags(runInstall),
		Result: installed{},
		Short:  "install tutti and its other names for the shell",
		Flags: []kit.Flag{
			{Name: "dir", Kind: kit.Text, Value: "dir", Default: "~/.local/bin", Offer: kit.Folders, Help: "the folder"},
			{Name: "link", Kind: kit.Switch, Help: "link to the programs instead of copying them"},
			{Name: "force", Kind: kit.Switch, Help: "replace files of other programs; with --uninstall: remove even if an agent CLI still starts tutti"},
			{Name: "dry-run", Kind: kit.Switch, Help: "show what would be done and do nothing"},
			{Name: "no-man", Kind: kit.Switch, Help: "do not install manual pages"},
			{Name: "uninstall", Kind: kit.Switch, Help: "remove what install made"},
		},
		Does: `Copies tutti and tutti-full into a folder and links the names of the older command lines to them: h2a and
cross-agent-NAME. Running it again updates them. If tutti-full still has its former name there, tuttid, that name leads to
the new program, so that settings which start it keep working; tutti doctor names agents whose server is of the former build. If the folder is not in PATH, it says so. The manual pages go to
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
		Name: "completion", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Run: runCompletion, TextOnly: true,
		Short: "print the completion script of a shell",
		Args:  "bash|zsh|fish",
		Does:  "Prints a script that completes verbs, flags and values of tutti and of the names it answers to.",
		Examples: `$ tutti completion bash >~/.local/share/bash-completion/completions/tutti
$ source <(tutti completion zsh)    # in ~/.zshrc
$ tutti completion fish >~/.config/fish/completions/tutti.fish`,
		Exit: kit.ExitPlain,
		See:  "install",
	},
	{
		Name: "man", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Indifferent, MaxArgs: 2, Offer: kit.VerbNames, TextOnly: true, Opts: kit.WithFlags(runMan),
		Short: "show the manual page of a verb, or write all pages",
		Args:  "[<verb>]",
		Flags: []kit.Flag{
			{Name: "roff", Kind: kit.Switch, Help: "print the source of the page, also on a terminal"},
			{Name: "dir", Kind: kit.Text, Value: "dir", Offer: kit.Folders, Help: "write all pages into this folder"},
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
		Name: "help", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Indifferent, MaxArgs: 2, Offer: kit.VerbNames, Opts: kit.WithFlags(docs.RunHelp), TextOnly: true,
		Short: "show the verbs, or the help of one verb",
		Args:  "[<verb>|more]",
		Flags: []kit.Flag{{Name: "all", Kind: kit.Switch, Help: "all verbs, a line each, and the flags that every verb has"}},
		Does: `Shows the verbs of a normal day, or the help of one verb, which --help behind that verb shows, too. "tutti help more"
lists the other verbs by subject.`,
		Examples: `$ tutti help send
$ tutti help more
$ tutti help store list
$ tutti help --all`,
		Exit: "0 done; 1 there is no such verb",
		See:  "man",
	},
	fast.VersionRow,
	{
		Name: "__complete", Under: kit.Tutti | kit.H2A | kit.Cross, Group: kit.GroupSetup, Halt: kit.Indifferent, MaxArgs: -1, Run: runComplete,
		Hidden: true, TextOnly: true,
		Short: "print what can come next on a command line, for shell completion",
		Args:  "<program> <word>...",
		Does: `Prints what may stand in the place of the last word, one a line, with a tab and a remark behind it. A line
that begins with ":" asks the shell for files or folders.`,
		Examples: "$ tutti __complete tutti st",
		Exit:     "0 always",
	},
}
