package setup

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var HostVerbs = []kit.Verb{
	{
		Name: "host setup", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, Opts: kit.WithFlags(runHostSetup),
		Result: render.OneOf{setupView{}, []snippet{}, mergedEntry{}},
		Short:  "connect your agent CLIs to the bus",
		Flags: []kit.Flag{
			{Name: "host", Kind: kit.Text, Value: "host", Default: "all; under h2a it must be given", Choices: SkillHosts, Help: "which agent CLI; all means those that are installed here"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "user", Under: kit.Tutti, Choices: []string{"user", "project"}, Help: "for all your projects, or only for this folder"},
			{Name: "print", Kind: kit.TrueSwitch, Help: "print the entries and write nothing; the default under h2a"},
			{Name: "diff", Kind: kit.Switch, Under: kit.Tutti, Help: "show what would change, and write nothing"},
			{Name: "write", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "write only the server entry, into this file; its name gives the format: .json, .jsonc, .toml, .yaml"},
			{Name: "no-hooks", Kind: kit.Switch, Under: kit.Tutti, Help: "only the server"},
			{Name: "no-server", Kind: kit.Switch, Under: kit.Tutti, Help: "only the hooks"},
			{Name: "remove", Kind: kit.Switch, Under: kit.Tutti, Help: "remove our entries and nothing else"},
			{Name: "trust-hooks", Kind: kit.Switch, Under: kit.Tutti, Help: "record in Codex's settings that you trust these hooks, without asking; refused below an agent CLI"},
			{Name: "no-trust", Kind: kit.Switch, Under: kit.Tutti, Help: "have Claude Code and Gemini CLI ask before each call of our tools"},
			{Name: "force", Kind: kit.TrueSwitch, Help: "replace another server named h2a"},
			{Name: "no-wake", Kind: kit.TrueSwitch, Under: kit.H2A, Help: "leave --wake out of the entry"},
		},
		Does: `Adds our MCP server, named tutti, and our hooks to the settings of your agent CLIs. It changes only these entries:
comments, order and everything else stay. It keeps the earlier file beside the new one as FILE.tutti-DATE. Running it
again changes only what is out of date.

--root makes the server and the hooks use that bus. Without it they find the bus as every verb does. It updates an
entry of the older program, and keeps --root, --name, --instance and --scope of an existing entry.

Codex runs no hook before you trust it. At a terminal, host setup offers to record that trust for its own hooks;
--trust-hooks records it without asking. A new entry for Gemini CLI has "trust": true, and with a new one for
Claude Code its settings get the rule mcp__tutti, so that they call our tools without asking; --no-trust leaves that out.

--remove takes our entries out again, and names what it leaves: copies of earlier settings, and the skill.

Under h2a it prints the entry of the older program, and --write merges it into a file.`,
		Wont: `It starts no program, and trusts no hook and no folder without asking. It leaves a damaged or read-only file as it is.`,
		Examples: `$ tutti host setup
$ tutti host setup --diff
$ tutti host setup --host codex --trust-hooks
$ tutti host setup --host gemini --no-trust
$ tutti host setup --remove
$ h2a host setup --host claude --write .mcp.json`,
		Exit: "0 done, or already up to date; 1 wrong usage, or no agent CLI was found; 2 settings are damaged, have another server of that name, or another program keeps writing to them; 3 a file could not be read or written",
		See:  "install-skills, mcp-serve",
	},
	{
		Name: "host status", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Reads, Waits: true, Opts: kit.WithFlags(runHostStatus),
		Result: render.OneOf{hostsView{}, olderHosts{}},
		Short:  "show which agent CLIs are connected",
		Flags:  []kit.Flag{{Name: "host", Kind: kit.Text, Value: "host", Default: "all", Choices: SkillHosts, Help: "which agent CLI; all means those that are installed here"}},
		Does: `Shows for each agent CLI its version, where our server is registered, and whether hooks and skill are up to date. It
also says which hooks Codex does not trust. It starts each registered server as the agent CLI would start it in this
folder, asks it for its tools and its bus, and ends it. No agent is connected by that. From the settings of a project
it starts only this very program, because a project may come from strangers.

If two agent CLIs would use different buses, their agents do not see each other: that is an error, with the command
that repairs it.

Under h2a it prints what the older program says about the agent CLIs that it knows, and checks nothing.`,
		Wont: "It changes no settings, and does not ask an agent CLI itself.",
		Examples: `$ tutti host status
$ tutti host status --host codex --json`,
		Exit: "0 all is well, or nothing is registered; 1 wrong usage, or no agent program was found; 2 a registered server does not answer, settings are damaged, or two programs would use different buses; 3 a file could not be read",
		See:  "doctor, root",
	},
	{
		Name: "host plugin", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, Opts: kit.WithFlags(runHostPlugin),
		Result: render.OneOf{plugin{}, writtenPlugin{}, scaffolded{}},
		Short:  "print the hooks of the older programs",
		Flags: []kit.Flag{
			{Name: "host", Kind: kit.Text, Value: "host", Choices: kit.HostNames, Help: "which program"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.OwnAgents, Help: "the agent"},
			{Name: "status", Kind: kit.Text, Value: "word", Default: "paused", Help: "what the agent is recorded as when a turn is over"},
			{Name: "write", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "put them into this file of hooks, in the form of Claude"},
			{Name: "scaffold", Kind: kit.Text, Value: "dir", Offer: kit.Folders, Help: "make a plug-in for Codex in this folder"},
			{Name: "force", Kind: kit.TrueSwitch, Help: "put a new file in the place of a damaged one, which is kept beside"},
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
