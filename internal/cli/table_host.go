package cli

// hostNames are the programs that package driver knows.
var hostNames = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes"}

var hostVerbs = []Verb{
	{
		Name: "host setup", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads,
		Short: "put your agent programs on the bus: server and hooks",
		Flags: []Flag{
			{Name: "host", Kind: Text, Value: "host", Default: "all; under h2a it must be given", Choices: skillHosts, Help: "which program; all means those that are found here"},
			{Name: "scope", Kind: Text, Value: "scope", Default: "user", Under: Tutti, Choices: []string{"user", "project"}, Help: "for all that you do, or for the folder where you are"},
			{Name: "print", Kind: TrueSwitch, Help: "print what belongs into the settings, and write nothing; under h2a this is the rule"},
			{Name: "diff", Kind: Switch, Under: Tutti, Help: "show what would change, and write nothing"},
			{Name: "write", Kind: Text, Value: "file", Offer: Files, Help: "put the server into this file and nothing else anywhere; its name tells the format: .json, .jsonc, .toml, .yaml"},
			{Name: "no-hooks", Kind: Switch, Under: Tutti, Help: "the server only"},
			{Name: "no-server", Kind: Switch, Under: Tutti, Help: "the hooks only"},
			{Name: "remove", Kind: Switch, Under: Tutti, Help: "take out what is ours, and nothing else"},
			{Name: "trust-hooks", Kind: Switch, Under: Tutti, Help: "record in Codex's settings that you trust these hooks, without asking; an agent cannot"},
			{Name: "no-trust", Kind: Switch, Under: Tutti, Help: "enter a new server without Gemini's \"trust\": true"},
			{Name: "force", Kind: TrueSwitch, Help: "take the place of another server of the name h2a"},
			{Name: "no-wake", Kind: TrueSwitch, Under: H2A, Help: "leave --wake out of the entry"},
		},
		Does: `Registers the server of the bus, under the name h2a, and the hooks by which mail reaches a working agent in the
settings of your agent programs. Only what is ours is written: comments, order and everything else stay as they are. What a
file said before is kept beside it as FILE.tutti-DATE. Running it again changes nothing unless something is out of date.

With --root the server and the hooks are told to use that bus. Without, they find it as every verb does. An entry of the
older program is brought up to date; --root, --name, --instance and --scope of an entry that was there are kept.

Codex runs no hook before its user has trusted it. At a terminal this verb asks whether to record that trust for its own
hooks; --trust-hooks records it. An entry for Gemini CLI says "trust": true, so that it calls our tools without asking.

--remove says what it leaves: copies of earlier settings, and the skill.

Under h2a it prints the entry of the older program, and --write merges it into a file.`,
		Wont: "It starts no program, and trusts no hook and no folder in your place: it asks. A file that is damaged or read-only is left as it is.",
		Examples: `$ tutti host setup
$ tutti host setup --diff
$ tutti host setup --host codex --root ~/h2a-workspace/.h2a
$ tutti host setup --remove
$ h2a host setup --host claude --write .mcp.json`,
		Exit: "0 done, or so already; 1 wrong usage, or no agent program was found; 2 settings are damaged, hold another server of that name, or somebody else keeps writing to them; 3 a file could not be read or written",
		See:  "install-skills, mcp-serve",
	},
	{
		Name: "host status", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Waits: true,
		Short: "look how your agent programs stand to the bus",
		Flags: []Flag{{Name: "host", Kind: Text, Value: "host", Default: "all", Choices: skillHosts, Help: "which program; all means those that are found here"}},
		Does: `Says of each agent program which version it is, where our server is registered, and whether hooks and skill are in
place. Each registered server is started, exactly as the program would start it in this folder and with what the program would
hand on of the environment, and asked for its tools and its bus; then it is ended. It connects no agent meanwhile. What
settings of a project name is started only when it is this very program: a project may come from strangers.

When two programs would use different buses their agents do not see each other: that is an error, with the line to type.

Under h2a it prints what the older program says of the programs that it knows, and looks at nothing.`,
		Wont: "It changes no settings, and does not ask a program itself whether it likes the server.",
		Examples: `$ tutti host status
$ tutti host status --host codex --json`,
		Exit: "0 all is well, or nothing is registered; 1 wrong usage, or no agent program was found; 2 a registered server does not answer, settings are damaged, or two programs would use different buses; 3 a file could not be read",
		See:  "doctor, root",
	},
	{
		Name: "host plugin", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads,
		Short: "the hooks by which the older programs follow an agent",
		Flags: []Flag{
			{Name: "host", Kind: Text, Value: "host", Choices: hostNames, Help: "which program"},
			{Name: "instance", Kind: Text, Value: "id", Offer: OwnAgents, Help: "the agent"},
			{Name: "status", Kind: Text, Value: "word", Default: "paused", Help: "what the agent is recorded as when a turn is over"},
			{Name: "write", Kind: Text, Value: "file", Offer: Files, Help: "put them into this file of hooks, in the form of Claude"},
			{Name: "scaffold", Kind: Text, Value: "dir", Offer: Folders, Help: "make a plug-in for Codex in this folder"},
			{Name: "force", Kind: TrueSwitch, Help: "put a new file in the place of a damaged one, which is kept beside"},
		},
		Does: `Prints three command lines of the older programs: one that records that an agent rests, one that takes what another
agent drives it with, one that looks for agents that rest. With --write the first two are put into a file of hooks, at the
events Stop and UserPromptSubmit, in the place of earlier ones of theirs; everything else in the file stays.`,
		Wont: "It is not what brings mail to an agent: tutti host setup is.",
		Examples: `$ tutti host plugin --host claude --instance claude:api:3f2a9c01b7de
$ h2a host plugin --host codex --instance codex:api --scaffold ./plugin`,
		Exit: "0 done; 1 wrong usage, or the program has no such hooks; 2 the file is damaged; 3 a file could not be read or written",
		See:  "host setup",
	},
}
