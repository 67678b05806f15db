package cli

// hostNames are the programs that package driver knows.
var hostNames = skillHosts[:len(skillHosts)-1]

var hostFlag = Flag{Name: "host", Kind: Text, Value: "host", Default: "all; under h2a it must be given", Choices: skillHosts[:], Help: "which program; all means those that are found here"}

var hostVerbs = []Verb{
	{
		Name: "host setup", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads,
		Short: "put your agent programs on the bus: server and hooks",
		Flags: []Flag{
			hostFlag,
			{Name: "scope", Kind: Text, Value: "scope", Default: "user", Under: Tutti, Choices: []string{"user", "project"}, Help: "for all that you do, or for the folder where you are"},
			{Name: "print", Kind: TrueSwitch, Help: "print what belongs into the settings, and write nothing; under h2a this is the rule"},
			{Name: "diff", Kind: Switch, Under: Tutti, Help: "show what would change, and write nothing"},
			{Name: "write", Kind: Text, Value: "file", Offer: Files, Help: "put the server into this file and nothing else anywhere; its name tells the format: .json, .jsonc, .toml, .yaml"},
			{Name: "no-hooks", Kind: Switch, Under: Tutti, Help: "the server only"},
			{Name: "no-server", Kind: Switch, Under: Tutti, Help: "the hooks only"},
			{Name: "remove", Kind: Switch, Under: Tutti, Help: "take out what is ours, and nothing else"},
			{Name: "force", Kind: TrueSwitch, Help: "take the place of another server of the name h2a"},
			{Name: "no-wake", Kind: TrueSwitch, Under: H2A, Help: "leave --wake out of the entry"},
		},
		Does: `Registers the server of the bus, under the name h2a, and the hooks by which mail reaches a working agent in the
settings of your agent programs. Only what is ours is written: comments, order and everything else stay as they are. What a
file said before is kept beside it as FILE.tutti-DATE. Running it again changes nothing unless something is out of date.

With --root the server and the hooks are told to use that bus. Without, they find it as every verb does. An entry of the
older program is brought up to date; --root, --name, --instance and --scope of an entry that was there are kept.

Under h2a it prints the entry of the older program, and --write merges it into a file.`,
		Wont: "It starts no program, and does not answer for you what they ask before they trust a hook or a folder. A file that is damaged or read-only is left as it is.",
		Examples: `$ tutti host setup
$ tutti host setup --diff
$ tutti host setup --host codex --root ~/h2a-workspace/.h2a
$ tutti host setup --remove
$ h2a host setup --host claude --write .mcp.json`,
		Exit: "0 done, or so already; 1 wrong usage, or no agent program was found; 2 settings are damaged, hold another server of that name, or changed meanwhile; 3 a file could not be read or written",
		See:  "install-skills, mcp-serve",
	},
}
